import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createCollection, ok, type Scene, startScene } from '../collections/support.ts'
import { createPool } from '../pools/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'

/** One service with pools, collections, groups and users, read by root, by a reader and by a stranger. */
let scene: Scene
let pools: Record<'root' | 'standard' | 'open' | 'vault' | 'bears', number>
let bags: Record<'animals' | 'bears' | 'secret', Json>

before(async () => {
  scene = await startScene()
  const { root, reader, ids } = scene
  const { _id: bears } = await createPool(
    root,
    {
      _id_parent: scene.pool,
      reference: 'bears',
      name: { 'de-DE': 'Bären & Wölfe', 'en-US': 'Bears and wolves' },
      description: { 'en-US': 'Brown bears of the north' },
      comment: 'Ünder 100% care',
    },
    { _private_tags: true },
  )
  pools = { root: 1, standard: 2, open: scene.pool, vault: scene.vault, bears }
  const animals = await createCollection(reader, {
    displayname: { 'de-DE': 'Tiere', 'en-US': 'Animals' },
    type: 'workfolder',
  })
  bags = {
    animals,
    bears: await createCollection(reader, {
      _id_parent: animals._id,
      displayname: { 'de-DE': 'Bären', 'en-US': 'Bears' },
      description: { 'en-US': 'all of them, big and small' },
      type: 'search',
    }),
    secret: await createCollection(root, { displayname: { 'en-US': 'Secret bears' }, type: 'search' }),
  }
  const staff = ok(await root.get(`/group/${ids.staff}`))[0]
  const { _id, _version } = staff.group
  ok(
    await root.post('/group', [
      {
        group: {
          _id,
          _version,
          displayname: { 'en-US': 'Keepers of bears' },
          category_a: 'zoo',
          comment: 'hidden note',
        },
      },
      { group: { name: 'closed', reference: 'closed', displayname: { 'en-US': 'Closed circle' } } },
    ]),
  )
  const [{ user }] = ok(await root.get(`/user/${ids.editor}`))
  ok(
    await root.post('/user', [
      {
        user: {
          _id: ids.editor,
          _version: user._version,
          first_name: 'Ève',
          company: 'Zoo Ltd',
          remarks: 'likes quartz',
          email: 'eve@example.org',
        },
      },
    ]),
  )
})
after(() => scene[Symbol.asyncDispose]())

async function search(client: Client, type: string, request: object = {}): Promise<Json> {
  return ok(await client.post('/search', { type, ...request }))
}

/** Ids of what is found, in order. */
async function found(
  client: Client,
  type: string,
  element: object | readonly object[],
  more: object = {},
): Promise<number[]> {
  const { objects, count } = await search(client, type, { search: [element].flat(), ...more })
  assert.equal(count, objects.length)
  return objects.map((record: Json) => record[record._basetype]._id)
}

const text = (string: string, more: object = {}) => ({ type: 'text', string, ...more })
const oneOf = (field: string, ...values: unknown[]) => ({ type: 'in', fields: [field], in: values })

test('records are answered as their own endpoints show them, with what was searched', async () => {
  const { root, reader, editor } = scene
  const byId = (list: Json[]) => list.toSorted((a, b) => a[a._basetype]._id - b[b._basetype]._id)
  for (const client of [root, reader, editor]) {
    for (const [type, path] of [
      ['pool', '/pool'],
      ['collection', '/collection/list'],
      ['group', '/group'],
      ['user', '/user'],
    ] as const) {
      const answer = await search(client, type, { limit: 1000 })
      const listed = byId(ok(await client.get(path, { limit: 1000 })))
      assert.deepEqual(answer.objects, listed, type)
      assert.deepEqual(
        [answer.type, answer.count, answer.offset, answer.limit, answer.objecttypes],
        [type, listed.length, 0, 1000, []],
      )
    }
    const users = ok(await client.get('/user', { limit: 1000 }))
    const groups = ok(await client.get('/group', { limit: 1000 }))
    const { objects, count, type } = await search(client, 'acl', { limit: 1000 })
    assert.deepEqual([type, count], ['acl', users.length + groups.length])
    const kinds = (basetype: string) => byId(objects.filter((one: Json) => one._basetype === basetype))
    assert.deepEqual([kinds('user'), kinds('group')], [byId(users), byId(groups)])
  }
  const body = JSON.stringify({ type: 'pool', search: [oneOf('pool._id', 1)] })
  assert.deepEqual((await root.get('/search', { BODY: body })).body.objects, ok(await root.get('/pool/1')))
})

test('words of records: modes, phrases, languages, fields', async () => {
  const { root } = scene
  const pool = (element: object | object[]) => found(root, 'pool', element)
  const { bears } = pools
  assert.deepEqual(await pool(text('BAREN wolfe')), [bears])
  assert.deepEqual(await pool(text('wolves north')), [bears], 'words in several fields')
  assert.deepEqual(await pool(text('wolves north', { fields: ['pool.name'] })), [])
  assert.deepEqual(await pool(text('bears wolves', { fields: ['pool.name'] })), [bears])
  assert.deepEqual(await pool(text('bears wolves', { fields: ['pool.name'], phrase: true })), [])
  assert.deepEqual(await pool(text('bears and', { fields: ['pool.name'], query: 'match_phrase' })), [bears])
  assert.deepEqual(await pool(text('wolves brown', { phrase: true })), [], 'no phrase goes from one text to the next')
  assert.deepEqual(await pool(text('and wolves', { mode: 'token' })), [bears])
  assert.deepEqual(await pool(text('bear', { mode: 'token' })), [])
  assert.deepEqual(await pool(text('b?ars w*ves', { mode: 'wildcard' })), [bears])
  assert.deepEqual(await pool(text('w*ves b?ars', { mode: 'wildcard', phrase: true })), [])
  assert.deepEqual(await pool(text('b*wolves', { mode: 'wildcard' })), [], 'a wildcard stays in its word')
  assert.deepEqual(await pool(text('Bears*', { mode: 'exact', fields: ['pool.name'] })), [bears])
  assert.deepEqual(await pool(text('bears*', { mode: 'exact', fields: ['pool.name'] })), [])
  assert.deepEqual(await pool(text('Ünder 100% care', { mode: 'exact', fields: ['pool.comment'] })), [bears])
  assert.deepEqual(await pool(text('under 100%')), [bears])
  assert.deepEqual(await pool(text('wolfe', { languages: ['en-US'] })), [])
  assert.deepEqual(await pool(text('wolfe', { fields: ['pool.name.de-DE'] })), [bears])
  assert.deepEqual(await pool(text('wolfe', { fields: ['pool.name.en-US'] })), [])
  assert.deepEqual(await pool(text(' ')), [])
  assert.equal((await pool(text('*'))).length, 5)
})

test('values, ranges and groups of elements of records', async () => {
  const { root } = scene
  const pool = (element: object | object[]) => found(root, 'pool', element)
  const { root: top, standard, open, vault, bears } = pools
  assert.deepEqual(await pool(oneOf('pool.reference', 'bears', 'open')), [open, bears])
  assert.deepEqual(await pool(oneOf('pool.reference', 'Bears')), [])
  assert.deepEqual(await pool(oneOf('pool.name', 'Bears and wolves')), [bears])
  assert.deepEqual(await pool(oneOf('pool.name.de-DE', 'Bears and wolves')), [])
  assert.deepEqual(await pool(oneOf('pool._id_parent', null)), [top])
  assert.deepEqual(await pool(oneOf('pool._id_parent', String(standard))), [open, vault])
  assert.deepEqual(await pool(oneOf('_path.pool._id', standard)), [open, vault, bears])
  assert.deepEqual(await pool(oneOf('_path.pool._id', null)), [top])
  assert.deepEqual(await pool(oneOf('_level', 3)), [bears])
  assert.deepEqual(await pool(oneOf('_private_acl', true)), [vault])
  assert.deepEqual(await pool(oneOf('pool.is_system_pool', true)), [top, standard])
  assert.deepEqual(await pool(oneOf('_private_tags', true)), [bears])
  assert.deepEqual(await pool({ type: 'range', field: '_level', from: 1, to: 2 }), [standard, open, vault])
  assert.deepEqual(await pool({ type: 'range', field: '_level', from: 1, from_equals: false, to: 2.5 }), [open, vault])
  assert.deepEqual(await pool({ type: 'range', field: 'pool._id_parent' }), [standard, open, vault, bears])
  const [{ _created_at: at }] = ok(await root.get(`/pool/${bears}`))
  const later = new Date(Date.parse(at) + 86_400_000).toISOString()
  assert.equal((await pool({ type: 'range', field: '_created_at', from: at.slice(0, 10) })).includes(bears), true)
  assert.deepEqual(await pool({ type: 'range', field: '_created_at', from: later }), [])
  assert.equal((await pool({ type: 'range', field: '_created_at', from: '$now-1d' })).includes(bears), true)
  assert.deepEqual(await pool({ type: 'range', field: '_created_at', from: '$now+1h' }), [])
  // Today is another day elsewhere, and a day is the same everywhere.
  for (const timezone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
    const today = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone }).format(new Date())
    const on = async (date: string) =>
      ok(await root.post('/search', { type: 'pool', timezone, search: [oneOf('_created_at', date)] })).count
    assert.equal(await on('$today'), await on(today), timezone)
  }
  assert.equal((await pool({ type: 'range', field: '_created_at', from: '-9999999', to: '9999999' })).length, 5)
  assert.equal((await pool(oneOf('_created_at', at.slice(0, 10)))).includes(bears), true)
  assert.deepEqual(await pool([oneOf('_level', 2), { ...oneOf('pool.reference', 'open'), bool: 'must_not' }]), [vault])
  assert.deepEqual(
    await pool([
      { ...oneOf('_level', 3), bool: 'should' },
      { ...oneOf('_level', 0), bool: 'should' },
    ]),
    [top, bears],
  )
  assert.deepEqual(await pool({ type: 'complex', search: [oneOf('_level', 0)], bool: 'must_not' }), [
    standard,
    open,
    vault,
    bears,
  ])
  assert.deepEqual(
    await pool({ ...oneOf('pool.contact.user._id', 1), bool: 'must_not' }),
    [top, standard, open, vault, bears],
    'no value is not the value',
  )
})

test('orders, pages and terms of records', async () => {
  const { root } = scene
  const { root: top, standard, open, vault, bears } = pools
  const sorted = async (sort: object[], more: object = {}) =>
    (await search(root, 'pool', { sort, ...more })).objects.map((one: Json) => one.pool._id)
  const name = { field: 'pool.name', language: 'en-US' }
  assert.deepEqual(await sorted([name]), [top, bears, open, standard, vault])
  assert.deepEqual(await sorted([{ ...name, order: 'DESC' }]), [vault, standard, open, bears, top])
  assert.deepEqual(await sorted([{ field: 'pool.reference' }]), [bears, open, top, standard, vault])
  assert.deepEqual(
    await sorted([
      { field: '_level', order: 'desc' },
      { field: 'pool.reference', order: 'desc' },
    ]),
    [bears, vault, open, standard, top],
  )
  assert.deepEqual(
    await sorted([{ field: 'pool._id_parent', order: 'desc' }]).then((ids) => ids.at(-1)),
    top,
    'nothing is last',
  )
  assert.deepEqual(await sorted([name], { offset: 1, limit: 2 }), [bears, open])
  const page = await search(root, 'pool', { offset: 4, limit: 3 })
  assert.deepEqual([page.count, page.objects.length, page.offset, page.limit], [5, 1, 4, 3])
  assert.equal((await search(root, 'pool', { limit: 0 })).count, 5)
  const term = (field: string, more: object = {}) => ({ type: 'term', field, ...more })
  const { aggregations } = await search(root, 'pool', {
    limit: 0,
    search: [oneOf('_level', 1, 2, 3)],
    aggregations: {
      levels: term('_level', { sort: 'term' }),
      system: term('pool.is_system_pool'),
      paths: term('_path.pool._id', { limit: 2 }),
      more: term('_path.pool._id', { limit: 2, offset: 2 }),
      names: term('pool.name', { sort: 'term', order: 'desc', limit: 1, language: 'de-DE' }),
      none: term('pool.contact.user._id'),
    },
  })
  const counted = (pairs: readonly (readonly [string, number])[]) =>
    pairs.map(([value, count]) => ({ term: value, count }))
  assert.deepEqual(aggregations.levels, {
    type: 'term',
    field: '_level',
    count: 3,
    terms: counted([
      ['1', 1],
      ['2', 2],
      ['3', 1],
    ]),
  })
  assert.deepEqual(
    aggregations.system.terms,
    counted([
      ['false', 3],
      ['true', 1],
    ]),
  )
  assert.deepEqual(
    [aggregations.paths.count, aggregations.paths.terms],
    [
      3,
      counted([
        [`${top}`, 4],
        [`${standard}`, 3],
      ]),
    ],
  )
  assert.deepEqual(aggregations.more.terms, counted([[`${open}`, 1]]))
  assert.deepEqual(aggregations.names.terms.length, 1)
  assert.deepEqual(aggregations.none, { type: 'term', field: 'pool.contact.user._id', count: 0, terms: [] })
})

test('what the caller may not see of a record does not count', async () => {
  const { root, reader, stranger, editor, ids } = scene
  const { open, bears } = pools
  // Pools that the caller may read.
  const seen = ok(await reader.get('/pool')).map((one: Json) => one.pool._id)
  assert.deepEqual(seen, [open, bears])
  assert.deepEqual(await found(reader, 'pool', []), seen)
  assert.deepEqual(await found(stranger, 'pool', text('bears')), [])
  const levels = { limit: 0, aggregations: { all: { type: 'term', field: '_level' } } }
  assert.deepEqual((await search(stranger, 'pool', levels)).aggregations.all.count, 0)
  // Collections: own ones, and shared ones.
  assert.deepEqual(await found(reader, 'collection', text('bears')), [bags.bears._id])
  assert.deepEqual(await found(root, 'collection', text('bears')), [bags.bears._id, bags.secret._id])
  assert.deepEqual(await found(editor, 'collection', text('bears')), [])
  const _acl = [wireGrant(toUser(ids.editor), 'bag_read')]
  ok(await reader.post(`/collection/${bags.animals._id}`, { collection: { _version: 1 }, _acl }))
  assert.deepEqual(await found(editor, 'collection', text('bears')), [bags.bears._id])
  assert.deepEqual(await found(editor, 'collection', oneOf('_path.collection._id', bags.animals._id)), [bags.bears._id])
  assert.deepEqual(
    await found(root, 'collection', oneOf('_path.collection._id_parent', 1)).then((all) =>
      all.includes(bags.bears._id),
    ),
    true,
  )
  // Of groups the notes and settings are for those who manage groups.
  assert.deepEqual(await found(reader, 'group', text('keepers')), [ids.staff])
  assert.deepEqual(await found(stranger, 'group', text('keepers')), [])
  assert.deepEqual(await found(reader, 'group', text('closed')), [])
  assert.equal((await found(root, 'group', text('closed'))).length, 1)
  assert.deepEqual(await found(root, 'group', text('note')), [ids.staff])
  assert.deepEqual(await found(reader, 'group', text('note')), [])
  assert.deepEqual(await found(reader, 'group', oneOf('_two_fa_required', false)), [])
  // Of users the address is for themselves and for those who manage users, the notes for the latter.
  assert.deepEqual(await found(reader, 'user', text('eve zoo')), [ids.editor])
  assert.deepEqual(await found(reader, 'user', text('eve@example.org')), [])
  assert.deepEqual(await found(editor, 'user', text('eve@example.org')), [ids.editor])
  assert.deepEqual(await found(root, 'user', text('eve@example.org')), [ids.editor])
  assert.deepEqual(await found(editor, 'user', text('quartz')), [])
  assert.deepEqual(await found(root, 'user', text('quartz')), [ids.editor])
  const mails = { limit: 0, aggregations: { all: { type: 'term', field: 'user.email' } } }
  assert.equal((await search(reader, 'user', mails)).aggregations.all.count, 0)
  assert.equal((await search(editor, 'user', mails)).aggregations.all.count, 1)
  // Both together.
  const people = async (client: Client, element: object | object[]) =>
    (await search(client, 'acl', { search: [element].flat() })).objects.map((one: Json) => [
      one._basetype,
      one[one._basetype]._id,
    ])
  assert.deepEqual(await people(root, text('zoo')), [
    ['user', ids.editor],
    ['group', ids.staff],
  ])
  assert.deepEqual(await people(reader, text('zoo')), [
    ['user', ids.editor],
    ['group', ids.staff],
  ])
  assert.deepEqual(await people(reader, text('quartz')), [])
  for (const element of [oneOf('_basetype', 'group'), text('group'), text('Group', { fields: ['_basetype'] })])
    assert.deepEqual(
      (await people(reader, element)).filter(([basetype]: string[]) => basetype === 'group'),
      (await people(reader, [])).filter(([basetype]: string[]) => basetype === 'group'),
    )
  assert.deepEqual(await people(reader, [text('user zoo')]), [['user', ids.editor]])
  assert.deepEqual(await people(root, text('quartz')), [['user', ids.editor]])
  assert.deepEqual(await people(editor, oneOf('user.email', 'eve@example.org')), [['user', ids.editor]])
  assert.deepEqual(await people(reader, oneOf('user.email', 'eve@example.org')), [])
})

test('collections, groups and users by their own fields', async () => {
  const { root, reader, ids } = scene
  const [{ collection: top }] = ok(await reader.get('/collection/list')).filter((one: Json) => one._level === 3)
  assert.equal(top._id, bags.animals._id_parent ?? top._id)
  for (const element of [text(top.reference), oneOf('collection.reference', top.reference)]) {
    assert.ok((await found(reader, 'collection', element)).includes(top._id), 'the reference made of the user')
  }
  assert.deepEqual(await found(reader, 'collection', oneOf('collection.type', 'workfolder')), [bags.animals._id])
  assert.deepEqual(await found(reader, 'collection', oneOf('collection.uuid', bags.bears.uuid)), [bags.bears._id])
  assert.deepEqual(await found(reader, 'collection', oneOf('collection._id_parent', bags.animals._id)), [
    bags.bears._id,
  ])
  assert.deepEqual(await found(root, 'collection', [oneOf('_owner.user._id', ids.reader), oneOf('_level', 5)]), [
    bags.bears._id,
  ])
  const { aggregations } = await search(root, 'collection', {
    limit: 0,
    aggregations: { types: { type: 'term', field: 'collection.type' } },
  })
  assert.deepEqual(aggregations.types.terms, [
    { term: 'search', count: 2 },
    { term: 'workfolder', count: 1 },
  ])
  assert.deepEqual(await found(root, 'group', oneOf('group.category_a', 'zoo')), [ids.staff])
  assert.deepEqual(
    await found(root, 'user', oneOf('_groups.group._id', ids.staff), { sort: [{ field: 'user.login' }] }),
    [ids.editor, ids.reader],
  )
  assert.ok(
    (await found(root, 'user', oneOf('_groups.group._id', 1))).includes(ids.stranger),
    'groups of all of a type',
  )
})

test('users are found by what kind they are and by their languages, as far as the caller sees them', async () => {
  const { root, reader, ids } = scene
  const [{ user }] = ok(await root.get(`/user/${ids.stranger}`))
  const languages = { _id: ids.stranger, _version: user._version, database_languages: ['en-US'] }
  ok(await root.post('/user', [{ user: languages }]))
  const stranger = oneOf('user._id', ids.stranger)
  for (const element of [
    text(user.type, { fields: ['user.type'] }),
    oneOf('user.type', user.type),
    text(`${user.type} stranger`),
    text('en', { fields: ['user.database_languages'] }),
    text('stranger US'),
  ])
    assert.deepEqual(await found(root, 'user', [element, stranger]), [ids.stranger], JSON.stringify(element))
  assert.deepEqual(await found(reader, 'user', [text(user.type), stranger]), [ids.stranger])
  assert.deepEqual(await found(reader, 'user', [text('stranger US'), stranger]), [])
})

test('what makes no sense for records is refused by name, and unknown fields as for objects', async () => {
  const { root } = scene
  const refused = async (request: object, name: string, code = 'ServerGeneric') => {
    const { status, body } = await root.post('/search', { type: 'pool', ...request })
    assert.deepEqual([status, body.code], [400, code], JSON.stringify(request))
    assert.match(JSON.stringify(body.parameters) + (body.message ?? ''), new RegExp(name.replace(/[[\]]/g, '\\$&')))
  }
  const one = (element: object) => ({ search: [element] })
  await refused({ type: 'pools' }, 'pools')
  for (const type of ['nested', 'changelog_range', 'similar', 'geo_bounding_box', 'geo_shape'])
    await refused(one({ type }), 'search[0].type')
  await refused(one({ ...oneOf('pool._id', 1), include_path: true }), 'include_path')
  await refused(one({ type: 'in', fields: ['pool._id'], subsearch: { search: [] } }), 'subsearch')
  await refused(one({ ...oneOf('pool._id', 1), boost: 2 }), 'boost')
  await refused(one(oneOf('pool._id', 'one')), 'in[0]')
  await refused(one(oneOf('_private_acl', 1)), 'in[0]')
  await refused(one({ type: 'range', field: '_level', from: 'x' }), 'search[0].from')
  await refused(one(oneOf('pool.nam', 'x')), 'pool.name', 'SearchFieldUnknown')
  await refused(one(oneOf('_system_object_id', 1)), '_system_object_id', 'SearchFieldUnknown')
  await refused(one(text('x', { fields: ['_level'] })), '_level', 'SearchFieldNotAllowed')
  await refused(one({ type: 'range', field: 'pool.name', from: 'a' }), 'pool.name', 'SearchFieldNotAllowed')
  await refused(one({ type: 'range', field: '_created_at', from: 'soon' }), 'from', 'DateWrongSyntax')
  await refused(one(text('* ?', { mode: 'wildcard' })), 'search[0]', 'WildcardOnlyNotAllowed')
  await refused(one(text('**', { mode: 'exact' })), 'search[0]', 'WildcardOnlyNotAllowed')
  await refused({ sort: [{ field: '_path.pool._id' }] }, '_path.pool._id', 'SearchFieldNotAllowed')
  await refused({ sort: [{ field: 'pool.name', with_path: true }] }, 'sort[0].with_path')
  await refused(
    { aggregations: { a: { type: 'linked_object', field: 'pool._id' } } },
    'aggregations.a',
    'UnsupportedInAggregation',
  )
  await refused({ aggregations: { a: { type: 'term', field: '_created_at' } } }, '_created_at', 'SearchFieldNotAllowed')
  await refused({ limit: 1001 }, 'limit')
  await refused({ offset: -1 }, 'offset')
  for (const [name, value] of Object.entries({
    objecttypes: ['note'],
    fields: [{ field: 'pool._id' }],
    include_fields: ['a'],
    search_after: [1],
    include_deleted: true,
    highlight: true,
    best_mask_filter: false,
    merge_linked_objects: 'all',
  }))
    await refused({ [name]: value }, name)
  let deep: object = oneOf('_level', 1)
  for (let depth = 0; depth < 25; depth++) deep = { type: 'complex', search: [deep] }
  await refused(one(deep), 'nested at most')
})

test('the rights of the caller are with the records that have some; messages and events have none', async () => {
  for (const type of ['pool', 'collection', 'user', 'group', 'acl']) {
    const { status, body } = await scene.root.post('/search', { type, generate_rights: true })
    assert.equal(status, 200, JSON.stringify(body))
    assert.ok(body.objects.length > 0, type)
    for (const record of body.objects) assert.equal(typeof record._generated_rights, 'object', type)
  }
  for (const type of ['message', 'event']) {
    const { status, body } = await scene.root.post('/search', { type, generate_rights: true })
    assert.deepEqual([status, body.parameters.name], [400, 'generate_rights'], type)
    assert.equal((await scene.root.post('/search', { type, generate_rights: false })).status, 200)
  }
})

test('words of collections and users are found by an index', async () => {
  const { db } = scene.svc
  const plan = async (table: string, condition: string) => {
    const { rows } = await db.transaction(async (tx) => {
      await tx.query(`select set_config('enable_seqscan', 'off', true)`)
      return tx.query<Json>(`explain select from ${table} t where ${condition}`)
    })
    return JSON.stringify(rows)
  }
  const { domains } = await import('../../src/search/domains/kinds.ts')
  for (const kind of [domains.collection?.[0], domains.user?.[0]]) {
    assert.ok(kind?.words)
    assert.match(
      await plan(kind.table, kind.words.find('t', `record_words('bears')`)),
      new RegExp(`${kind.basetype}_words_idx`),
    )
  }
})

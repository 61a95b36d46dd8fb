import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { startMuseum } from '../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { commitModel, everyType, userWith } from './support.ts'

test('a new instance has the empty version 0, and HEAD is for version 1', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const empty = {
    version: 0,
    based_on_version: 0,
    based_on_base_version: 0,
    max_table_id: 0,
    max_column_id: 0,
    type: 'user',
    committed_at: null,
    tables: [],
  }
  const current = await root.get('/schema/user/CURRENT')
  assert.equal(current.status, 200)
  assert.deepEqual(current.body, empty)
  const head = await root.get('/schema/user/HEAD')
  assert.deepEqual(head.body, { ...empty, version: 1 })
  assert.deepEqual((await root.get('/mask/CURRENT')).body.masks, [])
  assert.deepEqual((await root.get('/l10n/user/HEAD')).body, {})
})

test('SCHEMA-004 a posted snapshot is answered as it is stored: with ids, hints and what follows from the rest', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const saved = await root.post('/schema/user/HEAD', {
    version: 1,
    based_on_version: 0,
    tables: [
      ...everyType,
      {
        name: 'thing__twin',
        owned_by: { other_table_name_hint: 'thing' },
        columns: [{ name: 'other', type: 'link', other_table_name_hint: 'thing' }],
        bidirectional: [{ columns: [{ auto_column_uplink: true }, { column_name_hint: 'other' }] }],
      },
    ],
  })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.deepEqual((await root.get('/schema/user/HEAD')).body, saved.body)
  const { tables, max_table_id, max_column_id } = saved.body
  const ids = tables.map((table: { table_id: number }) => table.table_id)
  assert.deepEqual(ids, [1, 2, 3, 4, 5, 6])
  assert.equal(max_table_id, 6)
  const columns = tables.flatMap((table: { columns: { column_id: number }[] }) => table.columns)
  assert.equal(max_column_id, columns.length)
  assert.deepEqual(
    columns.map((column: { column_id: number }) => column.column_id).sort((a: number, b: number) => a - b),
    columns.map((_: unknown, index: number) => index + 1),
  )
  const { columns: own, ...thing } = tables[1]
  assert.deepEqual(thing, {
    name: 'thing',
    table_id: 2,
    pool_link: true,
    acl_table: false,
    has_tags: true,
    is_hierarchical: false,
    polyhierarchical: false,
    in_main_search: true,
    comment: '',
    foreign_keys: [
      {
        name: 'thing__where_it_is__place_fkey',
        on_delete: 'restrict',
        on_update: 'cascade',
        columns: [{ column_id: 18, column_name_hint: 'where_it_is' }],
        referenced_table: { table_id: 1, name_hint: 'place', columns: [{ auto_column_primary_key: true }] },
      },
    ],
    unique_keys: [{ name: 'thing__a_string_unique', columns: [{ column_id: 4, column_name_hint: 'a_string' }] }],
    bidirectional: [],
  })
  assert.deepEqual(own[2], {
    kind: 'column',
    name: 'a_string',
    type: 'string',
    column_id: 4,
    not_null: true,
    reverse_edit: false,
    is_hierarchical: false,
    bidirectional_reverse: false,
    check_regexp: '^[A-Z]+-\\d+$',
    check_range_lower: null,
    check_range_upper: null,
    check_range_lower_open: false,
    check_range_upper_open: false,
    check_range_not_empty: false,
    custom_settings: {},
    name_localized: {},
  })
  assert.deepEqual(own[15].custom_settings, { add: 'all' })
  assert.deepEqual(tables[2].owned_by, { other_table_id: 2, other_table_name_hint: 'thing' })
  assert.deepEqual(tables[2].unique_keys[0].columns, [
    { column_id: 19, column_name_hint: 'role' },
    { auto_column_uplink: true },
  ])
  assert.deepEqual(tables[5].bidirectional, [
    { columns: [{ auto_column_uplink: true }, { column_id: 24, column_name_hint: 'other' }] },
  ])
  const reverse = own.find((column: { kind: string }) => column.kind === 'reverse_link')
  assert.equal(reverse.other_table_name_hint, 'loan')
  assert.equal(reverse.other_column_name_hint, 'thing')
})

test('a model that other installations have exported is accepted as it is', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const file = JSON.parse(readFileSync(new URL('example-model.json', import.meta.url), 'utf8'))
  const schema = await root.post('/schema/user/HEAD', file.schema)
  assert.equal(schema.status, 200, JSON.stringify(schema.body))
  const masks = await root.post('/mask/HEAD', file.mask)
  assert.equal(masks.status, 200, JSON.stringify(masks.body))
  const l10n = await root.post('/l10n/user/HEAD', file.keys)
  assert.equal(l10n.status, 200, JSON.stringify(l10n.body))
  assert.equal((await root.post('/schema/commit')).status, 200)
  const long = await root.get('/mask/CURRENT/gallery__full', { format: 'long' })
  assert.equal(long.body.masks[0].name_localized['en-US'], 'Everything')
  assert.equal(long.body.masks[0].table_name_localized['de-DE'], 'Galerien')
  const names = long.body.masks[0].fields.map(
    (field: { full_name?: string; kind: string }) => field.full_name ?? field.kind,
  )
  assert.deepEqual(names, [
    'gallery.title',
    'splitter',
    'gallery._nested:gallery__room',
    'gallery._reverse_nested:picture:gallery',
  ])
  const room = long.body.masks[0].fields[2]
  assert.equal(room.mask.fields[0].full_name, 'gallery._nested:gallery__room.number')
  assert.equal(room.column.name_localized['en-US'], 'Rooms')
})

test('VER-002 SCHEMA-001 versions are HEAD, CURRENT and numbers; any signed-in user reads them, strangers do not', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [{ name: 'a', columns: [{ name: 'x', type: 'text' }] }])
  const reader = await userWith(svc, 'reader', {})
  for (const path of ['/schema/user', '/mask', '/l10n/user']) {
    for (const version of ['HEAD', 'CURRENT', '1'])
      assert.equal((await reader.get(`${path}/${version}`)).status, 200, path)
    const missing = await reader.get(`${path}/2`)
    assert.deepEqual(
      [missing.status, missing.body.code, missing.body.parameters],
      [400, 'DatamodelVersionNotFound', { version: 2 }],
    )
    for (const version of ['0', 'head', '-1', '1.5', 'x'])
      assert.equal((await reader.get(`${path}/${version}`)).status, 400)
    assert.equal((await svc.as(null).get(`${path}/CURRENT`)).body.code, 'UserRequired')
  }
  assert.equal((await reader.get('/schema/user/9007199254740993')).body.code, 'DatamodelVersionNotFound')

  const commits = (name: string) => commitModel(root, [{ name, columns: [{ name: 'x', type: 'text' }] }])
  const seen = async (version: string | number) => {
    const { body } = await reader.get(`/schema/user/${version}`)
    return [body.version, body.tables.map((table: { name: string }) => table.name)]
  }
  await commits('b')
  await root.post('/schema/user/HEAD', { version: 3, tables: [{ name: 'c', columns: [{ name: 'x', type: 'text' }] }] })
  assert.deepEqual(await seen(1), [1, ['a']])
  assert.deepEqual(await seen(2), [2, ['b']])
  assert.deepEqual(await seen('CURRENT'), [2, ['b']], 'the latest that is committed')
  assert.deepEqual(await seen('HEAD'), [3, ['c']], 'the working copy')
})

test('SCHEMA-003 any other format, or none, is the JSON snapshot', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [{ name: 'a', columns: [{ name: 'x', type: 'text' }] }])
  const { body: snapshot } = await root.get('/schema/user/CURRENT')
  assert.deepEqual([snapshot.version, snapshot.tables[0].name], [1, 'a'])
  for (const format of [undefined, 'xml', '', 'json', 'pdf', 'SVG']) {
    const answer = await root.get('/schema/user/CURRENT', { format })
    assert.equal(answer.status, 200)
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    assert.deepEqual(answer.body, snapshot, String(format))
  }
})

test('SCHEMA-005 RIGHTS-002 HEAD is written with system.datamodel of either level, and committed with level commit', async () => {
  await using svc = await startService()
  const developer = await userWith(svc, 'developer', { 'system.datamodel': { level: ['development'] } })
  const committer = await userWith(svc, 'committer', { 'system.datamodel': { level: ['commit'] } })
  const reader = await userWith(svc, 'reader', { 'system.objecttypemanager': {} })
  const bodies = { '/schema/user/HEAD': { version: 1, tables: [] }, '/mask/HEAD': { masks: [] }, '/l10n/user/HEAD': {} }
  for (const [path, body] of Object.entries(bodies)) {
    assert.equal((await developer.post(path, body)).status, 200, path)
    assert.equal((await committer.post(path, body)).status, 200, path)
    const refused = await reader.post(path, body)
    assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'], path)
    assert.equal(refused.body.parameters.right, 'system.datamodel[level=development]')
    assert.equal((await svc.as(null).post(path, body)).status, 401)
  }
  for (const client of [developer, reader]) {
    const refused = await client.post('/schema/commit')
    assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'])
    assert.equal(refused.body.parameters.right, 'system.datamodel[level=commit]')
  }
  assert.equal((await reader.get('/schema/user/CURRENT')).body.version, 0)
  assert.equal((await committer.post('/schema/commit')).status, 200)
  assert.equal((await reader.get('/schema/user/CURRENT')).body.version, 1)
})

test('SCHEMA-006 DM-023 what is not committed is nowhere but in HEAD; then everybody sees it', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const reader = await userWith(svc, 'reader', {})
  await root.post('/schema/user/HEAD', { version: 1, tables: [{ name: 'a', columns: [{ name: 'x', type: 'text' }] }] })
  assert.deepEqual((await reader.get('/schema/user/CURRENT')).body.tables, [])
  assert.deepEqual((await reader.get('/objecttype')).body, [])
  await root.post('/schema/commit')
  assert.equal((await reader.get('/schema/user/CURRENT')).body.tables[0].name, 'a')
  assert.equal((await reader.get('/objecttype')).body[0].objecttype.name, 'a')
})

test('a snapshot made for another version is refused', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [{ name: 'a', columns: [{ name: 'x', type: 'text' }] }])
  const stale = await root.post('/schema/user/HEAD', { version: 1, tables: [] })
  assert.deepEqual([stale.status, stale.body.code], [400, 'VersionMismatch'])
  assert.deepEqual(stale.body.parameters, { param: 'version', got: 1, expected: 2 })
  const based = await root.post('/schema/user/HEAD', { version: 2, based_on_version: 0, tables: [] })
  assert.deepEqual(based.body.parameters, { param: 'based_on_version', got: 0, expected: 1 })
  const masks = await root.post('/mask/HEAD', { version: 7, masks: [] })
  assert.deepEqual(masks.body.parameters, { param: 'version', got: 7, expected: 2 })
})

test('an editor who says what was read does not overwrite what somebody else has saved since', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const token = await root.token()
  const post = (path: string, payload: object, match: string) =>
    svc.inject({
      method: 'POST',
      url: `/api/v1${path}`,
      payload,
      headers: { authorization: `Bearer ${token}`, 'if-match': match },
    })
  for (const [path, body] of [
    ['/schema/user/HEAD', { version: 1, tables: [] }],
    ['/mask/HEAD', { masks: [] }],
    ['/l10n/user/HEAD', {}],
  ] as const) {
    const tag = String((await root.get(path)).headers.etag)
    const first = await post(path, body, tag)
    assert.equal(first.statusCode, 200)
    const second = await post(path, body, tag)
    assert.deepEqual([second.statusCode, second.json().code], [400, 'VersionMismatch'])
    assert.equal((await post(path, body, String(first.headers.etag))).statusCode, 200)
  }
})

test('saving twice changes nothing; two who save at once leave one of the two', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const first = await root.post('/schema/user/HEAD', { version: 1, tables: everyType })
  assert.deepEqual((await root.post('/schema/user/HEAD', first.body)).body, first.body)
  const tables = ['b', 'c', 'd'].map((name) => [...first.body.tables, { name, columns: [{ name: 'x', type: 'text' }] }])
  const answers = await Promise.all(tables.map((list) => root.post('/schema/user/HEAD', { version: 1, tables: list })))
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 200, 200],
  )
  const head = await root.get('/schema/user/HEAD')
  assert.ok(answers.some((answer) => JSON.stringify(answer.body.tables) === JSON.stringify(head.body.tables)))
})

test('localised names: in columns and in the table of keys they are the same; a rename keeps them', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await root.post('/schema/user/HEAD', {
    version: 1,
    tables: [{ name: 'a', columns: [{ name: 'x', type: 'text', name_localized: { 'de-DE': 'Iks' } }] }],
  })
  assert.deepEqual((await root.get('/l10n/user/HEAD')).body, { 'schema.a.column.x': { 'de-DE': 'Iks' } })
  await root.post('/l10n/user/HEAD', {
    'schema.a.column.x': { 'de-DE': 'X', 'en-US': 'X' },
    'schema.a.name': { 'en-US': 'A' },
  })
  const head = await root.get('/schema/user/HEAD')
  assert.deepEqual(head.body.tables[0].columns[0].name_localized, { 'de-DE': 'X', 'en-US': 'X' })
  const [table] = head.body.tables
  table.name = 'b'
  table.columns[0].name = 'y'
  table.columns[0].name_localized = { 'en-US': 'Y' }
  const renamed = await root.post('/schema/user/HEAD', head.body)
  assert.deepEqual(renamed.body.tables[0].columns[0].name_localized, { 'de-DE': 'X', 'en-US': 'Y' })
  const keys = (await root.get('/l10n/user/HEAD')).body
  assert.deepEqual(keys, { 'schema.b.name': { 'en-US': 'A' }, 'schema.b.column.y': { 'de-DE': 'X', 'en-US': 'Y' } })
  const emptied = await root.post('/l10n/user/HEAD', { 'schema.b.name': {} })
  assert.deepEqual(Object.keys(emptied.body), ['schema.b.column.y'])
})

test('a mask is found by name and by id; there is no other', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(
    root,
    [{ name: 'a', columns: [{ name: 'x', type: 'text' }] }],
    [{ name: 'a__m', table_name_hint: 'a', is_preferred: true, fields: [{ kind: 'field', column_name_hint: 'x' }] }],
  )
  const all = await root.get('/mask/CURRENT')
  assert.deepEqual(
    { ...all.body, masks: all.body.masks.length },
    { type: 'user', version: 1, based_on_schema_version: 1, max_mask_id: 1, masks: 1 },
  )
  assert.deepEqual((await root.get('/mask/1/a__m')).body, all.body)
  assert.deepEqual((await root.get('/mask/HEAD/1')).body.masks, all.body.masks)
  const missing = await root.get('/mask/CURRENT/nothing')
  assert.deepEqual([missing.status, missing.body.code], [404, 'ResourceNotFound'])
})

test('fields of removed columns leave the masks with them', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const tables = [
    {
      name: 'a',
      columns: [
        { name: 'x', type: 'text' },
        { name: 'y', type: 'text' },
      ],
    },
  ]
  await commitModel(root, tables, [
    {
      name: 'a__m',
      table_name_hint: 'a',
      is_preferred: true,
      fields: ['x', 'y'].map((name) => ({ kind: 'field', column_name_hint: name })),
    },
  ])
  await root.post('/schema/user/HEAD', { version: 2, tables: [{ name: 'a', columns: [{ name: 'y', type: 'text' }] }] })
  const { fields } = (await root.get('/mask/HEAD')).body.masks[0]
  assert.deepEqual(
    fields.map((field: { column_name_hint: string }) => field.column_name_hint),
    ['y'],
  )
})

test('nothing is written while the instance is read-only', async () => {
  await using writer = await startService()
  await using svc: TestService = await attachService(writer.dsn, { readOnly: true })
  const root = svc.as('root')
  for (const [path, body] of [
    ['/schema/user/HEAD', { version: 1, tables: [] }],
    ['/mask/HEAD', { masks: [] }],
    ['/l10n/user/HEAD', {}],
    ['/schema/commit', undefined],
    ['/objecttype', []],
  ] as const) {
    const answer = await root.post(path, body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'ReadOnlyMode'], path)
  }
  assert.equal((await root.get('/schema/user/HEAD')).status, 200)
})

test('the mask _all_fields of a version has each object type with all of its fields, and in the format long their columns', async () => {
  await using museum = await startMuseum()
  const root = museum.svc.as('root')
  const { status, body } = await root.get('/mask/CURRENT/_all_fields', { format: 'long' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(
    body.masks.map(({ name, table_name_hint: table }: Json) => [name, table]).sort(),
    ['loan', 'person', 'place', 'topic', 'work'].map((table) => ['_all_fields', table]),
  )
  const fieldsOf = (mask: Json): string[] => mask.fields.map((field: Json) => `${field.kind} ${field.full_name}`)
  const work = body.masks.find(({ table_name_hint: table }: Json) => table === 'work')
  const title = work.fields.find(({ column }: Json) => column.name === 'title')
  assert.deepEqual([title.kind, title.column.type, title.column.custom_settings], ['field', 'text_l10n_oneline', {}])
  const all = fieldsOf(work)
  for (const one of [
    'field work.title',
    'link work.creator',
    'linked-table work._nested:work__material',
    'reverse-linked-table work._reverse_nested:loan:work',
  ]) {
    assert.ok(all.includes(one), `${one} in ${all.join(', ')}`)
  }
  const material = work.fields.find(({ full_name: name }: Json) => name === 'work._nested:work__material')
  assert.ok(fieldsOf(material.mask).length > 2 || material.mask.fields.length > 2)
  // What stands behind it does not lead back.
  const loan = work.fields.find(({ full_name: name }: Json) => name === 'work._reverse_nested:loan:work')
  assert.deepEqual(
    loan.mask.fields.map(({ column_name_hint: name }: Json) => name),
    ['borrower', 'due'],
  )
  const plain = (await root.get('/mask/HEAD/_all_fields')).body
  assert.equal(plain.masks.length, 5)
  assert.equal(plain.masks[0].fields[0].column, undefined)
  // What it shows can be sent as a mask of one's own.
  const { body: head } = await root.get('/mask/HEAD')
  const own = { ...plain.masks.find(({ table_name_hint: table }: Json) => table === 'work'), name: 'work__everything' }
  const saved = await root.post('/mask/HEAD', { ...head, masks: [...head.masks, own] })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
})

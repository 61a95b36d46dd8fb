import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json, Query } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/**
 * Whatever names a thing that the caller may not know of is answered like the name of nothing. Each line of the tables
 * below is sent twice, once with the name of something hidden and once with a name that nothing has; both answers must
 * be equal to the letter, but for the name itself. The curator owns what it makes and sees nothing else, but for works
 * of the gallery by their title; all else is root's.
 */
let museum: Museum
let root: Client
let curator: Client
let vault: Json
let gallery: Json
/** Objects of root by type; of the works one lies in the vault, and `shown` in the gallery. */
const hidden: Record<string, Json> = {}
const own: Record<string, Json> = {}
let transition: number

before(async () => {
  museum = await startMuseum()
  root = museum.svc.as('root')
  const [{ user }] = await ok(
    root.post('user', [{ user: { login: 'curator' }, _password: 'curator' }], {
      confirm: 'ignore_password_requirements',
    }),
  )
  curator = museum.svc.as('curator')
  const me = toUser(user._id)
  const all = 'read write create delete link unlink acl change_owner mask'
  const ownOnly = { who: { _owner: true }, rights: rightsOf(all) }
  const types = (await root.get('objecttype')).body
  await ok(
    root.post(
      'objecttype',
      types
        .filter((entry: Json) => ['person', 'place', 'topic', 'loan'].includes(entry.objecttype.name))
        .map(({ objecttype: { _id, _version } }: Json) => ({
          _basetype: 'objecttype',
          objecttype: { _id, _version: _version + 1 },
          _acl: [ownOnly],
        })),
    ),
  )
  const workType = types.find((entry: Json) => entry.objecttype.name === 'work').objecttype._id
  const masks = (await root.get('mask/CURRENT')).body.masks
  const titleOnly = masks.find((mask: Json) => mask.name === 'work__title_only').mask_id
  const [standard] = (await root.get('pool')).body.filter((entry: Json) => entry.pool._id === museum.pool)
  await ok(
    root.post('pool', [
      { pool: { _id: standard.pool._id, _version: standard.pool._version }, _acl: [wireGrant(me, all)] },
    ]),
  )
  const pools = await ok(
    root.post('pool', [
      { pool: { _id_parent: 1, name: { 'en-US': 'Vault' }, reference: 'vault' } },
      {
        pool: { _id_parent: 1, name: { 'en-US': 'Gallery' }, reference: 'gallery' },
        _acl: [{ who: me, rights: { read: { mask_ids: { [workType]: [titleOnly] } }, write: {} } }],
      },
    ]),
  )
  ;[vault, gallery] = pools.map((entry: Json) => entry.pool)
  transition = (await ok(root.post('transitions', [{ type: 'process', trigger: 'manual', actions: [] }])))[0]._id
  for (const [owner, client] of [
    [hidden, root],
    [own, curator],
  ] as const) {
    const tag = client === root ? 'H' : 'O'
    const add = async (type: string, block: object) => {
      const ids = client === root ? { _id: newId() } : {}
      owner[type] = (await save(client, type, [object(type, { ...ids, ...block }, hiddenIds(client))]))[0]
    }
    await add('person', { name: `Person ${tag}`, reference: `person-${tag}` })
    await add('place', { name: { 'en-US': `Place ${tag}` }, code: `place-${tag}` })
    await add('topic', { name: `Topic ${tag}` })
    await add('work', {
      ...inPool(client === root ? vault._id : museum.pool),
      title: { 'en-US': `Work ${tag}` },
      inventory: `${tag}1`,
      note: `note ${tag}`,
    })
    await add('loan', { borrower: `Borrower ${tag}`, work: link('work', owner.work._system_object_id) })
  }
  const shown = work({ ...inPool(gallery._id), title: { 'en-US': 'Shown' }, inventory: 'S1', note: 'secret' })
  hidden.shown = (await save(root, 'work', [shown]))[0]
  const trash = object('work', { _id: newId(), ...inPool(vault._id), inventory: 'T1' }, hiddenIds(root))
  const [trashed] = await save(root, 'work', [trash])
  await ok(root.delete('db/work', [[trashed.work._id, 1, null]], { delete_policy: 'remove' }))
  hidden.trashed = trashed
})
after(() => museum[Symbol.asyncDispose]())

async function ok(answer: Promise<Answer>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const save = (client: Client, type: string, body: object[], query: Query = {}) =>
  ok(client.post(`db/${type}`, body, query))
const rightsOf = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, {}]))
const work = (block: object): object => payload('work', block, { _mask: 'work__standard' })
const object = (type: string, block: object, rest: object = {}) =>
  payload(type, block, { _mask: `${type}__standard`, ...rest })
const nobody = 800_000_001
let nextId = 700_000_001
/** Apart from the numbers that the service draws after it. */
const newId = () => (nextId += 1000)
const hiddenIds = (client: Client) => (client === root ? { _system_object_id: newId() } : {})

/** Ways to name an object, each with the name of the given one and the name of nothing. */
type Name = readonly [given: object, nothing: object]
const names = (type: string, it: Json): Record<string, Name> => ({
  _system_object_id: [{ _system_object_id: it._system_object_id }, { _system_object_id: nobody }],
  _uuid: [{ _uuid: it._uuid }, { _uuid: 'nobody-nobody' }],
  _global_object_id: [{ _global_object_id: it._global_object_id }, { _global_object_id: `${nobody}@test` }],
  _id: [{ [type]: { _id: it[type]._id } }, { [type]: { _id: nobody } }],
  'lookup:_id by _id': [
    { [type]: { 'lookup:_id': { _id: it[type]._id } } },
    { [type]: { 'lookup:_id': { _id: nobody } } },
  ],
  'lookup:_id by _uuid': [
    { [type]: { 'lookup:_id': { _uuid: it._uuid } } },
    { [type]: { 'lookup:_id': { _uuid: 'nobody-nobody' } } },
  ],
})

const values = (type: string, column: string, value: string): Name => [
  { [type]: { 'lookup:_id': { [column]: value } } },
  { [type]: { 'lookup:_id': { [column]: 'Nobody1' } } },
]

/** The answer without what belongs to the request: its id, and the names that it was sent with. */
function told({ status, body }: Answer, name: object): string {
  let text = JSON.stringify({ status, body: { ...body, request_id: undefined, list: Array.isArray(body) ? body : [] } })
  const leaves = (value: unknown): unknown[] =>
    typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(leaves)
      : [value, ...(/^\d+@/.test(`${value}`) ? [Number.parseInt(`${value}`, 10)] : [])]
  for (const leaf of leaves(name)) {
    // Numbers of hidden things are long ones (see `before`), so that nothing else is taken for them.
    text = text.replaceAll(typeof leaf === 'number' ? `${leaf}` : JSON.stringify(leaf).slice(1, -1), 'NAME')
  }
  return text
}

async function same(what: string, [given, nothing]: Name, send: (name: Json) => Promise<Answer>): Promise<void> {
  const [first, second] = [await send(given), await send(nothing)]
  assert.ok(first.status < 500, JSON.stringify(first.body))
  assert.equal(told(first, given), told(second, nothing), what)
}

describe('names of what is hidden are names of nothing', () => {
  test('in every place for a link, by every name', async () => {
    const person: Record<string, Name> = {
      ...names('person', hidden.person),
      'lookup:_id by unique key': values('person', 'reference', 'person-H'),
      'lookup:_id by a value': values('person', 'name', 'Person H'),
    }
    const places: Record<string, (name: object) => object> = {
      link: (name) => work({ ...inPool(museum.pool), creator: name }),
      'link in two levels of rows': (name) =>
        work({
          ...inPool(museum.pool),
          '_nested:work__material': [{ '_nested:work__material__supplier': [{ person: name }] }],
        }),
      'link of an object that exists': (name) => work({ _id: own.work.work._id, _version: 1, creator: name }),
    }
    for (const [how, name] of Object.entries(person)) {
      for (const [where, body] of Object.entries(places)) {
        await same(`${where}, ${how}`, name, (target) => curator.post('db/work', [body(target)]))
      }
      const pair = (target: object) =>
        object('person', { name: 'x', '_nested:person__influence': [{ person: target }] })
      await same(`bidirectional, ${how}`, name, (target) => curator.post('db/person', [pair(target)]))
      const skip = { skip_bidirectional_update: 1 }
      await same(`bidirectional alone, ${how}`, name, (target) => curator.post('db/person', [pair(target)], skip))
    }
    for (const [how, name] of Object.entries(names('topic', hidden.topic))) {
      const below = (target: object) => object('topic', { name: 'x', _parents: [target] })
      await same(`parents, ${how}`, name, (target) => curator.post('db/topic', [below(target)]))
    }
    const parents: readonly [string, Name][] = [
      ['_id_parent', [{ _id_parent: hidden.place.place._id }, { _id_parent: nobody }]],
      ['lookup by key', [{ 'lookup:_id_parent': { code: 'place-H' } }, { 'lookup:_id_parent': { code: 'none' } }]],
      [
        'lookup by id',
        [{ 'lookup:_id_parent': { _uuid: hidden.place._uuid } }, { 'lookup:_id_parent': { _uuid: 'nobody-nobody' } }],
      ],
    ]
    for (const [how, name] of parents) {
      await same(`parent, ${how}`, name, (parent) => curator.post('db/place', [object('place', parent)]))
      const moved = (parent: object) => object('place', { _id: own.place.place._id, _version: 1, ...parent })
      await same(`moved, ${how}`, name, (parent) => curator.post('db/place', [moved(parent)]))
    }
    await save(curator, 'work', [
      work({ ...inPool(museum.pool), creator: link('person', own.person._system_object_id) }),
    ])
  })

  test('for what is to be saved, deleted, restored, run or read', async () => {
    for (const [thing, it] of [
      ['hidden', hidden.work],
      ['in the trash', hidden.trashed],
    ] as const) {
      const lookups: Record<string, Name> = { 'unique key': values('work', 'inventory', it.work.inventory) }
      for (const version of [1, 2, 3]) {
        for (const [how, name] of Object.entries({ ...names('work', it), ...lookups })) {
          // With version 1 a name that nobody has is the id of a new object.
          if (version === 1 && !how.includes('lookup') && how !== 'unique key') continue
          const update = (target: Json) => ({
            ...target,
            _objecttype: 'work',
            _mask: 'work__standard',
            work: { ...target.work, _version: version },
          })
          await same(`${thing}, ${how}, version ${version}`, name, (target) =>
            curator.post('db/work', [update(target)]),
          )
        }
        for (const policy of [undefined, 'setnull', 'remove', 'undelete', 'purge']) {
          for (const dry of [0, 1]) {
            const query = { delete_policy: policy, ...(dry ? { dry_run: 1 } : {}) }
            await same(`${thing}, ${policy}`, [{ id: it.work._id }, { id: nobody }], ({ id }) =>
              curator.delete('db/work', [[id, version, null]], query),
            )
          }
        }
      }
      await same(`${thing}, run`, [{ id: it._system_object_id }, { id: nobody }], ({ id }) =>
        curator.post(`transitions/${transition}/run`, [{ _system_object_id: id }]),
      )
      await same(`${thing}, run a version`, [{ id: it._system_object_id }, { id: nobody }], ({ id }) =>
        curator.post(`transitions/${transition}/run`, [{ _system_object_id: id, _version: 7 }]),
      )
      for (const query of [{}, { version: 1 }, { all_versions: 1 }, { format: 'short' }]) {
        for (const mask of ['work__standard', '_all_fields', 'work__title_only']) {
          const read = (path: string) => curator.get(`db/work/${mask}/${path}`, query)
          await same('read', [{ id: it.work._id }, { id: nobody }], ({ id }) => read(String(id)))
          await same('read', [{ id: it._system_object_id }, { id: nobody }], ({ id }) => read(`system_object_id/${id}`))
          const global = [{ id: it._global_object_id }, { id: `${nobody}@test` }] as const
          await same('read', global, ({ id }) => read(`global_object_id/${id}`))
        }
      }
    }
    const loan = (id: number) => ({ borrower: 'x', _id: id, _version: 1 })
    const nested = (id: number) =>
      work({
        _id: own.work.work._id,
        _version: 1,
        '_reverse_nested:loan:work': [object('loan', { ...loan(id), _version: 2 })],
      })
    await same('reverse-nested', [{ id: hidden.loan.loan._id }, { id: nobody }], ({ id }) =>
      curator.post('db/work', [nested(id)]),
    )
  })

  test('a path has the ids of what stands above, and of what may not be read nothing else', async () => {
    const [mine] = await save(curator, 'place', [object('place', { name: { 'en-US': 'Below' }, code: 'below' })])
    const { _id } = mine.place
    await save(root, 'place', [
      object('place', {
        _id,
        _version: 1,
        name: { 'en-US': 'Below' },
        code: 'below',
        _id_parent: hidden.place.place._id,
      }),
    ])
    const { body } = await curator.get(`db/place/place__standard/${_id}`, { format: 'long' })
    const [above, itself] = body[0]._path
    assert.deepEqual(above, {
      _objecttype: 'place',
      _system_object_id: hidden.place._system_object_id,
      _global_object_id: hidden.place._global_object_id,
      _not_allowed: true,
    })
    assert.equal(itself._system_object_id, mine._system_object_id)
    assert.equal(JSON.stringify(body).includes('Place H'), false)
  })

  test('the history of an object is searched by those only who may use a mask on it', async () => {
    const types = (await root.get('objecttype')).body
    const workType = types.find((entry: Json) => entry.objecttype.name === 'work').objecttype._id
    const curatorId = (await root.get('user')).body.find((entry: Json) => entry.user.login === 'curator').user._id
    const [{ pool: cellar }] = await ok(
      root.post('pool', [
        {
          pool: { _id_parent: 1, name: { 'en-US': 'Cellar' } },
          _acl: [{ who: toUser(curatorId), rights: { read: { mask_ids: { [workType]: [] } } } }],
        },
      ]),
    )
    const [stored] = await save(root, 'work', [
      object('work', { ...inPool(cellar._id), inventory: 'C1' }, { _comment: 'from the flood' }),
    ])
    await museum.svc.drain()
    const found = async (client: Client) => {
      const search = [{ type: 'changelog_range', operation: 'INSERT', comment: 'flood' }]
      const { body } = await client.post('search', { objecttypes: ['work'], search })
      return body.objects.map((hit: Json) => hit._system_object_id)
    }
    const all = await curator.post('search', { objecttypes: ['work'], search: [] })
    assert.ok(all.body.objects.some((hit: Json) => hit._system_object_id === stored._system_object_id))
    assert.deepEqual(await found(root), [stored._system_object_id])
    assert.deepEqual(await found(curator), [])
  })

  test('for pools', async () => {
    const ways: readonly Name[] = [
      [{ pool: { _id: vault._id } }, { pool: { _id: 90 } }],
      [{ pool: { 'lookup:_id': { reference: 'vault' } } }, { pool: { 'lookup:_id': { reference: 'none' } } }],
    ]
    for (const name of ways) {
      await same('create', name, (pool) => curator.post('db/work', [work({ _pool: pool })]))
      const moved = (pool: object) => work({ _id: own.work.work._id, _version: 1, _pool: pool })
      await same('move', name, (pool) => curator.post('db/work', [moved(pool)]))
    }
  })

  test('a look-up finds only by fields of masks that the caller may use on the object', async () => {
    const lend = (client: Client, lookup: object) =>
      client.post('db/loan', [object('loan', { borrower: 'x', work: { work: { 'lookup:_id': lookup } } })])
    for (const lookup of [{ inventory: 'S1' }, { note: 'secret' }]) {
      await ok(lend(root, lookup))
      const [column = ''] = Object.keys(lookup)
      await same('masked', [lookup, { [column]: 'Nobody1' }], (target) => lend(curator, target))
      await same('masked, as identity', [lookup, { [column]: 'Nobody1' }], (target) =>
        curator.post('db/work', [work({ 'lookup:_id': target, _version: 1 })]),
      )
    }
    // Nor does what is hidden make ambiguous what is found.
    const twin = work({ ...inPool(museum.pool), note: 'twin' })
    const mine = (await save(curator, 'work', [twin]))[0]
    const others = Array.from({ length: 5 }, () => work({ ...inPool(vault._id), note: 'twin' }))
    await save(root, 'work', others)
    const [found] = await ok(lend(curator, { note: 'twin' }))
    assert.equal(found.loan.work._system_object_id, mine._system_object_id)
    assert.equal((await lend(root, { note: 'twin' })).body.code, 'LookupFoundTooMany')
    await save(curator, 'work', [twin])
    const { body } = await lend(curator, { note: 'twin' })
    assert.deepEqual([body.code, body.parameters.found], ['LookupFoundTooMany', undefined])
  })

  test('a taken key or id says nothing of who has it, seen or not', async () => {
    const inventory = (value: string) => curator.post('db/work', [work({ ...inPool(museum.pool), inventory: value })])
    await same('unique key', [{ v: 'H1' }, { v: 'O1' }], ({ v }) => inventory(v))
    const [kept] = await save(curator, 'work', [work({ ...inPool(museum.pool), inventory: 'K1' })])
    const { body } = await inventory('K1')
    assert.equal(body.code, 'DatabaseUniqueKeyViolation')
    assert.deepEqual(body.parameters, {
      name: '0',
      objecttype: 'work',
      key: 'work__inventory_unique',
      values: { inventory: 'K1' },
    })
    await ok(curator.delete('db/work', [[kept.work._id, 1, null]], { delete_policy: 'remove' }))
    await ok(root.delete('db/work', [[kept.work._id, 2, null]], { delete_policy: 'purge' }))
    const claim = (name: object) => curator.post('db/work', [{ ...work(inPool(museum.pool)), ...name }])
    for (const id of [hidden.work, hidden.trashed, kept].map((it) => it._system_object_id)) {
      await same('id', [{ _system_object_id: id }, { _system_object_id: own.work._system_object_id }], claim)
    }
    for (const uuid of [hidden.work, hidden.trashed, kept].map((it) => it._uuid)) {
      await same('uuid', [{ _uuid: uuid }, { _uuid: own.work._uuid }], claim)
    }
  })
})

describe('objects that were not sent change only by those who may change them', () => {
  /** Everybody's persons may be read by the visitor, who writes its own; to the curator those of others are hidden. */
  let visitor: Client
  let visitorId: number

  before(async () => {
    const [{ user }] = await ok(
      root.post('user', [{ user: { login: 'visitor' }, _password: 'visitor' }], {
        confirm: 'ignore_password_requirements',
      }),
    )
    visitorId = user._id
    visitor = museum.svc.as('visitor')
    const types = (await root.get('objecttype')).body
    const { _acl, objecttype } = types.find((entry: Json) => entry.objecttype.name === 'person')
    const { _id, _version } = objecttype
    await ok(
      root.post('objecttype', [
        {
          _basetype: 'objecttype',
          objecttype: { _id, _version: _version + 1 },
          _acl: [..._acl, wireGrant(toUser(visitorId), 'read')],
        },
      ]),
    )
  })

  const influence = (id: number, more: object = {}) => ({ person: link('person', id), ...more })
  const person = (block: object, influences: object[]) =>
    object('person', { name: 'A', ...block, '_nested:person__influence': influences })
  const read = async (it: Json): Promise<Json> =>
    (await ok(root.get(`db/person/person__standard/${it.person._id}`, { format: 'standard' })))[0]
  const rows = (it: Json): Json[] => it.person['_nested:person__influence']

  /** A person of the client, and one of root that is linked with it. */
  async function pair(client: Client): Promise<{ mine: Json; theirs: Json }> {
    const [mine] = await save(client, 'person', [person({}, [])])
    const [theirs] = await save(root, 'person', [person({}, [influence(mine._system_object_id, { note: 'n' })])])
    return { mine: await read(mine), theirs }
  }

  const refusal = async (answer: Promise<Answer>, right: string): Promise<Json> => {
    const { status, body } = await answer
    assert.deepEqual([status, body.code, body.parameters.right], [403, 'ObjectInsufficientRights', right])
    return body
  }

  for (const who of ['curator', 'visitor'] as const) {
    test(`the opposite side of bidirectional links: ${who}`, async () => {
      const client = who === 'curator' ? curator : visitor
      const { mine, theirs } = await pair(client)
      const { _id, _version } = mine.person
      const ways: Record<string, object[]> = {
        'taken away': [],
        'changed in a row': [{ ...rows(mine)[0], note: 'other' }],
        'a second row': [...rows(mine), influence(theirs._system_object_id)],
      }
      const before_ = await read(theirs)
      for (const [way, list] of Object.entries(ways)) {
        // A row that is new is a new place for the link, which takes the right to read.
        const right = way === 'a second row' && who === 'curator' ? 'read' : 'write'
        const body = await refusal(client.post('db/person', [person({ _id, _version }, list)]), right)
        assert.equal(body.parameters._system_object_id, who === 'visitor' ? theirs._system_object_id : undefined, way)
        assert.equal(JSON.stringify(body).includes(`${theirs._system_object_id}`), who === 'visitor')
        assert.deepEqual(await read(theirs), before_, way)
        assert.deepEqual(await read(mine), mine, way)
      }
      // A new link to somebody else's object: what may be read must be writable as well.
      const [lone] = await save(root, 'person', [person({ name: 'Lone' }, [])])
      const fresh = person({}, [influence(lone._system_object_id)])
      await refusal(client.post('db/person', [fresh]), who === 'visitor' ? 'write' : 'read')
      assert.equal((await read(lone)).person._version, 1)
      // The link is kept as it is; or the opposite side is left alone.
      const kept = (await save(client, 'person', [person({ _id, _version }, rows(mine))]))[0]
      assert.equal((await read(theirs)).person._version, 1)
      const alone = { skip_bidirectional_update: 1 }
      await save(client, 'person', [person({ _id, _version: kept.person._version }, [])], alone)
      const after_ = await read(theirs)
      assert.deepEqual([after_.person._version, rows(after_).length], [1, 1])
    })

    test(`what a deletion takes along or clears: ${who}`, async () => {
      const client = who === 'curator' ? curator : visitor
      const { mine, theirs } = await pair(client)
      const [work_] = await save(root, 'work', [
        work({ ...inPool(vault._id), creator: link('person', mine._system_object_id) }),
      ])
      const untouched = await read(theirs)
      const triple = [[mine.person._id, mine.person._version, null]]
      const { body: choice } = await client.delete('db/person', triple)
      const told_ = JSON.stringify(choice)
      assert.match(told_, /; 0 other objects link to them/)
      assert.doesNotMatch(told_, /[1-9] other|\([1-9]/)
      for (const policy of ['setnull', 'remove']) {
        const { status, body } = await client.delete('db/person', triple, { delete_policy: policy })
        assert.deepEqual([policy, status, body.code], [policy, 403, 'ObjectInsufficientRights'])
        assert.equal(JSON.stringify(body).includes(`${work_._system_object_id}`), false)
      }
      assert.deepEqual(await read(theirs), untouched)
    })
  }

  test('an object that links through a field outside the masks of the caller is not known to link', async () => {
    const linkedFrom = async (poolId: number) => {
      const [mine] = await save(curator, 'person', [object('person', { name: 'Linked' })])
      const linker = work({ ...inPool(poolId), creator: link('person', mine._system_object_id) })
      const [{ _system_object_id }] = await save(root, 'work', [linker])
      return { triple: [[mine.person._id, mine.person._version, null]], linker: _system_object_id }
    }
    const unseen = await linkedFrom(vault._id)
    const masked = await linkedFrom(gallery._id)
    const choices = await Promise.all([unseen, masked].map(({ triple }) => curator.delete('db/person', triple)))
    assert.deepEqual(choices[1]?.body.tasks, choices[0]?.body.tasks)
    assert.match(choices[1]?.body.tasks[0].message, /; 0 other objects link to them/)
    const refused = await Promise.all(
      [unseen, masked].map(({ triple }) => curator.delete('db/person', triple, { delete_policy: 'remove' })),
    )
    for (const { status, body } of refused) {
      assert.deepEqual([status, body.code, body.parameters], [403, 'ObjectInsufficientRights', { right: 'delete' }])
    }
    assert.equal(refused[1]?.body.message, refused[0]?.body.message)
    // The title is in the mask, so the object itself is known.
    assert.equal((await curator.get(`db/work/work__title_only/system_object_id/${masked.linker}`)).body.length, 1)
  })

  test('reverse-nested objects that go take nothing along that the caller may not change', async () => {
    const [mine] = await save(curator, 'work', [
      work({ ...inPool(museum.pool), '_reverse_nested:loan:work': [object('loan', { borrower: 'x' })] }),
    ])
    // Somebody else's loan below it is not shown to the curator, so that it is not sent back says nothing.
    const [others] = await save(root, 'loan', [
      object('loan', { borrower: 'hidden', work: link('work', mine._system_object_id) }),
    ])
    const { _id, _version } = mine.work
    await save(curator, 'work', [work({ _id, _version, '_reverse_nested:loan:work': [] })])
    const left = await ok(root.get('db/loan/loan__standard/list'))
    assert.ok(left.some((entry: Json) => entry._system_object_id === others._system_object_id))
    const { status, body } = await curator.delete('db/work', [[_id, _version + 1, null]], { delete_policy: 'remove' })
    assert.deepEqual([status, body.parameters], [403, { right: 'delete' }])
  })

  test('no version of an object was written by somebody who may not write it', async () => {
    const { rows: foreign } = await museum.svc.db.query(
      `select v.system_object_id, v.version from object_version v
       join object_version first on first.system_object_id = v.system_object_id and first.version = 1
       where v.by_user <> first.by_user and v.by_user in (select id from "user" where login in ('curator', 'visitor'))`,
    )
    assert.deepEqual(foreign, [])
  })
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/**
 * Four callers: root; an editor with grants on the standard pool and on the object types without pool; a reader with
 * the read right there; a stranger with nothing.
 */
let museum: Museum
const users = new Map<string, number>()
/** A pool that only root sees. */
let vault: number

before(async () => {
  museum = await startMuseum()
  const answer = await root().post(
    '/user',
    ['editor', 'reader', 'stranger'].map((login) => ({ _basetype: 'user', user: { login }, _password: login })),
    { confirm: 'ignore_password_requirements' },
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  for (const { user } of answer.body) users.set(user.login, user._id)
  // The users know each other, so that they can be named in grants and as owners.
  const everybody = answer.body.map(({ user }: Json) => ({ who: who(user.login), rights: { bag_read: {} } }))
  await saved(
    '/user',
    answer.body.map(({ user }: Json) => ({ user: { _id: user._id, _version: user._version }, _acl: everybody })),
  )
  const pools = await root().get('/pool')
  const standard = pools.body.find((entry: Json) => entry.pool._id === museum.pool)
  const rootPool = pools.body.find((entry: Json) => entry.pool.reference === 'system:root')
  await saved('/pool', [
    { _basetype: 'pool', pool: { _id: standard.pool._id, _version: standard.pool._version }, _acl: grants() },
  ])
  const created = await saved('/pool', [
    { _basetype: 'pool', pool: { name: { 'en-US': 'Vault' }, _id_parent: rootPool.pool._id }, _private_acl: true },
  ])
  vault = created[0].pool._id
  const types = (await root().get('/objecttype')).body
  await saved(
    '/objecttype',
    types
      .filter((entry: Json) => ['person', 'place', 'topic', 'loan'].includes(entry.objecttype.name))
      .map((entry: Json) => ({
        _basetype: 'objecttype',
        objecttype: { _id: entry.objecttype._id, _version: entry.objecttype._version + 1 },
        _acl: grants(),
      })),
  )
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')
const as = (login: string) => museum.svc.as(login)

async function saved(path: string, body: unknown, client = root()): Promise<Json> {
  const answer = await client.post(path, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const who = (login: string) => ({ _basetype: 'user', user: { _id: users.get(login) } })
const rights = (...names: string[]) => Object.fromEntries(names.map((name) => [name, {}]))

function grants(): object[] {
  return [
    {
      who: who('editor'),
      rights: rights('read', 'write', 'create', 'delete', 'link', 'acl', 'change_owner', 'mask'),
    },
    { who: who('reader'), rights: rights('read') },
  ]
}

const work = (block: object, rest: object = {}) => ({
  _objecttype: 'work',
  _mask: 'work__standard',
  ...rest,
  work: { ...inPool(museum.pool), ...block },
})

/** What a caller may not know of is not there. */
async function absent(request: Promise<{ status: number; body: Json }>, status: number, code?: string): Promise<void> {
  const answer = await request
  assert.equal(answer.status, status, JSON.stringify(answer.body))
  if (code === undefined) assert.deepEqual(answer.body, [])
  else assert.equal(answer.body.code, code)
}

async function denied(request: Promise<{ status: number; body: Json }>, right: string): Promise<void> {
  const { status, body } = await request
  assert.deepEqual(
    [status, body.code, body.parameters?.right],
    [403, 'ObjectInsufficientRights', right],
    JSON.stringify(body),
  )
}

test('an editor saves, a reader reads, a stranger does neither', async () => {
  const [created] = await saved('/db/work', [work({ title: { 'en-US': 'Shared' } })], as('editor'))
  const path = `/db/work/work__standard/${created.work._id}`
  assert.equal((await as('reader').get(path)).body.length, 1)
  await absent(as('stranger').get(path), 200)
  await absent(as('stranger').post('/db/work', [work({})]), 400, 'PoolNotFound')
  await denied(as('reader').post('/db/work', [work({})]), 'create')
  await denied(as('reader').post('/db/work', [work({ _id: created.work._id, _version: 1 })]), 'write')
  await denied(as('reader').delete('/db/work', [[created.work._id, 1, null]], { delete_policy: 'setnull' }), 'delete')
  const away = { _pool: { pool: { _id: vault } } }
  await absent(as('editor').post('/db/work', [work(away)]), 400, 'PoolNotFound')
  const moved = work({ _id: created.work._id, _version: 1, ...away })
  await absent(as('editor').post('/db/work', [moved]), 400, 'PoolNotFound')
})

test('RIGHTS-001 who has system.root passes every check of rights, without any grant', async () => {
  const [{ user }] = await saved('/user', [
    { user: { login: 'mighty' }, _password: 'mighty', _system_rights: { 'system.root': {} } },
  ])
  const mighty = as('mighty')
  const [hidden] = await saved('/db/work', [work({ _pool: { pool: { _id: vault } }, title: { 'en-US': 'Hidden' } })])
  const path = `/db/work/_all_fields/${hidden.work._id}`
  await absent(as('stranger').get(path.replace('_all_fields', 'work__standard')), 200)
  const { body } = await mighty.get(path, { format: 'full' })
  for (const right of ['read', 'write', 'create', 'delete', 'link', 'unlink', 'acl', 'change_owner']) {
    assert.ok(right in body[0]._generated_rights, right)
  }
  await museum.svc.drain()
  const found = await mighty.post('/search', { objecttypes: ['work'], search: [], limit: 0 })
  const all = await root().post('/search', { objecttypes: ['work'], search: [], limit: 0 })
  assert.equal(found.body.count, all.body.count)
  const { _pool, ...block } = body[0].work
  const changed = {
    _objecttype: 'work',
    _mask: '_all_fields',
    work: { ...block, ...inPool(museum.pool), note: 'moved' },
  }
  const [moved] = await saved(
    '/db/work',
    [{ ...changed, _owner: { _basetype: 'user', user: { _id: user._id } } }],
    mighty,
  )
  assert.equal(moved._owner.user._id, user._id)
  const gone = await mighty.delete('/db/work', [[hidden.work._id, 2, null]], { delete_policy: 'remove' })
  assert.equal(gone.status, 200, JSON.stringify(gone.body))
  const { body: config } = await mighty.get('/config')
  for (const [method, address, sent] of [
    ['get', '/event/list', undefined],
    ['delete', '/event/list', undefined],
    ['post', '/group', [{ group: { comment: 'x' } }]],
    ['post', '/user', [{ user: { login: 'made' }, _system_rights: { 'system.root': {} } }]],
    ['post', '/config', { system: { config: { name: config.system.config.name } } }],
    ['post', '/objecttype', []],
    ['post', '/pool', [{ pool: { _id_parent: vault } }]],
    ['post', '/tags', []],
    ['post', '/transitions', []],
    ['post', '/schema/user/HEAD', (await mighty.get('/schema/user/HEAD')).body],
    ['post', '/schema/commit', undefined],
    ['get', '/system/status', undefined],
    ['get', '/message', undefined],
    ['post', '/message', []],
    ['post', '/right/object/presets', []],
  ] as const) {
    const { status, body: answered } =
      method === 'post' ? await mighty.post(address, sent) : await mighty[method](address)
    assert.equal(status, 200, `${method} ${address} ${JSON.stringify(answered)}`)
    const refused = method === 'post' ? await as('stranger').post(address, sent) : await as('stranger')[method](address)
    assert.ok(refused.status >= 400, `${method} ${address}: a stranger may not`)
  }
})

test('the mask _all_fields is for root', async () => {
  await denied(as('editor').post('/db/work', [work({}, { _mask: '_all_fields' })]), 'mask')
})

test('ERR-020 linking a target anew needs the right to read it', async () => {
  const [secret] = await saved('/db/work', [work({ _pool: { pool: { _id: vault } }, title: { 'en-US': 'Secret' } })])
  const loan = {
    _objecttype: 'loan',
    _mask: 'loan__standard',
    loan: { borrower: 'x', work: link('work', secret._system_object_id) },
  }
  await denied(as('editor').post('/db/loan', [loan]), 'read')
  await saved('/db/loan', [loan])
})

test('a target sent back where it was is exempt; at another location it is checked again', async () => {
  const types = (await root().get('/objecttype')).body
  const person = types.find((entry: Json) => entry.objecttype.name === 'person')
  const [one, two] = await saved('/db/person', [
    payload('person', { name: 'Hidden One' }),
    payload('person', { name: 'Hidden Two' }),
  ])
  const row = (uuid: string) => ({
    _uuid: uuid,
    name: `m-${uuid}`,
    '_nested:work__material__supplier': [{ _uuid: `s-${uuid}`, person: link('person', one._system_object_id) }],
  })
  const [created] = await saved('/db/work', [
    work({ creator: link('person', one._system_object_id), '_nested:work__material': [row('r1')] }),
  ])
  const setPersonGrants = (acl: object[]) =>
    root()
      .get(`/objecttype/${person.objecttype._id}`)
      .then(({ body: [now] }) =>
        saved('/objecttype', [
          {
            _basetype: 'objecttype',
            objecttype: { _id: person.objecttype._id, _version: now.objecttype._version + 1 },
            _acl: acl,
          },
        ]),
      )
  await setPersonGrants([])
  try {
    const id = created.work._id
    const same = {
      _id: id,
      _version: 1,
      creator: link('person', one._system_object_id),
      '_nested:work__material': [row('r1')],
    }
    await saved('/db/work', [work(same)], as('editor'))
    await denied(
      as('editor').post('/db/work', [work({ ...same, _version: 2, creator: link('person', two._system_object_id) })]),
      'read',
    )
    const moved = {
      ...same,
      _version: 2,
      '_nested:work__material': [
        { name: 'other', '_nested:work__material__supplier': [{ person: link('person', one._system_object_id) }] },
      ],
    }
    await denied(as('editor').post('/db/work', [work(moved)]), 'read')
    const dropped = { ...same, _version: 2, creator: null }
    await saved('/db/work', [work(dropped)], as('editor'))
    await denied(as('editor').post('/db/work', [work({ ...same, _version: 3 })]), 'read')
  } finally {
    await setPersonGrants(grants())
  }
})

test('grants on a single object open it to a stranger', async () => {
  const acl = [{ who: who('stranger'), rights: rights('read') }]
  const [created] = await saved('/db/work', [work({ title: { 'en-US': 'For one' } }, { _acl: acl })], as('editor'))
  const path = `/db/work/work__standard/${created.work._id}`
  assert.equal((await as('stranger').get(path)).body[0].work._id, created.work._id)
  await denied(as('stranger').post('/db/work', [work({ _id: created.work._id, _version: 1 })]), 'write')
  const unknown = await root().post('/db/work', [
    work({}, { _acl: [{ who: who('reader'), rights: { nonsense: {} } }] }),
  ])
  assert.deepEqual([unknown.status, unknown.body.code], [400, 'UnknownRight'])
})

test('DB-008 a save that takes the own access away, by grants or by the owner, asks first', async () => {
  const path = (object: Json) => `/db/work/work__standard/${object.work._id}`
  const all = rights('read', 'write', 'change_owner', 'acl', 'mask')
  const [granted] = await saved('/db/work', [work({}, { _acl: [{ who: who('stranger'), rights: all }] })], as('editor'))
  const forOwner = { who: { _owner: true }, rights: all }
  const [owned] = await saved('/db/work', [work({}, { _acl: [forOwner], _owner: who('stranger') })])
  for (const [object, change] of [
    [granted, { _acl: [] }],
    [owned, { _owner: who('editor') }],
  ] as const) {
    assert.equal((await as('stranger').get(path(object))).body.length, 1)
    const away = work({ _id: object.work._id, _version: 1 }, change)
    const asked = await as('stranger').post('/db/work', [away])
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    assert.deepEqual([asked.body.tasks[0].buttons[0].name, asked.body.tasks[0].buttons[0].value], ['revoke', 'yes'])
    assert.equal((await as('stranger').get(path(object))).body[0]?.work._version, 1, 'nothing is saved')
    const done = await as('stranger').post('/db/work', [away], { revoke: 'yes' })
    assert.equal(done.status, 200, JSON.stringify(done.body))
    await absent(as('stranger').get(path(object)), 200)
    assert.equal((await root().get(path(object))).body[0].work._version, 2)
  }
})

test('an object leaves its pool only with the right unlink, and enters another one with create', async () => {
  const pools = (await root().get('/pool')).body
  const below = pools.find((entry: Json) => entry.pool._id === museum.pool).pool
  const grant = (...names: string[]) => [{ who: who('stranger'), rights: rights(...names) }]
  const [open, shut] = await saved('/pool', [
    {
      pool: { name: { 'en-US': 'Open' }, _id_parent: below._id_parent },
      _acl: grant('read', 'write', 'create', 'unlink'),
    },
    { pool: { name: { 'en-US': 'Shut' }, _id_parent: below._id_parent }, _acl: grant('read', 'write', 'create') },
  ])
  const inside = async (pool: Json) => (await saved('/db/work', [work({ _pool: { pool: { _id: pool.pool._id } } })]))[0]
  const move = (object: Json, pool: Json, version = 1) =>
    as('stranger').post('/db/work', [
      work({ _id: object.work._id, _version: version, _pool: { pool: { _id: pool.pool._id } } }),
    ])
  const [leaves, stays] = [await inside(open), await inside(shut)]
  assert.equal((await move(leaves, shut)).status, 200)
  await denied(move(stays, open), 'unlink')
  assert.equal((await move(stays, shut)).status, 200, 'it stays where it is')
  await denied(move(leaves, open, 2), 'unlink')
})

test('the owner is who created it, and changes with the right to change it', async () => {
  const [created] = await saved('/db/work', [work({})], as('editor'))
  assert.deepEqual([created._owner._basetype, created._owner.user._id], ['user', users.get('editor')])
  const given = work({ _id: created.work._id, _version: 1 }, { _owner: who('reader') })
  const answer = await as('editor').post('/db/work', [given], { revoke: 'yes' })
  assert.equal(answer.body[0]._owner.user._id, users.get('reader'), JSON.stringify(answer.body))
  const nobody = await root().post('/db/work', [work({}, { _owner: { _basetype: 'user', user: { _id: 987654 } } })])
  assert.deepEqual([nobody.status, nobody.body.code], [400, 'LookupNotFound'])
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type People, seedPeople, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Json } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { codeOf, createPool } from './support.ts'

interface Scene extends AsyncDisposable, People {
  svc: TestService
  /** A pool that the staff sees and the editor manages. */
  open: Json
  /** Below it, with private permissions and no grants. */
  closed: Json
}

async function scene(): Promise<Scene> {
  const svc = await startService()
  const people = await seedPeople(svc)
  const { root, ids } = people
  const _acl = [
    wireGrant(toGroup(ids.staff), 'bag_read read'),
    wireGrant(toUser(ids.editor), 'bag_write bag_create bag_delete bag_acl'),
  ]
  const open = await createPool(root, { name: { 'en-US': 'Open' } }, { _acl })
  const closed = await createPool(root, { _id_parent: open._id, name: { 'en-US': 'Closed' } }, { _private_acl: true })
  return { svc, ...people, open, closed, [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose]() }
}

const ids = (answer: Answer): number[] => answer.body.map((each: Json) => each.pool._id)

function missing(answer: Answer): [string, unknown] {
  assert.equal(answer.status, 403, JSON.stringify(answer.body))
  return [answer.body.code, answer.body.parameters.right]
}

describe('seeing pools', () => {
  test('everybody sees the pools with bag_read, own or inherited, and not those with private permissions', async () => {
    await using it = await scene()
    assert.deepEqual(ids(await it.root.get('/pool')), [1, 2, it.open._id, it.closed._id])
    assert.deepEqual(ids(await it.reader.get('/pool')), [it.open._id])
    assert.deepEqual(ids(await it.editor.get('/pool')), [it.open._id])
    assert.deepEqual(ids(await it.stranger.get('/pool')), [])
    for (const [client, pool] of [
      [it.stranger, it.open],
      [it.reader, it.closed],
    ]) {
      const { status, body } = await client.get(`/pool/${pool._id}`)
      assert.deepEqual([status, body.code], [404, 'ResourceNotFound'])
    }
    await createPool(it.root, {}, { _acl: [wireGrant(toUser(it.ids.stranger), 'read')] })
    const [, known] = (await it.root.get('/pool')).body.slice(-2)
    assert.deepEqual(missing(await it.stranger.get(`/pool/${known.pool._id}`)), ['RightRequired', 'bag_read'])
  })

  test('the list is paged over what the caller sees', async () => {
    await using it = await scene()
    assert.deepEqual(ids(await it.root.get('/pool', { limit: 2, offset: 1 })), [2, it.open._id])
    assert.deepEqual(ids(await it.reader.get('/pool', { offset: 1 })), [])
    assert.equal((await it.reader.get('/pool', { limit: 0 })).status, 400)
  })

  test('_has_children counts only pools that the caller may see, in the pool and in paths', async () => {
    await using it = await scene()
    const shown = async (client: typeof it.root, id: number) => (await client.get(`/pool/${id}`)).body[0]
    assert.equal((await shown(it.root, it.open._id))._has_children, true)
    assert.equal((await shown(it.reader, it.open._id))._has_children, false)
    const below = await createPool(it.root, { _id_parent: it.open._id })
    assert.equal((await shown(it.reader, it.open._id))._has_children, true)
    // The path shows the pool above in its short form, by the same rule.
    const [above] = (await shown(it.reader, below._id))._path.slice(-1)
    assert.deepEqual([above.pool._id, above._has_children], [it.open._id, true])
    const path = async (client: typeof it.root) => (await shown(client, it.closed._id))._path.at(-1)._has_children
    await it.root.delete(`/pool/${below._id}`)
    const _acl = [wireGrant(toUser(it.ids.stranger), 'bag_read')]
    await it.root.post('/pool', [{ pool: { _id: it.open._id, _version: 1 }, _acl }])
    assert.equal((await shown(it.stranger, it.open._id))._has_children, false)
    assert.equal(await path(it.root), true)
  })

  test('shows the grants to those who may change them, the own rights to everybody, hidden ancestors as ids', async () => {
    await using it = await scene()
    const [asReader] = (await it.reader.get(`/pool/${it.open._id}`)).body
    const [asEditor] = (await it.editor.get(`/pool/${it.open._id}`)).body
    assert.equal('_acl' in asReader, false)
    assert.deepEqual(asReader._generated_rights, { bag_read: {}, read: {} })
    assert.deepEqual(asReader._path, [{ _basetype: 'pool', pool: { _id: 1 }, _level: 0 }])
    assert.deepEqual(
      asEditor._acl.map((grant: Json) => [
        grant.who.group?._generated_displayname ?? grant.who.user._generated_displayname,
        Object.keys(grant.rights).sort(),
      ]),
      [
        ['staff', ['bag_read', 'read']],
        ['editor', ['bag_acl', 'bag_create', 'bag_delete', 'bag_write']],
      ],
    )
  })
})

describe('changing pools', () => {
  test('needs system.poolmanager', async () => {
    await using it = await scene()
    for (const answer of [
      await it.reader.post('/pool', [{ pool: { _id_parent: it.open._id } }]),
      await it.reader.delete(`/pool/${it.open._id}`),
    ]) {
      assert.deepEqual(missing(answer), ['SystemRightRequired', 'system.poolmanager'])
    }
  })

  test('needs bag_create on the parent; the creator owns the pool and may do everything with it', async () => {
    await using it = await scene()
    const known = await createPool(it.root, {}, { _acl: [wireGrant(toUser(it.ids.editor), 'bag_read')] })
    assert.deepEqual(missing(await it.editor.post('/pool', [{ pool: { _id_parent: known._id } }])), [
      'RightRequired',
      'bag_create',
    ])
    const own = await createPool(it.editor, { _id_parent: it.open._id }, { _private_acl: true })
    const [shown] = (await it.editor.get(`/pool/${own._id}`)).body
    assert.equal(shown._owner.user._id, it.ids.editor)
    assert.deepEqual(Object.keys(shown._generated_rights).sort(), [
      'bag_acl',
      'bag_create',
      'bag_delete',
      'bag_read',
      'bag_write',
      'owner',
    ])
    await createPool(it.editor, { _id_parent: own._id })
    assert.equal((await it.editor.delete(`/pool/${own._id}`)).status, 200)
  })

  test('needs bag_write, and bag_acl where grants change', async () => {
    await using it = await scene()
    const writers = await createPool(it.root, {}, { _acl: [wireGrant(toUser(it.ids.editor), 'bag_read bag_write')] })
    const change = (more: object, version = 1) =>
      it.editor.post('/pool', [{ pool: { _id: writers._id, _version: version }, ...more }])
    for (const more of [{ _acl: [] }, { _private_acl: true }, { _private_tags: true }]) {
      assert.deepEqual(missing(await change(more)), ['RightRequired', 'bag_acl'])
    }
    assert.equal((await change({ pool: { _id: writers._id, _version: 1, comment: 'mine' } })).status, 200)
    const foreign = await it.editor.post('/pool', [{ pool: { _id: it.closed._id, _version: 1 } }])
    assert.equal(codeOf(foreign), 'PoolNotFound')
    const known = await createPool(it.root, {}, { _acl: [wireGrant(toUser(it.ids.editor), 'bag_read')] })
    assert.deepEqual(missing(await it.editor.post('/pool', [{ pool: { _id: known._id, _version: 1 } }])), [
      'RightRequired',
      'bag_write',
    ])
    const hidden = await change({ _owner: toUser(it.ids.reader) }, 2)
    assert.equal(codeOf(hidden), 'LookupNotFound')
    const owner = await change({ _owner: toGroup(it.ids.staff) }, 2)
    assert.deepEqual(missing(owner), ['SystemRightRequired', 'system.root'])
  })

  test('moving needs bag_acl on the pool and bag_create on the new parent', async () => {
    await using it = await scene()
    const own = await createPool(it.editor, { _id_parent: it.open._id })
    const move = (to: number) => it.editor.post('/pool', [{ pool: { _id: own._id, _version: 1, _id_parent: to } }])
    assert.equal(codeOf(await move(2)), 'PoolNotFound')
    await it.root.post('/pool', [
      { pool: { _id: 2, _version: 1 }, _acl: [wireGrant(toUser(it.ids.editor), 'bag_create')] },
    ])
    assert.equal((await move(2)).status, 200)
  })

  test('deleting needs bag_delete on every pool below too', async () => {
    await using it = await scene()
    assert.deepEqual(missing(await it.editor.delete(`/pool/${it.open._id}`)), ['RightRequired', 'bag_delete'])
    assert.equal((await it.root.delete(`/pool/${it.closed._id}`)).status, 200)
    assert.equal((await it.editor.delete(`/pool/${it.open._id}`)).status, 200)
  })
})

describe('grants', () => {
  test('take effect at once, in this process and soon in the others', async () => {
    await using it = await scene()
    await using other = await attachService(it.svc.dsn)
    assert.deepEqual(ids(await other.as('stranger').get('/pool')), [])
    const _acl = [wireGrant(toUser(it.ids.stranger), 'bag_read')]
    await it.root.post('/pool', [{ pool: { _id: it.closed._id, _version: 1 }, _acl }])
    assert.deepEqual(ids(await it.stranger.get('/pool')), [it.closed._id])
    await until(async () => ids(await other.as('stranger').get('/pool')).length > 0)
  })

  test('hold in their window and while they are active', async () => {
    await using it = await scene()
    const hour = (n: number) => new Date(Date.now() + n * 3_600_000).toISOString()
    const table: [object, boolean][] = [
      [{ when: { from: hour(-1), to: hour(1) } }, true],
      [{ when: { from: hour(1) } }, false],
      [{ when: { to: hour(-1) } }, false],
      [{ active: false }, false],
      [{ active: true }, true],
    ]
    let version = 1
    for (const [more, sees] of table) {
      const _acl = [wireGrant(toUser(it.ids.stranger), 'bag_read', more)]
      const { status } = await it.root.post('/pool', [{ pool: { _id: it.closed._id, _version: version++ }, _acl }])
      assert.equal(status, 200)
      assert.deepEqual(ids(await it.stranger.get('/pool')), sees ? [it.closed._id] : [], JSON.stringify(more))
    }
  })

  test('begin by themselves when their time comes', async () => {
    await using it = await scene()
    const from = new Date(Date.now() + 300).toISOString()
    const _acl = [wireGrant(toUser(it.ids.stranger), 'bag_read', { when: { from } })]
    await it.root.post('/pool', [{ pool: { _id: it.closed._id, _version: 1 }, _acl }])
    await until(async () => ids(await it.stranger.get('/pool')).length > 0)
    assert.ok(Date.now() >= Date.parse(from))
  })

  test('that are sticky stay in private pools and in saves by others; root clears them', async () => {
    await using it = await scene()
    const _acl = [
      wireGrant(toGroup(it.ids.staff), 'bag_read', { sticky: true }),
      wireGrant(toUser(it.ids.editor), 'bag_write bag_acl'),
    ]
    await it.root.post('/pool', [{ pool: { _id: it.open._id, _version: 1 }, _acl }])
    assert.deepEqual(ids(await it.reader.get('/pool')), [it.open._id, it.closed._id])
    const emptied = await it.editor.post('/pool', [{ pool: { _id: it.open._id, _version: 2 }, _acl: [] }])
    assert.equal(emptied.status, 200)
    const [kept] = (await it.root.get(`/pool/${it.open._id}`)).body
    assert.deepEqual(
      kept._acl.map((grant: Json) => [grant.sticky, grant.who.group._id]),
      [[true, it.ids.staff]],
    )
    await it.root.post('/pool', [{ pool: { _id: it.open._id, _version: 3 }, _acl: [] }])
    assert.deepEqual(ids(await it.reader.get('/pool')), [])
  })

  test('keep their ids when they are sent back', async () => {
    await using it = await scene()
    const before = (await it.root.get(`/pool/${it.open._id}`)).body[0]._acl
    const { body } = await it.root.post('/pool', [
      { pool: { _id: it.open._id, _version: 1 }, _acl: [...before, wireGrant({ _owner: true }, 'bag_write')] },
    ])
    assert.deepEqual(body[0]._acl.slice(0, 2), before)
    assert.ok(body[0]._acl[2]._id > before[1]._id)
  })

  test('to the contact follow the contact', async () => {
    await using it = await scene()
    const _acl = [wireGrant({ _pool_contact: true }, 'bag_read')]
    const save = (version: number, contact: object | null) =>
      it.root.post('/pool', [{ pool: { _id: it.closed._id, _version: version, contact }, _acl }])
    await save(1, toUser(it.ids.stranger))
    assert.deepEqual(ids(await it.stranger.get('/pool')), [it.closed._id])
    await save(2, toGroup(it.ids.staff))
    assert.deepEqual(ids(await it.stranger.get('/pool')), [])
    assert.deepEqual(ids(await it.reader.get('/pool')), [it.open._id, it.closed._id])
    await save(3, null)
    assert.deepEqual(ids(await it.reader.get('/pool')), [it.open._id])
  })
})

test('in read-only mode pools are read but not changed', async () => {
  await using svc = await startService({ readOnly: true })
  const root = svc.as('root')
  assert.equal((await root.get('/pool')).status, 200)
  assert.equal(codeOf(await root.post('/pool', [{ pool: { _id_parent: 1 } }])), 'ReadOnlyMode')
  assert.equal(codeOf(await root.delete('/pool/2')), 'ReadOnlyMode')
})

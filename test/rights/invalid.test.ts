import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import type { Json } from '../support/client.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { type People, seedPeople, toGroup, toUser, wireGrant } from './people.ts'

let museum: Museum
let people: People
before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
})
after(() => museum[Symbol.asyncDispose]())

async function made(path: string, entry: object, query = {}): Promise<Json> {
  const { status, body } = await people.root.post(path, [entry], query)
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]
}

async function listed(query: Record<string, string | number> = {}): Promise<Json> {
  const { status, body } = await people.root.get('/right/invalid', query)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

test('grants that name what is gone are listed with what that is, wherever they stand', async () => {
  const { root, ids } = people
  assert.deepEqual(await listed(), { count: 0, limit: 100, offset: 0, objects: [] })
  const weak = { confirm: 'ignore_password_requirements' }
  const { user: leaver } = await made('/user', { user: { login: 'leaver' }, _password: 'leaver' }, weak)
  const { group: gone } = await made('/group', { group: { name: 'gone' } })
  const empty = await createPool(root, {})
  const limits = {
    pool_ids: [empty._id],
    objecttype_ids: [987_654],
    mask_ids: { 987655: [987_656, 'standard'] },
  }
  const keeping = wireGrant(toGroup(ids.staff), 'read')
  const pool = await createPool(
    root,
    {},
    { _acl: [keeping, wireGrant(toUser(leaver._id), 'read'), { who: toGroup(ids.staff), rights: { read: limits } }] },
  )
  const shows = { who: toGroup(ids.staff), rights: { asset_show: { column_ids: [987_657] } } }
  const [work] = (
    await root.post('/db/work', [
      payload('work', { _pool: { pool: { _id: pool._id } } }, { _acl: [wireGrant(toGroup(gone._id), 'read'), shows] }),
    ])
  ).body
  await made('/tags', {
    taggroup: {},
    _tags: [{ reference: 'told', _acl: [wireGrant(toUser(leaver._id), 'tag_see')] }],
  })
  const see = [wireGrant(toGroup(gone._id), 'bag_read')]
  await made('/group', { group: { name: 'seen' }, _acl: see })
  // So far only what was never there is missing.
  const early = (await listed()).objects
  assert.deepEqual(
    early.map(({ on, missing }: Json) => [on.kind, missing.map(({ what }: Json) => what)]),
    [
      ['pool', ['mask', 'objecttype', 'objecttype']],
      ['object', ['column']],
    ],
  )
  assert.equal((await root.delete(`/user/${leaver._id}`, undefined, { delete_policy: 'delete' })).status, 200)
  assert.equal((await root.delete(`/group/${gone._id}`)).status, 200)
  assert.equal((await root.delete(`/pool/${empty._id}`)).status, 200)
  const { count, objects } = await listed()
  const found = objects.map(({ on, missing }: Json) => [on.kind, missing])
  assert.deepEqual(found, [
    ['pool', [{ what: 'user', _id: leaver._id }]],
    [
      'pool',
      [
        { what: 'mask', _id: 987_656 },
        { what: 'objecttype', _id: 987_654 },
        { what: 'objecttype', _id: 987_655 },
        { what: 'pool', _id: empty._id },
      ],
    ],
    ['object', [{ what: 'group', _id: gone._id }]],
    ['object', [{ what: 'column', _id: 987_657 }]],
    ['tag', [{ what: 'user', _id: leaver._id }]],
    ['group', [{ what: 'group', _id: gone._id }]],
  ])
  assert.equal(count, 6)
  assert.deepEqual(objects[2].on, { kind: 'object', _id: work._system_object_id })
  assert.deepEqual(objects[1].grant.rights, { read: limits })
  assert.deepEqual(objects[1].grant.who.group._id, ids.staff)
  const page = await listed({ limit: 2, offset: 3 })
  assert.deepEqual([page.count, page.limit, page.offset, page.objects], [6, 2, 3, objects.slice(3, 5)])
})

test('a right that an earlier release had is missing by its name', async () => {
  const { rows } = await museum.svc.db.query<{ id: number }>(
    `update "user" set acl = '[{"id": 99, "who": "owner", "rights": {"fly": {}, "acl": {}}}]' where login = 'reader' returning id`,
  )
  const { objects } = await listed()
  assert.deepEqual(objects.find(({ on }: Json) => on.kind === 'user')?.missing, [{ what: 'right', name: 'fly' }])
  assert.equal(rows.length, 1)
})

test('the list is for root alone', async () => {
  const { status, body } = await people.editor.get('/right/invalid')
  assert.deepEqual([status, body.code, body.parameters.right], [403, 'SystemRightRequired', 'system.root'])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { lockModelExclusive } from '../../src/datamodel/store.ts'
import { onConnection, type Tx } from '../../src/platform/postgres/db.ts'
import { lockForDelete } from '../../src/tags/store.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** What everything that writes objects holds meanwhile, what it leaves behind, and which names of objects it takes. */
let museum: Museum
let root: Client
before(async () => {
  museum = await startMuseum({ lockTimeout: 300 })
  root = museum.svc.as('root')
})
after(() => museum[Symbol.asyncDispose]())

async function ok(answer: Promise<Answer>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

async function refused(answer: Promise<Answer>, status: number, code: string): Promise<Json> {
  const { status: got, body } = await answer
  assert.deepEqual([got, body.code], [status, code], JSON.stringify(body))
  return body
}

const work = (block: object, rest: object = {}) => payload('work', { ...inPool(museum.pool), ...block }, rest)
const add = async (block: object = {}, rest: object = {}): Promise<Json> =>
  (await ok(root.post('db/work', [work(block, rest)])))[0]

/** A transaction of somebody else, open while `during` runs. */
async function meanwhile(lock: (tx: Tx) => Promise<void>, during: () => Promise<void>): Promise<void> {
  const client = await museum.svc.db.connect()
  try {
    await client.query('begin')
    await lock({ ...onConnection(client), afterCommit: () => {} })
    await during()
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** Every way in which objects are written, on fresh objects. */
async function waysOfWriting(): Promise<Record<string, () => Promise<Answer>>> {
  const [transition] = await ok(root.post('transitions', [{ type: 'process', trigger: 'manual', actions: [] }]))
  const [stored, trashed] = [await add(), await add()]
  await ok(root.delete('db/work', [[trashed.work._id, 1, null]], { delete_policy: 'remove' }))
  const trash = (policy: string) => () =>
    root.delete('db/work', [[trashed.work._id, 2, null]], { delete_policy: policy })
  return {
    create: () => root.post('db/work', [work({})]),
    update: () => root.post('db/work', [work({ _id: stored.work._id, _version: 1 })]),
    delete: () => root.delete('db/work', [[stored.work._id, 1, null]], { delete_policy: 'setnull' }),
    undelete: trash('undelete'),
    purge: trash('purge'),
    transition: () => root.post(`transitions/${transition._id}/run`, [{ _system_object_id: stored._system_object_id }]),
  }
}

test('nothing is written while the datamodel is being committed, by any way of writing', async () => {
  const ways = await waysOfWriting()
  await meanwhile(lockModelExclusive, async () => {
    for (const [name, write] of Object.entries(ways)) {
      const { status, body } = await write()
      assert.deepEqual([name, status, body.code], [name, 423, 'DatabaseLockError'])
    }
  })
  await ok((ways.transition as () => Promise<Answer>)())
  await ok((ways.update as () => Promise<Answer>)())
  await ok(root.post('transitions', []))
})

test('a tag that is being deleted is given to no object, and one that is being given is not deleted', async () => {
  const [{ _tags: tags, taggroup }] = await ok(
    root.post('tags', [{ taggroup: {}, _tags: [{ reference: 'kept' }, { reference: 'going' }] }]),
  )
  const [kept, going] = tags
  const tagged = (...ids: number[]) => ({ _tags: ids.map((_id) => ({ _id })) })
  const stored = await add({}, tagged(going._id))
  const deletes = (tx: Tx) => lockForDelete(tx, [going._id])
  await meanwhile(deletes, async () => {
    await refused(root.post('db/work', [work({}, tagged(going._id))]), 423, 'DatabaseLockError')
    // What an object has already is taken from it by the deletion.
    await ok(root.post('db/work', [work({ _id: stored.work._id, _version: 1 }, tagged(going._id))]))
  })
  const saves = Array.from({ length: 8 }, () => root.post('db/work', [work({}, tagged(going._id, kept._id))]))
  const document = [{ taggroup, _tags: [kept] }]
  await Promise.all([...saves, root.post('tags', document, { delete_policy: 'remove_tags' })])
  await ok(root.post('tags', document, { delete_policy: 'remove_tags' }))
  const { rows } = await museum.svc.db.query(
    'select system_object_id from object where tags && array[$1::int] union all select system_object_id from object_version where tags && array[$1::int]',
    [going._id],
  )
  assert.deepEqual(rows, [])
})

test('_global_object_id names an object of this database, or none', async () => {
  const [person] = await ok(root.post('db/person', [payload('person', { name: 'Here' })]))
  const id = person._system_object_id
  assert.equal(person._global_object_id, `${id}@test`)
  const update = (names: object) =>
    root.post('db/person', [payload('person', { _version: 1, name: 'There' }, names)], { dry_run: 1 })
  assert.equal((await update({ _global_object_id: `${id}@test` })).status, 200)
  assert.equal((await update({ _global_object_id: `${id}@test`, _system_object_id: id })).status, 200)
  for (const wrong of [
    { _global_object_id: `${id}@other` },
    { _global_object_id: `${id}@other`, _system_object_id: id },
    { _global_object_id: `${id + 1}@test`, _system_object_id: id },
    { _global_object_id: `${id}@` },
    { _global_object_id: `${id}` },
    { _global_object_id: id },
  ]) {
    const answer = await update(wrong)
    assert.deepEqual([answer.status, answer.body.code], [400, 'InvalidValue'], JSON.stringify(wrong))
  }
  const creator = (target: object) => root.post('db/work', [work({ creator: target })], { dry_run: 1 })
  assert.equal((await creator({ _global_object_id: `${id}@test` })).status, 200)
  assert.equal((await creator({ _global_object_id: `${id}@test`, _system_object_id: id })).status, 200)
  await refused(creator({ _global_object_id: `${id}@other` }), 400, 'LookupNotFound')
  await refused(creator({ _global_object_id: `${id}@other`, _system_object_id: id }), 400, 'LookupNotFound')
  await refused(creator({ person: { 'lookup:_id': { _global_object_id: `${id}@other` } } }), 400, 'LookupNotFound')
  await refused(creator({ _global_object_id: `${id + 1}@test`, _system_object_id: id }), 400, 'InvalidValue')
})

test('of a purged object its ids stay, when it was purged, and by whom', async () => {
  const purger = await ok(root.get('user', { limit: 1 }))
  const object = await add()
  await ok(root.delete('db/work', [[object.work._id, 1, null]], { delete_policy: 'remove' }))
  const before = Date.now()
  await ok(root.delete('db/work', [[object.work._id, 2, null]], { delete_policy: 'purge' }))
  const { rows } = await museum.svc.db.query<{ purged_at: Date }>(
    `select t.objecttype, t.id, t.uuid, t.purged_at, t.purged_by, o.name
     from object_tombstone t join objecttype o on o.id = t.objecttype where t.system_object_id = $1`,
    [object._system_object_id],
  )
  const [{ purged_at: at, ...tombstone }] = rows as [{ purged_at: Date; objecttype?: number }]
  assert.ok(at.getTime() >= before - 1000 && at.getTime() <= Date.now() + 1000)
  delete tombstone.objecttype
  assert.deepEqual(tombstone, {
    id: object.work._id,
    uuid: object._uuid,
    purged_by: purger[0].user._id,
    name: 'work',
  })
})

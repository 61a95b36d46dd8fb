import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, payload, startMuseum } from '../support/seed/museum.ts'

test('below an object in the trash stand those objects in the trash that the caller may delete', async () => {
  await using museum = await startMuseum()
  const { root, reader, editor, ids } = await seedPeople(museum.svc)
  const both = [ids.reader, ids.editor].map((id) => wireGrant(toUser(id), 'read delete'))
  const pool = await createPool(root, {}, { _acl: both })
  const { objecttype: loan } = (await root.get('/objecttype')).body.find(
    (each: Json) => each.objecttype.name === 'loan',
  )
  const _acl = [wireGrant(toUser(ids.reader), 'read'), wireGrant(toUser(ids.editor), 'read delete')]
  const settings = { objecttype: { _id: loan._id, _version: loan._version + 1 }, _acl }
  assert.equal((await root.post('/objecttype', [settings])).status, 200)
  const block = { ...inPool(pool._id), '_reverse_nested:loan:work': [{ loan: { borrower: 'Prado' } }] }
  const [work] = (await root.post('/db/work', [payload('work', block)])).body
  const below = async (client: Client): Promise<number> => {
    const { body } = await client.get(`/db/work/work__standard/${work.work._id}`)
    return body[0].work['_reverse_nested:loan:work'].length
  }
  assert.deepEqual([await below(reader), await below(editor)], [1, 1])
  const trashed = await root.delete('/db/work', [[work.work._id, 1, null]], { delete_policy: 'remove' })
  assert.equal(trashed.status, 200, JSON.stringify(trashed.body))
  assert.deepEqual([await below(reader), await below(editor), await below(root)], [0, 1, 1])
})

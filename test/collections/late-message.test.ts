// alone: changes how its process hears messages
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toUser } from '../rights/people.ts'
import { hearingLate } from '../support/late-messages.ts'
import { attachService } from '../support/service.ts'
import { createNotes, entriesOf, ok, startScene } from './support.ts'

test('a check in the background follows from the change that has queued it, though its process hears of that later', async () => {
  await using it = await startScene()
  const vault = async (_acl: object[], query: Record<string, boolean> = {}) => {
    const [now] = ok(await it.root.get(`/pool/${it.vault}`))
    ok(await it.root.post('/pool', [{ pool: { _id: it.vault, _version: now.pool._version }, _acl }], query))
  }
  const ids = await createNotes(it.root, it.vault, 1, 'late')
  const rights = { read: { _grantable: true }, link: {}, mask: {} }
  await vault([{ who: toUser(it.ids.reader), rights }])
  const shared = { who: toUser(it.ids.stranger), rights: { read: {} } }
  const body = { collection: { displayname: { 'en-US': 'shared' } }, objects: entriesOf(it.svc, ids), _acl: [shared] }
  const { _id } = ok(await it.reader.post('/collection', body)).collection
  await it.svc.drain()
  assert.equal(ok(await it.root.get(`/collection/${_id}`))._invalid_acl, false)

  using late = await hearingLate(() => attachService(it.svc.dsn))
  await using other = late.result
  await vault([], { background_invalid_acl: true })
  await other.drain()
  assert.equal(ok(await it.root.get(`/collection/${_id}`))._invalid_acl, true)
})

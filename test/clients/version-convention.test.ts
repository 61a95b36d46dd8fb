import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Records that are sent as lists count their versions by the configured convention, too (decisions.md, 20). */

let svc: TestService
let root: Client

before(async () => {
  svc = await startService({ versionConvention: 'next' })
  root = svc.as('root')
})
after(() => svc[Symbol.asyncDispose]())

test('under versionConvention next tags and their groups are sent with the version that the save makes', async () => {
  const { body: made } = await root.post('tags', [{ taggroup: { reference: 'g' }, _tags: [{ reference: 'a' }] }])
  const [{ taggroup, _tags }] = made
  assert.deepEqual([taggroup._version, _tags[0]._version], [1, 1])
  const send = (group: number, tag: number) =>
    root.post('tags', [
      { taggroup: { ...taggroup, _version: group }, _tags: [{ ..._tags[0], _version: tag, shortname: 'changed' }] },
    ])
  for (const [group, tag] of [
    [1, 2],
    [2, 1],
    [2, 3],
  ] as const) {
    const refused = await send(group, tag)
    assert.deepEqual([refused.status, refused.body.code, refused.body.parameters.expected], [400, 'VersionMismatch', 2])
  }
  const saved = await send(2, 2)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  // Only the tag was changed: what stays as it was keeps its version.
  assert.deepEqual([saved.body[0].taggroup._version, saved.body[0]._tags[0]._version], [1, 2])
})

test('and so are transitions', async () => {
  const transition = { type: 'process', operations: ['INSERT'], actions: [], _version: 1 }
  const made = await root.post('transitions', [transition])
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const [stored] = made.body
  const refused = await root.post('transitions', [{ ...stored, comment: 'changed' }])
  assert.deepEqual([refused.status, refused.body.code, refused.body.parameters.expected], [400, 'VersionMismatch', 2])
  const saved = await root.post('transitions', [{ ...stored, _version: 2, comment: 'changed' }])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.equal(saved.body[0]._version, 2)
})

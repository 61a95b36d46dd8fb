import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'

test('under versionConvention next a triple names the stored version, as under stored (decisions.md, 30)', async () => {
  await using museum = await startMuseum({ versionConvention: 'next' })
  const root = museum.svc.as('root')
  const save = async (block: object): Promise<Json> => {
    const answer = await root.post('/db/person', [payload('person', block)])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0].person
  }
  const { _id } = await save({ _version: 1, name: 'Ada' })
  await save({ _id, _version: 2, name: 'Ada Lovelace' })

  const next = await root.delete('/db/person', [[_id, 3, null]], { delete_policy: 'remove' })
  assert.deepEqual([next.status, next.body.code], [400, 'VersionMismatch'])
  assert.deepEqual([next.body.parameters.got, next.body.parameters.expected], [3, 2])
  const stored = await root.delete('/db/person', [[_id, 2, null]], { delete_policy: 'remove' })
  assert.deepEqual([stored.status, stored.body.removed], [200, [_id]])
  const back = await root.delete('/db/person', [[_id, 3, null]], { delete_policy: 'undelete' })
  assert.deepEqual([back.status, back.body.removed], [200, [_id]])
})

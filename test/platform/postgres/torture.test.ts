import assert from 'node:assert/strict'
import { test } from 'node:test'
import { torture } from '../../../torture/torture.ts'

/**
 * `npm run torture` does more of the same. The faults are those that anybody may cause: what is tested must not depend on who
 * runs it. A full disk, which takes root, has a test of its own (disk-full.test.ts).
 */
test('four rounds of load and harm: what was acknowledged is stored, logged, linked and found', async (t) => {
  const outcome = await torture({
    rounds: 4,
    seconds: 1,
    seed: 6,
    writers: 4,
    faults: ['service', 'backend', 'both', 'postgres'],
    disk: null,
    say: (line) => t.diagnostic(line),
  })
  assert.deepEqual(outcome.faults, [])
  assert.ok(outcome.acknowledged > 30, `${outcome.acknowledged} writes`)
})

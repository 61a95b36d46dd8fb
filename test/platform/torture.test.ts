import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mountSmallDisk } from '../../torture/disk.ts'
import { torture } from '../../torture/torture.ts'

/** `npm run torture` does more of the same. */
test('three rounds of load and harm: what was acknowledged is stored, logged, linked and found', async (t) => {
  const mounted = await mountSmallDisk(600)
  if (typeof mounted === 'string') t.diagnostic(`no full disk: ${mounted}`)
  await using disk = typeof mounted === 'string' ? null : mounted
  const outcome = await torture({
    rounds: 3,
    seconds: 1,
    seed: 6,
    writers: 4,
    faults: ['service', disk ? 'disk' : 'backend', 'both'],
    disk,
    say: (line) => t.diagnostic(line),
  })
  assert.deepEqual(outcome.faults, [])
  assert.ok(outcome.acknowledged > 30, `${outcome.acknowledged} writes`)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairPriority } from '../../src/files/renditions/plan/fair-priority.ts'
import { startService } from '../support/service.ts'
import { createUploaders, notePriorities, upload } from './support.ts'

test('whoever queues very much stands further and further behind, and is let forward again in time', () => {
  let now = 0
  const fairPriority = createFairPriority(() => now)
  const steps = Array.from({ length: 100_000 }, () => fairPriority.add('greedy'))
  assert.deepEqual(steps.slice(0, 16), Array(16).fill(0))
  assert.equal(steps[16], 4)
  assert.equal(steps[48], 8)
  assert.ok(steps.every((step, n) => n === 0 || step >= (steps[n - 1] ?? 0)))
  assert.equal(steps.at(-1), 48)
  assert.equal(fairPriority.add('other'), 0)
  now = 600_000
  assert.equal(fairPriority.add('greedy'), 44)
  now = 24 * 3_600_000
  assert.equal(fairPriority.add('greedy'), 0)
})

test('the jobs of one file stand before those of very many that somebody else has put in', async () => {
  await using svc = await startService()
  await createUploaders(svc, 'greedy', 'other')
  await using noted = await notePriorities(svc)
  const sounds = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ name: `${n}.txt`, content: Buffer.from(`text ${n} of ${count}`) }))
  const many = await upload(svc, 'greedy', sounds(60), { produce_versions: 'true' })
  assert.equal(many.status, 200, JSON.stringify(many.body))
  const one = await upload(svc, 'other', sounds(1), { produce_versions: 'true' })
  assert.equal(one.status, 200, JSON.stringify(one.body))
  await svc.drain()
  const taken = await noted.taken()
  const least = Math.min(...taken)
  // What is remembered of somebody fades with time, so on a slow machine there may be some more.
  const first = taken.filter((priority) => priority === least).length
  assert.ok(first >= 17 && first < 30, `${first}: sixteen of one, and that of the other`)
  assert.ok(Math.max(...taken) >= least + 8)
})

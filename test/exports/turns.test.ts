import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createTurns } from '../../src/exports/deliver/turns.ts'

test('many that take turns work one at a time, for a moment, and each gets as many turns', async () => {
  let at = 0
  const begin = createTurns(() => at)
  const log: number[] = []
  let working = 10
  async function work(name: number): Promise<void> {
    const turn = begin()
    for (let step = 0; step < 20; step++) {
      if (turn.over()) await turn.next()
      at += 1
      log.push(name)
    }
    working--
  }
  const all = Array.from({ length: working }, (_, name) => work(name))
  const begun = log.length
  // All of them begin at once; then somebody else has every other turn of the event loop.
  const turns: (readonly number[])[] = []
  for (let from = log.length; working > 0; from = log.length) {
    await nextTurn()
    turns.push(log.slice(from))
  }
  await Promise.all(all)
  assert.equal(log.length, 200)
  assert.ok(begun < 200)
  for (const names of turns) assert.ok(names.length <= 2 && new Set(names).size <= 1, names.join())
  const first = log.slice(begun, begun + 20)
  assert.deepEqual([...new Set(first)].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

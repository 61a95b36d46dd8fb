import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { laneOf, lanes, nextBatch, type QueueEntry } from '../../src/search/queue/lanes.ts'

let seq = 0
const entries = (count: number, priority: 0 | 1 | 2, bulk = false): QueueEntry[] =>
  Array.from({ length: count }, () => ({ id: ++seq, seq, priority, bulk }))
const counts = (batch: readonly QueueEntry[]): number[] =>
  lanes.map((_, lane) => batch.filter((entry) => laneOf(entry) === lane).length)

test('lanes are told by what is queued', () => {
  assert.deepEqual(lanes.map(laneOf), [0, 1, 2, 3, 4])
})

test('single entries go alone, then once with the others', () => {
  const waiting = [...entries(2, 0), ...entries(3, 1), ...entries(500, 0, true), ...entries(500, 1, true)]
  const first = nextBatch(waiting, { size: 500, singlesBefore: false })
  assert.deepEqual([counts(first.entries), first.singles], [[2, 3, 0, 0, 0], true])
  const second = nextBatch(waiting, { size: 500, singlesBefore: true })
  assert.deepEqual([counts(second.entries), second.singles], [[2, 3, 247, 248, 0], false])
})

test('saves of many, links to changed objects and a reindex share what there is', () => {
  const of = (...lists: QueueEntry[][]) => counts(nextBatch(lists.flat(), { size: 100, singlesBefore: false }).entries)
  assert.deepEqual(of(entries(100, 0, true), entries(100, 1, true), entries(100, 2)), [0, 0, 50, 50, 0])
  assert.deepEqual(of(entries(100, 0, true), entries(10, 1, true), entries(100, 2)), [0, 0, 90, 10, 0])
  assert.deepEqual(of(entries(10, 0, true), entries(100, 1, true), entries(100, 2)), [0, 0, 10, 90, 0])
  assert.deepEqual(of(entries(10, 0, true), entries(10, 1, true), entries(100, 2)), [0, 0, 10, 10, 80])
  assert.deepEqual(of(entries(100, 2)), [0, 0, 0, 0, 100])
})

test('whatever waits, batches come to an end of it, and begin with single ones', () => {
  const some = fc.nat(60)
  fc.assert(
    fc.property(some, some, some, some, some, fc.integer({ min: 2, max: 20 }), (a, b, c, d, e, size) => {
      let waiting = [
        ...entries(a, 0),
        ...entries(b, 1),
        ...entries(c, 0, true),
        ...entries(d, 1, true),
        ...entries(e, 2),
      ]
      let singlesBefore = false
      for (let round = 0; waiting.length > 0; round++) {
        const batch = nextBatch(waiting, { size, singlesBefore })
        assert.ok(batch.entries.length > 0 && batch.entries.length <= size)
        assert.equal(new Set(batch.entries).size, batch.entries.length)
        if (a > 0 && round === 0) assert.equal(laneOf(batch.entries[0] as QueueEntry), 0)
        singlesBefore = batch.singles
        const taken = new Set(batch.entries)
        waiting = waiting.filter((entry) => !taken.has(entry))
      }
    }),
  )
})

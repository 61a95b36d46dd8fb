import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges } from '../../src/search/queue/changes.ts'

const minute = 60_000

function changesAt() {
  let time = 0
  const changes = createChanges(() => time)
  return {
    at: (minutes: number) => {
      time = minutes * minute
      return changes
    },
    /** Which of the targets may have changed since a save that began then. */
    since: (minutes: number, ...targets: number[]) => {
      const changed = changes.since(minutes * minute)
      return changed && targets.filter(changed)
    },
  }
}

test('a save is looked at once more when it began before a change of what it links to', () => {
  const { at, since } = changesAt()
  at(1).note([10, 11])
  at(3).note([11])
  assert.deepEqual(since(0, 10, 11, 12), [10, 11])
  assert.deepEqual(since(2, 10, 11, 12), [11])
  assert.equal(since(4, 10, 11, 12), null)
  assert.deepEqual(since(3.01, 11), [11], 'clocks may differ')
})

test('what changed while another process indexed may be anything', () => {
  const { at, since } = changesAt()
  at(2).forget()
  at(4).note([10])
  assert.deepEqual(since(1, 10, 12), [10, 12])
  assert.deepEqual(since(3, 10, 12), [10])
})

test('a great many changes are given up together', () => {
  const { at, since } = changesAt()
  at(2).note(Array.from({ length: 100_001 }, (_, id) => id))
  assert.deepEqual(since(1, 200_000), [200_000])
  assert.equal(since(3, 1), null)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createYielder, inBackground } from '../../../src/platform/process/cooperative-yield.ts'

test('work in the background yields after shorter turns than requests', (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const [request, work] = [createYielder(), inBackground(() => createYielder())]
  const due = (milliseconds: number): boolean[] => {
    now = milliseconds
    return [request.due(), work.due()]
  }
  assert.deepEqual([0.5, 2, 6].map(due), [
    [false, false],
    [false, true],
    [true, true],
  ])
})

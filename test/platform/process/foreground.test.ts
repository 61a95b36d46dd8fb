import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { RequestDeadline } from '../../../src/platform/limits/deadline.ts'
import { whenClosed } from '../../../src/platform/limits/when-closed.ts'
import { createForeground } from '../../../src/platform/process/foreground.ts'

const response = (): ServerResponse => new EventEmitter() as unknown as ServerResponse

test('who gives way waits until nobody waits any more, and is told for a moment that somebody may come back', async () => {
  let now = 0
  const foreground = createForeground(() => now)
  assert.equal(foreground.isBusy(), false)
  await foreground.quiet(60_000)
  const [one, two] = [response(), response()]
  foreground.enter(one)
  foreground.enter(two)
  let quiet = false
  const waiting = foreground.quiet(60_000).then(() => {
    quiet = true
  })
  one.emit('close')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([quiet, foreground.isBusy()], [false, true])
  two.emit('close')
  await waiting
  assert.equal(foreground.isBusy(), true)
  now = 1000
  assert.equal(foreground.isBusy(), false)
})

test('who gives way goes on in the end, however long somebody waits', async () => {
  const foreground = createForeground()
  foreground.enter(response())
  await foreground.quiet(1)
  assert.equal(foreground.isBusy(), true)
})

test('what waits for the end of a response shares one listener, and what comes behind the end is done at once', () => {
  const [one, done] = [response(), [] as number[]]
  for (let index = 0; index < 20; index++) whenClosed(one, () => done.push(index))
  assert.equal(one.listenerCount('close'), 1)
  one.emit('close')
  assert.deepEqual(
    done,
    Array.from({ length: 20 }, (_, index) => index),
  )
  const over = Object.assign(new EventEmitter(), { closed: true }) as unknown as ServerResponse
  whenClosed(over, () => done.push(20))
  assert.equal(done.at(-1), 20)
  // A request whose client has gone before is over, and is told so.
  const told: string[] = []
  new RequestDeadline(over, 1000, () => '').onOver(() => told.push('gone'))
  const answered = Object.assign(new EventEmitter(), { closed: true, writableFinished: true })
  new RequestDeadline(answered as unknown as ServerResponse, 1000, () => '').onOver(() => told.push('answered'))
  assert.deepEqual(told, ['gone'])
})

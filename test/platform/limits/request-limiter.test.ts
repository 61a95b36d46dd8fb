import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../../src/platform/errors.ts'
import { type Deadline, noDeadline } from '../../../src/platform/limits/deadline.ts'
import { createRequestLimiter } from '../../../src/platform/limits/request-limiter.ts'

/** Work that ends when it is told to. */
function held() {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { work: () => promise, end: resolve }
}

const refused = (code: string) => (error: unknown) => error instanceof AppError && error.code === code

test('as many as there are places work, the others wait in the order of their arrival', async () => {
  const limiter = createRequestLimiter({ concurrency: 2 })
  const begun: number[] = []
  const all = [0, 1, 2, 3].map(() => held())
  const done = all.map(({ work }, index) =>
    limiter.run(noDeadline, () => {
      begun.push(index)
      return work()
    }),
  )
  await Promise.resolve()
  assert.deepEqual([begun, limiter.taken, limiter.waiting], [[0, 1], 2, 2])
  all[1]?.end('one')
  assert.equal(await done[1], 'one')
  assert.deepEqual([begun, limiter.taken, limiter.waiting], [[0, 1, 2], 2, 1])
  for (const { end } of all) end('x')
  await Promise.all(done)
  assert.deepEqual([begun, limiter.taken, limiter.waiting], [[0, 1, 2, 3], 0, 0])
})

test('work that fails gives its place back', async () => {
  const limiter = createRequestLimiter({ concurrency: 1 })
  await assert.rejects(
    limiter.run(noDeadline, async () => {
      throw new Error('broken')
    }),
    /broken/,
  )
  assert.equal(await limiter.run(noDeadline, async () => 'next'), 'next')
  assert.equal(limiter.taken, 0)
})

test('who finds the queue full, or waits too long, is told when to come again', async () => {
  const limiter = createRequestLimiter({ concurrency: 1, waiting: 1, patience: 1 })
  const first = held()
  const done = limiter.run(noDeadline, first.work)
  const second = limiter.run(noDeadline, async () => 'never')
  await assert.rejects(
    limiter.run(noDeadline, async () => 'never'),
    (error: unknown) => {
      assert.ok(refused('TooManyHeavyRequests')(error))
      assert.ok((error as AppError).parameters.retry_after)
      return true
    },
  )
  await assert.rejects(second, refused('TooManyHeavyRequests'))
  first.end('done')
  assert.equal(await done, 'done')
  assert.deepEqual([limiter.taken, limiter.waiting], [0, 0])
})

test('whose client goes away leaves the queue', async () => {
  const limiter = createRequestLimiter({ concurrency: 1 })
  const first = held()
  const done = limiter.run(noDeadline, first.work)
  let leave = (): void => {}
  const deadline: Deadline = {
    ...noDeadline,
    over: new AppError('ClientClosedRequest'),
    onOver(action) {
      leave = action
      return () => {}
    },
  }
  const waiting = limiter.run(deadline, async () => 'never')
  assert.equal(limiter.waiting, 1)
  leave()
  await assert.rejects(waiting, refused('ClientClosedRequest'))
  assert.equal(limiter.waiting, 0)
  first.end('done')
  await done
})

test('somebody who asks for much neither keeps another caller waiting nor takes their place in the queue', async () => {
  const limiter = createRequestLimiter({ concurrency: 2, waiting: 4 })
  const lifetimeOf = (who: string): Deadline => ({ ...noDeadline, who })
  const greedy = Array.from({ length: 6 }, () => held())
  const asked = greedy.map(({ work }) => limiter.run(lifetimeOf('greedy'), work).catch((error: AppError) => error.code))
  assert.deepEqual([limiter.taken, limiter.waiting], [2, 4])
  // One who has nothing at work begins at once.
  assert.equal(await limiter.run(lifetimeOf('other'), async () => 'served'), 'served')
  // Where there is no room left, the last one of whoever has most is sent away.
  const small = held()
  const first = limiter.run(lifetimeOf('other'), small.work)
  const second = limiter.run(lifetimeOf('other'), async () => 'second')
  assert.equal(await asked[5], 'TooManyHeavyRequests')
  assert.deepEqual([limiter.taken, limiter.waiting], [3, 4])
  await assert.rejects(
    limiter.run(lifetimeOf('greedy'), async () => 'never'),
    refused('TooManyHeavyRequests'),
  )
  small.end('first')
  assert.deepEqual([await first, await second], ['first', 'second'])
  for (const { end } of greedy) end('done')
  assert.deepEqual(await Promise.all(asked.slice(0, 5)), Array(5).fill('done'))
  assert.deepEqual([limiter.taken, limiter.waiting], [0, 0])
})

test('one caller has a share of the queue, and is told which setting says so', async () => {
  const limiter = createRequestLimiter({ concurrency: 1, waiting: 10, waitingOfCaller: 2 })
  const first = held()
  const done = [first.work, first.work, first.work].map((work) => limiter.run(noDeadline, work))
  await assert.rejects(limiter.run(noDeadline, first.work), (error: unknown) => {
    assert.ok(refused('TooManyHeavyRequests')(error))
    const { parameters } = error as AppError
    assert.deepEqual(parameters, { quota: 'svc.quotas.heavyRequests', most: 2, retry_after: 5 })
    return true
  })
  first.end('done')
  await Promise.all(done)
})

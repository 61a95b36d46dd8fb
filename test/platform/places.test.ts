import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../src/platform/errors.ts'
import { endless, type Lifetime } from '../../src/platform/lifetime.ts'
import { createPlaces } from '../../src/platform/places.ts'

/** Work that ends when it is told to. */
function held() {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { work: () => promise, end: resolve }
}

const refused = (code: string) => (error: unknown) => error instanceof AppError && error.code === code

test('as many as there are places work, the others wait in the order of their arrival', async () => {
  const places = createPlaces({ places: 2 })
  const begun: number[] = []
  const all = [0, 1, 2, 3].map(() => held())
  const done = all.map(({ work }, index) =>
    places.run(endless, () => {
      begun.push(index)
      return work()
    }),
  )
  await Promise.resolve()
  assert.deepEqual([begun, places.taken, places.waiting], [[0, 1], 2, 2])
  all[1]?.end('one')
  assert.equal(await done[1], 'one')
  assert.deepEqual([begun, places.taken, places.waiting], [[0, 1, 2], 2, 1])
  for (const { end } of all) end('x')
  await Promise.all(done)
  assert.deepEqual([begun, places.taken, places.waiting], [[0, 1, 2, 3], 0, 0])
})

test('work that fails gives its place back', async () => {
  const places = createPlaces({ places: 1 })
  await assert.rejects(
    places.run(endless, async () => {
      throw new Error('broken')
    }),
    /broken/,
  )
  assert.equal(await places.run(endless, async () => 'next'), 'next')
  assert.equal(places.taken, 0)
})

test('who finds the queue full, or waits too long, is told when to come again', async () => {
  const places = createPlaces({ places: 1, waiting: 1, patience: 1 })
  const first = held()
  const done = places.run(endless, first.work)
  const second = places.run(endless, async () => 'never')
  await assert.rejects(
    places.run(endless, async () => 'never'),
    (error: unknown) => {
      assert.ok(refused('TooManyHeavyRequests')(error))
      assert.ok((error as AppError).parameters.retry_after)
      return true
    },
  )
  await assert.rejects(second, refused('TooManyHeavyRequests'))
  first.end('done')
  assert.equal(await done, 'done')
  assert.deepEqual([places.taken, places.waiting], [0, 0])
})

test('whose client goes away leaves the queue', async () => {
  const places = createPlaces({ places: 1 })
  const first = held()
  const done = places.run(endless, first.work)
  let leave = (): void => {}
  const lifetime: Lifetime = {
    ...endless,
    over: new AppError('ClientClosedRequest'),
    onOver(action) {
      leave = action
      return () => {}
    },
  }
  const waiting = places.run(lifetime, async () => 'never')
  assert.equal(places.waiting, 1)
  leave()
  await assert.rejects(waiting, refused('ClientClosedRequest'))
  assert.equal(places.waiting, 0)
  first.end('done')
  await done
})

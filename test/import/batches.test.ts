import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBatches, shareOut } from '../../src/import/batches.ts'

async function batchesOf(...args: Parameters<typeof inBatches<number>>): Promise<number[][]> {
  const batches: number[][] = []
  for await (const batch of inBatches(...args)) batches.push(batch)
  return batches
}

test('records come in batches by number and by weight', async () => {
  const numbers = [1, 2, 3, 4, 5]
  assert.deepEqual(await batchesOf(numbers, { size: 2 }), [[1, 2], [3, 4], [5]])
  assert.deepEqual(await batchesOf(numbers, { size: 5, wanted: (each) => each % 2 === 1 }), [[1, 3, 5]])
  assert.deepEqual(await batchesOf(numbers, { size: 9, weigh: (each) => each, most: 4 }), [[1, 2], [3], [4], [5]])
  assert.deepEqual(await batchesOf([], { size: 2 }), [])
})

test('workers share batches, each of which one of them gets; a failure or an end leaves the others nothing', async () => {
  const signal = new AbortController()
  const done: number[][] = []
  await shareOut(inBatches([1, 2, 3, 4, 5], { size: 2 }), { workers: 3, signal: signal.signal }, async (batch) => {
    done.push(batch)
  })
  assert.deepEqual(done.flat().toSorted(), [1, 2, 3, 4, 5])
  let began = 0
  const failing = shareOut(
    inBatches(Array(100).keys(), { size: 1 }),
    { workers: 2, signal: signal.signal },
    async () => {
      began++
      throw new Error('no')
    },
  )
  await assert.rejects(failing, /no/)
  assert.ok(began <= 2)
  began = 0
  await shareOut(inBatches(Array(100).keys(), { size: 1 }), { workers: 2, signal: signal.signal }, async () => {
    began++
    signal.abort()
  })
  assert.ok(began <= 2)
})

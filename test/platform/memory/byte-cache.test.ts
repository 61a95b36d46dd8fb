// alone: it measures the memory of its process, and makes its garbage collector callable
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import {
  cacheSizes,
  clearCaches,
  createByteCache,
  heapBytes,
  observeCache,
  stringBytes,
} from '../../../src/platform/memory/byte-cache.ts'

describe('a cache with a budget in bytes', () => {
  test('whatever is done to it, keys and values together stay within the budget', () => {
    const step = fc.record({
      key: fc.oneof(fc.string({ maxLength: 20 }), fc.string({ minLength: 500, maxLength: 4000 })),
      size: fc.oneof(fc.nat(50), fc.nat(3000)),
      remove: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const maxBytes = 20_000
        const cache = createByteCache<string, { readonly text: string }>({
          name: 'test',
          maxBytes,
          sizeOf: ({ text }) => heapBytes(text),
        })
        for (const { key, size, remove } of steps) {
          if (remove) cache.delete(key)
          else cache.set(key, { text: 'x'.repeat(size) })
          let bytes = 0
          for (const [kept, { text }] of cache.entries()) bytes += 2 * kept.length + 2 * text.length
          assert.ok(bytes <= maxBytes, `${bytes} bytes`)
          assert.ok(bytes <= cache.calculatedSize, 'no letter is forgotten')
        }
      }),
    )
  })

  test('a value or a key that would push all others out is not kept', () => {
    const cache = createByteCache<string, { readonly bytes: number }>({
      name: 'test',
      maxBytes: 80_000,
      sizeOf: ({ bytes }) => bytes,
    })
    cache.set('small', { bytes: 100 })
    cache.set('large', { bytes: 20_000 })
    cache.set('k'.repeat(10_000), { bytes: 1 })
    assert.deepEqual([...cache.keys()], ['small'])
  })
})

test('the bytes of data count all that is in them, each once', () => {
  const text = 'ü'.repeat(1000)
  const shared = [text]
  const around: Record<string, unknown> = { shared }
  around.self = around
  assert.ok(stringBytes(text) >= 2000)
  for (const value of [text, [text], { text }, new Map([['a', text]]), new Map([[text, 1]]), new Set([text]), around]) {
    const bytes = heapBytes(value)
    assert.ok(bytes >= 2000 && bytes < 2500, `${bytes}`)
  }
  assert.ok(heapBytes([shared, shared]) < 2500)
  assert.ok(heapBytes(new Int32Array(1000)) >= 4000)
})

test('caches of one name are told together, for as long as they are there', () => {
  const two = [1, 2].map((index) => {
    const cache = { index }
    const clear = (): void => {
      cache.index = 0
    }
    observeCache('test_two', cache, { sizeOf: ({ index }) => ({ bytes: 10 * index, entries: index }), clear })
    return cache
  })
  assert.deepEqual(cacheSizes().get('test_two'), { bytes: 30, entries: 3 })
  assert.equal(two.length, 2)
})

test('all caches of the process are emptied at once, whoever made them', () => {
  const one = createByteCache<string, { text: string }>({ name: 'test_one', maxBytes: 10_000, sizeOf: () => 10 })
  one.set('a', { text: 'a' })
  const other = { index: 1 }
  observeCache('test_other', other, {
    sizeOf: ({ index }) => ({ bytes: index, entries: index }),
    clear(all) {
      all.index = 0
    },
  })
  clearCaches()
  assert.equal(one.size, 0)
  assert.equal(other.index, 0)
})

test('what the heap holds stays within the budget, with keys and texts as long as those of statements', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const maxBytes = 16_000_000
  const cache = createByteCache<string, { readonly text: string }>({
    name: 'statements of a test',
    maxBytes,
    sizeOf: ({ text }) => stringBytes(text),
  })
  const long = (number: number, letter: string) => Buffer.from(`${number} ${letter.repeat(1500)}`, 'utf16le')
  gc()
  gc()
  const before = process.memoryUsage().heapUsed
  for (let number = 0; number < 20_000; number++) {
    const key = long(number, 'ä').toString('utf16le')
    cache.set(key, { text: long(number, 'ö').toString('utf16le') })
  }
  gc()
  gc()
  const taken = process.memoryUsage().heapUsed - before
  assert.ok(taken < maxBytes * 1.1, `${taken} bytes`)
  assert.ok(cache.size > 1000, `${cache.size} entries are kept`)
})

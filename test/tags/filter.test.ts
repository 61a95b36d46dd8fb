import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/platform/errors.ts'
import { matchesTagFilter, readTagFilter, renderTagFilter, type TagFilter } from '../../src/tags/filter.ts'

const ids = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 6 })
const tags = fc.option(ids)
const filter = fc.record({ all: ids, any: ids, not: ids, changed: ids })
const none: TagFilter = { all: [], any: [], not: [], changed: [] }
const known = { has: (id: number) => id <= 8 }

/** The definition as sets, written independently of the implementation. */
function fits(
  filter: TagFilter,
  before: readonly number[],
  after: readonly number[],
  side: 'before' | 'after',
): boolean {
  const asked = new Set(side === 'before' ? before : after)
  const changed = new Set(before).symmetricDifference(new Set(after))
  return (
    new Set(filter.all).isSubsetOf(asked) &&
    (filter.any.length === 0 || !new Set(filter.any).isDisjointFrom(asked)) &&
    new Set(filter.not).isDisjointFrom(asked) &&
    (filter.changed.length === 0 || !new Set(filter.changed).isDisjointFrom(changed))
  )
}

test('a filter fits exactly when each slot that is set holds', () => {
  fc.assert(
    fc.property(filter, tags, tags, fc.constantFrom('before', 'after'), (filter, before, after, side) => {
      const expected = fits(filter, before ?? [], after ?? [], side)
      assert.equal(matchesTagFilter(filter, { before, after }, side), expected)
    }),
    { numRuns: 2000 },
  )
})

test('no filter and an empty filter fit everything', () => {
  fc.assert(
    fc.property(tags, tags, (before, after) => {
      assert.ok(matchesTagFilter(null, { before, after }))
      assert.ok(matchesTagFilter(none, { before, after }))
    }),
  )
})

test('more conditions never let more through, and order does not matter', () => {
  fc.assert(
    fc.property(filter, filter, tags, tags, (one, two, before, after) => {
      const both = { ...one, all: [...one.all, ...two.all], not: [...one.not, ...two.not] }
      if (matchesTagFilter(both, { before, after })) assert.ok(matchesTagFilter(one, { before, after }))
      const turned = {
        all: one.all.toReversed(),
        any: one.any.toReversed(),
        not: one.not.toReversed(),
        changed: one.changed,
      }
      assert.equal(matchesTagFilter(turned, { before, after }), matchesTagFilter(one, { before, after }))
    }),
  )
})

test('nothing has changed where nothing changed', () => {
  fc.assert(
    fc.property(ids, ids, (changed, same) => {
      const state = { before: same, after: same.toReversed() }
      assert.equal(matchesTagFilter({ ...none, changed }, state), changed.length === 0)
    }),
  )
})

test('what is read is shown as it was sent, empty slots left out; an empty filter is none', () => {
  fc.assert(
    fc.property(ids, ids, (all, changed) => {
      const read = readTagFilter({ all, changed, any: [] }, known, 'here')
      const expected = { ...(all.length > 0 ? { all } : {}), ...(changed.length > 0 ? { changed } : {}) }
      assert.deepEqual(read === null ? {} : renderTagFilter(read), expected)
    }),
  )
  for (const empty of [undefined, null, {}, { all: [], not: [] }])
    assert.equal(readTagFilter(empty, known, 'here'), null)
})

test('wrong filters are refused', () => {
  const table: [object, string][] = [
    [{ all: [9] }, 'TagNotFound'],
    [{ changed: [9] }, 'TagNotFound'],
    [{ all: [1, 1] }, 'ServerGeneric'],
    [{ all: [1], not: [1] }, 'ServerGeneric'],
    [{ any: [2], all: [2] }, 'ServerGeneric'],
    [{ changed: [3, 3] }, 'ServerGeneric'],
  ]
  for (const [input, code] of table) {
    assert.throws(
      () => readTagFilter(input, known, 'here'),
      (error) => error instanceof AppError && error.code === code,
      JSON.stringify(input),
    )
  }
  assert.throws(() => readTagFilter({ changed: [1] }, known, 'here', { changed: false }))
  assert.doesNotThrow(() => readTagFilter({ all: [1], changed: [1] }, known, 'here'))
})

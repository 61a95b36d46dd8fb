import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { objectsOf } from '../../src/rights/shares/object-set.ts'

const setOf = (lists: readonly (readonly number[])[]) =>
  objectsOf(
    lists.map((ids, index) => ({
      id: index + 1,
      parentId: null,
      ownerId: 1,
      acl: [],
      privateAcl: false,
      list: { version: 1, ids: Float64Array.from([...ids].sort((a, b) => a - b)) },
    })),
  )

/** Ids may be larger than the numbers that operators on bits take. */
const beyond = 2 ** 32

test('an object is in the set exactly if one of the lists has it, with a bit for each id and without', () => {
  const id = fc.integer({ min: 1, max: 3000 })
  const list = fc.oneof(fc.uniqueArray(id), fc.uniqueArray(id, { minLength: 250, maxLength: 400 }))
  const start = fc.constantFrom(0, 5_000_000, beyond, 2 ** 40)
  let withBits = 0
  fc.assert(
    fc.property(fc.array(list, { maxLength: 4 }), start, (lists, from) => {
      const ids = lists.map((each) => each.map((id) => from + id))
      const set = setOf(ids)
      if (set.bits() !== null) withBits++
      const members = new Set(ids.flat())
      for (let at = from - 20; at < from + 3040; at += 7) assert.equal(set.has(at), members.has(at), `${at}`)
      for (const member of members) {
        assert.ok(set.has(member))
        for (const other of [member + beyond, member - beyond, -member])
          assert.equal(set.has(other), members.has(other), `${other}`)
      }
    }),
    { numRuns: 50 },
  )
  assert.ok(withBits > 10, `${withBits} sets had bits`)
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { all, any, holds, inPools, isPrivate, not, type Personal } from '../../src/rights/expression.ts'
import { readPrincipals } from '../../src/rights/grants.ts'
import type { Guarded } from '../../src/rights/model.ts'
import { id, someObject, someSource } from './arbitraries.ts'
import { grant, noon, object, pool, rightsOf } from './support.ts'

const personal = (guarded: Guarded): Personal => ({
  granted: () => readPrincipals(guarded, noon).principals,
  files: () => [],
})

describe('the read right as a condition', () => {
  test('agrees with may(read) for every object, whatever the grants are', () => {
    fc.assert(
      fc.property(
        someSource,
        fc.array(someObject, { minLength: 1, maxLength: 10 }),
        id(3),
        fc.uniqueArray(id(3), { maxLength: 2 }),
        (source, objects, userId, groupIds) => {
          const rights = rightsOf(source, { userId, groupIds })
          const readable = rights.readable()
          const known = new Set(source.pools.map((each) => each.id))
          for (const drawn of objects) {
            const guarded = drawn.poolId !== null && !known.has(drawn.poolId) ? { ...drawn, poolId: null } : drawn
            assert.equal(holds(readable, guarded, personal(guarded)), rights.may('read', guarded))
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('so does the right to delete, by grants that give it', () => {
    let [yes, no] = [0, 0]
    fc.assert(
      fc.property(
        someSource,
        fc.array(someObject, { minLength: 1, maxLength: 10 }),
        id(3),
        fc.uniqueArray(id(3), { maxLength: 2 }),
        (source, objects, userId, groupIds) => {
          const rights = rightsOf(source, { userId, groupIds })
          const { right, when } = rights.deletable()
          const known = new Set(source.pools.map((each) => each.id))
          for (const drawn of objects) {
            const guarded = drawn.poolId !== null && !known.has(drawn.poolId) ? { ...drawn, poolId: null } : drawn
            const expected = rights.may('delete', guarded)
            if (expected) yes++
            else no++
            const granted = () => readPrincipals(guarded, noon, right).principals
            assert.equal(holds(when, guarded, { granted, files: () => [] }), expected)
          }
        },
      ),
      { numRuns: 2000 },
    )
    assert.ok(Math.min(yes, no) > 100, `${yes} may be deleted, ${no} not`)
  })

  test('a caller who reads all objects of a type may read each of them, in any pool, with any tags', () => {
    let [yes, no] = [0, 0]
    fc.assert(
      fc.property(
        someSource,
        fc.array(someObject, { minLength: 1, maxLength: 10 }),
        fc.boolean(),
        id(3),
        fc.uniqueArray(id(3), { maxLength: 2 }),
        (source, objects, aclTable, userId, groupIds) => {
          const rights = rightsOf(source, { userId, groupIds })
          const holding = source.pools.filter((each) => each.holdsObjects).map((each) => each.id)
          for (const drawn of objects) {
            const poolLink = drawn.poolId !== null && holding.includes(drawn.poolId)
            const privateAcl = aclTable && drawn.privateAcl
            const guarded = {
              ...drawn,
              poolId: poolLink ? drawn.poolId : null,
              acl: aclTable ? drawn.acl : null,
              privateAcl,
            }
            const all = rights.readsAll({ id: drawn.objecttypeId, poolLink, aclTable })
            if (all) yes++
            else no++
            if (all) assert.ok(rights.may('read', guarded))
          }
        },
      ),
      { numRuns: 3000 },
    )
    assert.ok(Math.min(yes, no) > 20, `${yes} read all, ${no} do not`)
  })

  test('all objects of a type are read by a grant in each pool, not in some, and not by one that a private object shuts out', () => {
    const type = { id: 1, poolLink: true, aclTable: false }
    const grants = [grant('u5', 'read')]
    const all = rightsOf({ pools: [pool(1, null, grants), pool(2, 1), pool(3, 1)] })
    assert.deepEqual([all.readsAll(type), all.readsAll({ ...type, aclTable: true })], [true, false])
    const some = rightsOf({ pools: [pool(1, null), pool(2, 1, grants), pool(3, 1)] })
    assert.equal(some.readsAll(type), false)
    const tagged = [grant('u5', 'read', { tagfilter: { all: [1], any: [], not: [] } })]
    assert.equal(rightsOf({ pools: [pool(1, null, tagged), pool(2, 1)] }).readsAll(type), false)
    const own = [grant('owner', 'read')]
    assert.equal(rightsOf({ pools: [pool(1, null, own), pool(2, 1)] }).readsAll(type), false)
    const sticky = rightsOf({ objecttypes: new Map([[1, [grant('u5', 'read', { sticky: true })]]]) })
    assert.equal(sticky.readsAll({ id: 1, poolLink: false, aclTable: true }), true)
    assert.equal(sticky.readsAll({ id: 2, poolLink: false, aclTable: true }), false)
  })

  const owned = { is: 'owner', userId: 5, groupIds: [3, 4] } as const
  const granted = { is: 'granted', who: ['u5', 'g3', 'g4'], masks: 'any' } as const

  test('pools with the same grants share one condition', () => {
    const pools = [
      pool(1, null, [grant('g3', 'read')]),
      ...Array.from({ length: 50 }, (_, index) => pool(index + 2, 1)),
    ]
    const ids = pools.slice(1).map((each) => each.id)
    assert.deepEqual(rightsOf({ pools }).readable(), any([owned, granted, all([inPools(ids), not(isPrivate)])]))
  })

  test('so do pools that have grants of their own which say the same', () => {
    const pools = [pool(1, null), ...[2, 3, 4].map((each) => pool(each, 1, [grant(each === 3 ? 'g3' : 'u5', 'read')]))]
    const rights = rightsOf({ pools })
    assert.deepEqual(rights.readable(), any([owned, granted, all([inPools([2, 3, 4]), not(isPrivate)])]))
    assert.deepEqual(
      rights.maskGrants(1).map(({ poolIds }) => poolIds),
      [[2, 3, 4]],
    )
    assert.equal(rights.maskGrants(1)[0]?.poolIds, rights.maskGrants(2)[0]?.poolIds)
  })

  test('a grant that asks for tags adds nothing where another asks for none', () => {
    const tagfilter = { all: [1], any: [], not: [] }
    const pools = [pool(1, null), pool(2, 1, [grant('g3', 'read', { tagfilter }), grant('u5', 'read')])]
    assert.deepEqual(rightsOf({ pools }).readable(), any([owned, granted, all([inPools([2]), not(isPrivate)])]))
  })

  test('a sticky grant reaches private objects, and so adds to one that does not', () => {
    const tagfilter = { all: [1], any: [], not: [] }
    const pools = [pool(1, null), pool(2, 1, [grant('g3', 'read', { tagfilter, sticky: true }), grant('u5', 'read')])]
    const given = any([{ is: 'tags', filter: tagfilter } as const, not(isPrivate)])
    assert.deepEqual(rightsOf({ pools }).readable(), any([owned, granted, all([inPools([2]), given])]))
  })
})

const named = (...who: string[]) => who.map((each) => ({ who: each, masks: null }))

describe('read principals of an object', () => {
  test('hold until the next grant begins or ends', () => {
    const later = new Date(noon + 1000).toISOString()
    const guarded = object({
      ownerGroupId: 8,
      acl: [grant('u1', 'read', { from: later }), grant('owner', 'read'), grant('contact', 'read')],
    })
    assert.deepEqual(readPrincipals(guarded, noon), { principals: named('g8', 'c2'), validUntil: noon + 1000 })
    assert.deepEqual(readPrincipals(guarded, noon + 1000), { principals: named('u1', 'g8', 'c2'), validUntil: null })
  })
})

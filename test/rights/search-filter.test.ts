import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readPrincipals, tagsFit } from '../../src/rights/grants.ts'
import type { Guarded, SearchFilter } from '../../src/rights/model.ts'
import { id, someObject, someSource } from './arbitraries.ts'
import { grant, noon, object, pool, rightsOf } from './support.ts'

/** What a search engine makes of the filter and of what it has indexed for the object. */
function found(filter: SearchFilter, guarded: Guarded, at: number): boolean {
  if (filter.all) return true
  const { principals } = readPrincipals(guarded, at)
  if (principals.some(({ who }) => filter.principals.includes(who))) return true
  return filter.grants.some((each) => {
    if (guarded.privateAcl && !each.reachesPrivate) return false
    if (each.objecttypeIds && !each.objecttypeIds.includes(guarded.objecttypeId)) return false
    if (each.poolIds === 'none' ? guarded.poolId !== null : each.poolIds && !each.poolIds.includes(guarded.poolId ?? 0))
      return false
    if (!tagsFit(each.tags, guarded.tags)) return false
    const { owner } = each
    return !owner || owner.userId === guarded.ownerUserId || owner.groupIds.includes(guarded.ownerGroupId ?? 0)
  })
}

describe('search filter', () => {
  test('agrees with may(read) for every object, whatever the grants are', () => {
    fc.assert(
      fc.property(
        someSource,
        fc.array(someObject, { minLength: 1, maxLength: 10 }),
        id(3),
        fc.uniqueArray(id(3), { maxLength: 2 }),
        (source, objects, userId, groupIds) => {
          const rights = rightsOf(source, { userId, groupIds })
          const filter = rights.searchFilter()
          const known = new Set(source.pools.map((each) => each.id))
          for (const drawn of objects) {
            const guarded = drawn.poolId !== null && !known.has(drawn.poolId) ? { ...drawn, poolId: null } : drawn
            assert.equal(found(filter, guarded, noon), rights.may('read', guarded))
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('pools with the same grants share one condition', () => {
    const pools = [
      pool(1, null, [grant('g3', 'read')]),
      ...Array.from({ length: 50 }, (_, index) => pool(index + 2, 1)),
    ]
    const filter = rightsOf({ pools }).searchFilter()
    assert.ok(!filter.all)
    assert.equal(filter.grants.length, 2)
    assert.deepEqual(
      filter.grants[1]?.poolIds,
      pools.slice(1).map((each) => each.id),
    )
    assert.deepEqual(filter.principals, ['u5', 'g3', 'g4'])
  })

  test('a grant that asks for tags adds nothing where another asks for none', () => {
    const tagfilter = { all: [1], any: [], not: [] }
    const pools = [pool(1, null), pool(2, 1, [grant('g3', 'read', { tagfilter }), grant('u5', 'read')])]
    const filter = rightsOf({ pools }).searchFilter()
    assert.ok(!filter.all)
    assert.deepEqual(
      filter.grants.map((each) => each.tags),
      [null, null],
    )
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

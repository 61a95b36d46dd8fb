import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readPrincipals, tagsFit } from '../../src/rights/grants.ts'
import type { ContainerGrants, Guarded, PoolGrants, SearchFilter, StoredGrant } from '../../src/rights/model.ts'
import { grant, noon, object, pool, rightsOf } from './support.ts'

/** What a search engine makes of the filter and of what it has indexed for the object. */
function found(filter: SearchFilter, guarded: Guarded, at: number): boolean {
  if (filter.all) return true
  const { principals } = readPrincipals(guarded, at)
  if (principals.some((who) => filter.principals.includes(who))) return true
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

const id = (max: number) => fc.integer({ min: 1, max })
const who = fc.oneof(
  id(3).map((n) => `u${n}` as const),
  id(3).map((n) => `g${n}` as const),
  fc.constantFrom('owner' as const, 'contact' as const),
)
const tags = fc.uniqueArray(id(3), { maxLength: 2 })
const window = fc.option(
  fc.integer({ min: -2, max: 2 }).map((hours) => new Date(noon + hours * 3_600_000).toISOString()),
  { nil: undefined, freq: 2 },
)
const someGrant: fc.Arbitrary<StoredGrant> = fc
  .record({
    who,
    read: fc.option(fc.option(fc.uniqueArray(id(2), { maxLength: 2 }), { nil: undefined }), { nil: null, freq: 5 }),
    tagfilter: fc.option(fc.record({ all: tags, any: tags, not: tags }), { nil: undefined }),
    from: window,
    to: window,
    active: fc.constantFrom(undefined, undefined, false as const),
    sticky: fc.constantFrom(undefined, true as const),
  })
  .map(({ who, read, ...more }) => {
    const limited = read === undefined ? {} : { objecttype_ids: read ?? [] }
    return grant(who, read === null ? { write: {} } : { read: limited }, more)
  })
const person = fc.option(
  fc.oneof(
    id(3).map((n) => `u${n}` as const),
    id(3).map((n) => `g${n}` as const),
  ),
  { nil: null },
)
const acl = fc.array(someGrant, { maxLength: 3 })
const somePools: fc.Arbitrary<PoolGrants[]> = fc
  .array(fc.record({ acl, parent: fc.nat(), privateAcl: fc.boolean(), contact: person, owner: person }), {
    minLength: 1,
    maxLength: 5,
  })
  .map((drafts) =>
    drafts.map(({ acl, parent, ...more }, index) =>
      pool(index + 1, index === 0 ? null : (parent % index) + 1, acl, more),
    ),
  )
const source: fc.Arbitrary<ContainerGrants> = fc.record({
  pools: somePools,
  objecttypes: fc.array(fc.tuple(id(2), acl), { maxLength: 2 }).map((entries) => new Map(entries)),
})
const someObject: fc.Arbitrary<Guarded> = fc
  .record({
    objecttypeId: id(2),
    poolId: fc.option(fc.integer({ min: 2, max: 5 }), { nil: null }),
    ownerUserId: fc.option(id(3), { nil: null }),
    ownerGroupId: fc.option(id(3), { nil: null }),
    tags,
    acl: fc.option(acl, { nil: null }),
    privateAcl: fc.boolean(),
  })
  .map((drawn) => object({ ...drawn, ownerGroupId: drawn.ownerUserId === null ? drawn.ownerGroupId : null }))

describe('search filter', () => {
  test('agrees with may(read) for every object, whatever the grants are', () => {
    fc.assert(
      fc.property(
        source,
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

describe('read principals of an object', () => {
  test('hold until the next grant begins or ends', () => {
    const later = new Date(noon + 1000).toISOString()
    const guarded = object({
      ownerGroupId: 8,
      acl: [grant('u1', 'read', { from: later }), grant('owner', 'read'), grant('contact', 'read')],
    })
    assert.deepEqual(readPrincipals(guarded, noon), { principals: ['g8', 'c2'], validUntil: noon + 1000 })
    assert.deepEqual(readPrincipals(guarded, noon + 1000), { principals: ['u1', 'g8', 'c2'], validUntil: null })
  })
})

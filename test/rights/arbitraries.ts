/** Random grants, pools and objects over small ids, so that they meet often. */
import fc from 'fast-check'
import type { ContainerGrants, Guarded, PoolGrants, RightItem, StoredGrant } from '../../src/rights/model.ts'
import { grant, noon, object, pool } from './support.ts'

export const id = (max: number) => fc.integer({ min: 1, max })
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
/** For object type 1, with masks 1 and 2. */
const masks = fc.option(
  fc.uniqueArray(fc.constantFrom<number | 'standard'>(1, 2, 'standard'), { maxLength: 2 }).map((list) => ({ 1: list })),
  { nil: undefined, freq: 2 },
)
const someGrant: fc.Arbitrary<StoredGrant> = fc
  .record({
    who,
    masks,
    moreMasks: masks,
    read: fc.option(fc.option(fc.uniqueArray(id(2), { maxLength: 2 }), { nil: undefined }), { nil: null, freq: 5 }),
    pools: fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 4 }) },
    ),
    tagfilter: fc.option(fc.record({ all: tags, any: tags, not: tags }), { nil: undefined }),
    from: window,
    to: window,
    active: fc.constantFrom(undefined, undefined, false as const),
    sticky: fc.constantFrom(undefined, true as const),
  })
  .map(({ who, read, pools, masks, moreMasks, ...more }) => {
    const places = pools ? { pool_ids: pools } : {}
    const types = { ...places, ...(read === undefined ? {} : { objecttype_ids: read ?? [] }) }
    const limited = { ...types, ...(masks ? { mask_ids: masks } : {}) }
    const rights: Record<string, RightItem> = read === null ? { write: {} } : { read: limited }
    if (moreMasks) rights.mask = { mask_ids: moreMasks }
    return grant(who, rights, more)
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
export const someSource: fc.Arbitrary<ContainerGrants> = fc.record({
  pools: somePools,
  objecttypes: fc.array(fc.tuple(id(2), acl), { maxLength: 2 }).map((entries) => new Map(entries)),
})
export const someObject: fc.Arbitrary<Guarded> = fc
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

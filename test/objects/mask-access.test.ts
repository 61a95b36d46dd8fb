import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Mask, Table } from '../../src/datamodel/model.ts'
import { maskAccess } from '../../src/objects/masks/access.ts'
import { type MaskDeps, mayUseMask, standardMask } from '../../src/objects/masks/preference.ts'
import type { Head } from '../../src/objects/stored/rows.ts'
import { holds } from '../../src/rights/expression.ts'
import { readPrincipals } from '../../src/rights/grants.ts'
import type { Expression, Guarded } from '../../src/rights/model.ts'
import { id, someObject, someSource } from '../rights/arbitraries.ts'
import { noon, rightsOf } from '../rights/support.ts'

/** Whether a search finds the object in the place, by what it has indexed of it. */
const isIn = (place: Expression, guarded: Guarded): boolean =>
  holds(place, guarded, { granted: () => readPrincipals(guarded, noon).principals, files: () => [] })

/** Object type 1 with the masks 1 and 2 and `_all_fields`, or with `_all_fields` alone. */
function someTable(aclTable: boolean, own: readonly number[]): Table {
  const table = { id: 1, aclTable } as { -readonly [K in keyof Table]: Table[K] }
  const mask = (number: number): Mask =>
    ({ id: number, table, isAllFields: number === 0, isInline: false, name: `m${number}` }) as Mask
  const masks = [mask(0), ...own.map(mask)]
  table.masks = new Map(masks.map((each) => [each.name, each]))
  table.preferredMask = masks.at(-1) as Mask
  return table
}

const preferred = fc.option(fc.uniqueArray(id(2), { minLength: 1, maxLength: 2 }), { nil: undefined })
const slot = fc.uniqueArray(id(3), { maxLength: 1 })
const filter = fc.option(fc.record({ all: slot, any: slot, not: slot }), { nil: undefined, freq: 2 })

test('where masks may be used agrees with mayUseMask for every readable object, whatever the grants are', () => {
  fc.assert(
    fc.property(
      someSource,
      fc.array(someObject, { minLength: 1, maxLength: 10 }),
      fc.record({ userId: id(3), groupIds: fc.uniqueArray(id(3), { maxLength: 2 }) }),
      fc.record({ aclTable: fc.boolean(), own: fc.constantFrom([], [1], [1, 2]) }),
      fc.tuple(preferred, preferred, preferred),
      fc.tuple(filter, filter),
      (source, objects, caller, { aclTable, own }, [ofType, ofPool, ofOther], filters) => {
        const rights = rightsOf(source, caller)
        const table = someTable(aclTable, own)
        const byPool = new Map([
          [2, ofPool],
          [3, ofOther],
        ])
        const deps = {
          pools: { byId: (pool: number) => ({ effectiveMasks: byPool.get(pool) ? { 1: byPool.get(pool) } : {} }) },
          objecttypeMasks: () => ofType ?? null,
          maskFilters: () => Object.fromEntries(filters.map((tagfilter, index) => [index + 1, { tagfilter }])),
        } as unknown as MaskDeps
        const known = new Set(source.pools.map((each) => each.id))
        const access = maskAccess(deps, rights)(table)
        for (const drawn of objects) {
          const poolId = drawn.poolId !== null && known.has(drawn.poolId) ? drawn.poolId : null
          const own = aclTable ? {} : { privateAcl: false, acl: null }
          const guarded = { ...drawn, objecttypeId: 1, poolId, ...own }
          if (!rights.may('read', guarded)) continue
          const head = { table, poolId, tags: drawn.tags, guard: guarded } as unknown as Head
          for (const masks of subsets([...table.masks.values()])) {
            const found = access.where(new Set(masks))
            const expected = masks.some((mask) => mayUseMask({ deps, caller: rights }, mask, head))
            const actual = typeof found === 'string' ? found === 'always' : isIn(found.place, guarded)
            const said = JSON.stringify([found, masks.map((mask) => mask.id), guarded, standardMask({ deps }, head).id])
            assert.equal(actual, expected, said)
            if (typeof found !== 'string' && found.unless && !isIn(found.unless, guarded)) assert.ok(actual, said)
          }
        }
      },
    ),
    { numRuns: 1000 },
  )
})

function subsets<T>(list: readonly T[]): T[][] {
  return Array.from({ length: 2 ** list.length - 1 }, (_, bits) =>
    list.filter((__, place) => ((bits + 1) >> place) & 1),
  )
}

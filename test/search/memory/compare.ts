/** Two indexes of the same objects, one in PostgreSQL and one in memory: whatever is searched is searched in both. */
import assert from 'node:assert/strict'
import type { Deadline } from '../../../src/platform/limits/deadline.ts'
import type { Clause, FacetCounts, Hit, SearchOutcome, SearchPlan, SearchScope } from '../../../src/search/plan/plan.ts'
import { createPostgresIndex, type SearchIndex, type SearchIndexOptions } from '../../../src/search/service.ts'
import createMemoryIndex from './index.ts'

/** How many plans were compared. */
export interface Compared {
  plans: number
  /** What they answered differently. */
  readonly differences: Error[]
}

/**
 * Answers are those of PostgreSQL. `again`: each plan is searched four times, in words that differ, so that what is read into
 * columns for the first searches answers the last, however little they find. `joins`: no condition through a link is looked up
 * beforehand.
 */
export function createComparingIndex(
  compared: Compared,
  { again = false, joins = false }: { again?: boolean; joins?: boolean } = {},
): (options: SearchIndexOptions) => SearchIndex {
  return (options) => {
    const one = createPostgresIndex({
      ...options,
      ...(again ? { largeResult: 0 } : {}),
      ...(joins ? { mostTargets: 0 } : {}),
    })
    const other = createMemoryIndex(options)
    const compare = async (plan: SearchPlan, found: SearchOutcome, deadline: Deadline): Promise<void> => {
      compared.plans++
      const expected = await other.engine.search(plan, deadline)
      try {
        assertSame(plan, found, expected)
      } catch (error) {
        compared.differences.push(error as Error)
      }
    }
    return {
      target: {
        ...one.target,
        async make(db, batch) {
          const [first, second] = [await one.target.make(db, batch), await other.target.make(db, batch)]
          return {
            ...first,
            async apply(connection) {
              await second.apply(connection)
              return first.apply(connection)
            },
          }
        },
        async forget(connection, ids) {
          await other.target.forget(connection, ids)
          return one.target.forget(connection, ids)
        },
      },
      engine: {
        ...one.engine,
        async search(plan, deadline) {
          const found = await one.engine.search(plan, deadline)
          // Hits carry what their engine sorts by, so what stands behind one is compared by nobody.
          if (plan.after) return found
          await compare(plan, found, deadline)
          for (const more of again ? [1, 2, 3] : []) {
            await one.idle()
            const none: Clause = { is: 'not', of: { is: 'id', ids: [-more] } }
            const scope: SearchScope = { ...plan.scope, where: { is: 'and', of: [plan.scope.where, none] } }
            const same = { ...plan, scope }
            await compare(same, await one.engine.search(same, deadline), deadline)
          }
          return found
        },
      },
      idle: one.idle,
      forget: one.forget,
      async close() {
        await one.close()
        await other.close()
      },
    }
  }
}

function assertSame(plan: SearchPlan, found: SearchOutcome, expected: SearchOutcome): void {
  assert.equal(found.count, expected.count, 'number of matches')
  assertSameHits(plan, found.hits, expected.hits, found.count)
  for (const [name, facet] of expected.facets) {
    assert.deepEqual(countsOf(found.facets.get(name)), countsOf(facet), `facet ${name}`)
  }
  assert.deepEqual(found.ranges, expected.ranges, 'ranges')
}

/** How relevant a hit is, each engine says by itself. */
function assertSameHits(plan: SearchPlan, found: readonly Hit[], expected: readonly Hit[], count: number): void {
  const ids = (hits: readonly Hit[]): number[] => hits.map(({ id }) => id)
  if (!plan.sort.some(({ field }) => field.by === 'score')) assert.deepEqual(ids(found), ids(expected), 'order')
  else if (plan.offset === 0 && plan.limit >= count) assert.deepEqual(ids(found).sort(), ids(expected).sort())
}

function countsOf(facet: FacetCounts | undefined): [number | string, number][] {
  assert.ok(facet)
  return Array.from(facet.counts, (count, index): [number | string, number] => [facet.value(index), count]).sort(
    ([a], [b]) => (a < b ? -1 : 1),
  )
}

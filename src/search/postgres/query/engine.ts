/**
 * The engine that searches in PostgreSQL. Most searches are one statement that walks through the matches once and
 * gives their number, the page and the facets. Of what is estimated to be a large result, number and facets are counted
 * on their own, and the page comes from an index in the order of the page, where there is one.
 */
import { heapBytes } from '../../../platform/byte-cache.ts'
import type { Db, Queryable } from '../../../platform/db.ts'
import type { Lifetime } from '../../../platform/lifetime.ts'
import { createPauses, letPass } from '../../../platform/pauses.ts'
import {
  type FacetCounts,
  type Hit,
  noCounts,
  type SearchEngine,
  type SearchOutcome,
  type SearchPlan,
} from '../../plan/plan.ts'
import { readGeneration } from '../index/store.ts'
import type { SlotCache } from '../slots.ts'
import type { AccessSets } from './access-sets.ts'
import { readChanges } from './changes.ts'
import { createFacetSetCache, SetsGone } from './facet-sets.ts'
import { type FacetColumn, facetColumn, facetCounts } from './facets.ts'
import { findLinked, type LinkedObjects, visionWith } from './linked.ts'
import { countsKey, pageKey } from './plan-key.ts'
import type { PostgresPlan } from './postgres-plan.ts'
import { createResultCache, type Kept } from './result-cache.ts'
import type { createSortIndexes } from './sort-indexes.ts'
import { isSortValue } from './sort-values.ts'
import * as statements from './statements.ts'
import { expandWildcards } from './wildcards.ts'

export interface PostgresEngineDeps {
  readonly db: Db
  readonly slots: SlotCache
  readonly accessSets: AccessSets
  readonly sortIndexes: Pick<ReturnType<typeof createSortIndexes>, 'wanted' | 'has'>
  /** Connections of this engine. */
  readonly maxConnections: number
  /** Matches from which on a page is read along an index, where there is one in its order. */
  readonly largeResult?: number
}

/** Milliseconds. */
const longestStatement = 60_000
/** Hits behind which a page is found by sorting the matches, not by walking along an index. */
const farOffset = 1000

/** Number of matches, facets and ranges: what all pages of a search share. */
type Counts = Omit<SearchOutcome, 'hits'>

interface Part<T> {
  readonly value: T
  readonly generation: number
}

export type PostgresEngine = SearchEngine & { close(): Promise<void> }

export function createPostgresEngine({
  db,
  slots,
  accessSets,
  sortIndexes,
  maxConnections,
  largeResult = 30_000,
}: PostgresEngineDeps): PostgresEngine {
  // Reading all documents to compare their lexemes is never better than the index; PostgreSQL, which does not know
  // what reading a lexeme vector costs, would think so.
  const lexical = db.sibling({
    maxConnections,
    settings: { enable_seqscan: 'off', work_mem: '64MB', statement_timeout: `${longestStatement}` },
  })
  const cache = createResultCache()
  const sets = createFacetSetCache({ onForget: cache.clear })
  const running = new Map<string, Promise<Part<SearchOutcome>>>()

  /** The plan with what has to be known for it, and how its statements begin. */
  async function prepare(given: SearchPlan, lifetime: Lifetime) {
    // A search may have ten thousand values, which are gone through at each step.
    const pauses = createPauses()
    const asked: PostgresPlan = { ...given, slots: await slots.of(given.model, given.languages), accessSets }
    const databases = { db: db.within(lifetime), lexical: lexical.within(lifetime) }
    await letPass(pauses)
    const expansions = await expandWildcards(databases, asked)
    const planWith = (known: LinkedObjects): PostgresPlan => ({ ...asked, vision: visionWith(asked.vision, known) })
    const linked = await findLinked(databases.lexical, asked.vision, (known) =>
      statements.compileAll(planWith(known), expansions, known),
    )
    const plan = planWith(linked)
    await letPass(pauses)
    const start = (): statements.Statement => statements.startStatement(plan, expansions, linked)
    const first = start()
    await letPass(pauses)
    return { plan, linked, start, first, target: (first.lexical ? lexical : db).within(lifetime) }
  }

  /** What was counted may be gone before it is known what it means; then it is counted once more. */
  async function searchAgain(plan: SearchPlan, lifetime: Lifetime): Promise<Part<SearchOutcome>> {
    try {
      return await search(plan, lifetime)
    } catch (error) {
      if (!(error instanceof SetsGone)) throw error
      return search(plan, lifetime)
    }
  }

  async function search(asked: SearchPlan, lifetime: Lifetime): Promise<Part<SearchOutcome>> {
    const { plan, linked, start, first, target } = await prepare(asked, lifetime)
    if (first.where === null) return { value: nothing(plan), generation: Number.MAX_SAFE_INTEGER }
    const known = await currentCounts(plan)
    if (known) {
      const page = await pageAlone(target, plan, start, known.value)
      return { value: { ...known.value, hits: page.value }, generation: Math.min(known.generation, page.generation) }
    }
    const columns = columnsOf(plan, linked)
    if (await isAtOnce(target, plan, first)) {
      const whole = await statements.runWhole(target, first, columns)
      if (whole.count > largeResult) sortIndexes.wanted(plan)
      const counts = await finishCounts(target, plan, start, columns, whole)
      keep(plan, { value: counts, generation: whole.generation }, whole)
      return { value: { ...counts, hits: whole.hits }, generation: whole.generation }
    }
    const counting = statements.runCounts(target, start, columns)
    // Of conditions that are dear for whatever does not match, an estimate is not enough to walk along an index.
    const paging = first.lexical
      ? counting.then(({ count }) => pageOf(target, plan, start, count))
      : pageOf(target, plan, start)
    const [counted, page] = await Promise.all([counting, paging])
    const counts = await finishCounts(target, plan, start, columns, counted)
    keep(plan, { value: counts, generation: counted.generation }, page)
    return { value: { ...counts, hits: page.hits }, generation: Math.min(counted.generation, page.generation) }
  }

  /**
   * Whether one statement gives number, facets and page. Of a large result the page is asked for by itself where it can be
   * read along an index; without one, all matches would be read twice, to be counted and to be sorted. What turns out to
   * be larger than it was estimated is not thrown away: that would be a third time.
   */
  async function isAtOnce(target: Queryable, plan: PostgresPlan, first: statements.Statement): Promise<boolean> {
    if (plan.limit === 0) return false
    if (first.scattered || isFar(plan, first) || !(await sortIndexes.has(plan))) return true
    return !wasLarge(plan) && (await statements.estimate(target, first)) <= largeResult
  }

  /** Along an index all that is skipped would be read to compare its lexemes. */
  const isFar = (plan: SearchPlan, { lexical }: statements.Statement): boolean => lexical && plan.offset > farOffset

  /** The page of a search whose matches are counted already. */
  async function pageAlone(
    target: Queryable,
    plan: PostgresPlan,
    start: () => statements.Statement,
    counts: Counts,
  ): Promise<Part<readonly Hit[]>> {
    const page = await pageOf(target, plan, start, counts.count)
    if (plan.limit > 0)
      cache.set(pageKey(plan), { value: page.hits, generation: page.generation, bytes: heapBytes(page.hits) })
    return { value: page.hits, generation: page.generation }
  }

  /** The page by itself; `count`: how many matches there are, where that is known. */
  async function pageOf(
    target: Queryable,
    plan: PostgresPlan,
    start: () => statements.Statement,
    count = Number.POSITIVE_INFINITY,
  ): Promise<statements.Paged> {
    if (plan.limit === 0) return { hits: [], generation: Number.MAX_SAFE_INTEGER }
    const statement = start()
    if (count <= largeResult || isFar(plan, statement)) return statements.runWhole(target, statement, [])
    sortIndexes.wanted(plan)
    return statements.runPage(target, statement)
  }

  /** The index has changed since, but what was a large result hardly became a small one. */
  function wasLarge(plan: SearchPlan): boolean {
    return (cache.get<Counts>(countsKey(plan))?.value.count ?? 0) > 2 * largeResult
  }

  /** Facets as values, and what is counted by statements of its own: ranges, columns that are not prepared. */
  async function finishCounts(
    target: Queryable,
    plan: PostgresPlan,
    start: () => statements.Statement,
    columns: readonly FacetColumn[],
    counted: statements.Counted,
  ): Promise<Counts> {
    const facets = new Map<string, FacetCounts>()
    const ranges = new Map<string, readonly number[]>()
    for (const [index, column] of columns.entries()) {
      const text = counted.facets[index] as statements.Counted['facets'][number]
      facets.set(column.facet.name, await facetCounts(db, sets, column, text))
    }
    for (const aggregation of plan.aggregations) {
      if (aggregation.kind === 'ranges') {
        ranges.set(aggregation.name, await statements.runRanges(target, start(), aggregation))
      } else if (!facets.has(aggregation.name)) {
        facets.set(aggregation.name, await statements.runStoredFacet(target, start(), aggregation))
      }
    }
    return { count: counted.count, facets, ranges }
  }

  function keep(plan: SearchPlan, counts: Part<Counts>, page: statements.Paged): void {
    cache.set(countsKey(plan), { ...counts, bytes: bytesOf(counts.value) })
    if (page.generation === Number.MAX_SAFE_INTEGER) return
    cache.set(pageKey(plan), { value: page.hits, generation: page.generation, bytes: heapBytes(page.hits) })
  }

  async function currentCounts(plan: SearchPlan): Promise<Kept<Counts> | null> {
    const kept = cache.get<Counts>(countsKey(plan))
    if (!kept) return null
    return kept.generation >= (await readGeneration(db)) ? kept : null
  }

  /** A kept result, when the index has not changed since. */
  async function current(plan: SearchPlan): Promise<SearchOutcome | null> {
    const counts = cache.get<Counts>(countsKey(plan))
    const page = counts && cache.get<readonly Hit[]>(pageKey(plan))
    if (!counts || !page) return null
    const now = await readGeneration(db)
    return counts.generation >= now && page.generation >= now ? { ...counts.value, hits: page.value } : null
  }

  return {
    isSortValue,
    async search(plan, lifetime) {
      const kept = await current(plan)
      if (kept) return kept
      const key = `${countsKey(plan)}\n${pageKey(plan)}`
      // Many may ask the same at once. Whoever comes later takes the result if it shows what they may expect to see.
      const other = running.get(key)
      if (other) {
        const now = await readGeneration(db)
        // It ended with the time of somebody else's request, not of ours.
        const found = await other.catch(() => null)
        if (found && found.generation >= now) return found.value
      }
      const own = searchAgain(plan, lifetime).finally(() => {
        if (running.get(key) === own) running.delete(key)
      })
      running.set(key, own)
      return (await own).value
    },
    async page(asked, lifetime) {
      const { plan, first, target } = await prepare(asked, lifetime)
      if (first.where === null) return []
      const { hits } = await statements.runPage(target, first)
      if (hits.length >= farOffset && hits.length === plan.limit) sortIndexes.wanted(plan)
      return hits
    },
    async changes(asked, window, lifetime) {
      const { first } = await prepare(asked, lifetime)
      // Whatever matches is looked for among the changes, not by the index of lexemes.
      return readChanges(db.within(lifetime), first, window)
    },
    close: () => lexical.close(),
  }
}

/** Of the names and ranges all, of the facets what they say themselves. */
function bytesOf({ facets, ranges }: Counts): number {
  let bytes = heapBytes(ranges)
  for (const [name, facet] of facets) bytes += 200 + heapBytes(name) + facet.bytes
  return bytes
}

function columnsOf(plan: PostgresPlan, linked: LinkedObjects): FacetColumn[] {
  return plan.aggregations.flatMap((each) => (each.kind === 'facet' ? (facetColumn(each, plan, linked) ?? []) : []))
}

function nothing(plan: SearchPlan): SearchOutcome {
  const facets = new Map<string, FacetCounts>()
  const ranges = new Map<string, readonly number[]>()
  for (const aggregation of plan.aggregations) {
    if (aggregation.kind === 'facet') facets.set(aggregation.name, noCounts)
    else
      ranges.set(
        aggregation.name,
        aggregation.clauses.map(() => 0),
      )
  }
  return { count: 0, hits: [], facets, ranges }
}

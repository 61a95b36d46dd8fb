/**
 * The engine that searches in PostgreSQL. Most searches are one statement that walks through the matches once and returns their
 * number, the page and the facets. If a large result is estimated, number and facets are counted by a statement of their own, and
 * the page comes from an index in the order of the page, where there is one. Cached results are brought up to date
 * (cached-results.ts), and large results are answered from memory the next time, by their conditions (bitmaps/).
 */
import { hash } from 'node:crypto'
import type { Deadline } from '../../../platform/limits/deadline.ts'
import type { Shares } from '../../../platform/memory/shares.ts'
import { createBatchLoader } from '../../../platform/postgres/batch-loader.ts'
import type { Db, Queryable } from '../../../platform/postgres/db.ts'
import { createYielder, yieldIfDue } from '../../../platform/process/cooperative-yield.ts'
import { type FacetCounts, noCounts, type SearchEngine, type SearchOutcome, type SearchPlan } from '../../plan/plan.ts'
import type { BitmapStore } from '../bitmaps/bitmap-store.ts'
import {
  bestOf,
  quickCountEach,
  quickCounts,
  quickMatches,
  quickMatchesOfAll,
  quickTerms,
  type TermSearch,
} from '../bitmaps/quick-terms.ts'
import { createBitmapSearch } from '../bitmaps/search.ts'
import { momentSql, readMoment } from '../index/store.ts'
import { lexicalSettings } from '../lexical.ts'
import type { SlotCache } from '../slots.ts'
import type { AccessSets } from './access/access-sets.ts'
import type { PostgresPlan } from './access/postgres-plan.ts'
import { isTimely } from './access/trash.ts'
import { type CountedText, createFacetSetCache, SetsGone } from './facets/facet-sets.ts'
import { type FacetColumn, facetColumn, facetCounts } from './facets/facets.ts'
import { fieldVisibilityWith, findLinked, type LinkedObjects } from './linked/linked.ts'
import { createLinkedAnswers } from './linked/linked-answers.ts'
import type { createSortIndexes } from './order/sort-indexes.ts'
import { isSortValue } from './order/sort-values.ts'
import { type Counts, createCachedResults, type Page, type Part, type Renewed } from './results/cached-results.ts'
import { countsKey, pageKey } from './results/plan-key.ts'
import { readChanges } from './statements/changes.ts'
import { collectHits } from './statements/collect.ts'
import { runMeasure } from './statements/measures.ts'
import { readShown } from './statements/shown.ts'
import * as statements from './statements/statements.ts'
import { countTerms, findTerms, frequent, knownAmong, withTerm } from './statements/terms.ts'
import { expandWildcards, noExpansions } from './words/wildcards.ts'

export interface PostgresEngineDeps {
  readonly db: Db
  /** For statements that take microseconds. */
  readonly pipelined: Queryable
  readonly slots: SlotCache
  readonly accessSets: AccessSets
  readonly bitmaps: BitmapStore
  readonly sortIndexes: Pick<ReturnType<typeof createSortIndexes>, 'wanted' | 'has'>
  /** The number of connections of this engine. */
  readonly maxConnections: number
  readonly memory: EngineShares
  /** Number of matches from which on a page is read along an index, if one has its order. */
  readonly largeResult?: number
  /** The highest number of objects that a condition through a link looks up beforehand; more are found by a join. */
  readonly mostTargets?: number
}

/** Bytes of the values of facets, of results, and of answers about linked objects. */
export type EngineShares = Pick<Shares, 'facetSets' | 'searchResults' | 'linkedAnswers'>

/** Milliseconds. */
const longestStatement = 60_000
/** Number of hits behind which a page is found by sorting the matches, not by walking along an index. */
const farOffset = 1000
/** A search is worth columns if it has more matches than a large result divided by this number. */
const columnGain = 15
/** The same for orders and facets through links, which ask something else for each match. */
const linkGain = 150
/** The number of best hits among which some objects are looked for. */
const mostFitting = 1000

const byId: SearchPlan['sort'] = [{ field: { by: 'id' }, descending: false }]

export type PostgresEngine = SearchEngine & { close(): Promise<void> }

export function createPostgresEngine({
  db,
  pipelined,
  slots,
  accessSets,
  sortIndexes,
  maxConnections,
  bitmaps,
  memory,
  largeResult = 30_000,
  mostTargets = 2000,
}: PostgresEngineDeps): PostgresEngine {
  const lexical = db.sibling({
    maxConnections,
    settings: { ...lexicalSettings, statement_timeout: `${longestStatement}` },
  })
  const sets = createFacetSetCache({ mostBytes: memory.facetSets, onForget: () => kept.clear() })
  const countFacet = (column: FacetColumn, counted: CountedText): Promise<FacetCounts> =>
    facetCounts(db, sets, column, counted)
  const readNow = createBatchLoader(() => readMoment(pipelined), { most: 1000 })
  const momentOf = ({ moment }: SearchPlan): Promise<number> =>
    moment === null ? readNow(null) : Promise.resolve(moment)
  const kept = createCachedResults({ countFacet, momentOf, maxBytes: memory.searchResults })
  const linkedAnswers = createLinkedAnswers(memory.linkedAnswers)
  const bitmapSearch = createBitmapSearch({ pipelined, bitmaps, sets, countFacet })
  type Prepared = Awaited<ReturnType<typeof prepare>>
  const running = new Map<string, Promise<Part<SearchOutcome>>>()

  /** Completes the plan with the data that it needs, and the beginning of its statements. */
  async function prepare(given: SearchPlan, deadline: Deadline) {
    // A search may have ten thousand values, which each step processes.
    const yielder = createYielder()
    const asked: PostgresPlan = { ...given, slots: await slots.of(given.model, given.languages), accessSets }
    const databases = { db: db.within(deadline), lexical: lexical.within(deadline) }
    await yieldIfDue(yielder)
    const expansions = await expandWildcards(databases, asked)
    const planWith = (known: LinkedObjects): PostgresPlan => ({
      ...asked,
      fieldVisibility: fieldVisibilityWith(asked.fieldVisibility, known),
    })
    let now: Promise<number> | null = null
    const moment = () => {
      now ??= momentOf(given)
      return now
    }
    const answered = await findLinked(
      { db: databases.lexical, known: linkedAnswers, accessSets, moment },
      asked.fieldVisibility,
      (known) => statements.compileAll(databases.lexical, planWith(known), expansions, known),
    )
    const plan = planWith(answered)
    await yieldIfDue(yielder)
    const { targets, asOf, found } = await statements.readTargets(
      databases.lexical,
      plan,
      expansions,
      answered,
      mostTargets,
    )
    const linked: LinkedObjects = { ...answered, targets }
    const start = (form: statements.StatementForm = {}): statements.Statement =>
      statements.startStatement(plan, expansions, linked, form)
    const first = start()
    const lookedUp = hash('sha256', `${expansions.found()}\n${linked.found()}\n${found()}`, 'base64')
    const plain = db.within(deadline)
    const isIndexed = plan.limit > 0 && (await sortIndexes.has(plan))
    return {
      plan,
      moment,
      lookedUp,
      lookedUpAt: asOf,
      throughLinks: goesThroughLinks(plan),
      start,
      first,
      plain,
      lexical: databases.lexical,
      get target() {
        return first.lexical ? databases.lexical : plain
      },
      isIndexed,
      columns: columnsOf(plan, linked, databases.lexical),
    }
  }

  /** Counted sets may be removed before their members are read; then the search runs once more. */
  async function searchAgain(plan: SearchPlan, deadline: Deadline): Promise<Part<SearchOutcome>> {
    try {
      return await search(plan, deadline)
    } catch (error) {
      if (!(error instanceof SetsGone)) throw error
      return search(plan, deadline)
    }
  }

  async function search(given: SearchPlan, deadline: Deadline): Promise<Part<SearchOutcome>> {
    const asked = await prepare(given, deadline)
    const known = await kept.renewed(asked)
    const found = known ?? (await fromColumns(asked))
    if (!found) return findAnew(asked)
    const { counts } = found
    const page =
      found.page ??
      (known && isWorthColumns(asked, counts.value.count) ? await bitmapSearch.page(asked) : null) ??
      (await pageOf(asked, counts.value.count))
    if (!found.page) kept.keepPage(asked, page)
    return { value: { ...counts.value, hits: page.value }, asOf: Math.min(counts.asOf, page.asOf, asked.lookedUpAt) }
  }

  /** The part of a result that columns in memory can answer. */
  async function fromColumns(asked: Prepared): Promise<Renewed | null> {
    const found = await bitmapSearch.find(asked)
    if (found) kept.keepCounts(asked, found.counts)
    if (found?.page) kept.keepPage(asked, found.page)
    return found
  }

  async function findAnew(asked: Prepared): Promise<Part<SearchOutcome>> {
    const { plan, start, first, columns } = asked
    if (first.where === null) return { value: nothing(plan), asOf: Number.MAX_SAFE_INTEGER }
    const { target } = asked
    if (await isAtOnce(target, plan, first)) {
      const whole = await statements.runInOneWalk(target, first, columns)
      if (whole.count > largeResult) sortIndexes.wanted(plan)
      const counts = await finishCounts(asked, whole)
      kept.keepCounts(asked, { value: counts, asOf: whole.asOf })
      kept.keepPage(asked, { value: whole.hits, asOf: whole.asOf })
      wantColumns(asked, whole.count)
      return { value: { ...counts, hits: whole.hits }, asOf: Math.min(whole.asOf, asked.lookedUpAt) }
    }
    const counting = statements.runCounts(target, start, columns)
    // If conditions are expensive for objects that do not match, the exact count is needed to decide about walking along an index.
    const paging = first.lexical ? counting.then(({ count }) => pageOf(asked, count)) : pageOf(asked)
    const [counted, page] = await Promise.all([counting, paging])
    const counts = await finishCounts(asked, counted)
    kept.keepCounts(asked, { value: counts, asOf: counted.asOf })
    kept.keepPage(asked, page)
    wantColumns(asked, counted.count)
    return { value: { ...counts, hits: page.value }, asOf: Math.min(counted.asOf, page.asOf, asked.lookedUpAt) }
  }

  const isWorthColumns = ({ throughLinks }: Prepared, count: number): boolean =>
    count * (throughLinks ? linkGain : columnGain) > largeResult

  /** Makes a search with many matches run in memory the next time. */
  function wantColumns(asked: Prepared, count: number): void {
    if (isWorthColumns(asked, count)) bitmapSearch.want(asked, count, largeResult)
  }

  /**
   * Whether one statement returns number, facets and page. For a large result, the page is read by a statement of its own if an
   * index has its order; without an index, all matches would be read twice, to be counted and to be sorted. A result that turns out
   * larger than estimated is not thrown away: that would be a third time.
   */
  async function isAtOnce(target: Queryable, plan: PostgresPlan, first: statements.Statement): Promise<boolean> {
    if (plan.limit === 0) return false
    if (first.scattered || isFar(plan, first) || !(await sortIndexes.has(plan))) return true
    return !kept.wasLarge(plan, largeResult) && (await statements.estimate(target, first)) <= largeResult
  }

  /** Walking along an index would read all skipped documents to compare their lexemes. */
  const isFar = (plan: SearchPlan, { lexical }: statements.Statement): boolean => lexical && plan.offset > farOffset

  /** Only the page; `count`: the number of matches, where it is known. */
  async function pageOf({ plan, target, start }: Prepared, count = Number.POSITIVE_INFINITY): Promise<Page> {
    if (plan.limit === 0) return { value: [], asOf: Number.MAX_SAFE_INTEGER }
    const statement = start()
    const isWhole = count <= largeResult || isFar(plan, statement)
    if (!isWhole) sortIndexes.wanted(plan)
    const { hits, asOf } = isWhole
      ? await statements.runInOneWalk(target, statement, [])
      : await statements.runPage(target, statement)
    return { value: hits, asOf }
  }

  /** Facets as values, with the parts that need statements of their own: ranges, columns that are not prepared. */
  async function finishCounts(
    { target, plan, start, columns }: Prepared,
    counted: statements.Counted,
  ): Promise<Counts> {
    const facets = new Map<string, FacetCounts>()
    const ranges = new Map<string, readonly number[]>()
    for (const [index, column] of columns.entries()) {
      const text = counted.facets[index] as statements.Counted['facets'][number]
      facets.set(column.facet.name, await countFacet(column, text))
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

  /** Prepares the search for many terms, one after the other. Patterns of it, if it has some, are left open. */
  async function prepareTerms(given: SearchPlan, deadline: Deadline): Promise<TermSearch> {
    const asked: PostgresPlan = { ...given, slots: await slots.of(given.model, given.languages), accessSets }
    const databases = { db: db.within(deadline), lexical: lexical.within(deadline) }
    const planWith = (known: LinkedObjects): PostgresPlan => ({
      ...asked,
      fieldVisibility: fieldVisibilityWith(asked.fieldVisibility, known),
    })
    // The linked objects differ for each term, so they are not looked up with the placeholder.
    const byTerm = (known: LinkedObjects): LinkedObjects => ({ ...known, find: () => null })
    const moment = () => momentOf(given)
    const linked = await findLinked(
      { db: databases.lexical, known: linkedAnswers, accessSets, moment },
      asked.fieldVisibility,
      (known) => statements.compileAll(databases.lexical, planWith(known), noExpansions, byTerm(known)),
    )
    const context = { plan: planWith(linked), expansions: noExpansions, linked: byTerm(linked) }
    return { context, plain: databases.db, lexical: databases.lexical, moment, deadline }
  }

  const engine: PostgresEngine = {
    isSortValue,
    momentSql,
    async search(plan, deadline) {
      const current = await kept.current(plan)
      if (current) return current
      const key = `${countsKey(plan)}\n${pageKey(plan)}`
      // Many callers may run the same search at once. A later one takes the running result if it is recent enough for it.
      const other = running.get(key)
      if (other && !isTimely(plan)) {
        const now = await momentOf(plan)
        // Its deadline is that of another request, not ours.
        const found = await other.catch(() => null)
        if (found && found.asOf >= now) return found.value
      }
      const own = searchAgain(plan, deadline).finally(() => {
        if (running.get(key) === own) running.delete(key)
      })
      running.set(key, own)
      return (await own).value
    },
    async page(asked, deadline) {
      // The walk may last for hours, so the moment of the request does not apply.
      const { plan, first, target } = await prepare({ ...asked, moment: null }, deadline)
      if (first.where === null) return []
      const { hits } = await statements.runPage(target, first)
      if (hits.length >= farOffset && hits.length === plan.limit) sortIndexes.wanted(plan)
      return hits
    },
    async best(asked, among, deadline) {
      const search = await prepareTerms(asked, deadline)
      const found = await quickMatchesOfAll(bitmaps, search)
      if (found) {
        const ids = among ? found.ids.filter((id) => among.has(id)) : found.ids
        return (await bestOf(search, ids, found.words)).map(({ id }) => id)
      }
      const hits = await engine.page({ ...asked, limit: among ? mostFitting : asked.limit }, deadline)
      const ids = hits.map(({ id }) => id)
      return among ? ids.filter((id) => among.has(id)).slice(0, asked.limit) : ids
    },
    async some(asked, deadline) {
      const { limit } = asked
      const found = await quickMatches(bitmaps, await prepareTerms(asked, deadline), limit)
      if (found) return found
      const { first, target } = await prepare({ ...asked, sort: byId }, deadline)
      const ids = first.where === null ? [] : await statements.readSome(target, first)
      return { ids, whole: ids.length < limit }
    },
    async measure(asked, measure, deadline) {
      const { first, target } = await prepare({ ...asked, aggregations: [], sort: byId }, deadline)
      return runMeasure(target, first, measure)
    },
    shows: (plan, ids, fields, deadline) => readShown(db.within(deadline), plan, ids, fields),
    async terms(given, query, deadline) {
      const known = kept.knownTerms(given)
      const search = await prepareTerms(given, deadline)
      const found =
        (await quickTerms(bitmaps, search, query, known)) ??
        (await findTerms(search.lexical, search.context, query, knownAmong(known, query.source)))
      kept.keepTerms(given, found.terms)
      return found
    },
    async counts(given, placeholder, terms, deadline) {
      const counts = new Map(terms.flatMap(({ term, about, exact }) => (exact ? [[term, about]] : [])))
      const open = terms.filter(({ exact }) => !exact).map(({ term }) => term)
      const search = await prepareTerms(given, deadline)
      for (const [term, count] of await quickCounts(bitmaps, search, placeholder, open)) counts.set(term, count)
      const left = terms.filter(({ term }) => !counts.has(term))
      const rare = left.filter(({ about }) => about < frequent).map(({ term }) => term)
      const within = async (work: Promise<Iterable<readonly [string, number]>>): Promise<void> => {
        try {
          for (const [term, count] of await work) counts.set(term, count)
        } catch (error) {
          if (!deadline.over) throw error
        }
      }
      const countRare = () => countTerms(search.lexical, search.context, placeholder, rare)
      const countOne = async (term: string) => {
        const { count } = await engine.search(withTerm(given, placeholder, term), deadline)
        return [[term, count]] as const
      }
      const many = left.filter(({ about }) => about >= frequent)
      await Promise.all([
        ...(rare.length > 0 ? [within(countRare())] : []),
        ...many.map(({ term }) => within(countOne(term))),
      ])
      kept.keepTerms(
        given,
        [...counts].map(([term, about]) => ({ term, about })),
      )
      return counts
    },
    async countEach(asked, clauses, deadline) {
      const counts = await quickCountEach(bitmaps, await prepareTerms(asked, deadline), clauses)
      const left = clauses.filter((_, index) => counts[index] === null)
      if (left.length === 0) return counts.map((count) => count ?? 0)
      const ranges = { kind: 'ranges', name: '', clauses: left } as const
      const { first, target } = await prepare({ ...asked, aggregations: [ranges], limit: 0 }, deadline)
      const rest = first.where === null ? [] : await statements.runRanges(target, first, ranges)
      const counted = new Map(left.map((clause, index) => [clause, rest[index] ?? 0]))
      return clauses.map((clause, index) => counts[index] ?? counted.get(clause) ?? 0)
    },
    async collect(asked, into, deadline) {
      const { first, target } = await prepare({ ...asked, moment: null }, deadline)
      return collectHits(target, first, into)
    },
    async changes(asked, window, deadline) {
      const { first } = await prepare({ ...asked, moment: null }, deadline)
      // Matches are searched among the changes, not by the index of lexemes.
      return readChanges(db.within(deadline), first, window)
    },
    close: () => lexical.close(),
  }
  return engine
}

/** Whether hits are sorted or counted by values of other objects. */
function goesThroughLinks({ sort, aggregations }: SearchPlan): boolean {
  return (
    sort.some(({ field }) => field.by === 'field' && field.steps) ||
    aggregations.some((each) => each.kind === 'facet' && each.field.kind === 'field' && each.field.steps)
  )
}

function columnsOf(plan: PostgresPlan, linked: LinkedObjects, db: Queryable): FacetColumn[] {
  return plan.aggregations.flatMap((each) => (each.kind === 'facet' ? (facetColumn(each, plan, linked, db) ?? []) : []))
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

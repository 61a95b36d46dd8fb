/** Cached results: reuses valid ones, and brings others up to date by the changes since. */
import { heapBytes, stringBytes } from '../../../../platform/memory/byte-cache.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { FacetCounts, Hit, SearchOutcome, SearchPlan } from '../../../plan/plan.ts'
import type { FoundTerm } from '../../../plan/terms.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { isTimely } from '../access/trash.ts'
import { type CountedText, sumOf } from '../facets/facet-sets.ts'
import type { FacetColumn } from '../facets/facets.ts'
import type { Statement } from '../statements/statements.ts'
import { type Difference, readDifference } from './difference.ts'
import { countsKey, pageKey } from './plan-key.ts'
import { type CachedResult, createResultCache } from './result-cache.ts'

/** Number of matches, facets and ranges: the part that all pages of a search share. */
export type Counts = Omit<SearchOutcome, 'hits'>

/** A part of a result, with the state of the index that it was read from: moment of its last batch, in microseconds since 1970. */
export interface Part<T> {
  readonly value: T
  readonly asOf: number
}

export type Page = Part<readonly Hit[]>

/** A search about to be run. */
export interface PendingSearch {
  readonly plan: PostgresPlan
  /** Moment of the last batch of the index at the time of the request, or later; in microseconds since 1970. */
  readonly moment: () => Promise<number>
  /** The data that was looked up for its conditions, as a text. */
  readonly lookedUp: string
  /** State of the index that some of it was read from: a result is at most as recent. */
  readonly lookedUpAt: number
  readonly start: () => Statement
  readonly target: Queryable
  readonly columns: readonly FacetColumn[]
}

type LookedUp = Pick<PendingSearch, 'plan' | 'lookedUp' | 'lookedUpAt'>

/** A result that is up to date. */
export interface Renewed {
  readonly counts: Part<Counts>
  /** null: the page must still be read. */
  readonly page: Page | null
}

/** Results with fewer matches are computed again: that takes no longer. */
const fewest = 500
/** The number of changed documents up to which a result is brought up to date: `base`, and one per this number of matches. */
const changed = { base: 20, perMatches: 30, most: 1500 }

/** The highest number of terms; the oldest ones are dropped beyond it. */
const mostTerms = 5000
const bytesOfTerm = 150
const noTerms: ReadonlyMap<string, number> = new Map()
const noPage: CachedResult<string> = { value: '[]', asOf: Number.POSITIVE_INFINITY, lookedUp: '', bytes: 0 }
const termsKey = (plan: SearchPlan): string => `terms ${countsKey(plan)}`

export interface CachedResultsDeps {
  /** Moment of the last batch of the index at the time of a search, or later. */
  readonly momentOf: (plan: SearchPlan) => Promise<number>
  readonly countFacet: (column: FacetColumn, counted: CountedText) => Promise<FacetCounts>
  /** Bytes of all results together. */
  readonly maxBytes: number
}

export function createCachedResults({ momentOf, countFacet, maxBytes }: CachedResultsDeps) {
  const cache = createResultCache(maxBytes)

  function keepCounts({ plan, lookedUp, lookedUpAt }: LookedUp, { value, asOf }: Part<Counts>): void {
    if (isTimely(plan)) return
    cache.set(countsKey(plan), { value, asOf: Math.min(asOf, lookedUpAt), lookedUp, bytes: bytesOf(value) })
  }

  /** Stored as one text, which takes a fifth of the memory, and which the garbage collector does not have to traverse. */
  function keepPage({ plan, lookedUp, lookedUpAt }: LookedUp, { value, asOf }: Page): void {
    if (plan.limit === 0 || isTimely(plan)) return
    const text = JSON.stringify(value)
    cache.set(pageKey(plan), { value: text, asOf: Math.min(asOf, lookedUpAt), lookedUp, bytes: stringBytes(text) })
  }

  const keptPage = (plan: SearchPlan) => cache.get<string>(pageKey(plan))
  const hitsOf = ({ value }: CachedResult<string>) => JSON.parse(value) as readonly Hit[]

  async function addTo(before: Counts, asked: PendingSearch, difference: Difference): Promise<Counts | null> {
    const facets = new Map<string, FacetCounts>()
    for (const [index, column] of asked.columns.entries()) {
      const change = await countFacet(column, difference.facets[index] as CountedText)
      const counted = before.facets.get(column.facet.name)
      const sum = counted ? sumOf(counted, change) : null
      if (!sum) return null
      facets.set(column.facet.name, sum)
    }
    return { ...before, count: before.count + difference.count, facets }
  }

  /** Brings a result up to date by the changes since; null where they are not known, or too many. */
  async function broughtUp(
    asked: PendingSearch,
    kept: CachedResult<Counts>,
    page: Page | null,
  ): Promise<Renewed | null> {
    const { plan, columns } = asked
    const { count } = kept.value
    // Parts that are counted by statements of their own may belong to a later moment than the matches.
    if (count < fewest || columns.length < plan.aggregations.length) return null
    if (columns.some(({ reached }) => reached)) return null
    const difference = await readDifference(asked.target, asked.start(), {
      asOf: kept.asOf,
      most: Math.min(changed.most, changed.base + Math.floor(count / changed.perMatches)),
      columns,
      last: page?.value.length === plan.limit ? (page.value.at(-1) ?? null) : null,
    })
    const value = difference && (await addTo(kept.value, asked, difference))
    if (!value) return null
    const { asOf } = difference
    return { counts: { value, asOf }, page: page && difference.samePage ? { value: page.value, asOf } : null }
  }

  return {
    clear: cache.clear,
    keepCounts,
    keepPage,

    /** The whole result, if the index has not changed since. */
    async current(plan: SearchPlan): Promise<SearchOutcome | null> {
      const counts = cache.get<Counts>(countsKey(plan))
      if (!counts) return null
      const page = plan.limit === 0 ? noPage : keptPage(plan)
      if (!page) return null
      const now = await momentOf(plan)
      return counts.asOf >= now && page.asOf >= now ? { ...counts.value, hits: hitsOf(page) } : null
    },

    /** The current number and facets; and the page, unless something on it has changed. */
    async renewed(asked: PendingSearch): Promise<Renewed | null> {
      const { plan, lookedUp } = asked
      const kept = cache.get<Counts>(countsKey(plan))
      if (kept?.lookedUp !== lookedUp) return null
      const page = keptPage(plan)
      const isGood = page?.lookedUp === lookedUp && page.asOf >= kept.asOf
      const known = isGood ? { value: hitsOf(page), asOf: page.asOf } : null
      // While nothing is saved, the check is immediate: people turn pages.
      if (kept.asOf >= (await asked.moment())) return { counts: kept, page: known }
      const found = await broughtUp(asked, kept, known)
      if (!found) return null
      keepCounts(asked, found.counts)
      if (found.page) keepPage(asked, found.page)
      return found
    },

    /** Terms with many matches in earlier searches like the plan. They are for comparison only, whatever has changed since. */
    knownTerms: (plan: SearchPlan): ReadonlyMap<string, number> =>
      cache.get<ReadonlyMap<string, number>>(termsKey(plan))?.value ?? noTerms,

    /** Terms with few matches are not cached: counting them again is just as quick. */
    keepTerms(plan: SearchPlan, terms: readonly FoundTerm[]): void {
      if (isTimely(plan)) return
      const before = cache.get<ReadonlyMap<string, number>>(termsKey(plan))?.value ?? noTerms
      const changed = terms.filter(({ term, about }) => about >= fewest || before.has(term))
      if (changed.length === 0) return
      const known = new Map(before)
      for (const { term } of changed) known.delete(term)
      for (const { term, about } of changed) if (about >= fewest) known.set(term, about)
      const oldest = known.keys()
      while (known.size > mostTerms) known.delete(oldest.next().value as string)
      cache.set(termsKey(plan), { value: known, asOf: 0, lookedUp: '', bytes: known.size * bytesOfTerm })
    },

    /** Whether the result was large. The index has changed since, but a large result hardly became a small one. */
    wasLarge: (plan: SearchPlan, than: number): boolean =>
      (cache.get<Counts>(countsKey(plan))?.value.count ?? 0) > 2 * than,
  }
}

/** The size: all names and ranges, and the sizes that the facets report. */
function bytesOf({ facets, ranges }: Counts): number {
  let bytes = heapBytes(ranges)
  for (const [name, facet] of facets) bytes += 200 + heapBytes(name) + facet.bytes
  return bytes
}

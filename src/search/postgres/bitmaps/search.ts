/** Answers searches from columns in memory, as far as these have been read. */
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { AggregationPlan, FacetCounts } from '../../plan/plan.ts'
import { type CountedText, type createFacetSetCache, parseIntegers } from '../query/facets/facet-sets.ts'
import type { FacetColumn } from '../query/facets/facets.ts'
import type { Page, Renewed } from '../query/results/cached-results.ts'
import { readHits, type Statement } from '../query/statements/statements.ts'
import type { BitmapSearch, Matched } from './asked.ts'
import type { BitmapStore, ColumnRequest } from './bitmap-store.ts'
import { type MatchColumn, matchesIn, type NumberColumn, type ObjectTable, type OrderColumn } from './column.ts'
import { countBits, countNumbers, findAccessible, findMatches, idsInOrder } from './match.ts'
import { columnsOf, type Needs, needsOf, type OrderRequest } from './needs.ts'
import type { PartOfOrder } from './page-groups.ts'
import { readSince, type Since } from './since.ts'
import { createThroughLinks } from './through-links.ts'

/** With more changed documents than this, a table is read again. */
const mostChanged = 1500
/** The highest number of objects that are sorted if no index has the order. */
const mostSorted = 100_000

/** The highest number of hits whose sort values are read within microseconds. */
const mostQuick = 200

export interface BitmapSearchDeps {
  /** The members of facet sets. */
  readonly sets: ReturnType<typeof createFacetSetCache>
  readonly pipelined: Queryable
  readonly bitmaps: BitmapStore
  readonly countFacet: (column: FacetColumn, counted: CountedText) => Promise<FacetCounts>
}

export function createBitmapSearch({ pipelined, bitmaps, sets, countFacet }: BitmapSearchDeps) {
  const throughLinks = createThroughLinks({ bitmaps, sets })

  /** All needed columns but the order; null: one is missing. */
  async function take(table: ObjectTable, { matches, ranges, facets, order }: Needs) {
    const conditions = []
    for (const wanted of matches) {
      const column =
        wanted.key === order?.matches ? await matchesOf(table, wanted, order) : await bitmaps.soon(table, wanted)
      if (!column) return null
      conditions.push(column)
    }
    const keys = []
    for (const { range, wanted } of ranges) {
      const column = await bitmaps.soon(table, wanted)
      if (!column) return null
      keys.push({ ...range, keys: column })
    }
    const numbers = []
    for (const wanted of facets) {
      const column = await bitmaps.soon(table, wanted)
      if (!column) return null
      numbers.push(column)
    }
    return { conditions, ranges: keys, numbers }
  }

  /**
   * The objects that fulfil a condition. If they are not in memory themselves, they are taken from an order of the same objects.
   */
  async function matchesOf(table: ObjectTable, wanted: ColumnRequest<MatchColumn>, order: OrderRequest) {
    const known = bitmaps.column(table, wanted)
    if (known) return known
    const ordered = await bitmaps.soon(table, order)
    return ordered && bitmaps.made(table, wanted.key, async () => matchesIn(table, ordered))
  }

  async function facetsOf(
    asked: BitmapSearch,
    matched: Matched,
    facetColumns: readonly FacetColumn[],
    numbers: readonly NumberColumn[],
    targetFacets: Needs['targetFacets'],
  ) {
    const { bits, since } = matched
    const facets = new Map<string, FacetCounts>()
    for (const [index, column] of facetColumns.entries()) {
      const counts = await countNumbers(bits, numbers[index] as NumberColumn)
      const more = since.facets[index]
      const added = parseIntegers(more?.counts ?? null)
      for (const [place, number] of parseIntegers(more?.values ?? null).entries()) {
        counts.set(number, (counts.get(number) ?? 0) + (added[place] as number))
      }
      const text = { values: [...counts.keys()].join(), counts: [...counts.values()].join() }
      const { name } = column.facet
      const targets = targetFacets.get(name)
      const known = targets ? await throughLinks.targetFacet(asked, matched, targets, text) : null
      facets.set(name, known ?? (await countFacet(column, text)))
    }
    return facets
  }

  /** The page in an order that is in memory. */
  async function orderedPage(asked: BitmapSearch, { table, bits, since }: Matched, order: OrderColumn) {
    const from = Math.max(0, asked.plan.offset - since.matches.length)
    const ids = await idsInOrder(bits, table, order, from, asked.plan.offset + asked.plan.limit)
    return pageOf(asked, since, { ids, from })
  }

  /** The page, from the matches in memory and the matches among the changed objects. `null`: the index has changed meanwhile. */
  async function pageOf(
    { plan, plain, start }: BitmapSearch,
    since: Pick<Since, 'asOf' | 'matches'>,
    { ids, from }: PartOfOrder,
  ) {
    if (ids.length + since.matches.length === 0) return { value: [], asOf: since.asOf }
    const all = [...ids, ...since.matches]
    const page = await readHits(all.length > mostQuick ? plain : pipelined, start(), all, plan.offset - from)
    return page.asOf === since.asOf ? { value: page.hits, asOf: page.asOf } : null
  }

  /** The counts, and the page if its order is in memory. `null`: a part cannot be answered from memory. */
  async function find(
    asked: BitmapSearch,
    facetColumns: readonly FacetColumn[],
    others: readonly AggregationPlan[],
  ): Promise<Renewed | null> {
    const { plan, plain, start } = asked
    const [type] = plan.scope.objecttypes ?? []
    const table = type === undefined ? null : bitmaps.table(type)
    const needs = table && needsOf(start().context, facetColumns, others)
    const taken = needs && (await take(table, needs))
    if (!taken) return null
    const since = await sinceThen(plain, await asked.moment(), table, () => start({ byKeys: true }), facetColumns)
    if (!since) {
      bitmaps.outdate(table)
      return null
    }
    const { conditions, ranges, numbers } = taken
    const { access, among } = needs
    const fulfilled = [...conditions]
    for (const { key, known } of access) {
      const accessible = await bitmaps.made(table, key, () => findAccessible(table, known))
      if (!accessible) return null
      fulfilled.push(accessible)
    }
    const bits = await findMatches({
      table,
      conditions: fulfilled,
      among,
      ranges,
      without: [...since.changed, ...plan.fieldVisibility.without],
    })
    const { asOf } = since
    const matched = { table, bits, since }
    const backFacets = await throughLinks.backFacets(asked, matched, needs.backFacets)
    if (!backFacets) return null
    const own = await facetsOf(asked, matched, facetColumns, numbers, needs.targetFacets)
    const facets = new Map([...own, ...backFacets])
    const value = { count: countBits(bits) + since.matches.length, facets, ranges: new Map() }
    const counts = { value, asOf }
    if (plan.limit === 0) return { counts, page: { value: [], asOf } }
    const order = needs.order && bitmaps.column(table, needs.order)
    if (order) return { counts, page: await orderedPage(asked, matched, order) }
    const placed = needs.targets
      ? await throughLinks.byTargets(asked, matched, needs.targets)
      : needs.back && (await throughLinks.byLinking(asked, matched, needs.back))
    if (placed) return { counts, page: await pageOf(asked, { asOf, matches: placed.others }, placed.part) }
    if (needs.order && mayOrder(asked, table)) bitmaps.want(needs.type, [needs.order], 'usual')
    return { counts, page: null }
  }

  return {
    /**
     * The number of matches and the facets, and the page if its order is in memory; null: a part cannot be answered from memory.
     */
    async find(asked: BitmapSearch): Promise<Renewed | null> {
      return find(asked, asked.columns, othersOf(asked))
    },

    /** Only the page. */
    async page(asked: BitmapSearch): Promise<Page | null> {
      return (await find(asked, [], []))?.page ?? null
    },

    /** Asks for columns that would have helped a search with so many matches, for the next time. */
    want(asked: BitmapSearch, count: number, largeResult: number): void {
      const needs = needsOf(asked.start().context, asked.columns, othersOf(asked))
      if (!needs) return
      const ordered = asked.isIndexed || count <= mostSorted
      const wanted = columnsOf(ordered ? needs : { ...needs, order: null })
      bitmaps.want(needs.type, wanted, count > largeResult ? 'large' : 'usual')
      const linking = [...needs.backFacets, ...(needs.back ? [needs.back] : [])].map((each) => each.linking)
      for (const { type, links, values } of linking) bitmaps.want(type, [links, values], 'usual')
      const ranks = needs.targets?.ranks
      const targets = [...[...needs.targetFacets.values()].map((each) => each.targets), ...(ranks ? [ranks] : [])]
      for (const { type, values } of targets) bitmaps.want(type, [values], 'usual')
    },
  }
}

/** The aggregations that are counted by no column of the matches. */
function othersOf({ plan, columns }: BitmapSearch): AggregationPlan[] {
  const counted = new Set<AggregationPlan>(columns.map(({ facet }) => facet))
  return plan.aggregations.filter((each) => !counted.has(each))
}

const mayOrder = ({ isIndexed }: BitmapSearch, { ids }: ObjectTable): boolean => isIndexed || ids.length <= mostSorted

async function sinceThen(
  db: Queryable,
  moment: number,
  { asOf }: ObjectTable,
  start: () => Statement,
  columns: readonly FacetColumn[],
): Promise<Since | null> {
  if (moment === asOf) return { asOf, changed: [], matches: [], facets: [] }
  return readSince(db, start(), { asOf, most: mostChanged, columns })
}

/** Answers orders and facets through links from columns of both sides, as far as these have been read. */
import type { FacetCounts } from '../../plan/plan.ts'
import type { CountedText } from '../query/facets/facet-sets.ts'
import type { BitmapSearch, Matched } from './asked.ts'
import type { BitmapStore } from './bitmap-store.ts'
import { placeOf, setBit } from './column.ts'
import type { BackFacet, BackOrder, LinkingRequest, SideRequest, TargetFacet } from './linking-needs.ts'
import { readChangedSide, unchanged } from './linking-since.ts'
import { countLinking, type FacetSetCache, idsByLinking, type Linking, type Side, takeAffected } from './links-back.ts'
import { countTargets, ranksOfTargets, takeChanged } from './links-forth.ts'
import { findAccessible, findMatches } from './match.ts'
import { idsByRanks, type PartOfOrder } from './page-groups.ts'
import { idsByTargets, type TargetOrder } from './target-order.ts'

/** A part of the order of matches, and matches that PostgreSQL puts in their places. */
export interface Placed {
  readonly part: PartOfOrder
  readonly others: readonly number[]
}

/** The highest number of matches that PostgreSQL puts in their places. */
const mostOthers = 200

export function createThroughLinks({ bitmaps, sets }: { readonly bitmaps: BitmapStore; readonly sets: FacetSetCache }) {
  /** Objects at the other end of a link as of the same moment. null: something of them is not in memory. */
  async function sideOf(asked: BitmapSearch, { asOf }: { asOf: number }, request: SideRequest): Promise<Side | null> {
    const { plain, plan } = asked
    const table = bitmaps.table(request.type)
    const values = table && (await bitmaps.soon(table, request.values))
    if (!values) {
      bitmaps.want(request.type, [request.values], 'usual')
      return null
    }
    const { access } = request
    const accessible = access && (await bitmaps.made(table, access.key, () => findAccessible(table, access.known)))
    if (access && !accessible) return null
    const since = asOf === table.asOf ? unchanged(asOf) : await readChangedSide(plain, table, request.sql)
    if (!since) bitmaps.outdate(table)
    if (since?.asOf !== asOf) return null
    const without = [...since.changed, ...plan.fieldVisibility.without]
    const conditions = accessible ? [accessible] : []
    const bits = await findMatches({ table, conditions, among: [], ranges: [], without })
    return { table, bits, values, since }
  }

  async function linkingOf(
    asked: BitmapSearch,
    moment: { asOf: number },
    request: LinkingRequest,
  ): Promise<Linking | null> {
    const side = await sideOf(asked, moment, request)
    const links = side && (await bitmaps.soon(side.table, request.links))
    if (!links) {
      bitmaps.want(request.type, [request.links], 'usual')
      return null
    }
    const numbers = [...links.numbers.slice(1), ...side.since.rows.flatMap((row) => row.links ?? [])]
    const members = await sets.members(asked.plain, request.place, Int32Array.from(numbers))
    return members && { ...side, links, members }
  }

  /** The places of a page, if `others` more matches may stand before it. */
  const placesOf = ({ plan: { offset, limit } }: BitmapSearch, others: readonly number[]) => ({
    from: Math.max(0, offset - others.length),
    to: offset + limit,
  })

  /** The order by what the first links lead to. null: it is not in memory. */
  async function byTargets(asked: BitmapSearch, matched: Matched, order: TargetOrder): Promise<Placed | null> {
    const { table, since } = matched
    const targets = await bitmaps.soon(table, order.targets)
    if (!targets) {
      bitmaps.want(table.type, [order.targets], 'usual')
      return null
    }
    const side = order.ranks && (await sideOf(asked, since, order.ranks))
    const matches = { table, bits: matched.bits.slice() }
    const changed = side && takeChanged(side, targets, matches, mostOthers)
    if (side && changed) {
      const others = [...since.matches, ...changed]
      const keys = { keys: targets.placeOf, rankOf: await ranksOfTargets(side, targets) }
      const { ids, descending } = order
      const part = await idsByRanks(matches.bits, table, { ...placesOf(asked, others), ...keys, ids, descending })
      return part && { part, others }
    }
    const page = { order, statement: asked.start(), ...placesOf(asked, since.matches) }
    const part = await idsByTargets(asked.lexical, { table, bits: matched.bits, targets }, page)
    return part && { part, others: since.matches }
  }

  /** The order by objects that link to the matches. null: it is not in memory. */
  async function byLinking(asked: BitmapSearch, matched: Matched, order: BackOrder): Promise<Placed | null> {
    const { table, since } = matched
    const linking = await linkingOf(asked, since, order.linking)
    if (!linking) return null
    const matches = { table, bits: matched.bits.slice() }
    const affected = takeAffected(linking, matches)
    if (affected.length > mostOthers) return null
    const others = [...since.matches, ...affected]
    const part = await idsByLinking(linking, matches, { ...order, ...placesOf(asked, others) })
    return part && { part, others }
  }

  return {
    byTargets,
    byLinking,

    /** A facet of what the matches link to, given how many have each set of links. null: it is not in memory. */
    async targetFacet(
      asked: BitmapSearch,
      { since }: Matched,
      { targets, places }: TargetFacet,
      counted: CountedText,
    ): Promise<FacetCounts | null> {
      const side = await sideOf(asked, since, targets)
      return side && countTargets(asked.plain, sets, side, { counted, places })
    },

    /** Facets of objects that link to the matches. null: one of them is not in memory. */
    async backFacets(asked: BitmapSearch, { table, bits, since }: Matched, facets: readonly BackFacet[]) {
      const found = new Map<string, FacetCounts>()
      if (facets.length === 0) return found
      const matches = { table, bits: bits.slice() }
      for (const id of since.matches) {
        const place = placeOf(table.ids, id)
        if (place === -1) return null
        setBit(matches.bits, place)
      }
      for (const { name, linking: request, place } of facets) {
        const linking = await linkingOf(asked, since, request)
        const counts = linking && (await countLinking(asked.plain, sets, linking, { matches, place }))
        if (!counts) return null
        found.set(name, counts)
      }
      return found
    },
  }
}

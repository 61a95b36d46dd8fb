/**
 * One search with many conditions on lexemes, one after the other: what all of them share (rights, types, pools) is answered once, as
 * bits, and each condition is the places of its lexemes among these. A lexeme is looked up once, whoever asks for it.
 */
import type { Deadline } from '../../../platform/limits/deadline.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import { createYielder } from '../../../platform/process/cooperative-yield.ts'
import type { Expression } from '../../../rights/service.ts'
import type { Clause, SearchScope } from '../../plan/plan.ts'
import { rightsCondition } from '../query/access/access.ts'
import type { AccessSetCondition } from '../query/access/access-sets.ts'
import { ofDocuments, predicateSql } from '../query/access/predicate.ts'
import { scopeSql } from '../query/conditions/condition.ts'
import type { ConditionContext } from '../query/conditions/context.ts'
import { atMicroseconds, Parameters } from '../query/sql/sql.ts'
import type { Node } from '../query/sql/tsquery.ts'
import type { BitmapStore } from './bitmap-store.ts'
import type { MatchColumn, ObjectTable } from './column.ts'
import { completePlaces, placesOf } from './lexeme-places.ts'
import { countBits, findAccessible, findMatches } from './match.ts'
import { conditionsOf } from './needs.ts'
import {
  addNeeds,
  common,
  type Matches,
  matchesOf,
  type NodeAnswers,
  type NodeNeeds,
  noNeeds,
  type SharedNode,
} from './node-matches.ts'
import { accessOf, objectsAlone } from './requests.ts'

/** The number of objects of a lexeme beyond which not all are looked up at first. */
const mostAtFirst = 1000
/** The highest number of object types whose tables are looked through. */
const mostTypes = 8
/** With more changed objects than this, PostgreSQL answers sooner. */
const mostChanged = 300
/** With more, the tables are read again. */
const tooManyChanged = 1500

export interface NodeSearchRequest {
  readonly context: ConditionContext
  /** The conditions beside the nodes. */
  readonly besides: readonly Clause[]
  /** Moment of the last batch of the index, in microseconds since 1970. */
  readonly moment: number
  readonly plain: Queryable
  readonly lexical: Queryable
}

export interface NodeMatch {
  readonly count: number
  /** Whether there are no more. */
  readonly exact: boolean
  /** Some of them, not more than `most`. */
  ids(most: number): number[]
}

export interface NodeSearch {
  /** What each node finds. Of a lexeme that more than a thousand objects have, all are known if it has been completed. */
  match(nodes: readonly Node[]): Promise<readonly NodeMatch[] | null>
  /** Reads what is not known of the lexemes in the nodes, as long as there is time. */
  complete(nodes: readonly Node[], deadline: Deadline): Promise<void>
}

/** Objects of one type. */
interface Side {
  readonly table: ObjectTable
  /** Those that the conditions beside the nodes find, unless they have changed since. */
  readonly bits: Uint32Array
}

/** null: not all of it is in memory. What is missing is read, for the next time. */
export async function openNodeSearch(bitmaps: BitmapStore, request: NodeSearchRequest): Promise<NodeSearch | null> {
  const { context, besides } = request
  const { plan } = context
  const { scope } = plan
  const types = scope.objecttypes ?? [...plan.fields.types.keys()]
  const rights = rightsCondition(scope.rights)
  if (scope.deleted !== false || types.length > mostTypes || rights.never) return null
  const conditions = conditionsOf({ is: 'and', of: besides }, context)
  if (!conditions || conditions.ranges.length > 0) return null
  const access = rights.node ? plan.accessSets.known(scope.rights) : null
  if (rights.node && !access) return null
  const tables: ObjectTable[] = []
  for (const type of types) {
    const table = bitmaps.table(type)
    if (table) tables.push(table)
    else bitmaps.want(type, [objectsAlone], 'usual')
  }
  if (tables.length < types.length) return null
  const changed = await changedSince(bitmaps, request, tables)
  if (!changed) return null
  const without = [...changed, ...plan.fieldVisibility.without]
  const sides: Side[] = []
  for (const table of tables) {
    const all: MatchColumn[] = []
    for (const wanted of conditions.matches) {
      const column = await bitmaps.soon(table, wanted)
      if (column) all.push(column)
      else bitmaps.want(table.type, [wanted], 'usual')
    }
    const accessible = access && (await accessibleIn(bitmaps, table, access))
    if (all.length < conditions.matches.length || (access && !accessible)) return null
    if (accessible) all.push(accessible)
    const bits = await findMatches({ table, conditions: all, among: conditions.among, ranges: [], without })
    sides.push({ table, bits })
  }
  let isCompleted = false
  return {
    async complete(nodes, deadline) {
      const needs = noNeeds()
      for (const node of nodes) addNeeds(node, needs)
      isCompleted = true
      for (const { table } of sides) await completePlaces(bitmaps, table, needs.lexemes, deadline)
    },
    async match(nodes) {
      const needs = noNeeds()
      if (!nodes.every((node) => addNeeds(node, needs))) return null
      const yielder = createYielder()
      const found = nodes.map((): Found => ({ parts: [], count: 0, exact: true, more: [] }))
      for (const side of sides) {
        const answers = await answersOf(bitmaps, side.table, {
          needs,
          request,
          changed: new Set(changed),
          isCompleted,
        })
        if (!answers) return null
        for (const [index, node] of nodes.entries()) {
          add(found[index] as Found, matchesOf(node, answers), side)
          if (yielder.due()) await yielder.yield()
        }
      }
      if (changed.length > 0) {
        for (const [index, ids] of (await amongChanged(request, nodes, changed)).entries())
          (found[index] as Found).more = ids
      }
      return found.map(({ parts, count, exact, more }) => ({
        count: count + more.length,
        exact,
        ids: (limit) => idsOf(parts, more, limit),
      }))
    },
  }
}

interface Found {
  readonly parts: { readonly side: Side; readonly of: Matches['of'] }[]
  count: number
  exact: boolean
  /** Changed objects. */
  more: readonly number[]
}

function add(found: Found, { of, whole }: Matches, side: Side): void {
  const own = common(of, side)
  const count = 'places' in own ? own.places.length : countBits(own.bits)
  found.exact &&= whole
  found.count += count
  if (count > 0) found.parts.push({ side, of: own })
}

function idsOf(parts: Found['parts'], more: readonly number[], most: number): number[] {
  const ids = more.slice(0, most)
  for (const { side, of } of parts) {
    const { ids: all } = side.table
    if ('places' in of) for (const place of of.places.subarray(0, most - ids.length)) ids.push(all[place] as number)
    else {
      for (let index = 0; index < of.bits.length && ids.length < most; index++) {
        for (let word = of.bits[index] as number; word !== 0 && ids.length < most; word &= word - 1)
          ids.push(all[(index << 5) + 31 - Math.clz32(word & -word)] as number)
      }
    }
  }
  return ids
}

const accessibleIn = (bitmaps: BitmapStore, table: ObjectTable, known: AccessSetCondition) =>
  bitmaps.made(table, accessOf(known).key, () => findAccessible(table, known))

async function answersOf(
  bitmaps: BitmapStore,
  table: ObjectTable,
  {
    needs,
    request,
    changed,
    isCompleted,
  }: { needs: NodeNeeds; request: NodeSearchRequest; changed: ReadonlySet<number>; isCompleted: boolean },
): Promise<NodeAnswers | null> {
  const { accessSets } = request.context.plan
  const seen = new Map<Expression, Uint32Array>()
  for (const place of needs.seen) {
    const known = accessSets.known(place)
    const column = known && (await accessibleIn(bitmaps, table, known))
    if (!column) return null
    seen.set(place, column.bits)
  }
  const shared: Map<SharedNode, Uint32Array> = new Map()
  for (const node of needs.shared) {
    const known = accessSets.knownLexemes(node.of)
    const column = known && (await accessibleIn(bitmaps, table, known))
    if (!column) return null
    shared.set(node, column.bits)
  }
  const { columns, readAt } = await placesOf(bitmaps, request.lexical, table, {
    lexemes: needs.lexemes,
    most: mostAtFirst,
  })
  // What has changed just before they were read would have new words and be seen by the rights that it had before.
  const isFresh = isCompleted || readAt !== null
  const later = isFresh ? await changedSince(bitmaps, { ...request, moment: isCompleted ? null : readAt }, [table]) : []
  if (!later?.every((id) => changed.has(id))) return null
  return { table, lexemes: columns, seen, shared }
}

/** Objects that have changed since any of the tables was read, until the moment (null: now) or later; null: there are too many. */
async function changedSince(
  bitmaps: BitmapStore,
  { moment, plain }: Pick<NodeSearchRequest, 'plain'> & { readonly moment: number | null },
  tables: readonly ObjectTable[],
): Promise<readonly number[] | null> {
  const asOf = Math.min(...tables.map((table) => table.asOf))
  if (tables.every((table) => table.asOf === moment)) return []
  const { rows } = await plain.query<{ known: boolean; ids: number[] | null }>(
    `with state as materialized (
       select coalesce(followed_since <= ${atMicroseconds('$1::bigint')}, true) as known from search_state
     )
     select known, (select json_agg(id) from (
       (select id from search_document where known and changed_at > ${atMicroseconds('$1::bigint')} limit $2)
       union (select id from search_tombstone where known and until > ${atMicroseconds('$1::bigint')} limit $2)) c) as ids
     from state`,
    [asOf, tooManyChanged + 1],
    'search-changed-since',
  )
  const [row] = rows
  const ids = row?.ids ?? []
  if (!row?.known || ids.length > tooManyChanged) {
    for (const table of tables) if (table.asOf === asOf) bitmaps.outdate(table)
    return null
  }
  return ids.length > mostChanged ? null : ids
}

/** The changed objects that each node finds: their lexemes are read once for all nodes. */
async function amongChanged(
  { context, besides, plain }: NodeSearchRequest,
  nodes: readonly Node[],
  changed: readonly number[],
): Promise<readonly (readonly number[])[]> {
  const parameters = new Parameters()
  const { plan } = context
  const scope: SearchScope = { ...plan.scope, where: { is: 'and', of: besides } }
  const where = scopeSql(scope, 'd', { ...context, parameters })
  if (where === null) return nodes.map(() => [])
  const asked = nodes.map((node) => predicateSql(node, ofDocuments('d'), parameters, plan.accessSets))
  const { rows } = await plain.query<{ found: (number[] | null)[] }>(
    ...parameters.statement(`with m as materialized (
       select d.id, d.objecttype, d.access, d.access_set, d.people_set, strip(d.lexemes) as lexemes
       from search_document d where d.id = any(${parameters.add(changed, 'bigint[]')}) and ${where}
     ) select json_build_array(${asked.map((sql) => `json_agg(d.id) filter (where ${sql})`).join(', ')}) as found from m d`),
  )
  return (rows[0]?.found ?? []).map((ids) => ids ?? [])
}

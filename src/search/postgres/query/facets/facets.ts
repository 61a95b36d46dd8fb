/** Facets as SQL: how often each set of values occurs among the matches. */
import { heapBytes } from '../../../../platform/memory/byte-cache.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { SearchField } from '../../../plan/fields.ts'
import type { FacetCounts, FacetField, FacetPlan, VisibleCollections } from '../../../plan/plan.ts'
import { systemFacets } from '../../slots.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { accessSql, readableSql, visibilityOfTypes, visibleSql } from '../access/visibility.ts'
import type { LinkedObjects } from '../linked/linked.ts'
import { documentSql, madeOf, type Sql } from '../sql/of-document.ts'
import type { Node } from '../sql/tsquery.ts'
import {
  type CountedSets,
  type CountedText,
  type createFacetSetCache,
  directCounts,
  parseIntegers,
} from './facet-sets.ts'
import { countedSetSql, reachedCountsSql } from './reached.ts'
import { countStored, type StoredCounts } from './stored-counts.ts'
import { isIndexed, storedLabelsSql, textsOf } from './stored-labels.ts'

/** Facets that are counted by a number in the document; others are counted from stored values. */
export interface FacetColumn {
  readonly facet: FacetPlan
  /** Over search_document under the alias `d`. */
  readonly sql: Sql
  /** Place of the number of the set in documents; null: the number is the value itself. */
  readonly place: number | null
  /** Counts values of what the sets link to; absent: the members of the sets are the values. */
  readonly reached?: Reached
}

export interface Reached {
  readonly sql: string
  /** Connections for it, within the deadline of the search. */
  readonly db: Queryable
}

/** null: the column is not prepared for facets, or the prepared values include linked objects that this caller may not know. */
export function facetColumn(
  facet: FacetPlan,
  plan: PostgresPlan,
  linked: LinkedObjects,
  db: Queryable,
): FacetColumn | null {
  const { field } = facet
  if (field.kind === 'objecttype') return { facet, sql: documentSql('d.objecttype'), place: null }
  if (field.kind === 'collections' || field.kind === 'collectors') return null
  if (field.kind !== 'field') {
    const place = systemFacets[`_${field.kind}`]
    return { facet, sql: systemSql(documentSql(`d.facets[${place}]`), field.kind, plan), place }
  }
  if (field.steps) return reachedColumn(facet, field, plan, db)
  if (!isIndexed(field.text, plan.languages)) return null
  const hiddenPlaces = hasHiddenPlaces(field.field, linked)
  const visibility = plan.fieldVisibility.column(field.field)
  if (!field.field.facet || hiddenPlaces) return null
  const place = plan.slots.facet(field.field) ?? 0
  const type = field.field.column.table.root.id
  const sql = visibleSql(visibility, documentSql(`d.facets[${place}]`), 'd')
  const only = plan.scope.objecttypes?.length === 1 && plan.scope.objecttypes[0] === type
  const ofType = only ? sql : madeOf([sql], `case when d.objecttype = ${type} then ${sql} end`)
  return { facet, sql: ofType, place }
}

/** A facet of what links lead to, where the matches are counted by the sets of their links. */
function reachedColumn(
  facet: FacetPlan,
  { field, steps = [], text }: Extract<FacetField, { kind: 'field' }>,
  plan: PostgresPlan,
  db: Queryable,
): FacetColumn | null {
  const [first] = steps
  const sql = first ? countedSetSql(first, plan) : null
  if (!first || !sql) return null
  const place = plan.slots.facet(first.field) ?? null
  return { facet, sql, place, reached: { sql: reachedCountsSql(field, steps, plan, text), db } }
}

/** Counts a facet of what links lead to, from how many matches have each set of links. */
async function countReached({ db, sql }: Reached, counted: CountedText): Promise<StoredCounts> {
  const { rows } = await db.query<ReachedRow>(sql, [`{${counted.values ?? ''}}`, `{${counted.counts ?? ''}}`])
  const [row] = rows
  const labels = row?.labels ?? []
  const counts = Int32Array.from(row?.counts ?? [])
  return {
    counts: {
      counts,
      bytes: counts.byteLength + heapBytes(labels),
      value: (index) => labels[index] as string | number,
    },
    gone: parseIntegers(row?.gone ?? null),
  }
}

interface ReachedRow {
  labels: (string | number)[] | null
  counts: number[] | null
  gone: string | null
}

function systemSql(sql: Sql, field: 'pool' | 'tags' | 'owner', plan: PostgresPlan): Sql {
  const where = systemVisibility(field, plan)
  return where ? madeOf([sql], `case when ${accessSql(where, 'd')} then ${sql} end`) : sql
}

/** The condition under which the caller sees a system field; null: everywhere. */
export function systemVisibility(
  field: 'pool' | 'tags' | 'owner' | 'collections' | 'publish',
  { fields, fieldVisibility }: PostgresPlan,
): Node | null {
  if (fieldVisibility.whole) return null
  const types = [...fields.types.values()].map(({ table }) => ({
    id: table.id,
    visibility: fieldVisibility.system(table, field),
  }))
  return visibilityOfTypes(types)
}

/** Whether the caller may not know some ancestors. An object counts for its link target and all ancestors of that. */
function hasHiddenPlaces({ column: { target } }: SearchField, linked: LinkedObjects): boolean {
  return target !== null && (target.hierarchical || target.polyhierarchical) && !linked.knowsAll(target)
}

/** A subselect that counts the column `name` of `source`, as two texts: values and counts. */
export function countSql(name: string, source: string): string {
  return `(select array_to_string(array_agg(value), ',') as values, array_to_string(array_agg(count), ',') as counts
    from (select ${name} as value, count(*)::int as count from ${source} where ${name} is not null group by ${name}) counted)`
}

export async function facetCounts(
  db: Queryable,
  cache: ReturnType<typeof createFacetSetCache>,
  column: FacetColumn,
  counted: CountedText,
): Promise<FacetCounts> {
  if (column.reached) {
    const { counts, gone } = await countReached(column.reached, counted)
    cache.noteGone(gone)
    return counts
  }
  const sets: CountedSets = { sets: parseIntegers(counted.values), counts: parseIntegers(counted.counts) }
  if (column.place === null) return directCounts(sets)
  const known = await cache.add(db, column.place, sets)
  if (known) return known
  const { counts, gone } = await countStored(db, counted)
  cache.noteGone(gone)
  return counts
}

/** Counts stored values of the matches: slower by far, but it works for every column. `matches` selects `id`. */
type StoredPlan = Parameters<typeof readableSql>[0] & Pick<PostgresPlan, 'languages'>

export function storedFacetSql({ field }: FacetPlan, matches: string, plan: StoredPlan): string {
  if (field.kind === 'collections') return collectionFacetSql(matches, field.seen)
  if (field.kind === 'collectors') return collectorFacetSql(matches)
  if (field.kind !== 'field') throw new Error('system facets are always prepared')
  if (field.field.kind === 'link') return linkFacetSql(field.field, matches, plan)
  const labels = storedLabelsSql(field.field, 'v.content', textsOf(field.text, plan.languages))
  return `(select array_agg(value) as labels, array_agg(count) as counts from (
    select label.value, count(distinct m.id)::int as count
    from (${matches}) m join object o on o.system_object_id = m.id
    join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
    cross join lateral (${labels}) label
    where o.objecttype = ${field.field.column.table.root.id} group by 1) counted)`
}

/** Counts the collections that the caller may see. */
function collectionFacetSql(matches: string, seen: VisibleCollections): string {
  const among = seen ? ` where e.collection_id = any('{${seen.map(Number)}}'::bigint[])` : ''
  return `(select array_agg(id) as labels, array_agg(count) as counts from (
    select e.collection_id as id, count(*)::int as count from (${matches}) m
    join collection_object e on e.object_id = m.id${among} group by 1) counted)`
}

/** Counts objects by the platforms of their publications, each object once per platform. */
function collectorFacetSql(matches: string): string {
  return `(select array_agg(collector) as labels, array_agg(count) as counts from (
    select p.collector, count(distinct p.system_object_id)::int as count from (${matches}) m
    join publish p on p.system_object_id = m.id group by 1) counted)`
}

/** Counts linked objects, and those of their ancestors that the caller may read. */
function linkFacetSql({ column }: SearchField, matches: string, plan: StoredPlan): string {
  return `(with recursive link as materialized (
      select l.from_id, l.to_id from (${matches}) m
      join object_link l on l.from_id = m.id and l.column_id = ${Number(column.id)}
    ), counted_for(to_id, id) as (
      select distinct to_id, to_id from link
      union
      select c.to_id, parent from counted_for c
      join search_document t on t.id = c.to_id and ${readableSql(plan, 't')}
      join object o on o.system_object_id = c.id, unnest(o.parents) parent
    )
    select array_agg(id) as labels, array_agg(count) as counts from (
      select c.id, count(distinct l.from_id)::int as count from link l join counted_for c on c.to_id = l.to_id group by c.id
    ) counted)`
}

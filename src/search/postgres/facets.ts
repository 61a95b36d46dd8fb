/** Facets as SQL: how often each set of values occurs among the matches. */
import type { Queryable } from '../../platform/db.ts'
import type { FacetCounts, FacetPlan, SearchPlan } from '../plan.ts'
import { systemFacets } from '../slots.ts'
import { type CountedSets, type createFacetSetCache, parseIntegers } from './facet-sets.ts'
import { valuePath } from './stored-values.ts'

/** Facets that count by a number in the document; others are counted from stored values. */
export interface FacetColumn {
  readonly facet: FacetPlan
  /** Over search_document under the alias `d`. */
  readonly sql: string
  /** The number is the value itself, no set. */
  readonly direct: boolean
}

/** null: the column is not prepared for facets. */
export function facetColumn(facet: FacetPlan, plan: SearchPlan): FacetColumn | null {
  const { field } = facet
  if (field.kind === 'objecttype') return { facet, sql: 'd.objecttype', direct: true }
  if (field.kind !== 'field') return { facet, sql: `d.facets[${systemFacets[`_${field.kind}`]}]`, direct: false }
  if (!field.field.facet) return null
  const slot = plan.slots.facet(field.field)
  const type = field.field.column.table.root.id
  const sql = `d.facets[${slot ?? 0}]`
  const only = plan.scope.objecttypes?.length === 1 && plan.scope.objecttypes[0] === type
  return { facet, sql: only ? sql : `case when d.objecttype = ${type} then ${sql} end`, direct: false }
}

/** Counted numbers of one column, as the statements write them. */
export interface CountedText {
  readonly values: string | null
  readonly counts: string | null
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
  const sets: CountedSets = { sets: parseIntegers(counted.values), counts: parseIntegers(counted.counts) }
  if (column.direct) {
    const bytes = sets.counts.byteLength + sets.sets.byteLength
    return { counts: sets.counts, bytes, value: (index) => sets.sets[index] as number }
  }
  return cache.add(db, sets)
}

/** Counts stored values of the matches: slower by far, but it works for every column. */
export function storedFacetSql({ field }: FacetPlan, matches: string): string {
  if (field.kind !== 'field') throw new Error('system facets are always prepared')
  const path = valuePath(field.field, null).replaceAll("'", "''")
  return `(select array_agg(value) as labels, array_agg(count) as counts from (
    select value #>> '{}' as value, count(distinct id)::int as count from (
      select m.id, jsonb_path_query(v.content, '${path}') as value
      from (${matches}) m join object o on o.system_object_id = m.id
      join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
      where o.objecttype = ${field.field.column.table.root.id}
    ) stored group by 1) counted)`
}

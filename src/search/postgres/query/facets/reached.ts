/**
 * Facets of objects that links lead to. A document has the number of the set of its linked objects in each column, so the matches
 * are counted by sets first, and only those objects are looked at that are in one of the sets: what is asked of them, above all
 * whether the caller may read them, is asked once for each, however many matches link to it. What leads back is found by the table
 * of links, for each match by itself.
 */
import type { LinkStep } from '../../../plan/field-paths.ts'
import type { SearchField } from '../../../plan/fields.ts'
import type { TextChoice } from '../../../plan/measures.ts'
import { linkingSql } from '../access/linking.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { readableSql, visibleSql } from '../access/visibility.ts'
import { documentSql, type Sql } from '../sql/of-document.ts'
import { isIndexed, storedLabelsSql, textsOf } from './stored-labels.ts'

/** Labels (of links: system object ids) and counts, as a subselect. `matches`: condition on search_document under `d`. */
export function reachedFacetSql(
  field: SearchField,
  steps: readonly LinkStep[],
  matches: string,
  plan: PostgresPlan,
  text?: TextChoice,
): string {
  return countedFacetSql({ field, steps, text }, matchesSql(steps[0] as LinkStep, matches, plan), plan)
}

/**
 * The number of the set by which the matches are counted for the facet, over search_document under `d`; null: the facet needs each
 * match by itself. Sets of links into a hierarchy also have the objects above: of these each match has its own links.
 */
export function countedSetSql({ field, reverse }: LinkStep, plan: PostgresPlan): Sql | null {
  const place = plan.slots.facet(field)
  return reverse || isHierarchy(field) || place === undefined ? null : setSql(field, 'd', plan)
}

/** The number of the set of the values of a column, over search_document under `d`; null: they are counted from stored values. */
export function valueSetSql(field: SearchField, plan: PostgresPlan): Sql | null {
  return field.facet && plan.slots.facet(field) !== undefined && !isHierarchy(field) ? setSql(field, 'd', plan) : null
}

/** The same facet of counted sets: `$1` their numbers, `$2` how many matches have them. Sets that no longer exist are `gone`. */
export function reachedCountsSql(
  field: SearchField,
  steps: readonly LinkStep[],
  plan: PostgresPlan,
  text?: TextChoice,
): string {
  const counted = 'select set as key, set, n from unnest($1::int[], $2::int[]) c(set, n)'
  return `select labels, counts, (select array_to_string(array_agg(set), ',') from unnest($1::int[]) c(set)
      where not exists (select from search_facet_set s where s.id = c.set)) as gone
    from ${countedFacetSql({ field, steps, text }, counted, plan)} counted`
}

interface ReachedField {
  readonly field: SearchField
  readonly steps: readonly LinkStep[]
  readonly text: TextChoice | undefined
}

/** `counted`: matches with their number, each with its id or its set (`key`), and its set. */
function countedFacetSql({ field, steps, text }: ReachedField, counted: string, plan: PostgresPlan): string {
  const [first, ...further] = steps as [LinkStep, ...LinkStep[]]
  const from = first.reverse || isHierarchy(first.field) ? 'c.key' : null
  const joins = [stepSql(first, { set: 'c.set', from, target: 't0' }, plan)]
  for (const [index, step] of further.entries()) {
    const source = `t${index}`
    const set = step.reverse ? '' : String(setSql(step.field, source, plan))
    joins.push(stepSql(step, { set, from: `${source}.id`, target: `t${index + 1}` }, plan))
  }
  const last = `t${further.length}`
  const { value, join } = valueSql(field, last, plan, text)
  const type = field.column.table.root.id
  return `(with recursive counted as materialized (${counted}), reached as materialized (
      select distinct c.key, c.n, ${value} as value from counted c ${joins.join(' ')} ${join}
      where ${last}.objecttype = ${type}
    ) ${countedSql(field, plan)})`
}

/** Each match by itself. */
function matchesSql({ field, reverse }: LinkStep, matches: string, plan: PostgresPlan): string {
  const set = reverse ? '' : `${setSql(field, 'd', plan)} as set, `
  return `select d.id as key, ${set}1 as n from search_document d where ${matches}`
}

/** Number of the set of what a document links to, where the caller sees the link. */
function setSql(field: SearchField, alias: string, { slots, fieldVisibility }: PostgresPlan): Sql {
  const set = `case when ${alias}.objecttype = ${field.column.table.root.id} then ${alias}.facets[${slots.facet(field) ?? 0}] end`
  return visibleSql(fieldVisibility.column(field), documentSql(set), alias)
}

const isHierarchy = ({ column: { target } }: SearchField): boolean =>
  target !== null && (target.hierarchical || target.polyhierarchical)

function stepSql(
  { field, reverse }: LinkStep,
  { set, from, target }: { readonly set: string; readonly from: string | null; readonly target: string },
  plan: PostgresPlan,
): string {
  if (reverse) return linkingSql(field, { to: from as string, source: target, link: `l${target}` }, plan)
  return `${linksSql(field, { set, from, target: `l${target}` })}
    join search_document ${target} on ${target}.id = l${target}.id and not ${target}.deleted and ${readableSql(plan, target)}`
}

/** `target`: alias of the ids that a document (`from`) links to. */
function linksSql(
  field: SearchField,
  { set, from, target }: { readonly set: string; readonly from: string | null; readonly target: string },
): string {
  const ids = `join search_facet_set s${target} on s${target}.id = ${set}
    cross join lateral unnest(s${target}.ids) ${target}(id)`
  if (from === null || !isHierarchy(field)) return ids
  return `${ids} join object_link k${target} on k${target}.to_id = ${target}.id
    and k${target}.column_id = ${Number(field.column.id)} and k${target}.from_id = ${from}`
}

/** The values of a column where the caller sees it. */
function valueSql(
  field: SearchField,
  alias: string,
  plan: PostgresPlan,
  text: TextChoice | undefined,
): { readonly value: string; readonly join: string } {
  if (field.kind === 'link') {
    return {
      value: 'target.id',
      join: linksSql(field, { set: String(setSql(field, alias, plan)), from: `${alias}.id`, target: 'target' }),
    }
  }
  const place = plan.slots.facet(field)
  if (field.facet && place !== undefined && isIndexed(text, plan.languages)) {
    const set = visibleSql(plan.fieldVisibility.column(field), `${alias}.facets[${place}]`, alias)
    return {
      value: 'label.value',
      join: `join search_facet_set labels on labels.id = ${set} cross join lateral unnest(labels.labels) label(value)`,
    }
  }
  const content = visibleSql(plan.fieldVisibility.column(field), 'v.content', alias)
  const labels = storedLabelsSql(field, 'x.content', textsOf(text, plan.languages))
  return {
    value: 'label.value',
    join: `join object o on o.system_object_id = ${alias}.id
      join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
      cross join lateral (select ${content} as content) x cross join lateral (${labels}) label`,
  }
}

/** Each match counts once for a value; in a hierarchy also for those ancestors that the caller may read. */
function countedSql(field: SearchField, plan: PostgresPlan): string {
  if (!isHierarchy(field)) {
    return `select array_agg(value) as labels, array_agg(n) as counts from (
      select value, sum(n)::int as n from reached group by value) summed`
  }
  return `, counted_for(to_id, id) as (
      select distinct value, value from reached
      union
      select c.to_id, parent from counted_for c
      join search_document t on t.id = c.to_id and ${readableSql(plan, 't')}
      join object o on o.system_object_id = c.id, unnest(o.parents) parent
    )
    select array_agg(id) as labels, array_agg(n) as counts from (
      select id, sum(n)::int as n from (
        select distinct r.key, r.n, c.id from reached r join counted_for c on c.to_id = r.value) pairs group by id) summed`
}

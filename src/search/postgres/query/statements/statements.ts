/** The statements of a search: built from a plan, run, and read back. */
import { heapBytes } from '../../../../platform/memory/byte-cache.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { FacetCounts, FacetPlan, Hit, RangesPlan } from '../../../plan/plan.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { accessSql, visibilityNode } from '../access/visibility.ts'
import { clauseSql, scopeSql } from '../conditions/condition.ts'
import type { ConditionContext } from '../conditions/context.ts'
import { type FoundTargets, findTargets } from '../conditions/link-targets.ts'
import type { CountedText } from '../facets/facet-sets.ts'
import { countSql, type FacetColumn, facetColumn, storedFacetSql, systemVisibility } from '../facets/facets.ts'
import { reachedFacetSql } from '../facets/reached.ts'
import type { LinkedObjects, LinkTargets } from '../linked/linked.ts'
import { afterSql, type OrderColumn, orderBy, orderByIndex, orderColumns } from '../order/order.ts'
import { headSql } from '../order/sort-values.ts'
import type { Sql } from '../sql/of-document.ts'
import { microseconds, Parameters } from '../sql/sql.ts'
import type { Expansions } from '../words/text.ts'

/** One statement while it is built; each has its own parameters. */
export interface Statement {
  readonly plan: PostgresPlan
  readonly context: ConditionContext
  readonly parameters: Parameters
  /** Condition on search_document under the alias `d`; null: nothing can match. */
  readonly where: Sql | null
  /** Whether the condition contains lexemes, so that an index finds the matches. */
  readonly lexical: boolean
  /** Whether alternatives are split into several conditions: then PostgreSQL expects far more matches than there are. */
  readonly scattered: boolean
}

/** The form of conditions, where there are several. */
export type StatementForm = Pick<ConditionContext, 'byKeys'>

export function startStatement(
  plan: PostgresPlan,
  expansions: Expansions,
  linked: LinkedObjects,
  form: StatementForm = {},
): Statement {
  const parameters = new Parameters()
  const context = { plan, expansions, linked, parameters, ...form }
  let written: ReturnType<typeof withAsked> | null = null
  // Not every statement of a search needs its condition.
  const condition = () => {
    written ??= withAsked(scopeSql(plan.scope, 'd', context))
    return written
  }
  return {
    plan,
    context,
    parameters,
    get where() {
      return condition().where
    },
    get lexical() {
      return condition().asked > 0 || condition().ofLinked
    },
    get scattered() {
      return condition().asked > 1
    },
  }
}

const withAsked = (where: Sql | null) => ({
  where,
  asked: where === null ? 0 : String(where).split('d.lexemes @@ {{').length - 1,
  /** Whether the statement compares lexemes of linked objects (conditions/links.ts). */
  ofLinked: /\bd[ulj]+\.lexemes @@ \{\{/.test(String(where)),
})

/** Counted facets in the order of the columns. */
export interface Counted {
  readonly count: number
  readonly facets: readonly CountedText[]
  /** State of the index that was counted: the moment of its last batch, in microseconds since 1970. */
  readonly asOf: number
}

export interface Paged {
  readonly hits: readonly Hit[]
  readonly asOf: number
}

/** Sort values of one hit, after its id. */
type HitRow = readonly unknown[]

const asOf = `(select ${microseconds('changed_at')} from search_state)`

/** Number, page and facets in one walk through the matches. */
export async function runInOneWalk(
  db: Queryable,
  { plan, context, parameters, where }: Statement,
  columns: readonly FacetColumn[],
): Promise<Counted & Paged> {
  const order = orderColumns(context)
  const names = order.map((_, index) => `s${index}`)
  const matched = [
    ...order.map((column, index) => `${column.sql} as s${index}`),
    ...columns.map((column, index) => `${column.sql} as f${index}`),
  ]
  const { rows } = await db.query<{ count: number; asOf: number; page: HitRow[] | null }>(
    ...parameters.statement(`with m as materialized (
       select d.id, ${matched.join(', ')} from search_document d where ${where}
     )
     select ${asOf} as "asOf", (select count(*)::int from m) as count,
       (${pageSql(plan, order, names, parameters)}) as page
       ${columns.map((_, index) => `, t${index}.values as v${index}, t${index}.counts as c${index}`).join('')}
     from (values (1)) one ${columns.map((_, index) => `cross join ${countSql(`f${index}`, 'm')} t${index}`).join(' ')}`),
  )
  const row = rows[0] as (typeof rows)[number]
  return {
    count: row.count,
    asOf: row.asOf,
    hits: hitsOf(plan, row.page ?? []),
    facets: columns.map((_, index) => countedOf(row, index)),
  }
}

function countedOf(row: object, index: number): CountedText {
  const columns = row as Record<string, string | null>
  return { values: columns[`v${index}`] ?? null, counts: columns[`c${index}`] ?? null }
}

/** The page as one JSON list. */
function pageSql(
  plan: PostgresPlan,
  order: readonly OrderColumn[],
  names: readonly string[],
  parameters: Parameters,
): string {
  if (plan.limit === 0) return 'select null::json'
  const after = plan.after ? ` where ${afterSql(order, names, plan.after, parameters)}` : ''
  return `select json_agg(${hitSql(order, names)}) from (
    select id, ${names.join(', ')} from m${after} order by ${orderBy(order, names)}
    limit ${parameters.add(plan.limit, 'int')} offset ${parameters.add(plan.offset, 'bigint')}) page`
}

function hitSql(order: readonly OrderColumn[], names: readonly string[]): string {
  const shown = order.map((column, index) => column.shown(names[index] as string))
  return `json_build_array(id, ${shown.join(', ')})`
}

function hitsOf(plan: PostgresPlan, rows: readonly HitRow[]): Hit[] {
  const score = plan.sort.findIndex((key) => key.field.by === 'score')
  return rows.map(([id, ...sort]) => ({
    id: id as number,
    score: score === -1 ? null : (sort[score] as number),
    sort,
  }))
}

/** The number of matches that PostgreSQL's planner expects, computed without reading any. */
export async function estimate(db: Queryable, { parameters, where }: Statement): Promise<number> {
  const { rows } = await db.query<{ 'QUERY PLAN': readonly [{ Plan: { 'Plan Rows': number } }] }>(
    ...parameters.statement(`explain (format json) select from search_document d where ${where}`),
  )
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}

/** `grouping` accepts no more columns than an integer has bits. */
const mostGroupings = 30

/** Number and facets of a large result, without keeping the matches. */
export async function runCounts(
  db: Queryable,
  start: () => Statement,
  columns: readonly FacetColumn[],
): Promise<Counted> {
  if (columns.length > mostGroupings) {
    const first = await runCounts(db, start, columns.slice(0, mostGroupings))
    const rest = await runCounts(db, start, columns.slice(mostGroupings))
    // Counts of two states of the index are good for this answer, but must not be cached.
    const asOf = first.asOf === rest.asOf ? rest.asOf : 0
    return { ...rest, asOf, facets: [...first.facets, ...rest.facets] }
  }
  const { parameters, where } = start()
  if (columns.length === 0) {
    const { rows } = await db.query<{ count: number; asOf: number }>(
      ...parameters.statement(`select ${asOf} as "asOf", count(*) as count from search_document d where ${where}`),
    )
    return { ...(rows[0] as (typeof rows)[number]), facets: [] }
  }
  const names = columns.map((_, index) => `f${index}`)
  const everything = 2 ** names.length - 1
  // One walk for all facets; in `which` the bit of the column that was grouped by is 0, the first column being the highest bit.
  const { rows } = await db.query<CountRow>(
    ...parameters.statement(`select ${asOf} as "asOf", which, array_to_string(array_agg(value), ',') as values,
       array_to_string(array_agg(count), ',') as counts, sum(count)::bigint as total
     from (
       select grouping(${names.join(', ')}) as which, coalesce(${names.join(', ')}) as value, count(*) as count
       from (select ${columns.map((column, index) => `${column.sql} as f${index}`).join(', ')}
             from search_document d where ${where}) m
       group by grouping sets (${[...names.map((name) => `(${name})`), '()'].join(', ')})
     ) counted where value is not null or which = ${everything} group by which`),
  )
  const byColumn = new Map(rows.map((row) => [row.which, row]))
  const whole = byColumn.get(everything)
  return {
    count: whole?.total ?? 0,
    asOf: whole?.asOf ?? 0,
    facets: names.map((_, index) => {
      const row = byColumn.get(everything ^ (1 << (names.length - 1 - index)))
      return { values: row?.values ?? null, counts: row?.counts ?? null }
    }),
  }
}

interface CountRow {
  asOf: number
  which: number
  values: string | null
  counts: string
  total: number
}

/** The page of a large result, as a statement of its own: PostgreSQL may walk along an index in the order of the page. */
export function runPage(db: Queryable, statement: Statement): Promise<Paged> {
  const order = orderColumns(statement.context)
  return runParts(
    db,
    statement,
    order,
    (where, condition, end) =>
      `${selectSql(order)} from search_document d where ${where}${condition} order by ${orderByIndex(order)} ${end}`,
  )
}

/** A page of the given objects from `offset` on, whatever page the statement is for. */
export async function readHits(
  db: Queryable,
  { plan, context, parameters }: Statement,
  ids: readonly number[],
  offset: number,
): Promise<Paged> {
  const order = orderColumns(context)
  const names = order.map((_, index) => `s${index}`)
  const { rows } = await db.query<{ page: HitRow[] | null; asOf: number }>(
    ...parameters.statement(`select ${asOf} as "asOf", (select json_agg(${hitSql(order, names)}) from (
       select * from (${selectSql(order)} from search_document d where d.id = any(${parameters.add(ids, 'bigint[]')})) found
       order by ${orderBy(order, names)} limit ${parameters.add(plan.limit, 'int')} offset ${parameters.add(offset, 'bigint')}
     ) page) as page`),
  )
  return { hits: hitsOf(plan, rows[0]?.page ?? []), asOf: rows[0]?.asOf ?? 0 }
}

/**
 * Some matches in the order in which the index finds them. Asked for by id, PostgreSQL walks along the ids instead and compares the
 * lexemes of all on the way, as it expects far more matches of alternatives than there are.
 */
export async function readSome(db: Queryable, { plan, parameters, where }: Statement): Promise<readonly number[]> {
  const { rows } = await db.query<{ id: number }>(
    ...parameters.statement(
      `select d.id from search_document d where ${where} limit ${parameters.add(plan.limit, 'int')}`,
    ),
  )
  return rows.map(({ id }) => id)
}

const selectSql = (order: readonly OrderColumn[]): string =>
  `select d.id${order.map(({ sql }, index) => `, ${sql} as s${index}`).join('')}`

/** `part`: a section of the order, given the conditions, its beginning, and the number of rows. */
async function runParts(
  db: Queryable,
  { plan, parameters, where }: Statement,
  order: readonly OrderColumn[],
  part: (where: Sql | null, condition: string, end: string) => string,
): Promise<Paged> {
  const sorted = order.map((column) => String(column.sql))
  const names = order.map((_, index) => `s${index}`)
  const limit = parameters.add(plan.limit, 'int')
  const parts = plan.after
    ? behind(order, sorted, plan.after, parameters).map((condition) =>
        part(where, ` and ${condition}`, `limit ${limit}`),
      )
    : [part(where, '', `limit ${limit} offset ${parameters.add(plan.offset, 'bigint')}`)]
  const { rows } = await db.query<{ page: HitRow[] | null; asOf: number }>(
    ...parameters.statement(`select ${asOf} as "asOf", (select json_agg(${hitSql(order, names)}) from (
       select * from (${parts.map((each) => `(${each})`).join(' union all ')}) parts
       order by ${orderBy(order, names)}, id limit ${limit}) page) as page`),
  )
  return { hits: hitsOf(plan, rows[0]?.page ?? []), asOf: rows[0]?.asOf ?? 0 }
}

/** The rows after a hit, in parts that each are one section of an index: first rows with values, then rows without. */
function behind(
  order: readonly OrderColumn[],
  sorted: readonly string[],
  after: readonly unknown[],
  parameters: Parameters,
): string[] {
  const first = order[0] as OrderColumn
  const condition = afterSql(order, sorted, after, parameters)
  const empty = `${first.head ?? first.sql} is null`
  if (after[0] === null) return [`${empty} and ${condition}`]
  const value = first.parameter(after[0], parameters, after.at(-1))
  const beginning = first.head ? headSql(value) : value
  const bound = `${first.head ?? first.sql} ${first.key.descending ? '<=' : '>='} ${beginning}`
  return first.nullable ? [`${bound} and ${condition}`, empty] : [`${bound} and ${condition}`]
}

export async function runRanges(
  db: Queryable,
  { context, parameters, where }: Statement,
  { clauses }: RangesPlan,
): Promise<readonly number[]> {
  if (clauses.length === 0) return []
  const counts = clauses.map((clause) => {
    const sql = clauseSql(clause, 'd', context)
    return sql === null ? '0' : `(select count(*) from search_document d where ${where} and ${sql})`
  })
  const { rows } = await db.query<{ counts: number[] }>(
    ...parameters.statement(`select json_build_array(${counts.join(', ')}) as counts`),
  )
  return rows[0]?.counts ?? []
}

/** Where the conditions of the search lead through links; `most`: the highest number of objects of each that are looked up. */
export function readTargets(
  db: Queryable,
  plan: PostgresPlan,
  expansions: Expansions,
  linked: LinkedObjects,
  most: number,
): Promise<FoundTargets> {
  const start = (targets: LinkTargets): ConditionContext =>
    startStatement(plan, expansions, { ...linked, targets }).context
  const counted = plan.aggregations.flatMap((each) => (each.kind === 'ranges' ? each.clauses : []))
  return findTargets(db, [plan.scope.where, ...counted], { start, scopeSql, most })
}

/** Compiles all parts of a search, to collect the data that it needs. */
export function compileAll(db: Queryable, plan: PostgresPlan, expansions: Expansions, linked: LinkedObjects): void {
  // Ranges need no data of linked objects, and compiling them by keys is cheapest.
  const { context } = startStatement(plan, expansions, linked, { byKeys: true })
  scopeSql(plan.scope, 'd', context)
  orderColumns(context)
  for (const each of plan.aggregations) {
    if (each.kind === 'ranges') for (const clause of each.clauses) clauseSql(clause, 'd', context)
    else if (each.field.kind === 'field' && each.field.steps) {
      reachedFacetSql(each.field.field, each.field.steps, 'true', plan, each.field.text)
    } else facetColumn(each, plan, linked, db)
  }
}

/** A facet of a column that is not prepared: counted from stored values. */
export async function runStoredFacet(
  db: Queryable,
  { plan, parameters, where }: Statement,
  facet: FacetPlan,
): Promise<FacetCounts> {
  if (facet.field.kind === 'field' && facet.field.steps) {
    const { field, steps, text } = facet.field
    return readCounts(db, parameters, reachedFacetSql(field, steps, `${where}`, plan, text))
  }
  const visibility = facet.field.kind === 'field' ? plan.fieldVisibility.column(facet.field.field) : 'always'
  const outside =
    facet.field.kind === 'collections' ? 'collections' : facet.field.kind === 'collectors' ? 'publish' : null
  const seen = outside ? systemVisibility(outside, plan) : visibilityNode(visibility)
  const matches = `select d.id from search_document d where ${where}${seen ? ` and ${accessSql(seen, 'd')}` : ''}`
  return readCounts(db, parameters, storedFacetSql(facet, matches, plan))
}

async function readCounts(db: Queryable, parameters: Parameters, stored: string): Promise<FacetCounts> {
  const { rows } = await db.query<{ labels: (string | number)[] | null; counts: number[] | null }>(
    ...parameters.statement(`select labels, counts from ${stored} stored`),
  )
  const labels = rows[0]?.labels ?? []
  const counts = Int32Array.from(rows[0]?.counts ?? [])
  return { counts, bytes: counts.byteLength + heapBytes(labels), value: (index) => labels[index] as string | number }
}

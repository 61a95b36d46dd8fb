/** Measurements of all matches beside their number and facets: periods, values by term, cells of a map, bounds. */
import { AppError } from '../../../../platform/errors.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import { hashBits } from '../../../geo/geohash.ts'
import { perDegree, type Rectangle } from '../../../geo/rectangles.ts'
import type { SearchField } from '../../../plan/fields.ts'
import { type Measure, type Measured, mostCells } from '../../../plan/measures.ts'
import { keySql } from '../../slots.ts'
import { accessSql, visibilityNode } from '../access/visibility.ts'
import { degreesSql, edgeSql, rectanglesSql } from '../conditions/geo.ts'
import { localizedSql, textsOf } from '../facets/stored-labels.ts'
import type { Statement } from './statements.ts'

type Of<K extends Measure['kind']> = Extract<Measure, { kind: K }>

/** The highest number of years in which one interval counts. */
const longestPeriod = 10_000

export function runMeasure(db: Queryable, statement: Statement, measure: Measure): Promise<Measured> {
  switch (measure.kind) {
    case 'periods':
      return periods(db, statement, measure)
    case 'stats':
      return stats(db, statement, measure)
    case 'grid':
      return grid(db, statement, measure)
    case 'bounds':
      return bounds(db, statement, measure)
  }
}

/** The matches for which the caller sees the column; null: there are none. */
function matchesOf({ plan, where }: Statement, field: SearchField): string | null {
  const visibility = plan.fieldVisibility.column(field)
  if (where === null || visibility === 'never') return null
  const seen = visibilityNode(visibility)
  const type = `d.objecttype = ${Number(field.column.table.root.id)}`
  return `search_document d where ${where} and ${type}${seen ? ` and ${accessSql(seen, 'd')}` : ''}`
}

/** An open end counts as equal to the other end. */
async function periods(db: Queryable, statement: Statement, { field, unit }: Of<'periods'>): Promise<Measured> {
  const { plan, parameters } = statement
  const matches = matchesOf(statement, field)
  const place = plan.slots.sortKey(field)
  if (matches === null || place === undefined) return { kind: 'counts', counts: [] }
  const key = keySql(place, 'd')
  const first = `nullif(substring(key from 1 for 8), '\\x0000000000000000'::bytea)`
  const last = `nullif(substring(key from 9 for 8), '\\xffffffffffffffff'::bytea)`
  const period = (moment: string): string => `search_period(${moment}, '${unit}')`
  // Many objects have the same date.
  const { rows } = await db.query<{ value: number; count: number }>(
    ...parameters.statement(`select value, sum(count)::int as count from (
        select count, coalesce(${period(first)}, ${period(last)}) as first, coalesce(${period(last)}, ${period(first)}) as last
        from (select ${key} as key, count(*) as count from ${matches} and ${key} is not null group by 1) keys) m
      cross join lateral generate_series(first, least(last, first + ${longestPeriod})) value group by value`),
  )
  return { kind: 'counts', counts: rows }
}

/** For columns of the same nested table, values are combined within a row; otherwise within the object. */
async function stats(db: Queryable, statement: Statement, measure: Of<'stats'>): Promise<Measured> {
  const { field, value } = measure
  const { plan, parameters } = statement
  const matches = matchesOf(statement, field)
  if (matches === null) return { kind: 'stats', terms: [] }
  const visibility = plan.fieldVisibility.column(value)
  const seen =
    visibility === 'always'
      ? 'true'
      : visibility === 'never'
        ? 'false'
        : accessSql(visibilityNode(visibility) as never, 'd')
  const shared = sharedPath(field, value)
  const rows = shared.map((key) => `${JSON.stringify(key)}[*]`)
  const place = parameters.add(['$', ...rows].join('.'), 'jsonpath')
  // PostgreSQL expects a thousand values for each path, so none is used where there is one value.
  const source = shared.length === 0 ? '' : `cross join lateral jsonb_path_query(v.content, ${place}) r(content)`
  const row = shared.length === 0 ? 'v.content' : 'r.content'
  const terms = valuesSql(field, row, shared.length, 't', parameters)
  const figures = valuesSql(value, row, shared.length, 'f', parameters)
  const { rows: found } = await db.query<{
    term: string
    count: number
    values: number
    min: number | null
    max: number | null
    sum: number | null
    avg: number | null
  }>(
    ...parameters.statement(`select term, count(distinct id)::int as count, count(figure)::int as values,
        min(figure)::float8 as min, max(figure)::float8 as max, sum(figure)::float8 as sum, avg(figure)::float8 as avg
      from (select m.id, ${labelSql(measure, terms.value, statement)} as term,
          case when m.seen then (${figures.value} #>> '{}')::numeric end as figure
        from (select d.id, ${seen} as seen from ${matches}) m
        join object o on o.system_object_id = m.id
        join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
        ${source} ${terms.join} ${figures.join}) pairs
      where term is not null group by term limit ${mostCells + 1}`),
  )
  if (found.length > mostCells) throw tooMany()
  return { kind: 'stats', terms: found }
}

/** Keys of the nested tables that contain both columns. */
function sharedPath(one: SearchField, other: SearchField): readonly string[] {
  const keys: string[] = []
  for (const [index, table] of one.path.entries()) {
    if (other.path[index] !== table) break
    keys.push(table.key)
  }
  return keys
}

/** The values of a column in a row; only nested tables have several. Gives an expression, and the joins that it needs. */
function valuesSql(
  { path, column }: SearchField,
  row: string,
  from: number,
  alias: 't' | 'f',
  parameters: Statement['parameters'],
): { readonly value: string; readonly join: string } {
  const inner = path.slice(from).map(({ key }) => `${JSON.stringify(key)}[*]`)
  if (inner.length === 0) return { value: `(${row} -> ${parameters.add(column.key, 'text')})`, join: '' }
  const place = parameters.add(['$', ...inner, JSON.stringify(column.key)].join('.'), 'jsonpath')
  // An object counts once under a term, and with each of its numbers.
  const found = `select ${alias === 't' ? 'distinct ' : ''}value from jsonb_path_query(${row}, ${place}) value`
  return { value: `${alias}.value`, join: `left join lateral (${found}) ${alias} on true` }
}

/** The label under which a stored value is counted. */
function labelSql({ field: { kind, path }, text }: Of<'stats'>, value: string, { plan }: Statement): string {
  if (kind === 'l10n') return localizedSql(value, textsOf(text, plan.languages))
  if (kind === 'custom') return `${value} ->> 'conceptName'`
  // A boolean without value is false.
  if (kind === 'boolean' && path.length === 0) return `coalesce(${value} #>> '{}', 'false')`
  return kind === 'date' ? `${value} ->> 'value'` : `${value} #>> '{}'`
}

async function grid(db: Queryable, statement: Statement, measure: Of<'grid'>): Promise<Measured> {
  const { parameters } = statement
  const source = rectanglesOf(statement, measure.field)
  if (source === null) return { kind: 'cells', cells: [] }
  const within = measure.bounds.map(
    ({ west, south, east, north }) =>
      `lon between ${parameters.add(west / perDegree, 'float8')} and ${parameters.add(east / perDegree, 'float8')}
       and lat between ${parameters.add(south / perDegree, 'float8')} and ${parameters.add(north / perDegree, 'float8')}`,
  )
  const [x, y] = measure.grid === 'geohash' ? hashCell(measure.precision) : tileCell(measure.precision)
  const { rows } = await db.query<{ x: number; y: number; count: number }>(
    ...parameters.statement(`select x, y, count(distinct id)::int as count from (
        select id, ${x} as x, ${y} as y from (
          select id, (${degreesSql('k', 0)} + ${degreesSql('k', 8)}) / 2 as lon, (${degreesSql('k', 4)} + ${degreesSql('k', 12)}) / 2 as lat
          from ${source}) c ${within.length === 0 ? '' : `where ${within.map((each) => `(${each})`).join(' or ')}`}
      ) g group by x, y limit ${mostCells + 1}`),
  )
  if (rows.length > mostCells) throw tooMany()
  return { kind: 'cells', cells: rows }
}

/** Column and row in a grid of powers of two. */
const gridSql = (share: string, count: number): string =>
  `least(${count - 1}, greatest(0, floor(${share} * ${count})))::bigint`

function hashCell(length: number): readonly [string, string] {
  const { columns, rows } = hashBits(length)
  return [gridSql('(lon + 180) / 360', 2 ** columns), gridSql('(lat + 90) / 180', 2 ** rows)]
}

/** Web Mercator: rows are counted from the north, and end where the map is a square. */
function tileCell(zoom: number): readonly [string, string] {
  const sine = 'sin(radians(least(85.0511287798, greatest(-85.0511287798, lat))))'
  return [
    gridSql('(lon + 180) / 360', 2 ** zoom),
    gridSql(`(0.5 - ln((1 + ${sine}) / (1 - ${sine})) / (4 * pi()))`, 2 ** zoom),
  ]
}

/** Each rectangle of the matches: `id`, the bytes `k`, and its index `i`. */
function rectanglesOf(statement: Statement, field: SearchField): string | null {
  const matches = matchesOf(statement, field)
  const key = rectanglesSql(field, 'd', statement.plan)
  if (matches === null || key === null) return null
  return `(select d.id, ${key} as k from ${matches} and ${key} is not null) m cross join lateral generate_series(0, length(k) / 16 - 1) i`
}

/** If rectangles cross the date line, the narrower of the two possible bounds counts. */
async function bounds(db: Queryable, statement: Statement, { field }: Of<'bounds'>): Promise<Measured> {
  const source = rectanglesOf(statement, field)
  if (source === null) return { kind: 'bounds', bounds: null, count: 0 }
  const edge = (at: 0 | 4 | 8 | 12): string => edgeSql('k', at)
  const middle = `'\\x80000000'::bytea`
  const inEast = `filter (where ${edge(0)} >= ${middle})`
  const inWest = `filter (where ${edge(0)} < ${middle})`
  const edges = {
    west: `min(${edge(0)})`,
    east: `max(${edge(8)})`,
    south: `min(${edge(4)})`,
    north: `max(${edge(12)})`,
    firstEast: `min(${edge(0)}) ${inEast}`,
    lastWest: `max(${edge(8)}) ${inWest}`,
  }
  const columns = Object.entries(edges).map(([name, sql]) => `encode(${sql}, 'hex') as "${name}"`)
  const { rows } = await db.query<Record<keyof typeof edges, string | null> & { count: number }>(
    ...statement.parameters.statement(`select count(distinct id)::int as count, ${columns.join(', ')} from ${source}`),
  )
  const row = rows[0]
  if (!row || row.west === null) return { kind: 'bounds', bounds: null, count: 0 }
  const units = (name: keyof typeof edges): number => Number.parseInt(String(row[name]), 16) - 2 ** 31
  const plain: Rectangle = { west: units('west'), south: units('south'), east: units('east'), north: units('north') }
  const { count } = row
  if (row.firstEast === null || row.lastWest === null) return { kind: 'bounds', bounds: plain, count }
  const [west, east] = [units('firstEast'), units('lastWest')]
  const narrower = east < west && east + 360 * perDegree - west < plain.east - plain.west
  return { kind: 'bounds', bounds: narrower ? { ...plain, west, east } : plain, count }
}

function tooMany(): AppError {
  return new AppError(
    'SearchTooCostly',
    { name: 'cells', most: mostCells },
    {
      message: `The aggregation has more than ${mostCells} different values: ask for a lower precision, for bounds or for fewer matches.`,
    },
  )
}

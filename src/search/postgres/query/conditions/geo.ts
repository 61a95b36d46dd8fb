/** Conditions on geometries: the index has the cells that contain them, their rectangles decide. */
import { coverOf } from '../../../geo/cells.ts'
import type { Ring } from '../../../geo/polygon.ts'
import { perDegree, type Rectangle } from '../../../geo/rectangles.ts'
import type { SearchField } from '../../../plan/fields.ts'
import { geoCell, hasValue } from '../../document/lexemes.ts'
import { keySql } from '../../slots.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { documentSql, type Sql } from '../sql/of-document.ts'
import type { Parameters } from '../sql/sql.ts'
import { anyOf, lexeme, type Node, prefix } from '../sql/tsquery.ts'

/** Geometries that could share a point with one of the rectangles. */
export function cellsNode({ code }: SearchField, rectangles: readonly Rectangle[]): Node {
  const { within, around } = coverOf(rectangles)
  if (within.length === 0 || within.includes('')) return lexeme(hasValue(code))
  return anyOf([
    ...within.map((cell) => prefix(geoCell(code, cell))),
    ...around.map((cell) => lexeme(geoCell(code, cell))),
  ])
}

/** The rectangles of a column in a document. */
export function rectanglesSql(field: SearchField, alias: string, { slots }: PostgresPlan): string | null {
  const place = slots.geoKey(field)
  return place === undefined ? null : keySql(place, alias)
}

/** One edge of the rectangle number `i`, as it is stored; `edge`: its offset in bytes. */
export const edgeSql = (key: string, edge: 0 | 4 | 8 | 12): string =>
  `substring(${key} from 16 * i + ${1 + edge} for 4)`

/** The same in degrees. */
export const degreesSql = (key: string, edge: 0 | 4 | 8 | 12): string =>
  `((${edgeSql(key, edge)}::int # (-2147483648)) / ${perDegree}.0::float8)`

const each = (key: string): string => `generate_series(0, length(${key}) / 16 - 1) i`

export function boxSql(
  field: SearchField,
  boxes: readonly Rectangle[],
  alias: string,
  plan: PostgresPlan,
  parameters: Parameters,
): Sql | null {
  const key = rectanglesSql(field, alias, plan)
  if (key === null) return null
  const bound = (value: number): string => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value + 2 ** 31)
    return parameters.add(bytes, 'bytea')
  }
  const tests = boxes.map(
    ({ west, south, east, north }) => `${edgeSql(key, 0)} <= ${bound(east)} and ${edgeSql(key, 8)} >= ${bound(west)}
      and ${edgeSql(key, 4)} <= ${bound(north)} and ${edgeSql(key, 12)} >= ${bound(south)}`,
  )
  return documentSql(`(${ofType(field, alias)} and exists (select from ${each(key)} where ${tests.join(' or ')}))`)
}

/** A rectangle is within the polygon, either as it is or shifted by one turn. */
export function shapeSql(
  field: SearchField,
  { points }: Ring,
  alias: string,
  plan: PostgresPlan,
  parameters: Parameters,
): Sql | null {
  const key = rectanglesSql(field, alias, plan)
  if (key === null) return null
  const text = points.map(([x, y]) => `(${x / perDegree},${y / perDegree})`).join(',')
  const ring = parameters.add(`(${text})`, 'polygon')
  const xs = points.map(([x]) => x / perDegree)
  const turns = [0, ...(Math.max(...xs) > 180 ? [360] : []), ...(Math.min(...xs) < -180 ? [-360] : [])]
  const tests = turns.map((turn) => {
    const corner = (x: 0 | 8, y: 4 | 12): string => `point(${degreesSql(key, x)} + ${turn}, ${degreesSql(key, y)})`
    const isPoint = `${edgeSql(key, 0)} = ${edgeSql(key, 8)} and ${edgeSql(key, 4)} = ${edgeSql(key, 12)}`
    return `case when ${isPoint} then ${ring} @> ${corner(0, 4)}
      else ${ring} @> polygon(box(${corner(0, 4)}, ${corner(8, 12)})) end`
  })
  return documentSql(`(${ofType(field, alias)} and exists (select from ${each(key)} where ${tests.join(' or ')}))`)
}

const ofType = (field: SearchField, alias: string): string =>
  `${alias}.objecttype = ${Number(field.column.table.root.id)}`

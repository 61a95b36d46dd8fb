/** `geo_bounding_box` and `geo_shape` elements, and boxes of aggregations. */
import { cellOfHash, longestHash } from '../geo/geohash.ts'
import { type Corner, mostCorners, ringOf } from '../geo/polygon.ts'
import { type Rectangle, toUnits, withinTurn } from '../geo/rectangles.ts'
import type { SearchField } from '../plan/fields.ts'
import type { Clause } from '../plan/plan.ts'
import { type ElementContext, or } from './clauses.ts'
import { notAllowed } from './names.ts'
import { resolveOwn } from './paths.ts'
import { type Fields, fieldsAt, listAt, wrong } from './read.ts'
import { expandStandardGeo } from './standard-geo.ts'

export function boxClause(element: Fields, names: readonly string[], place: string, context: ElementContext): Clause {
  const boxes = boxAt(element.geo_bounding_box, `${place}.geo_bounding_box`)
  return or(geoFields(names, place, context).map((field) => ({ is: 'geoBox', field, boxes })))
}

export function shapeClause(element: Fields, names: readonly string[], place: string, context: ElementContext): Clause {
  const at = `${place}.geo_shape.points`
  const { points } = fieldsAt(element.geo_shape, `${place}.geo_shape`)
  const corners = listAt(points, at, mostCorners).map((point, index) => cornerAt(point, `${at}[${index}]`))
  const different = new Set(corners.map(({ lat, lon }) => `${toUnits(lat)} ${toUnits(lon)}`))
  if (different.size < 3) throw wrong(at, 'a list of at least 3 points')
  const ring = ringOf(corners)
  if (ring === null) throw wrong(at, 'a polygon whose edges do not cross each other')
  return or(geoFields(names, place, context).map((field) => ({ is: 'geoShape', field, ring })))
}

function geoFields(names: readonly string[], place: string, context: ElementContext): readonly SearchField[] {
  if (names.length === 0) throw wrong(`${place}.fields`, 'a list of field names')
  return names.map((name) => {
    if (context.nested) throw notAllowed(name, 'nested')
    return geoField(name, context)
  })
}

/** @throws {AppError} `SearchFieldNotAllowed` for a field without geometries. */
export function geoField(name: string, context: ElementContext): SearchField {
  const [only, ...others] = expandStandardGeo([name], context)
  if (only === undefined || others.length > 0) throw notAllowed(name, 'geo')
  const named = resolveOwn(context.fields, only, 'geo')
  if (named.kind !== 'field' || named.field.kind !== 'geo') throw notAllowed(name, 'geo')
  return named.field
}

/** A box by two corners, both points or both geohashes; two rectangles where it crosses the date line. */
export function boxAt(value: unknown, place: string): readonly Rectangle[] {
  const { top_left: first, bottom_right: last } = fieldsAt(value, place)
  if ((typeof first === 'string') !== (typeof last === 'string')) {
    throw wrong(place, 'two corners of one kind, points or geohashes')
  }
  const one = edgesAt(first, `${place}.top_left`)
  const other = edgesAt(last, `${place}.bottom_right`)
  const edges = { west: one.west, north: one.north, east: other.east, south: other.south }
  if (edges.south > edges.north) throw wrong(place, 'a box whose top is not below its bottom')
  const boxes = withinTurn(edges.west > edges.east ? { ...edges, east: edges.east + toUnits(360) } : edges)
  return [...boxes, ...otherSide(boxes)]
}

/** Adds the other name of the date line, which is one meridian with two longitudes. */
function otherSide(boxes: readonly Rectangle[]): readonly Rectangle[] {
  const line = toUnits(180)
  return boxes.flatMap((box) => [
    ...(box.east === line ? [{ ...box, west: -line, east: -line }] : []),
    ...(box.west === -line ? [{ ...box, west: line, east: line }] : []),
  ])
}

function edgesAt(value: unknown, place: string): Rectangle {
  if (typeof value === 'string') {
    const cell = cellOfHash(value)
    if (cell === null) throw wrong(place, `a geohash of at most ${longestHash} characters`)
    return cell
  }
  const { lat, lon } = cornerAt(value, place)
  return { west: toUnits(lon), east: toUnits(lon), south: toUnits(lat), north: toUnits(lat) }
}

function cornerAt(value: unknown, place: string): Corner {
  const { lat, lon } = fieldsAt(value, place)
  if (typeof lat !== 'number' || !(Math.abs(lat) <= 90)) throw wrong(`${place}.lat`, 'a number from -90 to 90')
  if (typeof lon !== 'number' || !(Math.abs(lon) <= 180)) throw wrong(`${place}.lon`, 'a number from -180 to 180')
  return { lat, lon }
}

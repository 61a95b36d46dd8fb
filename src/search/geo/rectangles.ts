/**
 * Geometries in the form for search: a point stays a point, any other geometry becomes the rectangle around it. Coordinates are
 * integers of ten-millionths of a degree, so that all comparisons agree.
 */

/** Edges in ten-millionths of a degree; west is never behind east. */
export interface Rectangle {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

export const perDegree = 10_000_000
const halfTurn = 180 * perDegree

/** The highest number of rectangles of one value. Beyond it, one rectangle encloses all the rest. */
export const mostRectangles = 1000

type Position = readonly [number, number]

/** The rectangles of a GeoJSON value. */
export function rectanglesOf(value: unknown): readonly Rectangle[] {
  const found: Rectangle[] = []
  for (const ring of positionLists(value)) found.push(...around(ring))
  if (found.length <= mostRectangles) return found
  return [...found.slice(0, mostRectangles - 1), enclosing(found.slice(mostRectangles - 1))]
}

/** Points by themselves; lines, and the outer rings of polygons, as a whole. */
function* positionLists(value: unknown): Generator<readonly Position[]> {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const each = open.pop() as { type?: string; coordinates?: unknown; geometry?: unknown } & Record<string, unknown>
    if (each === null || typeof each !== 'object') continue
    const members = each.type === 'FeatureCollection' ? each.features : each.geometries
    if (each.type === 'Feature') open.push(each.geometry)
    else if (Array.isArray(members)) for (let index = members.length - 1; index >= 0; index--) open.push(members[index])
    else yield* ofCoordinates(each.type ?? '', each.coordinates)
  }
}

function* ofCoordinates(type: string, coordinates: unknown): Generator<readonly Position[]> {
  if (!Array.isArray(coordinates)) return
  if (type === 'Point') yield [coordinates as unknown as Position]
  else if (type === 'LineString') yield coordinates as Position[]
  else if (type === 'MultiPoint') for (const position of coordinates) yield [position as Position]
  else if (type === 'MultiLineString') for (const line of coordinates) yield line as Position[]
  else if (type === 'Polygon') yield (coordinates[0] ?? []) as Position[]
  else if (type === 'MultiPolygon') for (const polygon of coordinates) yield (polygon[0] ?? []) as Position[]
}

/** The rectangle around positions; two where they cross the date line. */
function around(positions: readonly Position[]): readonly Rectangle[] {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  let before: number | null = null
  for (const [longitude, latitude] of positions) {
    const given = toUnits(longitude)
    const x: number = before === null ? given : nearest(given, before)
    before = x
    west = Math.min(west, x)
    east = Math.max(east, x)
    south = Math.min(south, toUnits(latitude))
    north = Math.max(north, toUnits(latitude))
  }
  return before === null ? [] : withinTurn({ west, south, east, north })
}

export const toUnits = (degrees: number): number => Math.round(Number(degrees) * perDegree)

/** The same longitude, shifted to less than half a turn away from the one before it. */
export function nearest(x: number, before: number): number {
  return x + Math.round((before - x) / (2 * halfTurn)) * 2 * halfTurn
}

/** The parts of a rectangle between -180 and 180 degrees. The edges of the rectangle may be outside of this range. */
export function withinTurn(rectangle: Rectangle): readonly Rectangle[] {
  const { west, east } = rectangle
  if (east - west >= 2 * halfTurn) return [{ ...rectangle, west: -halfTurn, east: halfTurn }]
  if (east > halfTurn && west > halfTurn)
    return withinTurn({ ...rectangle, west: west - 2 * halfTurn, east: east - 2 * halfTurn })
  if (west < -halfTurn && east < -halfTurn)
    return withinTurn({ ...rectangle, west: west + 2 * halfTurn, east: east + 2 * halfTurn })
  if (east > halfTurn)
    return [
      { ...rectangle, east: halfTurn },
      { ...rectangle, west: -halfTurn, east: east - 2 * halfTurn },
    ]
  if (west < -halfTurn)
    return [
      { ...rectangle, west: -halfTurn },
      { ...rectangle, west: west + 2 * halfTurn, east: halfTurn },
    ]
  return [rectangle]
}

function enclosing(rectangles: readonly Rectangle[]): Rectangle {
  return rectangles.reduce((one, other) => ({
    west: Math.min(one.west, other.west),
    south: Math.min(one.south, other.south),
    east: Math.max(one.east, other.east),
    north: Math.max(one.north, other.north),
  }))
}

/** Sixteen bytes for each: west, south, east, north, in the order of the numbers. */
export function rectangleBytes(rectangles: readonly Rectangle[]): Buffer {
  const bytes = Buffer.alloc(16 * rectangles.length)
  for (const [index, { west, south, east, north }] of rectangles.entries()) {
    for (const [part, value] of [west, south, east, north].entries())
      bytes.writeUInt32BE(value + 2 ** 31, 16 * index + 4 * part)
  }
  return bytes
}

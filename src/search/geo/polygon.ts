/** Polygons of requests: closed, without crossings, over the date line and around poles. */
import { nearest, perDegree, type Rectangle, toUnits, withinTurn } from './rectangles.ts'

export interface Corner {
  readonly lat: number
  readonly lon: number
}

export interface Ring {
  /** Longitudes and latitudes in ten-millionths of a degree; longitudes may continue beyond 180 degrees. */
  readonly points: readonly (readonly [number, number])[]
  /** The bounding box of the polygon, within the usual longitudes. */
  readonly around: readonly Rectangle[]
}

/** A polygon that a person draws has no more corners. Each edge is compared with all others. */
export const mostCorners = 1000

const turn = 360 * perDegree
const pole = 90 * perDegree

/** null: its edges cross each other. */
export function ringOf(corners: readonly Corner[]): Ring | null {
  const points: [number, number][] = []
  for (const { lat, lon } of corners) {
    const before = points.at(-1)
    const x = toUnits(lon)
    points.push([before ? nearest(x, before[0]) : x, toUnits(lat)])
  }
  const [first, last] = [points[0], points.at(-1)] as [[number, number], [number, number]]
  if (points.length > 1 && first[1] === last[1] && (first[0] - last[0]) % turn === 0) points.pop()
  closeAroundPole(points)
  if (crossesItself(points)) return null
  const xs = points.map(([x]) => x)
  const ys = points.map(([, y]) => y)
  const box = { west: Math.min(...xs), south: Math.min(...ys), east: Math.max(...xs), north: Math.max(...ys) }
  return { points, around: withinTurn(box) }
}

/** A ring that goes once around the earth contains the nearer pole. */
function closeAroundPole(points: [number, number][]): void {
  const [first, last] = [points[0], points.at(-1)] as [[number, number], [number, number]]
  const end = nearest(first[0], last[0])
  if (end === first[0]) return
  const mean = points.reduce((sum, [, y]) => sum + y, 0) / points.length
  const y = mean < 0 ? -pole : pole
  points.push([end, first[1]], [end, y], [first[0], y])
}

type Point = readonly [number, number]

function crossesItself(points: readonly Point[]): boolean {
  const count = points.length
  for (let one = 0; one < count; one++) {
    const [a, b] = [points[one] as Point, points[(one + 1) % count] as Point]
    for (let other = one + 2; other < count; other++) {
      if (one === 0 && other === count - 1) continue
      if (cross(a, b, points[other] as Point, points[(other + 1) % count] as Point)) return true
    }
  }
  return false
}

/** Whether two edges share a point. */
function cross(a: Point, b: Point, c: Point, d: Point): boolean {
  if (Math.max(a[0], b[0]) < Math.min(c[0], d[0]) || Math.max(c[0], d[0]) < Math.min(a[0], b[0])) return false
  if (Math.max(a[1], b[1]) < Math.min(c[1], d[1]) || Math.max(c[1], d[1]) < Math.min(a[1], b[1])) return false
  return side(a, b, c) * side(a, b, d) <= 0 && side(c, d, a) * side(c, d, b) <= 0
}

const side = (a: Point, b: Point, c: Point): number =>
  Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

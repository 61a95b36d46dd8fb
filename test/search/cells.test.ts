import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cellsOf, coverOf } from '../../src/search/geo/cells.ts'
import { cellOfHash, hashBits, hashOf } from '../../src/search/geo/geohash.ts'
import { ringOf } from '../../src/search/geo/polygon.ts'
import { perDegree, type Rectangle, rectanglesOf, withinTurn } from '../../src/search/geo/rectangles.ts'

const x = fc.oneof(
  fc.integer({ min: -180 * perDegree, max: 180 * perDegree }),
  fc.constantFrom(-180, 0, 180).map((each) => each * perDegree),
)
const y = fc.oneof(
  fc.integer({ min: -90 * perDegree, max: 90 * perDegree }),
  fc.constantFrom(-90, 0, 90).map((each) => each * perDegree),
)
const small = fc.oneof(fc.constant(0), fc.nat(1000), fc.nat(50 * perDegree))
const rectangle = fc.tuple(x, y, small, small).map(
  ([west, south, wide, high]): Rectangle => ({
    west,
    south,
    east: Math.min(180 * perDegree, west + wide),
    north: Math.min(90 * perDegree, south + high),
  }),
)

test('what shares a point with an area has a cell of its cover', () => {
  fc.assert(
    fc.property(rectangle, rectangle, (one, other) => {
      const cells = cellsOf(one)
      assert.ok(cells.length >= 1 && cells.length <= 4, `${cells}`)
      const { within, around } = coverOf([other])
      const found = cells.some((cell) => around.includes(cell) || within.some((each) => cell.startsWith(each)))
      const meets =
        one.west <= other.east && other.west <= one.east && one.south <= other.north && other.south <= one.north
      assert.ok(found || !meets, JSON.stringify({ one, other, cells, within }))
      assert.ok(within.length <= 24)
    }),
    { numRuns: 2000 },
  )
})

test('a small area is covered by cells near it', () => {
  const box = { west: -1_200_000, south: 514_000_000, east: -1_000_000, north: 515_000_000 }
  const far = { west: 100_000_000, south: 514_000_000, east: 100_000_000, north: 514_000_000 }
  const { within, around } = coverOf([box])
  assert.ok(!cellsOf(far).some((cell) => around.includes(cell) || within.some((each) => cell.startsWith(each))))
})

test('geohashes are those that everybody knows, and their cells those of the grid', () => {
  // https://en.wikipedia.org/wiki/Geohash
  const inside = ({ west, south, east, north }: Rectangle, lat: number, lon: number): boolean =>
    west <= lon * perDegree && lon * perDegree <= east && south <= lat * perDegree && lat * perDegree <= north
  assert.ok(inside(cellOfHash('u4pruydqqvj') as Rectangle, 57.64911, 10.40744))
  assert.ok(inside(cellOfHash('ezs42') as Rectangle, 42.605, -5.603))
  for (const wrong of ['', 'a', 'ezs4i', 'u'.repeat(13)]) assert.equal(cellOfHash(wrong), null)
  const point = fc.tuple(
    fc.double({ min: -90, max: 90, noNaN: true }),
    fc.double({ min: -180, max: 180, noNaN: true }),
    fc.integer({ min: 1, max: 8 }),
  )
  fc.assert(
    fc.property(point, ([lat, lon, length]) => {
      const { columns, rows } = hashBits(length)
      const part = (share: number, bits: number): number => Math.min(2 ** bits - 1, Math.floor(share * 2 ** bits))
      const hash = hashOf(part((lon + 180) / 360, columns), part((lat + 90) / 180, rows), length)
      assert.equal(hash.length, length)
      const cell = cellOfHash(hash) as Rectangle
      assert.ok(
        inside({ west: cell.west - 1, south: cell.south - 1, east: cell.east + 1, north: cell.north + 1 }, lat, lon),
        `${hash} ${lat} ${lon}`,
      )
    }),
  )
})

test('a value of many geometries has a thousand rectangles, the last one around the rest', () => {
  const coordinates = Array.from({ length: 200_000 }, (_, n) => [(n % 360) - 180, (n % 180) - 90])
  const found = rectanglesOf({ type: 'MultiPoint', coordinates })
  assert.equal(found.length, 1000)
  assert.deepEqual(found.at(-1), {
    west: -180 * perDegree,
    south: -90 * perDegree,
    east: 179 * perDegree,
    north: 89 * perDegree,
  })
  const [line] = rectanglesOf({ type: 'LineString', coordinates: coordinates.slice(0, 90) })
  assert.deepEqual(line, {
    west: -180 * perDegree,
    south: -90 * perDegree,
    east: -91 * perDegree,
    north: -1 * perDegree,
  })
})

test('rectangles that go beyond the usual longitudes are cut', () => {
  const units = (degrees: number): number => degrees * perDegree
  const box = (west: number, east: number): Rectangle => ({ west: units(west), south: 0, east: units(east), north: 1 })
  assert.deepEqual(withinTurn(box(170, 190)), [box(170, 180), box(-180, -170)])
  assert.deepEqual(
    withinTurn(box(-190, -170)),
    [box(-180, -170), box(170, 180)].sort((a, b) => a.west - b.west),
  )
  assert.deepEqual(withinTurn(box(190, 200)), [box(-170, -160)])
  assert.deepEqual(withinTurn(box(-500, 500)), [box(-180, 180)])
})

test('edges that cross each other make no polygon', () => {
  const at = ([lat, lon]: readonly [number, number]) => ({ lat, lon })
  const ring = (...points: [number, number][]) => ringOf(points.map(at))
  assert.ok(ring([0, 0], [0, 10], [10, 10], [10, 0]))
  assert.ok(ring([0, 0], [0, 10], [10, 10], [10, 0], [0, 0]))
  assert.equal(ring([0, 0], [10, 10], [0, 10], [10, 0]), null)
  assert.equal(ring([0, 0], [0, 10], [0, 5], [5, 5]), null)
  assert.ok(ring([0, 170], [0, -170], [10, -170], [10, 170]))
})

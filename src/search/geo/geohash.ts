/** Geohashes: alternating bits of longitude and latitude, five of them per letter. */
import { perDegree, type Rectangle } from './rectangles.ts'

const letters = '0123456789bcdefghjkmnpqrstuvwxyz'
export const longestHash = 12

/** The cell of a geohash; null: the text is none. */
export function cellOfHash(hash: string): Rectangle | null {
  if (hash.length === 0 || hash.length > longestHash) return null
  let [west, east, south, north] = [-180, 180, -90, 90]
  let ofLongitude = true
  for (const letter of hash.toLowerCase()) {
    const value = letters.indexOf(letter)
    if (value === -1) return null
    for (let bit = 16; bit >= 1; bit /= 2) {
      const upper = Math.floor(value / bit) % 2 === 1
      if (ofLongitude) [west, east] = upper ? [(west + east) / 2, east] : [west, (west + east) / 2]
      else [south, north] = upper ? [(south + north) / 2, north] : [south, (south + north) / 2]
      ofLongitude = !ofLongitude
    }
  }
  const [w, s, e, n] = [west, south, east, north].map((edge) => Math.round(edge * perDegree))
  return { west: w as number, south: s as number, east: e as number, north: n as number }
}

/** Columns and rows of the grid of hashes of this length, as powers of two. */
export function hashBits(length: number): { readonly columns: number; readonly rows: number } {
  return { columns: Math.ceil((5 * length) / 2), rows: Math.floor((5 * length) / 2) }
}

/** The geohash of a column and a row. */
export function hashOf(column: number, row: number, length: number): string {
  const bits = hashBits(length)
  let [x, y] = [bits.columns, bits.rows]
  let hash = ''
  for (let letter = 0; letter < length; letter++) {
    let value = 0
    for (let bit = 0; bit < 5; bit++) {
      const ofLongitude = (letter * 5 + bit) % 2 === 0
      const digit = ofLongitude ? Math.floor(column / 2 ** --x) % 2 : Math.floor(row / 2 ** --y) % 2
      value = 2 * value + digit
    }
    hash += letters[value]
  }
  return hash
}

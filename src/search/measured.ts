/** Turns the measurements of an engine into the answers of `aggregations`. */
import { cellOfHash, hashOf } from './geo/geohash.ts'
import { perDegree, type Rectangle } from './geo/rectangles.ts'
import type { Measure, Measured, TermStats } from './plan/measures.ts'
import { type FacetCounts, noCounts } from './plan/plan.ts'

/** Counts, with a label for each value. */
export interface LabelledCounts {
  readonly counts: FacetCounts
  readonly label: (value: number | string) => string
  /** Whether the buckets are in the order of the values, rather than of the labels. */
  readonly byValue: boolean
}

/** Counts of years and months, and of map cells, in the shape of facet counts. */
export function countsOf(measure: Measure, measured: Measured): LabelledCounts {
  if (measure.kind === 'periods' && measured.kind === 'counts') {
    const { counts } = measured
    const label = (value: number | string): string => periodText(Number(value), measure.unit)
    return {
      counts: facetCounts(
        counts.map(({ count }) => count),
        (index) => counts[index]?.value ?? 0,
      ),
      label,
      byValue: true,
    }
  }
  if (measure.kind === 'grid' && measured.kind === 'cells') {
    const { cells } = measured
    const name = cells.map(({ x, y }) =>
      measure.grid === 'geohash' ? hashOf(x, y, measure.precision) : `${measure.precision}/${x}/${y}`,
    )
    return {
      counts: facetCounts(
        cells.map(({ count }) => count),
        (index) => name[index] ?? '',
      ),
      label: String,
      byValue: false,
    }
  }
  return { counts: noCounts, label: String, byValue: false }
}

export function statsCounts(terms: readonly TermStats[]): FacetCounts {
  return facetCounts(
    terms.map(({ count }) => count),
    (index) => terms[index]?.term ?? '',
  )
}

function facetCounts(counts: readonly number[], value: (index: number) => number | string): FacetCounts {
  return { counts: Int32Array.from(counts), bytes: 0, value }
}

/** A period in the notation of dates. */
function periodText(value: number, unit: 'year' | 'month'): string {
  const year = unit === 'year' ? value : Math.floor(value / 12)
  const digits = String(Math.abs(year)).padStart(4, '0')
  const text = year < 0 ? `-${digits}` : digits.length > 4 ? `+${digits}` : digits
  return unit === 'year' ? text : `${text}-${String(value - 12 * year + 1).padStart(2, '0')}`
}

/** The area of a cell. */
export function cellBounds(measure: Measure, key: string): object | null {
  if (measure.kind !== 'grid') return null
  if (measure.grid === 'geohash') {
    const cell = cellOfHash(key)
    return cell && boundsAnswer(cell)
  }
  const [zoom, x, y] = key.split('/').map(Number) as [number, number, number]
  const tiles = 2 ** zoom
  const latitude = (row: number): number => (Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / tiles))) * 180) / Math.PI
  return {
    top_left: { lat: latitude(y), lon: (x / tiles) * 360 - 180 },
    bottom_right: { lat: latitude(y + 1), lon: ((x + 1) / tiles) * 360 - 180 },
  }
}

export function boundsAnswer({ west, south, east, north }: Rectangle): object {
  return {
    top_left: { lat: north / perDegree, lon: west / perDegree },
    bottom_right: { lat: south / perDegree, lon: east / perDegree },
  }
}

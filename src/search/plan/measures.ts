/** Measurements of all matches of a search, beside facets. */
import type { Rectangle } from '../geo/rectangles.ts'
import type { SearchField } from './fields.ts'

/** The text of a localized column that counts. */
export interface TextChoice {
  readonly language: string
  /** An object without a text in the language counts by the one that it has. */
  readonly others: boolean
}

export type Measure =
  /** The number of objects with dates in each year or month. */
  | { readonly kind: 'periods'; readonly field: SearchField; readonly unit: 'year' | 'month' }
  /** Numbers of a column by the values of another one. */
  | { readonly kind: 'stats'; readonly field: SearchField; readonly value: SearchField; readonly text?: TextChoice }
  /** Cells of a map with the centres of geometries; `bounds`: only geometries within these rectangles, if there are any. */
  | {
      readonly kind: 'grid'
      readonly field: SearchField
      readonly grid: 'geohash' | 'tile'
      readonly precision: number
      readonly bounds: readonly Rectangle[]
    }
  | { readonly kind: 'bounds'; readonly field: SearchField }

export interface TermStats {
  readonly term: string
  /** Objects. */
  readonly count: number
  /** Numbers that were added up. */
  readonly values: number
  readonly min: number | null
  readonly max: number | null
  readonly sum: number | null
  readonly avg: number | null
}

export type Measured =
  /** Years, or months as numbers with twelve for each year. */
  | { readonly kind: 'counts'; readonly counts: readonly { readonly value: number; readonly count: number }[] }
  | { readonly kind: 'stats'; readonly terms: readonly TermStats[] }
  | {
      readonly kind: 'cells'
      readonly cells: readonly { readonly x: number; readonly y: number; readonly count: number }[]
    }
  /** West may be greater than east, if the bounds cross the date line. */
  | { readonly kind: 'bounds'; readonly bounds: Rectangle | null; readonly count: number }

/** The highest number of different values of one measure. */
export const mostCells = 65_536

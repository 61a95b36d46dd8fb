import type { Dialect } from './dialect.ts'

export interface CsvDialect extends Dialect {
  readonly encoding: string
}

export interface SheetRow {
  /** As a spreadsheet program counts: the headings are row 1. */
  readonly number: number
  /** As many as there are headings, and what stands behind them. Empty cells are empty texts. */
  readonly cells: readonly string[]
}

/** How a file is read; as far as nothing is said it is found by looking at it. */
export type SheetOptions =
  | ({ readonly format: 'csv' } & Partial<CsvDialect>)
  | { readonly format: 'xlsx'; readonly sheet?: string }

export type SheetFormat =
  | ({ readonly format: 'csv' } & CsvDialect)
  | { readonly format: 'xlsx'; readonly sheet: string }

/** A spreadsheet: one row of headings, and rows below it. Every call of `rows` reads from the beginning. */
export interface Sheet {
  readonly format: SheetFormat
  readonly headings: readonly string[]
  rows(): AsyncGenerator<SheetRow>
}

import type { Dialect } from './dialect.ts'

export interface CsvDialect extends Dialect {
  readonly encoding: string
}

export interface SheetRow {
  /** The number in spreadsheet programs: the headings are row 1. */
  readonly number: number
  /** The cells of all headings, and any further ones. Empty cells are empty texts. */
  readonly cells: readonly string[]
}

/** The options for reading a file; missing ones are detected from its content. */
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

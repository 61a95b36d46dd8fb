/** The limits for a spreadsheet. A sheet beyond them is refused with an error that names the limit. */
export const limits = {
  /** Columns; the same limit as for an object type. */
  columns: 1000,
  /** Characters of a heading. */
  heading: 200,
  /** Characters of a cell. */
  cell: 1_000_000,
  /** Characters of a row, and of a line of a CSV file. */
  row: 4_000_000,
  /** Parts of an XLSX file: a workbook with a picture in each of a thousand sheets has fewer. */
  zipEntries: 10_000,
  /** Bytes of an unpacked part of an XLSX file. */
  partBytes: 4 * 1024 ** 3,
  /** How many times its packed size a part may have, from `unpackedFreely` on. Sheets with repeated values reach about 60. */
  unpackedTimes: 200,
  unpackedFreely: 32 * 1024 ** 2,
  /** Characters of all texts of an XLSX file: they are in one list to which every cell refers, so they stay in memory. */
  sharedText: 100_000_000,
  sharedStrings: 10_000_000,
  /** Formats of cells, fonts, names of sheets. */
  styles: 100_000,
  /** Values in one cell. */
  values: 1000,
} as const

/** The reason why a file cannot be read; the message is one line for the person at the terminal. */
export class SheetError extends Error {}

/** `csv`: a row for each object, and a column for each path that occurs. */
import { stringify } from 'csv-stringify/sync'
import { badRequest } from '../../platform/errors.ts'
import type { TableOptions } from '../options.ts'
import { type Format, inPieces } from '../writer.ts'
import type { CellValue } from './cell.ts'
import { type Table, tableOf } from './rows.ts'

/** No spreadsheet program shows so many columns. */
const mostColumns = 100_000

export const csvFormat: Format = {
  name: 'csv',
  contentType: 'text/csv; charset=utf-8',
  extension: 'csv',
  single: false,
  write(objects, context) {
    const settings = csvSettings(context.options.table ?? {})
    return tableOf(objects, context, { mostColumns }, (table) => inPieces(lines(table, settings)))
  },
}

type Settings = ReturnType<typeof csvSettings>

/** @throws {AppError} for characters that a reader could not distinguish */
export function csvSettings({ delimiter = ',', quote = '"', escape: escaped, useBom = false }: TableOptions) {
  const before = escaped ?? quote
  for (const [name, character] of Object.entries({ delimiter, quote, escape: before })) {
    if (character.length === 1 && !/[\r\n\0\ud800-\udfff]/.test(character)) continue
    throw badRequest(`${name} must be one character, and no line break`, { name, value: character.slice(0, 10) })
  }
  if (delimiter === quote || delimiter === before) {
    throw badRequest('delimiter must differ from quote and escape', { name: 'delimiter', value: delimiter })
  }
  return { delimiter, quote, escape: before, bom: useBom }
}

async function* lines(table: Table, { bom, ...settings }: Settings): AsyncGenerator<string> {
  if (bom) yield '\uFEFF'
  yield line(table.headings, settings)
  for await (const { cells } of table.rows()) yield line(cells, settings)
}

const line = (cells: readonly (CellValue | undefined)[], settings: Omit<Settings, 'bom'>): string =>
  stringify([Array.from(cells, cellText)], { ...settings, record_delimiter: '\r\n' })

/** A text that a spreadsheet program would take for a formula gets an apostrophe before it, which marks it as a text. */
function cellText(cell: CellValue | undefined): string {
  if (typeof cell !== 'string') return cell === undefined ? '' : String(cell)
  return /^[=+\-@\t\r\uFF0B\uFF0D\uFF1D\uFF20]/.test(cell) ? `'${cell}` : cell
}

import type { SheetFormat } from '../read/model.ts'
import type { ColumnMapping, Mapping } from './mapping.ts'
import type { Proposal } from './proposal.ts'

/** Without characters that move the cursor of a terminal, or turn the direction of writing. */
export function harmless(text: string): string {
  return text.replaceAll(/[^\P{C}\n]/gu, '�')
}

/** Text of a file for a terminal: on one line, without control characters, and not too long. */
export function printable(text: string, most = 60): string {
  const clean = harmless(text.replaceAll(/\s+/g, ' '))
  return clean.length > most ? `${clean.slice(0, most - 1)}…` : clean
}

const delimiterNames: Readonly<Record<string, string>> = { '\t': 'tabulators', ' ': 'blanks' }

/** The description of how the file is read. */
export function describeFormat(format: SheetFormat): string {
  if (format.format === 'xlsx') return `XLSX, sheet ${JSON.stringify(printable(format.sheet))}`
  const between = delimiterNames[format.delimiter] ?? JSON.stringify(format.delimiter)
  return `CSV in ${format.encoding}, ${between} between cells, quotes ${format.quote}`
}

/** The proposal as a table: the result for each column, and the reason. */
export function showProposal({ mapping, reasons }: Proposal, missing: readonly string[], rows: number): string {
  const lines = mapping.columns.map((column) => [
    printable(column.heading || '(no heading)', 30),
    becomes(column, mapping),
    printable(reasons.get(column.heading) ?? '', 120),
  ])
  const widths = [0, 1].map((at) => Math.max(...lines.map((line) => line[at]?.length ?? 0), 7))
  const table = [['column', 'becomes', 'because'], ...lines].map((line) =>
    `  ${line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd(),
  )
  return [
    `${rows} rows become objects of the type "${mapping.type}". ${keyLine(mapping)}`,
    '',
    ...table,
    '',
    typesLine(missing),
  ].join('\n')
}

function keyLine({ key }: Mapping): string {
  return 'rows_of' in key
    ? `No column is unique, so rows are found again by their numbers (${key.column}).`
    : `Rows are found again by ${key.column}.`
}

function typesLine(missing: readonly string[]): string {
  if (missing.length === 0) return 'All object types are there.'
  return `New object types: ${missing.join(', ')}. Types that are there are not changed.`
}

function becomes(column: ColumnMapping, { language }: Mapping): string {
  const { ignore, type, column: name, list, separator } = column
  if (ignore) return '(left out)'
  if (type === 'parent') return 'object above'
  if (list) return separator === undefined ? `${name} → ${list.type}` : `${name}[] → ${list.type}`
  const languages = type?.startsWith('text_l10n') ? ` ${column.language ?? language}` : ''
  return `${name}: ${type === 'file' && separator ? 'files' : type}${languages}`
}

import { parseDate } from '../../../platform/values/dates.ts'
import { limits } from '../limits.ts'
import type { Mapping } from '../plan/mapping.ts'
import type { SheetRow } from '../read/model.ts'
import { type DayOrder, readDate, saysNoDate } from '../values/dates.ts'
import { readBoolean, readDouble, readHundredths, readInteger } from '../values/numbers.ts'
import { cellText, oneLine, partsOf } from '../values/text.ts'
import { errorHeadings, fused } from './error-cells.ts'
import type { FittedColumn } from './fit.ts'

/** A problem with one cell; an empty `heading` means the row as a whole. */
export interface Problem {
  readonly heading: string
  readonly value: string
  readonly reason: string
}

export interface LinkValues {
  readonly column: FittedColumn
  readonly values: readonly string[]
}

/** A row as an object before it is linked: values of lists and files have no ids yet. */
export interface PlannedRow {
  readonly number: number
  readonly cells: readonly string[]
  readonly key: string | number
  /** Values of columns in the form of the interface; null clears. */
  readonly values: Readonly<Record<string, unknown>>
  readonly links: readonly LinkValues[]
  readonly files: readonly LinkValues[]
  /** Key of the object above; null: none. Undefined where the sheet has no such column. */
  readonly parent: string | number | null | undefined
  readonly problems: readonly Problem[]
}

export interface ConversionOptions {
  readonly mapping: Mapping
  readonly columns: readonly FittedColumn[]
  readonly headings: readonly string[]
}

/** Converts rows to objects, without requests and without reading files. */
export function createConverter({ mapping, columns, headings }: ConversionOptions) {
  const placed = columns.map((column) => ({ column, index: headings.indexOf(column.mapping.heading) }))
  const isErrors = headings.includes(errorHeadings.reason)
  const rowIndex = isErrors ? headings.indexOf(errorHeadings.row) : -1

  return (row: SheetRow): PlannedRow => {
    const problems: Problem[] = []
    const values: Record<string, unknown> = {}
    const links: LinkValues[] = []
    const files: LinkValues[] = []
    let parent: PlannedRow['parent']
    for (const { column, index } of placed) {
      if (index < 0) continue
      const { heading, separator, type, column: name } = column.mapping
      const text = textOf(row.cells[index] ?? '', isErrors)
      const fail = (reason: string): void => void problems.push({ heading, value: text.slice(0, 200), reason })
      const fault = unstorable(text)
      if (fault !== null) fail(fault)
      else if (type === 'link' || type === 'file') {
        const list = separator === undefined ? [text].filter((each) => each !== '') : partsOf(text, separator)
        const found = type === 'link' ? list.map(oneLine) : list
        if (found.length > limits.values) fail(`has more than ${limits.values} values`)
        else if (found.length > 0 || mapping.empty === 'clear')
          (type === 'link' ? links : files).push({ column, values: found })
      } else if (type === 'parent') {
        if (text !== '') parent = keyOf(mapping, columns, text) ?? text
        else if (mapping.empty === 'clear') parent = null
      } else if (text === '' || (type.startsWith('date') && saysNoDate(text))) {
        if (mapping.empty === 'clear') setEmpty(values, name, column, mapping.language)
      } else {
        const value = converted(text, column, mapping)
        if (value.problem !== undefined) fail(value.problem)
        else setValue(values, name, value.value)
      }
    }
    addRowProblems(row, headings, problems)
    const number = Number(row.cells[rowIndex] ?? '')
    const told = rowIndex >= 0 && Number.isSafeInteger(number) && number > 0 ? number : row.number
    const key =
      'rows_of' in mapping.key ? `${mapping.key.rows_of}#${told}` : (values[mapping.key.column] as string | number)
    if ('rows_of' in mapping.key) values[mapping.key.column] = key
    if ((key === undefined || key === null) && problems.length === 0) {
      problems.push({ heading: headingOf(mapping, mapping.key.column), value: '', reason: 'the key is empty' })
    }
    return { number: row.number, cells: row.cells, key, values, links, files, parent, problems }
  }
}

export function headingOf(mapping: Mapping, column: string): string {
  return mapping.columns.find((each) => each.column === column && each.ignore !== true)?.heading ?? ''
}

/** The escaping of formulas in an errors file is removed again. */
function textOf(cell: string, isErrors: boolean): string {
  return cellText(isErrors ? fused(cell) : cell)
}

function addRowProblems({ cells }: SheetRow, headings: readonly string[], problems: Problem[]): void {
  const more = cells.findIndex((cell, index) => index >= headings.length && cell.trim() !== '')
  if (more < 0) return
  const value = cells[more] ?? ''
  problems.push({
    heading: '',
    value: value.slice(0, 200),
    reason: `the row has ${more + 1} cells or more, but there are ${headings.length} headings: is a quote missing?`,
  })
}

function unstorable(text: string): string | null {
  if (text.includes('\0')) return 'has a NUL character'
  return text.isWellFormed() ? null : 'has half a character'
}

/** The key of another row, in the type of keys. */
function keyOf(mapping: Mapping, columns: readonly FittedColumn[], text: string): string | number | null {
  const key = columns.find(({ mapping: { column } }) => column === mapping.key.column)
  const value = key ? converted(text, key, mapping).value : text
  return typeof value === 'string' || typeof value === 'number' ? value : null
}

function setValue(values: Record<string, unknown>, name: string, value: unknown): void {
  const before = values[name]
  const isText = typeof value === 'object' && value !== null && typeof before === 'object' && before !== null
  values[name] = isText ? { ...before, ...value } : value
}

function setEmpty(values: Record<string, unknown>, name: string, column: FittedColumn, language: string): void {
  if (column.type.startsWith('text_l10n')) setValue(values, name, { [column.mapping.language ?? language]: null })
  else values[name] = null
}

interface Converted {
  readonly value?: unknown
  readonly problem?: string
}

/** A text that is not empty, converted to a value of the column. */
function converted(text: string, { type, mapping }: FittedColumn, { language }: Mapping): Converted {
  const sign = mapping.decimal ?? '.'
  switch (type) {
    case 'text':
      return { value: text }
    case 'text_oneline':
    case 'string':
      return { value: oneLine(text) }
    case 'text_l10n':
      return { value: { [mapping.language ?? language]: text } }
    case 'text_l10n_oneline':
      return { value: { [mapping.language ?? language]: oneLine(text) } }
    case 'number':
      return orProblem(readInteger(text, sign), 'is no whole number')
    case 'integer.2':
      return orProblem(readHundredths(text, sign), `is no number with at most two decimals after "${sign}"`)
    case 'double':
      return orProblem(readDouble(text, sign), `is no number with decimals after "${sign}"`)
    case 'boolean':
      return orProblem(readBoolean(text), 'is neither yes nor no')
    default:
      return convertedDate(text, type, mapping.order ?? 'dmy', mapping.language ?? language)
  }
}

function orProblem(value: unknown, problem: string): Converted {
  return value === null ? { problem } : { value }
}

function convertedDate(text: string, type: string, order: DayOrder, language: string): Converted {
  const date = readDate(text, order)
  if (!date) return { problem: 'is no date that is known here' }
  if (type === 'daterange') {
    const { from, to, exact } = date
    // The written text is more precise than the two ends: "um 1890".
    return {
      value: {
        ...(from ? { from } : {}),
        ...(to ? { to } : {}),
        ...(exact ? {} : { text: { [language]: oneLine(text) } }),
      },
    }
  }
  if (!date.exact) return { problem: 'is a range, or about: only a column of the type daterange takes it' }
  const found = parseDate(date.from ?? '')
  if (!found) return { problem: 'is no date that is known here' }
  if (type === 'date' && date.time) return { value: { value: found.text.slice(0, 10) } }
  return { value: { value: found.text } }
}

import type { XmlHandlers } from '../../../platform/xml/reader.ts'
import { limits, SheetError } from '../limits.ts'
import type { SheetRow } from './model.ts'
import { columnOf, dateOfSerial, numberText } from './xlsx/numbers.ts'
import { openParts, type Parts } from './xlsx/parts.ts'
import { createTextReader, readWorkbook, type Workbook } from './xlsx/workbook.ts'
import { readXml } from './xlsx/xml.ts'

/** Maximum number of columns of a sheet in the file format. */
const mostColumns = 16_384

/**
 * A sheet of an XLSX file: the one of that name, else the first visible one. Values come from the file as it is: no formula is
 * evaluated, no macro is run; the value of a formula is its result when the file was saved.
 */
export async function openXlsx(file: string, wanted?: string) {
  await using parts = await openParts(file)
  const workbook = await readWorkbook(parts)
  const sheet = wanted === undefined ? workbook.sheets[0] : workbook.sheets.find(({ name }) => name === wanted)
  if (!sheet) {
    const names = workbook.sheets.map(({ name }) => JSON.stringify(name)).join(', ')
    throw new SheetError(
      wanted === undefined ? 'it has no sheet' : `it has no sheet "${wanted}"; there is ${names || 'none'}`,
    )
  }
  return {
    format: { format: 'xlsx' as const, sheet: sheet.name },
    async *rows(): AsyncGenerator<SheetRow> {
      await using again = await openParts(file)
      yield* rowsOf(again, sheet.path, workbook)
    },
  }
}

async function* rowsOf(parts: Parts, path: string, workbook: Workbook): AsyncGenerator<SheetRow> {
  const ready: SheetRow[] = []
  for await (const _ of readXml(parts.text(path), sheetReader(workbook, ready))) yield* ready.splice(0)
}

interface Cell {
  readonly column: number
  readonly type: string
  readonly style: number
}

/** Puts each finished row into `ready`. */
function sheetReader(workbook: Workbook, ready: SheetRow[]): XmlHandlers {
  let number = 0
  let length = 0
  let cells: string[] = []
  let cell: Cell | null = null
  let value = ''
  let inValue = false
  const count = (more: number): void => {
    length += more
    if (length > limits.row) throw new SheetError(`row ${number} has more than ${limits.row} characters`)
  }
  const text = createTextReader(() => {})

  function openRow(reference: string | undefined): void {
    const told = reference === undefined ? number + 1 : Number(reference)
    if (!Number.isSafeInteger(told) || told <= number)
      throw new SheetError(`it is broken: a row after ${number} is ${reference}`)
    number = told
    cells = []
    length = 0
  }

  function openCell({ r, t = 'n', s = '0' }: Readonly<Record<string, string>>): void {
    const column = r === undefined ? cells.length : columnOf(r)
    if (column < 0 || column >= mostColumns) {
      throw new SheetError(`row ${number} has a cell "${(r ?? String(column)).slice(0, 20)}", which no sheet has`)
    }
    cell = { column, type: t, style: Number(s) }
    value = ''
  }

  function closeCell(): void {
    if (!cell) return
    const written = text.take()
    const shown = cell.type === 'inlineStr' ? written : shownValue(cell, value, workbook)
    count(shown.length)
    while (cells.length < cell.column) cells.push('')
    cells[cell.column] = shown
    cell = null
  }

  return {
    open(name, attributes) {
      if (name === 'row') openRow(attributes.r)
      else if (name === 'c') openCell(attributes)
      else if (name === 'v') inValue = cell !== null
      else if (cell) text.open(name)
    },
    close(name) {
      if (name === 'v') inValue = false
      else if (name === 'c') closeCell()
      else if (name === 'row') ready.push({ number, cells })
      else if (cell) text.close(name)
    },
    text(piece) {
      if (inValue) {
        if (value.length + piece.length > limits.cell) {
          throw new SheetError(`row ${number} has a cell with more than ${limits.cell} characters`)
        }
        value += piece
      } else if (cell) text.text(piece)
    },
  }
}

function shownValue({ type, style }: Cell, value: string, { strings, from1904, isDate }: Workbook): string {
  if (value === '') return ''
  switch (type) {
    case 's': {
      const text = strings[Number(value)]
      if (text === undefined) throw new SheetError('it is broken: a cell refers to a text that is not there')
      return text
    }
    case 'b':
      return value === '1' || value === 'true' ? 'true' : 'false'
    case 'n':
      return (isDate(style) ? dateOfSerial(Number(value), from1904) : null) ?? numberText(value)
    default:
      return value
  }
}

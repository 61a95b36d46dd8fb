import { limits, SheetError } from '../limits.ts'
import { openCsv } from './csv.ts'
import type { Sheet, SheetOptions, SheetRow } from './model.ts'
import { openXlsx } from './xlsx.ts'

/** @throws {SheetError} when it cannot be read, or has no headings. */
export async function openSheet(file: string, options: SheetOptions): Promise<Sheet> {
  const source = options.format === 'csv' ? await openCsv(file, options) : await openXlsx(file, options.sheet)
  const { headings, first } = await headingsOf(source.rows())
  return {
    format: source.format,
    headings,
    async *rows() {
      for await (const row of source.rows()) {
        if (row.number <= first || row.cells.every((cell) => cell.trim() === '')) continue
        yield { number: row.number, cells: padded(row.cells, headings.length) }
      }
    },
  }
}

/** The first row that is not empty. Columns without a heading count if a column with a heading follows. */
async function headingsOf(rows: AsyncGenerator<SheetRow>): Promise<{ headings: string[]; first: number }> {
  for await (const { number, cells } of rows) {
    const headings = cells.map((cell) => cell.normalize('NFC').replaceAll(/\s+/g, ' ').trim())
    while (headings.at(-1) === '') headings.pop()
    if (headings.length === 0) continue
    if (headings.length > limits.columns) {
      throw new SheetError(`it has ${headings.length} columns; at most ${limits.columns} can be imported`)
    }
    const long = headings.find((heading) => heading.length > limits.heading)
    if (long !== undefined) {
      throw new SheetError(`the heading "${long.slice(0, 40)}…" is too long: does row ${number} have the headings?`)
    }
    return { headings: distinct(headings), first: number }
  }
  throw new SheetError('it is empty: the first row must have the headings of the columns')
}

/** The second of several columns with the same heading becomes `Titel #2`, so that each has a name. */
function distinct(headings: readonly string[]): string[] {
  const taken = new Set(headings)
  const seen = new Set<string>()
  return headings.map((heading) => {
    if (heading === '' || !seen.has(heading)) {
      seen.add(heading)
      return heading
    }
    let number = 2
    while (taken.has(`${heading} #${number}`)) number++
    const name = `${heading} #${number}`
    taken.add(name)
    return name
  })
}

function padded(cells: readonly string[], length: number): readonly string[] {
  if (cells.length >= length) return cells
  return [...cells, ...Array.from({ length: length - cells.length }, () => '')]
}

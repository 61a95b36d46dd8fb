import { existsSync } from 'node:fs'
import { appendFile, stat, truncate } from 'node:fs/promises'
import { stringify } from 'csv-stringify/sync'
import { defused, errorHeadings } from './error-cells.ts'
import type { RowOutcome } from './rows.ts'

/** A free name for a file with the wrong rows; an existing file, which a user may be correcting, is not overwritten. */
export function freeErrorsFile(sheet: string): string {
  const base = sheet.replace(/\.[^./\\]+$/, '')
  for (let number = 1; ; number++) {
    const file = `${base}.errors${number === 1 ? '' : `-${number}`}.csv`
    if (!existsSync(file)) return file
  }
}

/**
 * Wrong rows, as they are in the sheet, with their numbers and the reasons: to be corrected and imported again with the same
 * mapping.
 */
export function createErrorsFile(file: string, headings: readonly string[], delimiter: string) {
  const own = Object.values(errorHeadings) as readonly string[]
  // An errors file that is imported has these columns already.
  const kept = headings.flatMap((heading, index) => (own.includes(heading) ? [] : [index]))
  const rowIndex = headings.indexOf(errorHeadings.row)

  const line = (cells: readonly string[]): string =>
    stringify([cells.map(defused)], { delimiter, record_delimiter: '\r\n' })

  function rowLine({ row, problems }: RowOutcome): string {
    const columns = [...new Set(problems.map(({ heading }) => heading))].filter((heading) => heading !== '')
    const reasons = problems.map(({ heading, value, reason }) => [heading, value && JSON.stringify(value), reason])
    const told = rowIndex < 0 ? '' : (row.cells[rowIndex] ?? '')
    return line([
      ...kept.map((index) => row.cells[index] ?? ''),
      told || String(row.number),
      columns.join('; '),
      reasons.map((words) => words.filter((word) => word !== '').join(' ')).join('; '),
    ])
  }

  return {
    /** Adds the rows; returns the new length of the file. */
    async add(outcomes: readonly RowOutcome[], before: number): Promise<number> {
      if (outcomes.length === 0) return before
      const heading = before === 0 ? `\ufeff${line([...kept.map((index) => headings[index] ?? ''), ...own])}` : ''
      await appendFile(file, heading + outcomes.map(rowLine).join(''))
      return (await stat(file)).size
    },
    /** Removes the rows that an interrupted run has written after its last checkpoint. */
    async backTo(length: number): Promise<void> {
      if (existsSync(file)) await truncate(file, length)
    },
  }
}

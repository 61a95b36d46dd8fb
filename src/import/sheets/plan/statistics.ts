import type { SheetRow } from '../read/model.ts'
import { type DayOrder, readDate, saysNoDate } from '../values/dates.ts'
import { KeySet } from '../values/key-set.ts'
import { type DecimalSign, decimalsOf, plainNumber, readBoolean } from '../values/numbers.ts'
import { cellText, isAddress, namesFile } from '../values/text.ts'

/** The limits, in characters, for remembering different values: of all columns together, and of one. */
const rememberedText = 40_000_000
const rememberedValues = 20_000

/** The kinds of values that cells of a column may have. */
export const kinds = ['boolean', 'number', 'date', 'address', 'file'] as const
export type Kind = (typeof kinds)[number]

export interface Misfit {
  readonly row: number
  readonly value: string
}

export const separators = [';', '|'] as const

export interface ColumnStatistics {
  readonly heading: string
  /** Number of cells that are not empty. */
  readonly filled: number
  readonly longest: number
  /** Whether a cell has several lines; whether a cell has several words. */
  readonly lines: boolean
  readonly words: boolean
  /** The first values. */
  readonly examples: readonly string[]
  /** For each kind, the number of matching cells, and the first that do not match. */
  readonly fits: Readonly<Record<Kind, number>>
  readonly misfits: Readonly<Record<Kind, readonly Misfit[]>>
  readonly decimalSign: DecimalSign
  readonly decimals: number
  /** Numbers with leading zeros, which would be lost, or with more digits than a number can have. */
  readonly codes: boolean
  readonly largest: number
  readonly dates: { readonly order: DayOrder; readonly ranges: number; readonly times: number; readonly none: number }
  /** Number of different values; null when there are too many to remember. */
  readonly distinct: number | null
  /** No value occurs in two rows, and every row has one; null when there were too many to tell. */
  readonly unique: boolean | null
  /** For each separator: the number of cells with it, of their parts and of different parts, and the longest part. */
  readonly several: Readonly<Record<string, Several>>
}

export interface Several {
  readonly cells: number
  readonly parts: number
  readonly distinct: number | null
  readonly longest: number
}

export interface SheetStatistics {
  readonly rows: number
  readonly columns: readonly ColumnStatistics[]
}

/** One pass over all rows, in memory that does not depend on their number. */
export async function statisticsOf(
  headings: readonly string[],
  rows: AsyncIterable<SheetRow>,
  onRow: (count: number) => void = () => {},
): Promise<SheetStatistics> {
  const columns = headings.map((heading) => createColumn(heading, rememberedText / headings.length))
  let count = 0
  for await (const { number, cells } of rows) {
    count++
    for (const [index, column] of columns.entries()) column.add(cellText(cells[index] ?? ''), number)
    onRow(count)
  }
  return { rows: count, columns: columns.map((column) => column.result(count)) }
}

function createColumn(heading: string, room: number) {
  const values = createDistinct(room / 2)
  const keys = new KeySet()
  const fits: Record<Kind, number> = { boolean: 0, number: 0, date: 0, address: 0, file: 0 }
  const misfits: Record<Kind, Misfit[]> = { boolean: [], number: [], date: [], address: [], file: [] }
  const several = separators.map((separator) => createSeveral(separator, room / 4))
  const dates = createDates()
  const numbers = createNumbers()
  const examples: string[] = []
  let [filled, longest, lines, words] = [0, 0, false, false]
  let unique: boolean | null = true

  const tests: Record<Kind, (text: string) => boolean> = {
    boolean: (text) => readBoolean(text) !== null,
    number: numbers.add,
    date: dates.add,
    address: isAddress,
    file: (text) => !isAddress(text) && namesFile(text),
  }

  return {
    add(text: string, row: number): void {
      if (text === '') {
        unique = unique === null ? null : false
        return
      }
      filled++
      longest = Math.max(longest, text.length)
      lines ||= text.includes('\n')
      words ||= /\s/.test(text)
      if (examples.length < 5) examples.push(text.slice(0, 500))
      values.add(text)
      if (unique) unique = keys.add(text)
      for (const each of several) each.add(text)
      for (const kind of kinds) {
        // A type that did not match a thousand times is excluded.
        if (filled - fits[kind] > 1000 + fits[kind]) continue
        if (tests[kind](text)) fits[kind]++
        else if (misfits[kind].length < 3) misfits[kind].push({ row, value: text.slice(0, 60) })
      }
    },
    result: (rows: number): ColumnStatistics => ({
      heading,
      filled,
      longest,
      lines,
      words,
      examples,
      fits,
      misfits,
      ...numbers.result(),
      dates: dates.result(),
      distinct: values.count(),
      unique: unique && rows > 0 && filled === rows,
      several: Object.fromEntries(several.map((each) => [each.separator, each.result()])),
    }),
  }
}

/** Counts different values, as long as there is room for them. */
function createDistinct(room: number) {
  let values: Set<string> | null = new Set()
  let left = room
  return {
    add(value: string): void {
      if (!values || values.has(value)) return
      left -= value.length
      if (left < 0 || values.size >= rememberedValues) values = null
      else values.add(value)
    },
    count: () => values?.size ?? null,
  }
}

function createSeveral(separator: string, room: number) {
  const values = createDistinct(room)
  let [cells, parts, longest] = [0, 0, 0]
  return {
    separator,
    add(text: string): void {
      const found = text.split(separator)
      if (found.length > 1) cells++
      for (const part of found) {
        const trimmed = part.trim()
        if (trimmed === '') continue
        parts++
        longest = Math.max(longest, trimmed.length)
        values.add(trimmed)
      }
    },
    result: (): Several => ({ cells, parts, longest, distinct: values.count() }),
  }
}

/** Whether the decimal sign is a point or a comma, and how many decimals there are. */
function createNumbers() {
  const decimals: Record<DecimalSign, number> = { '.': 0, ',': 0 }
  const fits: Record<DecimalSign, number> = { '.': 0, ',': 0 }
  // `1.234` may be a thousand or one: only numbers that cannot have thousands separators show which sign it is.
  const sure: Record<DecimalSign, number> = { '.': 0, ',': 0 }
  let [codes, largest] = [false, 0]
  return {
    add(text: string): boolean {
      let any = false
      for (const sign of ['.', ','] as const) {
        const plain = plainNumber(text, sign)
        if (plain === null) continue
        any = true
        fits[sign]++
        decimals[sign] = Math.max(decimals[sign], decimalsOf(plain))
        largest = Math.max(largest, Math.abs(Number(plain)))
        if (plainNumber(text, sign === '.' ? ',' : '.') === null) sure[sign]++
      }
      if (/^0\d/.test(text)) codes = true
      return any
    },
    result() {
      const decimalSign: DecimalSign = sure[','] > sure['.'] || (sure['.'] === 0 && fits[','] > fits['.']) ? ',' : '.'
      return { decimalSign, decimals: decimals[decimalSign], codes: codes || largest >= 2 ** 53, largest }
    },
  }
}

function createDates() {
  let [ranges, times, none, dayFirst, monthFirst] = [0, 0, 0, 0, 0]
  return {
    add(text: string): boolean {
      if (saysNoDate(text)) {
        none++
        return true
      }
      const numeric = /^(\d{1,2})([/-])(\d{1,2})\2\d{4}$/.exec(text)
      if (numeric && Number(numeric[1]) > 12) dayFirst++
      if (numeric && Number(numeric[3]) > 12) monthFirst++
      const date = readDate(text, 'dmy') ?? readDate(text, 'mdy')
      if (!date) return false
      if (!date.exact) ranges++
      if (date.time) times++
      return true
    },
    result: () => ({ order: (monthFirst > dayFirst ? 'mdy' : 'dmy') as DayOrder, ranges, times, none }),
  }
}

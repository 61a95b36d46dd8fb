export interface Dialect {
  readonly delimiter: string
  readonly quote: string
}

export const delimiters = [',', ';', '\t', '|'] as const
const quotes = ['"', "'"] as const

interface Look extends Dialect {
  /** Fields of the first record. */
  readonly width: number
  /** Share of the records with the same number of fields, minus those with wrong quotes. */
  readonly agreement: number
  /** Fields in quotes. */
  readonly quoted: number
}

/**
 * Delimiter and quote of a CSV file, found from its beginning: the delimiter with which most records have as many fields as the
 * first one; among several, the one that yields more fields. `whole`: the last record is complete.
 */
export function findDialect(sample: string, whole: boolean): Dialect {
  // Excel writes this line itself, and hides it.
  const told = /^sep=(.)\r?\n/.exec(sample)?.[1]
  const looks = quotes.flatMap((quote) =>
    (told === undefined ? delimiters : [told]).map((delimiter) => look(sample, { delimiter, quote }, whole)),
  )
  const best = looks.reduce((left, right) => (isBetter(right, left) ? right : left))
  if (best.width === 1 && told === undefined) return { delimiter: ',', quote: '"' }
  return { delimiter: best.delimiter, quote: best.quote }
}

function isBetter(right: Look, left: Look): boolean {
  const [a, b] = [scoreOf(left), scoreOf(right)]
  if (Math.abs(a - b) > 0.1) return b > a
  if (right.width !== left.width) return right.width > left.width
  // An apostrophe counts as a quote only if it encloses more fields than the other.
  return right.quoted > left.quoted
}

const scoreOf = ({ width, agreement }: Look): number => (width > 1 ? agreement : 0)

function look(sample: string, { delimiter, quote }: Dialect, whole: boolean): Look {
  const widths: number[] = []
  let [fields, quoted, wrong] = [1, 0, 0]
  let state: 'start' | 'plain' | 'quoted' = 'start'
  const end = (): void => {
    if (fields > 1 || state !== 'start') widths.push(fields)
    fields = 1
    state = 'start'
  }
  for (let at = 0; at < sample.length; at++) {
    const char = sample[at]
    if (state === 'quoted') {
      if (char !== quote) continue
      const next = sample[at + 1]
      if (next === quote) at++
      else if (next === undefined || next === delimiter || next === '\n' || next === '\r') {
        quoted++
        state = 'plain'
      } else wrong++
    } else if (char === '\n') end()
    else if (char === delimiter) {
      fields++
      state = 'start'
    } else if (char === quote && state === 'start') state = 'quoted'
    else if (char !== '\r') state = 'plain'
  }
  if (whole) end()
  const width = widths[0] ?? 1
  const same = widths.filter((each) => each === width).length
  return { delimiter, quote, width, quoted, agreement: (same - wrong) / Math.max(widths.length, 1) }
}

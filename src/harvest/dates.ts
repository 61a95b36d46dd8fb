/** Dates of requests: days, or moments in whole seconds. @see OAI-PMH 2.0, section 3.3 */
import type { Selection } from './model.ts'
import { badArgument } from './protocol-error.ts'

const forms = [
  { pattern: /^\d{4}-\d\d-\d\d$/, milliseconds: 86_400_000 },
  { pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, milliseconds: 1000 },
] as const

interface Span {
  readonly begin: number
  /** Behind it. */
  readonly end: number
  readonly granularity: number
}

/** @throws {ProtocolError} `badArgument` for an invalid date, two granularities, and a range that ends before it begins */
export function readDates(from: string | undefined, until: string | undefined): Pick<Selection, 'from' | 'before'> {
  const first = from === undefined ? null : readDate('from', from)
  const last = until === undefined ? null : readDate('until', until)
  if (first && last && first.granularity !== last.granularity) {
    throw badArgument('from and until must have the same granularity')
  }
  if (first && last && first.begin > last.begin) throw badArgument('from must not be later than until')
  return { from: first && textOf(first.begin), before: last && textOf(last.end) }
}

function readDate(name: string, given: string): Span {
  const form = forms.find(({ pattern }) => pattern.test(given))
  const begin = form ? Date.parse(given) : Number.NaN
  // Otherwise 30 February would become a day in March; the year 0 does not exist.
  const isReal =
    !Number.isNaN(begin) &&
    !given.startsWith('0000') &&
    new Date(begin).toISOString().startsWith(given.slice(0, 19).replace(/Z$/, ''))
  if (!form || !isReal) throw badArgument(`${name} must be a date such as 2026-05-17 or 2026-05-17T10:00:00Z`)
  return { begin, end: begin + form.milliseconds, granularity: form.milliseconds }
}

/** ISO 8601 writes years after 9999 in another way. */
function textOf(at: number): string {
  const text = new Date(at).toISOString()
  return text.startsWith('+') ? 'infinity' : text
}

import { withoutEnd } from './text.ts'

/**
 * JSON whose numbers stay as they were written. A double holds some 15 digits; a number with more would change its value, so it is
 * kept as its text (`JSON.rawJSON`), which `JSON.stringify` writes again.
 * @see https://github.com/tc39/proposal-json-parse-with-source
 */
interface RawJson {
  readonly rawJSON: string
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const json = JSON as typeof JSON & {
  rawJSON(text: string): RawJson
  isRawJSON(value: unknown): value is RawJson
}
const parseWith = JSON.parse as unknown as (text: string, reviver: Reviver) => unknown

export const isExactNumber = json.isRawJSON

/** Candidates for numbers that do not fit into a double: many digits, or an exponent of three. Other numbers are never checked. */
const suspects = /\d[\d.]{15,}(?:[eE][+-]?\d+)?|\d[eE][+-]?\d{3,}/g

export function parseExact(text: string): unknown {
  if (!hasInexact(text)) return JSON.parse(text)
  return parseWith(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isHeld(source) ? json.rawJSON(source) : value,
  )
}

/** Also true for a text with such digits: then the value is only checked once more. */
function hasInexact(text: string): boolean {
  for (const [found] of text.matchAll(suspects)) if (/[eE][+-]?\d{3}/.test(found) || !isHeld(found)) return true
  return false
}

/** Whether a number is unchanged after conversion to a double and back. */
function isHeld(source: string): boolean {
  return decimal(source) === decimal(String(Number(source)))
}

/** Digits without zeros at their ends, and the power of ten behind them; null for a text that is no JSON number. */
function decimal(source: string): string | null {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? []
  if (whole === '') return null
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const kept = withoutEnd(digits, '0')
  return kept === '' ? '0' : `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`
}

/** Whether every JSON reader has an approximate double for the number: not infinite, and not zero. */
export function isInRange({ rawJSON }: RawJson): boolean {
  const value = Number(rawJSON)
  return Number.isFinite(value) && value !== 0
}

/** The member with the text of a value, beside the members that queries look for. */
const asText = '$json'

/** A value in its `jsonb` form: with its text when it has numbers that do not fit into a double. */
export function keepExact(value: Record<string, unknown>): Record<string, unknown> {
  if (!(asText in value || hasExact(value))) return value
  return { ...(asDoubles(value) as Record<string, unknown>), [asText]: JSON.stringify(value) }
}

export function readExact(stored: unknown): unknown {
  const text = (stored as Record<string, unknown>)[asText]
  return typeof text === 'string' ? parseExact(text) : stored
}

function hasExact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return isExactNumber(value) || Object.values(value).some(hasExact)
}

/** The same with doubles: for calculations. */
export function asDoubles(value: unknown): unknown {
  if (isExactNumber(value)) return Number(value.rawJSON)
  if (!hasExact(value)) return value
  if (Array.isArray(value)) return value.map(asDoubles)
  return Object.fromEntries(Object.entries(value as object).map(([key, member]) => [key, asDoubles(member)]))
}

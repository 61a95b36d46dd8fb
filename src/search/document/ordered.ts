import { withoutEnd } from '../../platform/values/text.ts'
/**
 * Numbers and dates as texts whose alphabetical order is their own order, and ranges of them as a few prefixes. So the same index
 * answers ranges and words: `from 1900` becomes "starts with 19, 2, 3, …". An index does the work of a match for each of these
 * prefixes: 77 of them for 700 to 9,999,999 took 600 ms for 68,637 artworks.
 */

/**
 * A number in decimal: sign, exponent, digits. Negative numbers have their digits inverted (9 for 0) and end with `z`, so that
 * longer ones come first. `1900` is `p403` + `19`.
 */
export function orderedNumber(value: number): string {
  if (value === 0) return 'o'
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const power = Number(exponent) + 400
  if (value > 0) return `p${String(power).padStart(3, '0')}${digits}`
  return `n${String(999 - power).padStart(3, '0')}${turned(digits)}z`
}

const turned = (digits: string): string => digits.replace(/\d/g, (digit) => String(9 - Number(digit)))

/** Days from 1 March of year 0 to 1970. */
const daysToEpoch = 719_468n

/** A moment (seconds since 1970, UTC) as year, month, day and time of day, in digits. */
export function orderedMoment(seconds: bigint): string {
  const days = floorDiv(seconds, 86_400n)
  const { year, month, day } = civil(days)
  const second = Number(seconds - days * 86_400n)
  return `${orderedYear(year)}${pad(month)}${pad(day)}${pad(Math.floor(second / 3600))}${pad(
    Math.floor(second / 60) % 60,
  )}${pad(second % 60)}`
}

const pad = (value: number): string => String(value).padStart(2, '0')

/** Four digits at least; the letter before them tells how many there are. */
function orderedYear(year: bigint): string {
  const digits = (year < 0n ? -year : year).toString().padStart(4, '0')
  const length = String.fromCharCode(97 + digits.length)
  if (year >= 0n) return `p${length}${digits}`
  return `n${String.fromCharCode(122 - digits.length)}${turned(digits)}`
}

function civil(days: bigint): { year: bigint; month: number; day: number } {
  const shifted = days + daysToEpoch
  const era = floorDiv(shifted, 146_097n)
  const dayOfEra = Number(shifted - era * 146_097n)
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9)
  return {
    year: BigInt(yearOfEra) + era * 400n + (month <= 2 ? 1n : 0n),
    month,
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
  }
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient
}

/** The ends of an open range of dates: "since ever" and "for ever". */
export const openStart = '-'
export const openEnd = 'z'

/** A part of a range: exactly this text, or all texts that begin with `prefix` except those in `but`. */
export type Piece = { readonly exact: string } | { readonly prefix: string; readonly but: readonly Piece[] }

export interface Bound {
  readonly text: string
  readonly inclusive: boolean
  /** Texts that continue this one count as equal to it: `pe1900` stands for the whole year. */
  readonly whole?: boolean
}

/** The first second of a range as a bound, without the trailing parts that only say "at the beginning of". */
export function momentFrom(seconds: bigint): Bound {
  const text = trimmed(orderedMoment(seconds), ['00', '00', '00', '01', '01'])
  return { text: withoutDigits(text, '0'), inclusive: true, whole: true }
}

/** The last second of a range as a bound, without the trailing parts that only say "at the end of". */
export function momentTo(seconds: bigint): Bound {
  const { year, month } = civil(floorDiv(seconds, 86_400n))
  const next = month === 12 ? 0n : firstDay(year, month + 1) - firstDay(year, month)
  const lastDay = pad(month === 12 ? 31 : Number(next))
  const text = trimmed(orderedMoment(seconds), ['59', '59', '23', lastDay, '12'])
  return { text: withoutDigits(text, '9'), inclusive: true, whole: true }
}

/** Removes this digit at the end; the first two characters stay. */
const withoutDigits = (text: string, digit: string): string => text.slice(0, 2) + withoutEnd(text.slice(2), digit)

/** Removes two-digit parts from the end as long as they have the given values, last one first. */
function trimmed(text: string, parts: readonly string[]): string {
  let result = text
  for (const part of parts) {
    if (!result.endsWith(part)) break
    result = result.slice(0, -2)
  }
  return result
}

function firstDay(year: bigint, month: number): bigint {
  const shifted = month <= 2 ? year - 1n : year
  const era = floorDiv(shifted, 400n)
  const yearOfEra = shifted - era * 400n
  const dayOfYear = BigInt(Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5))
  return era * 146_097n + yearOfEra * 365n + yearOfEra / 4n - yearOfEra / 100n + dayOfYear
}

const digits = [...'0123456789']

/** The possible next characters after the beginning of an ordered text. */
const followers = {
  number(start: string): readonly string[] {
    if (start === '') return ['n', 'o', 'p']
    if (start === 'o' || start.endsWith('z')) return []
    return start[0] === 'n' && start.length > 4 ? [...digits, 'z'] : digits
  },
  moment(start: string): readonly string[] {
    if (start === '') return [openStart, 'n', 'p', openEnd]
    if (start === openStart || start === openEnd) return []
    if (start.length === 1) return [...(start === 'p' ? 'efghijklm' : 'nopqrstuv')]
    return digits
  },
}

/** Whether a text may end here while others continue; moments all have the same length. */
const mayEnd = {
  number: (text: string): boolean => text === 'o' || /^p.{4}|z$/.test(text),
  moment: (): boolean => false,
}

/** Texts with the same beginning, in two parts: texts within the bounds, and the others. */
interface Halves {
  readonly within: readonly Piece[]
  readonly without: readonly Piece[]
}

/**
 * Covers all ordered texts between two bounds (null is open) with few pieces. `single`: each object has one text at most, so that a
 * piece may be "texts that begin with 19, but not with 199". An object with several texts may have one in each of these sets.
 */
export function rangePieces(
  kind: keyof typeof followers,
  from: Bound | null,
  to: Bound | null,
  { single }: { readonly single: boolean },
): readonly Piece[] {
  /** All texts that begin with `start`, given the rest of the bounds (null: no bound any more). */
  function divide(start: string, lower: string | null, upper: string | null): Halves {
    if (lower === '' && from?.inclusive) return divide(start, null, upper)
    if (upper === '' && to?.whole) return divide(start, lower, null)
    const all = [{ prefix: start, but: [] }]
    if (lower === null && upper === null) return { within: all, without: [] }
    const within: Piece[] = []
    const without: Piece[] = []
    if (mayEnd[kind](start)) {
      const fits = lower === null && (upper !== '' || to?.inclusive === true)
      ;(fits ? within : without).push({ exact: start })
    }
    for (const symbol of followers[kind](start)) {
      const first = lower ? (lower[0] as string) : ''
      const isOutside = upper === '' || symbol < first || (upper !== null && symbol > (upper[0] as string))
      if (isOutside) {
        without.push({ prefix: start + symbol, but: [] })
        continue
      }
      const below = symbol === first ? (lower as string).slice(1) : null
      const above = upper !== null && symbol === upper[0] ? upper.slice(1) : null
      const parts = divide(start + symbol, below, above)
      within.push(...parts.within)
      without.push(...parts.without)
    }
    if (!single) return { within, without }
    return { within: fewer(within, start, without), without: fewer(without, start, within) }
  }

  return divide('', from?.text ?? null, to?.text ?? null).within
}

/** The shorter list: the pieces themselves, or all texts with the beginning except the others. */
function fewer(pieces: readonly Piece[], start: string, others: readonly Piece[]): readonly Piece[] {
  return sizeOf(pieces) <= 1 + sizeOf(others) ? pieces : [{ prefix: start, but: others }]
}

/** The number of texts in a query for these pieces. */
export function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + 1 + ('but' in piece ? sizeOf(piece.but) : 0), 0)
}

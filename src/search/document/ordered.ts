/**
 * Numbers and dates as texts whose alphabetical order is their own order, and ranges of them as a few prefixes. So a
 * range is answered by the same index as words are: `from 1900` becomes "starts with 19, 2, 3, …".
 */

/**
 * A number in decimal: sign, exponent, digits. Negative numbers have their digits turned round (9 for 0) and end with
 * `z`, so that longer ones come first. `1900` is `p403` + `19`.
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

/** Four digits at least; the letter before them says how many there are. */
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

/** Stands for "since ever" and "for ever" where a range of dates is open. */
export const openStart = '-'
export const openEnd = 'z'

/** Texts that make up a range: exactly these, and all that begin with those. */
export interface Pieces {
  readonly exact: readonly string[]
  readonly prefixes: readonly string[]
}

export interface Bound {
  readonly text: string
  readonly inclusive: boolean
  /** Texts that continue this one count as equal to it: `pe1900` stands for the whole year. */
  readonly whole?: boolean
}

/** The first second of a range as a bound, without what says only "at the beginning of". */
export function momentFrom(seconds: bigint): Bound {
  const text = trimmed(orderedMoment(seconds), ['00', '00', '00', '01', '01'])
  return { text: text.replace(/(?<=^..\d*?)0+$/, ''), inclusive: true, whole: true }
}

/** The last second of a range as a bound, without what says only "at the end of". */
export function momentTo(seconds: bigint): Bound {
  const { year, month } = civil(floorDiv(seconds, 86_400n))
  const next = month === 12 ? 0n : firstDay(year, month + 1) - firstDay(year, month)
  const lastDay = pad(month === 12 ? 31 : Number(next))
  const text = trimmed(orderedMoment(seconds), ['59', '59', '23', lastDay, '12'])
  return { text: text.replace(/(?<=^..\d*?)9+$/, ''), inclusive: true, whole: true }
}

/** Takes two-digit parts from the end as long as they have the given values, last one first. */
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

/** What can follow the beginning of an ordered text. */
const followers = {
  number(start: string): readonly string[] {
    if (start === '') return ['n', 'o', 'p']
    return start[0] === 'n' && start.length > 3 ? [...digits, 'z'] : digits
  },
  moment(start: string): readonly string[] {
    if (start === '') return [openStart, 'n', 'p', openEnd]
    if (start.length === 1) return [...(start === 'p' ? 'efghijklm' : 'nopqrstuv')]
    return digits
  },
}

/** Covers all ordered texts between two bounds; null is open. */
export function rangePieces(kind: keyof typeof followers, from: Bound | null, to: Bound | null): Pieces {
  const exact: string[] = []
  const prefixes: string[] = []
  // Moments are all of one length, so that none is the beginning of another.
  const mayEnd = kind === 'number'

  /** All texts that begin with `start` and go on within what is left of the bounds (null: no bound any more). */
  function cover(start: string, lower: string | null, upper: string | null): void {
    const reachesAll = lower === null || (lower === '' && from?.inclusive === true)
    if (upper === '' && to?.whole) {
      cover(start, lower, null)
      return
    }
    if (reachesAll && upper === null) {
      prefixes.push(start)
      return
    }
    if (mayEnd && reachesAll && (upper !== '' || to?.inclusive)) exact.push(start)
    if (upper === '') return
    for (const symbol of followers[kind](start)) {
      const first = lower ? (lower[0] as string) : ''
      const last = upper === null ? null : (upper[0] as string)
      if (symbol < first || (last !== null && symbol > last)) continue
      const below = symbol === first ? (lower as string).slice(1) : null
      cover(start + symbol, below, symbol === last ? (upper as string).slice(1) : null)
    }
  }

  cover('', from?.text ?? null, to?.text ?? null)
  return { exact: exact.filter((text) => text !== ''), prefixes }
}

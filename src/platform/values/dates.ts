/**
 * Dates as the interface writes them: from a bare year to a second with zone. A date keeps its width and its zone;
 * comparisons use the interval that it spans (decisions.md, 17). Calendar: proleptic Gregorian, ISO 8601 year
 * numbering (year 0 exists). Seconds are bigint because years reach past 2^53 seconds.
 */
export type DateWidth = 'year' | 'month' | 'day' | 'minute' | 'second' | 'second-zone'

export interface ParsedDate {
  /** The normalised text for storage and answers. */
  readonly text: string
  readonly width: DateWidth
  /** First second of the interval, UTC, since 1970. */
  readonly from: bigint
  /** Last second of the interval (inclusive), UTC, since 1970. */
  readonly to: bigint
}

const pattern =
  /^([+-]?\d{1,12})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?(Z|[+-]\d{2}:\d{2}(?::\d{2})?)?)?)?)?)?$/

/** Years that the interface supports (about int64 seconds). */
const maxYear = 292_277_022_399n

/** Parses a date; null when the text is none: wrong form, month 13, 30 February, year out of range. */
export function parseDate(text: string): ParsedDate | null {
  const match = pattern.exec(text)
  if (!match) return null
  const [, yearText = '', monthText, dayText, hourText, minuteText, secondText, zone] = match
  const year = BigInt(yearText.startsWith('+') ? yearText.slice(1) : yearText)
  if (year > maxYear || year < -maxYear) return null
  const yearOut = formatYear(year)
  if (monthText === undefined)
    return { text: yearOut, width: 'year', from: daysToSeconds(year, 1, 1), to: daysToSeconds(year + 1n, 1, 1) - 1n }

  const month = Number(monthText)
  if (month < 1 || month > 12) return null
  if (dayText === undefined) {
    const next = month === 12 ? daysToSeconds(year + 1n, 1, 1) : daysToSeconds(year, month + 1, 1)
    return { text: `${yearOut}-${monthText}`, width: 'month', from: daysToSeconds(year, month, 1), to: next - 1n }
  }

  const day = Number(dayText)
  if (day < 1 || day > daysInMonth(year, month)) return null
  const start = daysToSeconds(year, month, day)
  const date = `${yearOut}-${monthText}-${dayText}`
  if (hourText === undefined || minuteText === undefined)
    return { text: date, width: 'day', from: start, to: start + 86_399n }

  const hour = Number(hourText)
  const minute = Number(minuteText)
  if (hour > 23 || minute > 59) return null
  const atMinute = start + BigInt(hour * 3600 + minute * 60)
  const toMinute = `${date}T${hourText}:${minuteText}`
  if (secondText === undefined) return { text: toMinute, width: 'minute', from: atMinute, to: atMinute + 59n }

  const second = Number(secondText)
  if (second > 59) return null
  const local = atMinute + BigInt(second)
  if (zone === undefined) return { text: `${toMinute}:${secondText}`, width: 'second', from: local, to: local }
  const offset = zoneOffset(zone)
  if (offset === null) return null
  return { text: `${toMinute}:${secondText}${zone}`, width: 'second-zone', from: local - offset, to: local - offset }
}

function formatYear(year: bigint): string {
  const digits = (year < 0n ? -year : year).toString().padStart(4, '0')
  if (year < 0n) return `-${digits}`
  return digits.length > 4 ? `+${digits}` : digits
}

/** Offset of a zone in seconds east of UTC; null when out of range. */
function zoneOffset(zone: string): bigint | null {
  if (zone === 'Z') return 0n
  const [hours = 0, minutes = 0, seconds = 0] = zone.slice(1).split(':').map(Number)
  if (hours > 18 || minutes > 59 || seconds > 59) return null
  const total = BigInt(hours * 3600 + minutes * 60 + seconds)
  return zone.startsWith('-') ? -total : total
}

function isLeap(year: bigint): boolean {
  return (year % 4n === 0n && year % 100n !== 0n) || year % 400n === 0n
}

function daysInMonth(year: bigint, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient
}

/** Seconds at midnight UTC of a calendar date; days by the usual era arithmetic with years starting in March. */
function daysToSeconds(year: bigint, month: number, day: number): bigint {
  const shifted = month <= 2 ? year - 1n : year
  const era = floorDiv(shifted, 400n)
  const yearOfEra = shifted - era * 400n
  const dayOfYear = BigInt(Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1)
  const dayOfEra = yearOfEra * 365n + yearOfEra / 4n - yearOfEra / 100n + dayOfYear
  return (era * 146_097n + dayOfEra - 719_468n) * 86_400n
}

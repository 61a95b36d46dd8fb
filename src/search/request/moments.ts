/** Dates of a request: written like stored ones, interpreted in a time zone. */

import { AppError } from '../../platform/errors.ts'
import { parseDate } from '../../platform/values/dates.ts'
import type { MomentRange } from '../plan/plan.ts'
import { type Fields, optional } from './read.ts'
import { type Clock, momentOf, type TimeZone } from './relative-dates.ts'

/** @throws {AppError} `UnknownTimezone` */
export function timeZoneOf(name: string | undefined): TimeZone {
  if (name === undefined || name === '') return null
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    throw new AppError('UnknownTimezone', { timezone: name.slice(0, 100) })
  }
}

/** One end of a range as it was sent. */
export interface Bound {
  readonly value: unknown
  /** Whether the value itself belongs to the range. */
  readonly inclusive: boolean
  readonly place: string
}

/** `from`, `to`, `from_equals` and `to_equals` of an element. */
export function boundsOf(element: Fields, place: string): { from: Bound; to: Bound } {
  const bound = (end: 'from' | 'to'): Bound => ({
    value: element[end],
    inclusive: optional(element, `${end}_equals`, 'boolean', place) ?? true,
    place: `${place}.${end}`,
  })
  return { from: bound('from'), to: bound('to') }
}

/**
 * The moments from one date to another: from the first moment of the first to the last one of the second. Without its
 * own moments (`inclusive` false) the range begins after the first and ends before the second.
 */
export function momentRange(from: Bound, to: Bound, clock: Clock): MomentRange {
  const first = intervalOf(from.value, from.place, clock)
  const last = intervalOf(to.value, to.place, clock)
  return {
    from: first && (from.inclusive ? first.from : first.to + 1n),
    to: last && (to.inclusive ? last.to : last.from - 1n),
  }
}

/**
 * The moments of one date, for objects that have exactly this date. A year, a month or a day is the same in every time zone; the
 * zone counts for times.
 */
export function exactRange(value: unknown, place: string, clock: Clock): MomentRange {
  const given = typeof value === 'string' ? absolute(value, clock) : value
  const date = typeof given === 'string' ? parseDate(given) : null
  const day = date !== null && (date.width === 'year' || date.width === 'month' || date.width === 'day')
  const bound = { value: given, inclusive: true, place }
  return momentRange(bound, bound, day ? { now: clock.now, zone: null } : clock)
}

/** The date that a placeholder such as `$now-7d` stands for; any other text as it is. */
function absolute(text: string, clock: Clock): string {
  return text.startsWith('$') ? (momentOf(text, clock) ?? text) : text
}

function intervalOf(value: unknown, place: string, clock: Clock): { from: bigint; to: bigint } | null {
  if (value === undefined || value === null || value === '') return null
  const { zone } = clock
  const text = typeof value === 'number' ? String(value) : value
  const date = typeof text === 'string' ? parseDate(absolute(text, clock)) : null
  if (!date) throw new AppError('DateWrongSyntax', { name: place, value: String(text).slice(0, 100) })
  // A date with a zone of its own, and UTC, need no shift.
  if (zone === null || date.width === 'second-zone') return date
  return { from: date.from - offsetAt(zone, date.from), to: date.to - offsetAt(zone, date.to) }
}

/** Range of JavaScript's own dates, in seconds; beyond it there are no time zones. */
const farthest = 8_640_000_000_000n

/** Seconds by which the wall clock of the zone is ahead of UTC when it shows this time. */
function offsetAt(zone: string, wallClock: bigint): bigint {
  if (wallClock > farthest || wallClock < -farthest) return 0n
  const shown = Number(wallClock) * 1000
  // First the offset of the moment that the clock would show in UTC, then the offset of the resulting moment.
  const guess = offsetMs(zone, shown)
  return BigInt(Math.round(offsetMs(zone, shown - guess) / 1000))
}

function offsetMs(zone: string, moment: number): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(moment)
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((each) => each.type === type)?.value ?? 0)
  const year = parts.some((each) => each.type === 'era' && each.value.startsWith('B')) ? 1 - part('year') : part('year')
  const clock = new Date(0)
  clock.setUTCFullYear(year, part('month') - 1, part('day'))
  clock.setUTCHours(part('hour'), part('minute'), part('second'))
  return clock.getTime() - Math.floor(moment / 1000) * 1000
}

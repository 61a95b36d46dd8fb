export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof weekdays)[number]

/** Recurring times, in a time zone; an empty or absent list sets no condition. */
export interface Schedule {
  readonly days_of_month?: readonly number[]
  readonly weekdays?: readonly Weekday[]
  readonly hours?: readonly number[]
  readonly minutes?: readonly number[]
  readonly timezone?: string
}

/** Every combination of a day of the month and a weekday occurs within this number of days. */
const mostDays = 4000

/**
 * The first moment after `after` that fits every list of the schedule: null when all lists are empty, or no time ever fits. With
 * days only, it is the beginning of the day; with minutes only, those minutes of every hour. An hour that the clock skips in spring
 * is replaced by the time right after the change; an hour that it repeats in autumn counts once where the schedule names hours, and
 * twice where it means every hour.
 */
export function nextTime(schedule: Schedule, after: Date): Date | null {
  const { days_of_month: monthDays = [], weekdays: days = [], timezone = '' } = schedule
  const saysDays = monthDays.length + days.length > 0
  const minutes = ascending(schedule.minutes, [0])
  const hours = ascending(schedule.hours, saysDays && !schedule.minutes?.length ? [0] : everyHour)
  if (!saysDays && !schedule.hours?.length && !schedule.minutes?.length) return null
  const timeZone = isTimeZone(timezone) ? timezone : 'UTC'
  const start = Temporal.Instant.fromEpochMilliseconds(after.getTime()).toZonedDateTimeISO(timeZone).toPlainDate()
  for (let offset = 0; offset < mostDays; offset++) {
    const day = start.add({ days: offset })
    if (monthDays.length > 0 && !monthDays.includes(day.day)) continue
    if (days.length > 0 && !days.includes(weekdays[day.dayOfWeek - 1] as Weekday)) continue
    const next = firstOfDay({ day, timeZone, hours, minutes, after: after.getTime() })
    if (next !== null) return new Date(next)
  }
  return null
}

/** The earliest time of all schedules; null when none recurs. */
export function nextOfAll(schedules: readonly Schedule[], after: Date): Date | null {
  const times = schedules.flatMap((schedule) => nextTime(schedule, after)?.getTime() ?? [])
  return times.length === 0 ? null : new Date(Math.min(...times))
}

const everyHour = Array.from({ length: 24 }, (_, hour) => hour)

interface Wanted {
  readonly day: Temporal.PlainDate
  readonly timeZone: string
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
  readonly after: number
}

/** The first matching time of that day, in milliseconds since 1970; null when all of them have passed. */
function firstOfDay({ day, timeZone, hours, minutes, after }: Wanted): number | null {
  const twice = hours === everyHour
  for (const hour of hours) {
    const plain = minutes.map((minute) => day.toPlainDateTime({ hour, minute }))
    const times = plain.map((at) => at.toZonedDateTime(timeZone).epochMilliseconds)
    // The repeated hour comes after the whole first one.
    if (twice)
      times.push(...plain.map((at) => at.toZonedDateTime(timeZone, { disambiguation: 'later' }).epochMilliseconds))
    const next = times.filter((at) => at > after).sort((a, b) => a - b)[0]
    if (next !== undefined) return next
  }
  return null
}

function ascending(list: readonly number[] | undefined, otherwise: readonly number[]): readonly number[] {
  return list && list.length > 0 ? [...list].sort((a, b) => a - b) : otherwise
}

export function isTimeZone(name: string): boolean {
  try {
    return name !== '' && Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}

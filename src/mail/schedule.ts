const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Moments that come again, in a time zone; a list that is empty or absent says nothing. */
export interface Schedule {
  readonly days_of_month?: readonly number[]
  readonly weekdays?: readonly (typeof days)[number][]
  readonly hours?: readonly number[]
  readonly minutes?: readonly number[]
  readonly timezone?: string
}

/** The 31st of a month that is also a certain day of the week comes within that. */
const mostDays = 4000

/**
 * The first moment after `after` that fits every list of the schedule: null when none says anything, or none ever does.
 * Where only days are said it is their beginning, where only minutes are said they are those of every hour.
 */
export function nextTime(schedule: Schedule, after: Date): Date | null {
  const { days_of_month: monthDays = [], weekdays = [], timezone = '' } = schedule
  const saysDays = monthDays.length + weekdays.length > 0
  const minutes = ascending(schedule.minutes, [0])
  const hours = ascending(schedule.hours, saysDays && !schedule.minutes?.length ? [0] : everyHour)
  if (!saysDays && !schedule.hours?.length && !schedule.minutes?.length) return null
  const timeZone = isTimeZone(timezone) ? timezone : 'UTC'
  const start = Temporal.Instant.fromEpochMilliseconds(after.getTime()).toZonedDateTimeISO(timeZone).toPlainDate()
  for (let offset = 0; offset < mostDays; offset++) {
    const day = start.add({ days: offset })
    if (monthDays.length > 0 && !monthDays.includes(day.day)) continue
    if (weekdays.length > 0 && !weekdays.includes(days[day.dayOfWeek - 1] as (typeof days)[number])) continue
    for (const hour of hours) {
      for (const minute of minutes) {
        const at = day.toZonedDateTime({ timeZone, plainTime: { hour, minute } }).epochMilliseconds
        if (at > after.getTime()) return new Date(at)
      }
    }
  }
  return null
}

const everyHour = Array.from({ length: 24 }, (_, hour) => hour)

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

/** Decides which of the scheduled backups are kept: the last one of each of a number of days, weeks and months. */

export interface Retention {
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
  /** The time zone of the days; empty: UTC. */
  readonly timezone: string
}

export interface Dated {
  readonly id: number
  readonly createdAt: Date
}

/** The ids of the backups to keep. The order of `backups` does not matter. The latest one is kept unless all three numbers are 0. */
export function keptBackups(backups: readonly Dated[], { daily, weekly, monthly, timezone }: Retention): Set<number> {
  const latestFirst = backups.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || b.id - a.id)
  const dated = latestFirst.map(({ id, createdAt }) => {
    const instant = Temporal.Instant.fromEpochMilliseconds(createdAt.getTime())
    return { id, day: instant.toZonedDateTimeISO(timezone || 'UTC').toPlainDate() }
  })
  const rules: readonly [most: number, periodOf: (day: Temporal.PlainDate) => string][] = [
    [daily, (day) => day.toString()],
    [weekly, (day) => `${day.yearOfWeek} ${day.weekOfYear}`],
    [monthly, (day) => day.toPlainYearMonth().toString()],
  ]
  const kept = new Set<number>()
  for (const [most, periodOf] of rules) {
    const periods = new Set<string>()
    for (const { id, day } of dated) {
      const period = periodOf(day)
      if (periods.has(period)) continue
      if (periods.size >= most) break
      periods.add(period)
      kept.add(id)
    }
  }
  return kept
}

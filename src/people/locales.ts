/** The number and date formats of a language (`LocaleApi`), from the CLDR data of the runtime. */
export interface Locale {
  name: string
  numbers: { decimal: string; grouping: string }
  /** Patterns in CLDR letters (`dd.MM.y`); `bc` and `ad` are the names of the eras. */
  calendar: {
    bc: string
    ad: string
    year: string
    year_month: string
    date: string
    date_time: string
    date_time_sec: string
    date_time_sec_tz: string
  }
}

const cache = new Map<string, Locale>()

/** @param name a BCP 47 tag, which must be valid */
export function localeOf(name: string): Locale {
  const known = cache.get(name)
  if (known) return known
  const numbers = new Intl.NumberFormat(name, { useGrouping: true }).formatToParts(1_234_567.5)
  const month = { year: 'numeric', month: '2-digit' } as const
  const day = { ...month, day: '2-digit' } as const
  const minute = { ...day, hour: '2-digit', minute: '2-digit' } as const
  const second = { ...minute, second: '2-digit' } as const
  const locale: Locale = {
    name,
    numbers: { decimal: part(numbers, 'decimal', '.'), grouping: part(numbers, 'group', '') },
    calendar: {
      bc: era(name, '-000100-06-15T12:00:00Z'),
      ad: era(name, '2000-06-15T12:00:00Z'),
      year: 'y',
      year_month: pattern(name, month),
      date: pattern(name, day),
      date_time: pattern(name, minute),
      date_time_sec: pattern(name, second),
      date_time_sec_tz: `${pattern(name, second)} XXX`,
    },
  }
  cache.set(name, locale)
  return locale
}

function part(parts: readonly { type: string; value: string }[], type: string, fallback: string): string {
  return parts.find((candidate) => candidate.type === type)?.value ?? fallback
}

function era(name: string, date: string): string {
  const format = new Intl.DateTimeFormat(name, { era: 'short', year: 'numeric', timeZone: 'UTC' })
  return part(format.formatToParts(new Date(date)), 'era', '')
}

const letters: Readonly<Record<string, string>> = {
  year: 'y',
  month: 'MM',
  day: 'dd',
  minute: 'mm',
  second: 'ss',
  dayPeriod: 'a',
}

function pattern(name: string, options: Intl.DateTimeFormatOptions): string {
  const format = new Intl.DateTimeFormat(name, { ...options, timeZone: 'UTC' })
  const hour = format.resolvedOptions().hour12 ? 'hh' : 'HH'
  return format
    .formatToParts(new Date('2000-11-22T13:14:15Z'))
    .map(({ type, value }) => (type === 'hour' ? hour : (letters[type] ?? value)))
    .join('')
}

/** Dates that are relative to the moment of the request: `$now-7d`, `$startOfMonth+1M-1d`. */

/** A time zone by its IANA name; null is UTC. */
export type TimeZone = string | null

/** The moment of the request, and the zone of its times. */
export interface Clock {
  readonly now: Date
  readonly zone: TimeZone
}

type Unit = 's' | 'm' | 'h' | 'd' | 'w' | 'M' | 'y'

/** The precision of a moment: a whole year, month or day, or a second of it. */
const widths = ['year', 'month', 'day', 'second'] as const
type Width = (typeof widths)[number]

const widthOfUnit: Record<Unit, Width> = {
  y: 'year',
  M: 'month',
  w: 'day',
  d: 'day',
  h: 'second',
  m: 'second',
  s: 'second',
}

const anchors: Readonly<Record<string, { readonly width: Width; readonly start: (at: Date) => void }>> = {
  $now: { width: 'second', start: () => {} },
  $today: { width: 'day', start: startOfDay },
  $month: { width: 'month', start: startOfMonth },
  $year: { width: 'year', start: startOfYear },
  $startOfMinute: { width: 'second', start: (at) => at.setUTCSeconds(0) },
  $startOfHour: { width: 'second', start: (at) => at.setUTCMinutes(0, 0) },
  $startOfDay: { width: 'second', start: startOfDay },
  $startOfWeek: {
    width: 'second',
    start: (at) => {
      startOfDay(at)
      at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7))
    },
  },
  $startOfMonth: { width: 'second', start: startOfMonth },
  $startOfYear: { width: 'second', start: startOfYear },
}

export const placeholders: readonly string[] = Object.keys(anchors)

function startOfDay(at: Date): void {
  at.setUTCHours(0, 0, 0, 0)
}

function startOfMonth(at: Date): void {
  startOfDay(at)
  at.setUTCDate(1)
}

function startOfYear(at: Date): void {
  startOfMonth(at)
  at.setUTCMonth(0)
}

/** The highest number of offsets in a chain. No date that a person means has more. */
const mostOffsets = 20

/** The date of a placeholder, in the notation of requests; null: the text is no placeholder. */
export function momentOf(text: string, { now, zone }: Clock): string | null {
  const [name = '', ...rest] = text.split(/(?=[+-])/, mostOffsets + 2)
  const anchor = Object.hasOwn(anchors, name) ? anchors[name] : undefined
  if (!anchor || rest.length > mostOffsets) return null
  const at = wallClock(now, zone)
  anchor.start(at)
  let { width } = anchor
  for (const offset of rest) {
    const match = /^([+-])(\d{1,6})([smhdwMy]?)$/.exec(offset)
    if (!match) return null
    const unit = (match[3] || 'd') as Unit
    add(at, Number(`${match[1]}${match[2]}`), unit)
    if (widths.indexOf(widthOfUnit[unit]) > widths.indexOf(width)) width = widthOfUnit[unit]
  }
  return written(at, width)
}

/** The wall-clock time in the zone, as if it were UTC. */
function wallClock(now: Date, zone: TimeZone): Date {
  if (zone === null) return new Date(now)
  const shown = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  }).format(now)
  return new Date(`${shown.replace(' ', 'T')}Z`)
}

function add(at: Date, count: number, unit: Unit): void {
  switch (unit) {
    case 's':
      at.setTime(at.getTime() + count * 1000)
      break
    case 'm':
      at.setTime(at.getTime() + count * 60_000)
      break
    case 'h':
      at.setTime(at.getTime() + count * 3_600_000)
      break
    case 'd':
      at.setUTCDate(at.getUTCDate() + count)
      break
    case 'w':
      at.setUTCDate(at.getUTCDate() + 7 * count)
      break
    case 'M':
      addMonths(at, count)
      break
    case 'y':
      addMonths(at, 12 * count)
  }
}

/** A day that the month does not have becomes the last day of the month. */
function addMonths(at: Date, count: number): void {
  const day = at.getUTCDate()
  at.setUTCMonth(at.getUTCMonth() + count, 1)
  const last = new Date(Date.UTC(2000, at.getUTCMonth() + 1, 0))
  last.setUTCFullYear(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)
  at.setUTCDate(Math.min(day, last.getUTCDate()))
}

/** Without a zone, so the zone of the request applies. */
function written(at: Date, width: Width): string | null {
  if (Number.isNaN(at.getTime())) return null
  const year = at.getUTCFullYear()
  const digits = String(Math.abs(year)).padStart(4, '0')
  const sign = year < 0 ? '-' : digits.length > 4 ? '+' : ''
  const [, month, day] = /-(\d\d)-(\d\d)T/.exec(at.toISOString()) as RegExpExecArray
  const start = `${sign}${digits}`
  if (width === 'year') return start
  if (width === 'month') return `${start}-${month}`
  if (width === 'day') return `${start}-${month}-${day}`
  return `${start}-${month}-${day}T${at.toISOString().split('T')[1]?.slice(0, 8)}`
}

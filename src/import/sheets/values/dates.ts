import { parseDate } from '../../../platform/values/dates.ts'

/** The time in a cell. It has both ends unless the cell says "before" or "after". */
export interface SheetDate {
  readonly from?: string
  readonly to?: string
  /** A single date: no range, no "about", no century. */
  readonly exact: boolean
  /** It includes the time of day. */
  readonly time: boolean
}

/** The order of `3/4/1890`: day first, or month first. */
export type DayOrder = 'dmy' | 'mdy'

const monthNames = [
  'january januar janvier jan jän jänner',
  'february februar février fevrier feb febr',
  'march märz mars mar maerz mrz',
  'april avril apr avr',
  'may mai',
  'june juni juin jun',
  'july juli juillet jul',
  'august août aout aug',
  'september septembre sep sept',
  'october oktober octobre oct okt',
  'november novembre nov',
  'december dezember décembre decembre dec dez déc',
]
const months = new Map(monthNames.flatMap((names, index) => names.split(' ').map((name) => [name, index + 1] as const)))

/** Words for "there is no date". */
const none =
  /^(?:o\.? ?[jd]\.?|ohne (?:jahr|datum)|undatiert|unbekannt|unknown|undated|no date|date not known|date unknown|n\.? ?d\.?|s\.? ?[ad]\.?|-|–|\?)$/i

export function saysNoDate(text: string): boolean {
  return none.test(text)
}

const about =
  /^(?:um|ca\.?|circa|c\.|etwa|about|around|approx\.?|approximately|wohl|vermutl(?:ich|\.)|probably|perhaps|vers|exhibited|published|dated|datiert|ausgestellt|~) ?/i
const before = /^(?:vor|before|bis|until|spätestens|avant|ante) /i
const after = /^(?:nach|after|ab|seit|since|from|frühestens|après|post) /i
const doubt = / ?(?:\(\?\)|\?|\((?:um|ca\.?|circa)\))$/i

/**
 * Reads a date in the notation of catalogues, in English, German and French: `1890`, `3.5.1890`, `Mai 1890`, `um 1890`, `1890–95`,
 * `19. Jh.`, `before 1900`, `200 BC`. Null when the notation is unknown.
 */
export function readDate(text: string, order: DayOrder): SheetDate | null {
  const single = readSingle(text, order)
  if (single) return { from: single.text, to: single.text, exact: true, time: single.time }
  if (text.length > 100) return null
  const bare = unbracketed(text)
  const sure = bare
    .replace(doubt, '')
    .replace(/^\? ?(?=.)/, '')
    .replace(about, '')
    .trim()
  return inexact(readSpan(sure, order) ?? readOpen(sure, order) ?? readSpan(sure.replace(about, ''), order))
}

function inexact(span: Span | null): SheetDate | null {
  if (!span) return null
  if (span.from !== undefined && span.to !== undefined) {
    const [from, to] = [parseDate(span.from), parseDate(span.to)]
    if (!from || !to || from.from > to.to) return null
  }
  return { ...span, exact: false, time: false }
}

interface Span {
  readonly from?: string
  readonly to?: string
}

function unbracketed(text: string): string {
  return /^\[.*\]$|^\([^()]*\)$/.test(text) ? text.slice(1, -1).trim() : text
}

function readOpen(text: string, order: DayOrder): Span | null {
  if (before.test(text)) {
    const end = readSpan(text.replace(before, '').replace(about, ''), order)
    return end?.to === undefined ? null : { to: end.to }
  }
  if (after.test(text)) {
    const start = readSpan(text.replace(after, '').replace(about, ''), order)
    return start?.from === undefined ? null : { from: start.from }
  }
  return null
}

function readSpan(text: string, order: DayOrder): Span | null {
  const single = readSingle(text, order)
  if (single) return { from: single.text, to: single.text }
  return readCentury(text) ?? readDecade(text) ?? readShortRange(text) ?? readRange(text, order)
}

/** `1890-95`, `1890–1895`, `1890/91`: a range of years, the second one perhaps short. */
function readShortRange(text: string): Span | null {
  const match = /^(\d{4}) ?[-–—/] ?(\d{1,2}|\d{4})$/.exec(text)
  if (!match) return null
  const [, from = '', end = ''] = match
  return { from, to: from.slice(0, 4 - end.length) + end }
}

const between = / ?(?:\.\.|–|—) ?| - | (?:bis|to|until|and|und|à) |(?<=\d{3}|\.)[-/](?=\d)/i

function readRange(text: string, order: DayOrder): Span | null {
  const parts = text.replace(/^(?:zwischen|between|von|from|entre) /i, '').split(between)
  const [left, right, ...more] = parts
  if (left === undefined || right === undefined || more.length > 0) return null
  const start = readPart(left, order)
  const end = readPart(right, order)
  return start?.from !== undefined && end?.to !== undefined ? { from: start.from, to: end.to } : null
}

function readPart(text: string, order: DayOrder): Span | null {
  const bare = text.replace(doubt, '').replace(about, '').trim()
  const single = readSingle(bare, order)
  if (single) return { from: single.text, to: single.text }
  return readCentury(bare) ?? readDecade(bare)
}

const parts = {
  half: /^(1|2|erste|zweite|first|second)\.?(?:st|nd)? (?:hälfte|half)(?: (?:des|of the))? /i,
  quarter: /^([1-4])\.?(?:st|nd|rd|th)? (?:viertel|quarter)(?: (?:des|of the))? /i,
  third: /^([1-3])\.?(?:st|nd|rd)? (?:drittel|third)(?: (?:des|of the))? /i,
  vague: /^(?:anfang|mitte|ende|early|mid|late|beginning of the|end of the|middle of the)[ -](?:des )?(?:the )?/i,
}

/** `19. Jh.`, `2. Hälfte 19. Jahrhundert`, `late 18th century`, `18./19. Jh.`. Vague parts span the whole century. */
function readCentury(text: string): Span | null {
  let rest = text
  let [share, of] = [1, 1]
  for (const [name, pattern] of Object.entries(parts)) {
    const match = pattern.exec(rest)
    if (!match) continue
    rest = rest.slice(match[0].length)
    of = name === 'half' ? 2 : name === 'quarter' ? 4 : name === 'third' ? 3 : 1
    share = /^(2|zweite|second)$/i.test(match[1] ?? '') ? 2 : Number(match[1] ?? 1) || 1
  }
  const match =
    /^(\d{1,2})(?:\.|st|nd|rd|th)?(?: ?[/–-] ?(\d{1,2})(?:\.|st|nd|rd|th)?)? ?(?:jh\.?|jhd?t?\.?|jahrhunderts?|centur(?:y|ies)|cent?\.)$/i.exec(
      rest,
    )
  if (!match || share > of) return null
  const first = (Number(match[1]) - 1) * 100
  const last = (Number(match[2] ?? match[1]) - 1) * 100
  if (first < 0 || last < first) return null
  const from = first + 1 + Math.floor((100 * (share - 1)) / of)
  const to = last + Math.floor((100 * share) / of)
  return { from: year(from), to: year(to) }
}

function readDecade(text: string): Span | null {
  const match = /^(\d{3}0)(?:s|er(?: jahre)?)$/i.exec(text)
  return match?.[1] ? { from: match[1], to: String(Number(match[1]) + 9) } : null
}

function readSingle(text: string, order: DayOrder): { text: string; time: boolean } | null {
  const iso = /^\d{4}(?:-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?)?)?)?)?$/.test(text)
  const found = iso ? parseDate(text) : parseDate(spelled(text, order) ?? '')
  return found && { text: found.text, time: found.text.includes('T') }
}

/** The date in the form of the interface; null when it is in none of the usual notations. */
function spelled(text: string, order: DayOrder): string | null {
  const numeric = /^(\d{1,2})([./-]) ?(\d{1,2})\2 ?(\d{4})$/.exec(text)
  if (numeric) {
    const [, first = '', separator, second = '', fourDigits = ''] = numeric
    const dayFirst = separator === '.' || order === 'dmy'
    return dayFirst ? date(fourDigits, second, first) : date(fourDigits, first, second)
  }
  const monthly = /^(\d{1,2})[./](\d{4})$/.exec(text)
  if (monthly) return date(monthly[2] ?? '', monthly[1] ?? '')
  const era = /^(\d{1,6}) (?:v\.? ?chr\.?|b\.?c\.?(?:e\.?)?|av\.? j\.?-?c\.?)$/i.exec(text)
  // The year before 1 is 0.
  if (era) return `-${String(Number(era[1]) - 1).padStart(4, '0')}`.replace('-0000', '0000')
  const early = /^(\d{1,4}) (?:n\.? ?chr\.?|a\.?d\.?|c\.?e\.?)$/i.exec(text)
  if (early) return year(Number(early[1]))
  return inWords(text)
}

function inWords(text: string): string | null {
  const dayFirst = /^(?:(\d{1,2})(?:\.|st|nd|rd|th|er)? )?(\p{L}+)\.?,? (\d{4})$/u.exec(text)
  if (dayFirst) return named(dayFirst[3], dayFirst[2], dayFirst[1])
  const monthFirst = /^(\p{L}+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$/u.exec(text)
  return monthFirst ? named(monthFirst[3], monthFirst[1], monthFirst[2]) : null
}

function named(fourDigits = '', name = '', day?: string): string | null {
  const month = months.get(name.toLowerCase())
  return month === undefined ? null : date(fourDigits, String(month), day)
}

function date(fourDigits: string, month: string, day?: string): string {
  const start = `${fourDigits}-${month.padStart(2, '0')}`
  return day === undefined ? start : `${start}-${day.padStart(2, '0')}`
}

function year(number: number): string {
  return String(number).padStart(4, '0')
}

import type { Column } from '../../datamodel/model.ts'
import { parseDate } from '../../platform/values/dates.ts'
import type { Reading } from './read-tags.ts'

/** A value in the form for `POST /db`. */
export type Value = unknown

/**
 * The values of a tag for a column, in their order: one, or those of a list. A value that does not fit the column is left
 * out.
 * @param languages database languages, first one first
 */
export function convert(column: Column, reading: Reading, languages: readonly string[]): readonly Value[] {
  if (column.type === 'text_l10n' || column.type === 'text_l10n_oneline') {
    return localized(reading, languages).map((texts) =>
      column.type === 'text_l10n' ? texts : mapTexts(texts, oneLine),
    )
  }
  if (column.type === 'geo_json') return [point(reading)].filter(isValue)
  const texts = reading.plain.length > 0 ? reading.plain : inBestLanguage(reading, languages)
  // The text for people may be `1/160`, where the file has a number.
  const raw = texts.length === 1 && typeof reading.raw === 'number' ? `${reading.raw}` : undefined
  const read = readers[column.type]
  return read ? texts.map((text) => read(text, raw ?? text)).filter(isValue) : []
}

const isValue = (value: unknown): boolean => value !== undefined

const readers: Partial<Record<Column['type'], (text: string, raw: string) => Value>> = {
  text: (text) => text,
  text_oneline: (text) => oneLine(text),
  string: (text) => oneLine(text),
  number: (_, raw) => numberOf(raw, (value) => Math.round(value)),
  'integer.2': (_, raw) => numberOf(raw, (value) => Math.round(value * 100)),
  double: (_, raw) => numberOf(raw, (value) => value),
  boolean: (text) => booleans[text.toLowerCase()],
  date: (text) => dateValue(text, 'day'),
  datetime: (text) => dateValue(text, 'second'),
  daterange: (text) => dateRange(text),
}

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  '1': true,
  false: false,
  no: false,
  '0': false,
}

const oneLine = (text: string): string =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .join(' ')

function mapTexts(texts: Readonly<Record<string, string>>, change: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([language, text]) => [language, change(text)]))
}

function numberOf(text: string, rounded: (value: number) => number): number | undefined {
  const value = /^\s*[-+]?\d{1,15}(?:\.\d{1,15})?(?:e[-+]?\d{1,3})?/i.exec(text)?.[0]
  const number = value === undefined ? Number.NaN : rounded(Number(value))
  return Number.isFinite(number) && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined
}

/** Reads dates of EXIF (`2008:10:22 16:28:39`), of IPTC and XMP, and of ISO 8601. */
export function dateText(text: string, width: 'day' | 'second'): string | undefined {
  const [, year, month, day, rest = ''] = /^\s*(\d{4})(?:[:-](\d\d)(?:[:-](\d\d)(.*))?)?\s*$/s.exec(text) ?? []
  const date = [year, month, day].filter((part) => part !== undefined && part !== '00').join('-')
  const [, time = '', seconds = ':00', zone = ''] =
    /^[T ](\d\d:\d\d)(:\d\d)?(?:\.\d{1,9})?(Z|[-+]\d\d:\d\d)?$/.exec(rest.trimEnd()) ?? []
  const candidates = width === 'second' && time !== '' ? [`${date}T${time}${seconds}${zone}`, date] : [date]
  for (const candidate of candidates) {
    const parsed = year === '0000' ? null : parseDate(candidate)
    if (parsed) return parsed.text
  }
  // Objects may be older than cameras.
  const own = year === undefined ? parseDate(text.trim()) : null
  return own?.text
}

function dateValue(text: string, width: 'day' | 'second'): Value {
  const value = dateText(text, width)
  return value === undefined ? undefined : { value }
}

/** `1851 - 1852`, `1851 -`, `- 1852`, `1851`: ranges as exports write them. */
function dateRange(text: string): Value {
  const parts = text.split(/(?:^|\s)[-–](?:\s|$)/)
  if (parts.length > 2) return undefined
  const [from = '', to = from] = parts.map((part) => part.trim())
  const range = { ...bound('from', from), ...bound('to', to) }
  const said = [from, to].filter((part) => part !== '').length
  return said > 0 && Object.keys(range).length === said ? range : undefined
}

function bound(name: 'from' | 'to', text: string): Record<string, string> {
  const date = text === '' ? undefined : dateText(text, 'second')
  return date === undefined ? {} : { [name]: date }
}

/** Latitude and longitude in degrees, in ExifTool's composite form: `54.989 -1.614`. */
function point({ plain, raw }: Reading): Value {
  const numbers = /^\s*([-+]?\d{1,3}(?:\.\d{1,15})?)[\s,]+([-+]?\d{1,3}(?:\.\d{1,15})?)\s*$/.exec(
    `${raw ?? plain[0] ?? ''}`,
  )
  const [latitude, longitude] = numbers ? [Number(numbers[1]), Number(numbers[2])] : []
  if (latitude === undefined || longitude === undefined) return undefined
  if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180) return undefined
  return { type: 'Point', coordinates: [longitude, latitude] }
}

/** Texts by database language. A text without language is the file's default, which usually repeats one of the others. */
function localized({ plain, languages: given }: Reading, languages: readonly string[]): Record<string, string>[] {
  const known = new Map(
    languages.flatMap((language) => {
      const texts = inLanguage(given, language)
      return texts ? [[language, texts] as const] : []
    }),
  )
  const first = languages[0]
  const length = Math.max(plain.length, ...[...known.values()].map((texts) => texts.length))
  return Array.from({ length }, (_, index) => {
    const texts: Record<string, string> = {}
    for (const [language, list] of known) {
      const text = list[index]
      if (text) texts[language] = text
    }
    const own = plain[index]
    const repeated = own !== undefined && Object.values(texts).includes(own)
    if (own !== undefined && !repeated && first !== undefined && texts[first] === undefined) texts[first] = own
    return texts
  }).filter((texts) => Object.keys(texts).length > 0)
}

/** For `de-DE`: the text in `de-de`, or in `de` where the file has no region. */
function inLanguage(given: Reading['languages'], language: string): readonly string[] | undefined {
  const wanted = language.toLowerCase()
  const all = [...given].map(([name, texts]) => [name.toLowerCase(), texts] as const)
  const exact = all.find(([name]) => name === wanted)
  return (exact ?? all.find(([name]) => name === wanted.split('-')[0]))?.[1]
}

function inBestLanguage({ languages: given }: Reading, languages: readonly string[]): readonly string[] {
  for (const language of languages) {
    const texts = inLanguage(given, language)
    if (texts) return texts
  }
  return given.values().next().value ?? []
}

import type { Column, StandardFormat } from '../../datamodel/model.ts'
import { readExact } from '../../platform/values/exact-json.ts'
import { hundredths } from '../../platform/values/hundredths.ts'

/**
 * A text for `_standard`: a plain string is the same in every language, a map has a text per language. The two are kept apart until
 * the end, so that a number can be combined with a translated title.
 */
export type Text = string | Readonly<Record<string, string>>

/** Longest text of a slot. Objects that show each other (links in a circle) would otherwise grow with every save. */
const maxLength = 2000

/** A value in its slot: `format` defines the text around it and between it and the next one. */
export interface TextPart {
  readonly text: Text
  readonly format: StandardFormat
}

/** The text between a value and the next one; formats that wrap a value are followed by a space. */
const separators: Record<StandardFormat, string> = {
  comma: ', ',
  space: ' ',
  colon: ': ',
  semicolon: '; ',
  newline: '\n',
  brackets: ' ',
  'round-parentheses': ' ',
  'square-brackets': ' ',
  dash: ' - ',
  pipe: ' | ',
}

const wrappers: Partial<Record<StandardFormat, readonly [string, string]>> = {
  brackets: ['{', '}'],
  'round-parentheses': ['(', ')'],
  'square-brackets': ['[', ']'],
}

/**
 * Joins values: `title` (colon), `1851` (comma), `oil` (round-parentheses) give `title: 1851, (oil)`. With translated parts the
 * result has the languages in which at least one part has a text; plain parts are used in each of them.
 */
export function joinParts(parts: readonly TextPart[]): Text | undefined {
  if (parts.length === 0) return undefined
  const languages = languagesOf(parts)
  if (languages === null) return joinPlain(parts.map(({ text, format }) => ({ text: text as string, format })))
  const result: Record<string, string> = {}
  for (const language of languages) {
    const present: { text: string; format: StandardFormat }[] = []
    for (const { text, format } of parts) {
      const inLanguage = typeof text === 'string' ? text : text[language]
      if (inLanguage !== undefined) present.push({ text: inLanguage, format })
    }
    result[language] = joinPlain(present)
  }
  return result
}

/** Joins the texts of rows with one format; a text that repeats an earlier one is left out. */
export function joinList(texts: readonly Text[], format: StandardFormat): Text | undefined {
  if (texts.length < 2) return texts[0] === undefined ? undefined : wrapAll(texts[0], format)
  const parts = texts.map((text) => ({ text, format }))
  const languages = languagesOf(parts)
  if (languages === null) return joinPlain(distinct(texts as readonly string[], format))
  const result: Record<string, string> = {}
  for (const language of languages) {
    const present = texts
      .map((text) => (typeof text === 'string' ? text : text[language]))
      .filter((text) => text !== undefined)
    result[language] = joinPlain(distinct(present, format))
  }
  return result
}

function distinct(texts: readonly string[], format: StandardFormat): { text: string; format: StandardFormat }[] {
  return [...new Set(texts)].map((text) => ({ text, format }))
}

function wrapAll(text: Text, format: StandardFormat): Text {
  return joinParts([{ text, format }]) ?? text
}

/** Languages of the translated parts; null when every part is the same in all languages. */
function languagesOf(parts: readonly TextPart[]): Set<string> | null {
  let languages: Set<string> | null = null
  for (const { text } of parts) {
    if (typeof text === 'string') continue
    languages ??= new Set()
    for (const language of Object.keys(text)) languages.add(language)
  }
  return languages
}

function joinPlain(parts: readonly { text: string; format: StandardFormat }[]): string {
  let result = ''
  for (const [index, { text, format }] of parts.entries()) {
    const wrapper = wrappers[format]
    result += wrapper ? wrapper[0] + text + wrapper[1] : text
    if (index < parts.length - 1) result += separators[format]
  }
  return shorten(result)
}

function shorten(text: string): string {
  return text.length <= maxLength
    ? text
    : `${text
        .slice(0, maxLength - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`
}

/** The text of a stored value; `undefined` when there is none to show (files, geometries, links). */
export function valueText(column: Column, value: unknown, languages: readonly string[]): Text | undefined {
  switch (column.type) {
    case 'text':
    case 'text_oneline':
    case 'string':
      return value as string
    case 'text_l10n':
    case 'text_l10n_oneline':
      return value as Record<string, string>
    case 'number':
    case 'double':
    case 'boolean':
      return String(value)
    case 'integer.2':
      return hundredths(value as number)
    case 'date':
    case 'datetime':
      return (value as { value: string }).value
    case 'daterange':
      return rangeText(value as DateRange, languages)
    case 'custom':
      return customText(readExact(value) as Record<string, unknown>)
    case 'geo_json':
    case 'eas':
    case 'link':
      return undefined
  }
}

interface DateRange {
  readonly from?: string
  readonly to?: string
  readonly text?: Readonly<Record<string, string>>
}

/** The range's own text where it has one, else `1851 – 1852`, `1851 –`, `– 1852` or, for one date, `1851`. */
function rangeText(range: DateRange, languages: readonly string[]): Text {
  const dates =
    range.from === range.to
      ? (range.from ?? '')
      : [range.from, '–', range.to].filter((part) => part !== undefined).join(' ')
  if (range.text === undefined) return dates
  const missing = languages.filter((language) => range.text?.[language] === undefined)
  return { ...Object.fromEntries(missing.map((language) => [language, dates])), ...range.text }
}

/** The data of custom types contains its own text: `_standard.l10ntext`, `_standard.text` or `conceptName`. */
function customText(value: Record<string, unknown>): Text | undefined {
  const standard = value._standard
  if (typeof standard === 'object' && standard !== null) {
    const { l10ntext, text } = standard as { l10ntext?: unknown; text?: unknown }
    const found = asText(l10ntext) ?? asText(text)
    if (found !== undefined) return found
  }
  return asText(value.conceptName)
}

function asText(value: unknown): Text | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (typeof value !== 'object' || value === null) return undefined
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  )
  return texts.length === 0 ? undefined : Object.fromEntries(texts)
}

/** A text in the form of a slot: one entry per language. */
export function textByLanguage(text: Text, languages: readonly string[]): Record<string, string> {
  if (typeof text !== 'string') return { ...text }
  return Object.fromEntries(languages.map((language) => [language, text]))
}

/** The inverse: a slot with the same text in every database language becomes a plain text. */
export function textOfSlot(byLanguage: Readonly<Record<string, string>>, languages: readonly string[]): Text {
  const texts = Object.values(byLanguage)
  const [first] = texts
  const same = first !== undefined && texts.length >= languages.length && texts.every((text) => text === first)
  return same ? first : byLanguage
}

/** Converts stored values to the texts, moments and labels that are indexed. */

import { parseDate } from '../../platform/values/dates.ts'
import { isExactNumber, readExact } from '../../platform/values/exact-json.ts'
import type { Localized } from '../../platform/values/localized.ts'
import { words } from './analyze.ts'
import { openEnd, openStart, orderedMoment } from './ordered.ts'

/** The interval of a stored date or range of dates; null is open. */
export interface Interval {
  readonly from: bigint | null
  readonly to: bigint | null
}

export function intervalOf(value: unknown): Interval | null {
  const { value: single, from, to } = value as { value?: string; from?: string; to?: string }
  if (single !== undefined) {
    const date = parseDate(single)
    return date && { from: date.from, to: date.to }
  }
  const first = from === undefined ? null : parseDate(from)
  const last = to === undefined ? null : parseDate(to)
  if (!first && !last) return null
  return { from: first?.from ?? null, to: last?.to ?? null }
}

const intervalTexts = new Map<string, { start: string; end: string } | null>()

/** Beginning and end of a stored date as ordered texts. */
export function orderedInterval(value: unknown): { start: string; end: string } | null {
  const { value: single = '', from = '', to = '' } = value as { value?: string; from?: string; to?: string }
  const key = `${single}|${from}|${to}`
  const known = intervalTexts.get(key)
  if (known !== undefined) return known
  const interval = intervalOf(value)
  const texts = interval && {
    start: interval.from === null ? openStart : orderedMoment(interval.from),
    end: interval.to === null ? openEnd : orderedMoment(interval.to),
  }
  remember(intervalTexts, key, texts)
  return texts
}

const analysed = new Map<string, readonly string[]>()

/** The words of a text. The results for short texts, which often recur, are cached. */
export function wordsOf(text: string): readonly string[] {
  if (text.length > 120) return words(text)
  const known = analysed.get(text)
  if (known) return known
  const result = words(text)
  remember(analysed, text, result)
  return result
}

/** Caches a value. When there are many, all are dropped, which costs less than keeping an order of use. */
function remember<K, V>(cache: Map<K, V>, key: K, value: V): void {
  if (cache.size >= 8000) cache.clear()
  cache.set(key, value)
}

/** Texts of a value of a plugin's type: the texts that it provides for search, else all texts in it. */
export function customTexts(value: unknown): string[] {
  const texts: string[] = []
  const read = readExact(value)
  const offered = read as { _fulltext?: unknown; _standard?: unknown }
  const source = offered._fulltext ?? offered._standard
  collect(source ?? read, texts, 0)
  return texts
}

function collect(value: unknown, texts: string[], depth: number): void {
  if (typeof value === 'string') texts.push(value)
  else if (typeof value === 'object' && value !== null && depth < 10 && !isExactNumber(value)) {
    for (const [key, member] of Object.entries(value)) {
      if (!key.startsWith('_') || depth > 0) collect(member, texts, depth + 1)
    }
  }
}

/** The label under which a plugin's value is counted; null when it has none. */
export function customLabel(value: unknown): string | null {
  const { conceptName, _standard } = readExact(value) as { conceptName?: unknown; _standard?: { text?: unknown } }
  const label = conceptName ?? _standard?.text
  return typeof label === 'string' ? label : null
}

/** A localized text in the first of the languages that it has, else in any. */
export function textIn(text: Localized, languages: readonly string[]): string | undefined {
  for (const language of languages) if (text[language] !== undefined) return text[language]
  for (const language in text) return text[language]
  return undefined
}

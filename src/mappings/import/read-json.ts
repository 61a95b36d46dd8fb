/** Values in the JSON of a recipe about a file, in the form of tags. */
import { isRecord } from '../../platform/values/records.ts'
import type { Reading } from './read-tags.ts'

const mostEntries = 1000
const longestText = 100_000

/** The steps of a way: `a.b.0`, `a.#.b` (of each entry of a list), with `\.` for a dot in a name. */
export function stepsOf(path: string): readonly string[] {
  const steps: string[] = []
  let step = ''
  for (let at = 0; at < path.length; at++) {
    if (path[at] === '.') {
      steps.push(step)
      step = ''
    } else step += path[at] === '\\' && at + 1 < path.length ? path[++at] : path[at]
  }
  return [...steps, step]
}

/** The value at a path; undefined: none. */
export function valueAt(value: unknown, steps: readonly string[]): unknown {
  let at = value
  for (const [index, step] of steps.entries()) {
    if (Array.isArray(at)) {
      if (step !== '#') at = /^\d{1,6}$/.test(step) ? at[Number(step)] : undefined
      else {
        const rest = steps.slice(index + 1)
        return at.slice(0, mostEntries).flatMap((one) => valueAt(one, rest) ?? [])
      }
    } else at = isRecord(at) && Object.hasOwn(at, step) ? at[step] : undefined
  }
  return at
}

/** As a column takes it; null: there is nothing. An empty text says nothing. */
export function jsonReading(value: unknown, type: string): Reading | null {
  const entries = (Array.isArray(value) ? value.slice(0, mostEntries) : [value]).filter((one) => !isNothing(one))
  if (entries.length === 0) return null
  if (type.startsWith('text_l10n') || type === 'l10n') return localizedReading(entries)
  const plain = entries.flatMap((one) => textOf(one) ?? [])
  const [first] = entries
  const raw = entries.length === 1 && typeof first === 'number' ? first : undefined
  return plain.length === 0 ? null : { plain, languages: new Map(), raw }
}

/** Each entry has a text in some languages: those of one language stand at the same place of its list. */
function localizedReading(entries: readonly unknown[]): Reading | null {
  const languages = new Map<string, string[]>()
  const plain: string[] = []
  for (const [index, entry] of entries.entries()) {
    if (!isRecord(entry)) {
      const text = textOf(entry)
      if (text !== undefined) plain[index] = text
      continue
    }
    for (const [language, text] of Object.entries(entry)) {
      if (typeof text !== 'string' || text === '') continue
      const list = languages.get(language) ?? []
      languages.set(language, list)
      list[index] = text.slice(0, longestText)
    }
  }
  const filled = new Map([...languages].map(([language, list]) => [language, Array.from(list, (text) => text ?? '')]))
  const texts = Array.from(plain, (text) => text ?? '')
  return filled.size === 0 && texts.length === 0 ? null : { plain: texts, languages: filled, raw: undefined }
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Dates are `{"value": …}`, ranges `{"from", "to"}`, places points of GeoJSON; undefined: it is no value. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.slice(0, longestText)
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`
  if (!isRecord(value)) return undefined
  if ('value' in value) return isRecord(value.value) ? undefined : textOf(value.value)
  if ('from' in value || 'to' in value) {
    const [from, to] = [value.from, value.to].map((one) => (typeof one === 'string' ? one : ''))
    return from === to ? from : `${from} - ${to}`.trim()
  }
  const { type, coordinates } = value
  if (type !== 'Point' || !Array.isArray(coordinates)) return undefined
  return `${coordinates[1]} ${coordinates[0]}`
}

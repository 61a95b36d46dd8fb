/** The values for the replacements of a template (`%artwork.title.de-DE%`), from an object and one of its files. */
import { textIn } from '../../platform/values/localized.ts'
import { isRecord } from '../../platform/values/records.ts'
import { valueText } from '../standard/text.ts'
import type { FieldTree, ObjectTree, Wire } from './tree.ts'

export interface Replaced {
  /** The object as its reader sees it. */
  readonly tree: ObjectTree
  readonly file: Readonly<Record<string, unknown>>
  /** Best first. */
  readonly languages: readonly string[]
}

/** Null where the replacement is no column of an object type with this name; `rest` is the part after the column. */
export function namedColumn(
  name: string,
  objecttype: string,
): { readonly column: string; readonly rest: readonly string[] } | null {
  const [first = '', column = '', ...rest] = name.split('.')
  return first === objecttype ? { column, rest } : null
}

/** The text of a replacement, empty where the object has no value. With a language, the text in this language or none. */
export function replacementText(name: string, { tree, file, languages }: Replaced): string {
  const { wire, table } = tree
  const [first = '', ...rest] = name.split('.')
  switch (first) {
    case '_asset':
      return plain(file[rest[0] ?? ''])
    case '_standard':
      return standardText(wire, rest, languages)
    case '_pool': {
      const pool = isRecord(wire._pool) && isRecord(wire._pool.pool) ? wire._pool.pool : {}
      return localized(pool[rest[0] ?? ''], rest[1], languages)
    }
    // Only the day of a time.
    case '_created':
    case '_last_modified':
      return plain(wire[first]).slice(0, 10)
    case '_version': {
      const block = wire[table.name]
      return isRecord(block) ? plain(block._version) : ''
    }
  }
  if (first.startsWith('_')) return plain(wire[first])
  const named = namedColumn(name, table.name)
  const field = named && tree.fields.find((one) => one.name === named.column)
  return field ? fieldText(field, named.rest, languages) : ''
}

function fieldText(field: FieldTree, rest: readonly string[], languages: readonly string[]): string {
  switch (field.kind) {
    case 'value':
      return field.value === null ? '' : localized(valueText(field.column, field.value, languages), rest[0], languages)
    case 'texts':
      return localized(field.texts, rest[0], languages)
    case 'link':
      return standardText(field.object.wire, rest.slice(1), languages)
    default:
      return ''
  }
}

/** `_standard.1.text.de-DE`, after `_standard`. */
function standardText(
  { _standard: standard }: Wire,
  [slot = '', , language]: readonly string[],
  languages: readonly string[],
): string {
  const shown = isRecord(standard) ? standard[slot] : undefined
  return isRecord(shown) ? localized(shown.text, language, languages) : ''
}

function localized(value: unknown, language: string | undefined, languages: readonly string[]): string {
  if (!isRecord(value)) return plain(value)
  const texts = value as Readonly<Record<string, string>>
  return language === undefined ? textIn(texts, languages) : (texts[language] ?? '')
}

function plain(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : ''
}

import type { Column, Field, Slot, StandardFormat } from './model.ts'
import type { Names } from './wire.ts'
import type { Row, World } from './world.ts'

/** What objects are called: `_standard` as docs/objects-reading.md has it. */

export type Localized = Readonly<Record<string, string>>
type Text = string | Localized
export const languages = ['en-US', 'de-DE'] as const

const separators: Record<StandardFormat, string> = {
  comma: ', ',
  space: ' ',
  colon: ': ',
  brackets: ' ',
  dash: ' - ',
  'round-parentheses': ' ',
}

function wrapped(text: string, format: StandardFormat): string {
  if (format === 'brackets') return `{${text}}`
  return format === 'round-parentheses' ? `(${text})` : text
}

interface Part {
  readonly text: Text
  readonly format: StandardFormat
}

/** The texts of a slot of each thing, by language; null: there is none. */
export function titlesOf(world: World, { ids }: Names): (index: number, slot: Slot) => Localized | null {
  const known = new Map<string, Localized | null>()

  function titleOf(index: number, slot: Slot): Localized | null {
    const key = `${index}.${slot}`
    if (known.has(key)) return known.get(key) ?? null
    const thing = world.things[index]
    const text = thing ? joined(partsOf(thing.type.preferred.fields, thing, slot)) : null
    const title = text === null ? null : inAll(text)
    known.set(key, title)
    return title
  }

  function partsOf(fields: readonly Field[], row: Row, slot: Slot): Part[] {
    const parts: Part[] = []
    for (const field of fields) {
      if (field.is === 'column' && field.standard?.slot === slot) {
        const text = textOf(field.column, row.values.get(field.column))
        if (text === null) continue
        parts.push({ text, format: field.standard.format })
        if (field.standard.stop) break
      }
      if (field.is === 'nested') {
        const rows = row.rows.get(field.table) ?? []
        const shown = field.firstOnly ? rows.slice(0, 1) : rows
        const texts = shown.map((each) => joined(partsOf(field.fields, each, slot))).filter((each) => each !== null)
        const text = joinedRows(texts, field.formatInner)
        if (text !== null) parts.push({ text, format: field.format })
      }
    }
    return parts
  }

  function textOf({ kind }: Column, value: unknown): Text | null {
    if (value === undefined) return null
    switch (kind) {
      case 'link':
        return linked(value as number)
      case 'text_l10n_oneline':
        return value as Localized
      case 'date':
        return (value as { value: string }).value
      case 'integer.2':
        return ((value as number) / 100).toFixed(2)
      case 'daterange': {
        const { from = '', to = '' } = value as { from?: string; to?: string }
        return `${from} – ${to}`.trim()
      }
      default:
        return String(value)
    }
  }

  function linked(to: number): Text {
    const title = titleOf(to, 1)
    if (title === null) return `#${ids[to]}`
    const [first, ...more] = languages.map((language) => title[language])
    return first !== undefined && more.every((text) => text === first) ? first : title
  }

  return titleOf
}

function inAll(text: Text): Localized {
  return typeof text === 'string' ? Object.fromEntries(languages.map((language) => [language, text])) : text
}

/** Texts without language stand beside translated ones in each of their languages. */
function joined(parts: readonly Part[]): Text | null {
  if (parts.length === 0) return null
  const translated = parts.flatMap(({ text }) => (typeof text === 'string' ? [] : Object.keys(text)))
  const inOne = (language: string | null): string => {
    const present = parts.flatMap(({ text, format }) => {
      const found = typeof text === 'string' ? text : language === null ? undefined : text[language]
      return found === undefined ? [] : [{ text: found, format }]
    })
    return present
      .map(({ text, format }, at) => wrapped(text, format) + (at < present.length - 1 ? separators[format] : ''))
      .join('')
  }
  if (translated.length === 0) return inOne(null)
  return Object.fromEntries([...new Set(translated)].map((language) => [language, inOne(language)]))
}

/** Repeated texts stand once. */
function joinedRows(texts: readonly Text[], format: StandardFormat): Text | null {
  if (texts.length === 0) return null
  const translated = texts.flatMap((text) => (typeof text === 'string' ? [] : Object.keys(text)))
  const inOne = (language: string | null): string => {
    const present = texts.flatMap((text) => {
      const found = typeof text === 'string' ? text : language === null ? undefined : text[language]
      return found ?? []
    })
    const parts = [...new Set(present)].map((text) => ({ text, format }))
    return joined(parts) as string
  }
  if (translated.length === 0) return inOne(null)
  return Object.fromEntries([...new Set(translated)].map((language) => [language, inOne(language)]))
}

import { escapeMarkup } from '../../platform/values/markup.ts'
import { inLanguages, type Wire } from '../masks/reader.ts'
import { numberName } from '../standard/compute.ts'
import type { Standard } from '../stored/content.ts'

/** The form in which `_standard` is answered. */
export interface StandardView {
  /** With html, files and geometries. */
  readonly extended: boolean
  /** Only texts in these languages; null: all. */
  readonly languages: readonly string[] | null
  readonly databaseLanguages: readonly string[]
}

interface Slot {
  readonly text: Readonly<Record<string, string>>
}

const slots = ['1', '2', '3'] as const

/** `_standard` as clients see it: slot 1 is always there, `#<system object id>` when the object has no title. */
export function wireStandard(standard: Standard, systemObjectId: number, view: StandardView): Wire {
  // The common case costs nothing: the stored standard is the answer.
  const bare = standard.eas === undefined && standard.geo === undefined
  if (bare && !view.extended && !view.languages && standard['1'] !== undefined) return standard
  const result: Wire = {}
  for (const slot of slots) {
    const stored = standard[slot] as Slot | undefined
    if (stored) result[slot] = wireSlot(stored.text, view)
    else if (slot === '1') result[slot] = wireSlot(fallbackTitle(systemObjectId, view.databaseLanguages), view)
  }
  if (view.extended && standard.eas !== undefined) result.eas = standard.eas
  if (view.extended && standard.geo !== undefined) result.geo = standard.geo
  return result
}

/** A stored standard as JSON. Its names are numbers: V8 writes a whole object with such names in its slower way. */
export function standardText(standard: Standard): string {
  const parts: string[] = []
  for (const slot of slots) {
    const stored = standard[slot]
    if (stored !== undefined) parts.push(`"${slot}":${JSON.stringify(stored)}`)
  }
  return `{${parts.join()}}`
}

function fallbackTitle(systemObjectId: number, languages: readonly string[]): Record<string, string> {
  return Object.fromEntries(languages.map((language) => [language, numberName(systemObjectId)]))
}

function wireSlot(texts: Readonly<Record<string, string>>, { extended, languages }: StandardView): Wire {
  const text = languages ? inLanguages(texts, languages) : texts
  return extended ? { text, html: htmlOf(text) } : { text }
}

function htmlOf(texts: Readonly<Record<string, string>>): Record<string, string> {
  const result: Record<string, string> = {}
  for (const language in texts) result[language] = escapeMarkup(texts[language] ?? '').replaceAll('\n', '<br>')
  return result
}

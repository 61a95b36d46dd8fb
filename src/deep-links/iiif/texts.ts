/** Texts in manifests: lists by language, with `none` for texts without a language. */
import { escapeMarkup } from '../../platform/values/markup.ts'

export type LanguageMap = Readonly<Record<string, readonly string[]>>

/** A text, or texts by language. */
export type Text = string | Readonly<Record<string, string>>

const language = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/

/** null: there is no text. */
export function languageMap(texts: readonly (Text | null | undefined)[]): LanguageMap | null {
  const found: Record<string, string[]> = {}
  for (const text of texts) {
    const entries = typeof text === 'string' ? [['none', text] as const] : Object.entries(text ?? {})
    for (const [key, value] of entries) {
      if (typeof value !== 'string' || value === '') continue
      const place = language.test(key) ? key : 'none'
      found[place] ??= []
      found[place].push(value)
    }
  }
  return Object.keys(found).length === 0 ? null : found
}

/** For values in which viewers look for HTML: plain text that looks like HTML is escaped. */
export function asTexts(map: LanguageMap): LanguageMap {
  return Object.fromEntries(Object.entries(map).map(([key, values]) => [key, values.map(asText)]))
}

function asText(text: string): string {
  const trimmed = text.trim()
  return trimmed.startsWith('<') && trimmed.endsWith('>') ? `<span>${escapeMarkup(text)}</span>` : text
}

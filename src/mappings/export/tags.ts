import type { TagValue } from '../../files/service.ts'
import type { ExportTag } from '../model.ts'
import type { WritableTag } from '../tags/tags.ts'
import { type Text, tagDate } from './values.ts'

const joinedBy = '; '

/**
 * The values of a tag, in its shape: one text, a list, a text for each language, or a list of such. None: the tag is
 * emptied.
 * @param known the tag in ExifTool's list; undefined: it is a custom tag
 */
export function tagValues(
  { path, list = false, l10n = false }: ExportTag,
  {
    texts,
    known,
    languages,
  }: Readonly<{ texts: readonly Text[]; known: WritableTag | undefined; languages: readonly string[] }>,
): readonly TagValue[] {
  if (texts.length === 0) return []
  if (known?.date) return dated(path, texts, { list, known, languages })
  if (l10n && list) return texts.flatMap((text) => translations(path, text, languages))
  if (l10n) return translations(path, joined(texts, languages), languages)
  if (list) return distinct(texts).map((value) => ({ tag: path, value }))
  return [{ tag: path, value: inLanguage(joined(texts, languages), languages) }]
}

function dated(
  path: string,
  texts: readonly Text[],
  {
    list,
    known,
    languages,
  }: { readonly list: boolean; readonly known: WritableTag; readonly languages: readonly string[] },
): readonly TagValue[] {
  const dates = texts.flatMap((text) => tagDate(inLanguage(text, languages), known.wholeDay) ?? [])
  return (list ? dates : dates.slice(0, 1)).map((value) => ({ tag: path, value }))
}

/** The text without a language comes first: it begins an entry of a list. */
function translations(path: string, text: Text, languages: readonly string[]): readonly TagValue[] {
  const own = { tag: path, value: inLanguage(text, languages) }
  if (typeof text === 'string') return [own]
  return [own, ...Object.entries(text).map(([language, value]) => ({ tag: `${path}-${language}`, value }))]
}

/** The text in the first of the languages that has one. */
export function inLanguage(text: Text, languages: readonly string[]): string {
  if (typeof text === 'string') return text
  const language = languages.find((one) => text[one] !== undefined) ?? Object.keys(text)[0]
  return language === undefined ? '' : (text[language] ?? '')
}

/** Several values as one, in each language that occurs. */
export function joined(texts: readonly Text[], languages: readonly string[], by = joinedBy): Text {
  if (texts.length === 1) return texts[0] as Text
  const all = new Set(texts.flatMap((text) => (typeof text === 'string' ? [] : Object.keys(text))))
  const inOne = (language: string): string =>
    texts.map((text) => (typeof text === 'string' ? text : (text[language] ?? inLanguage(text, languages)))).join(by)
  if (all.size === 0) return texts.join(by)
  return Object.fromEntries([...all].map((language) => [language, inOne(language)]))
}

function distinct(texts: readonly Text[]): readonly string[] {
  return [...new Set(texts.flatMap((text) => (typeof text === 'string' ? [text] : Object.values(text))))]
}

import { german } from './texts.de.ts'
import { english, type TextName, type Texts } from './texts.en.ts'

/** Languages of the pages, by the first part of their tags; the first is the default. */
const languages = new Map<string, { tag: string; texts: Texts }>([
  ['en', { tag: 'en-US', texts: english }],
  ['de', { tag: 'de-DE', texts: german }],
])

export interface PageLanguage {
  /** Value of the attribute `lang`. */
  readonly lang: string
  /** The same in the form of the base configuration: `de-DE`. */
  readonly tag: string
  /** A text of the page; `{name}` in it is replaced by a value. Not escaped yet. */
  text(name: TextName, values?: Readonly<Record<string, string | number>>): string
}

/** Texts of the administrator that replace ours, by key (`page.login.title`) and language. */
export type OwnTexts = (key: string) => Readonly<Record<string, string>> | undefined

/** All texts of a language, or of its fallback, by its tag; texts of the administrator replace ours. */
export function textsOf(wanted: string, own: OwnTexts): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const { tag, texts } = languages.get(wanted.toLowerCase().split('-')[0] ?? '') ?? { tag: 'en-US', texts: english }
  const entries = Object.entries(texts).map(([name, text]) => [`page.${name}`, own(`page.${name}`)?.[tag] || text])
  return { [tag]: Object.fromEntries(entries) }
}

/** The language that a browser prefers (RFC 9110, section 12.5.4), among the languages of the pages. */
export function languageOf(acceptLanguage: string | undefined, own: OwnTexts): PageLanguage {
  const wanted = (acceptLanguage ?? '')
    .slice(0, 1000)
    .split(',')
    .map((entry) => {
      const [range = '', ...parameters] = entry.trim().toLowerCase().split(';')
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1]).find(Boolean)
      return { lang: range.split('-')[0] ?? '', quality: quality === undefined ? 1 : Number(quality) }
    })
    .filter(({ lang, quality }) => quality > 0 && languages.has(lang))
    .toSorted((a, b) => b.quality - a.quality)
  const lang = wanted[0]?.lang ?? 'en'
  const { tag, texts } = languages.get(lang) ?? { tag: 'en-US', texts: english }
  return {
    lang,
    tag,
    text: (name, values = {}) =>
      (own(`page.${name}`)?.[tag] || texts[name]).replaceAll(/\{(\w+)\}/g, (_, key: string) =>
        String(values[key] ?? ''),
      ),
  }
}

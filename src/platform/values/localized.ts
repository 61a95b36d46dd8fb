/** Texts by language. */
export type Localized = Readonly<Record<string, string>>

/** The text in the first of the languages that has one, else in any; empty if there is none. */
export function textIn(texts: Localized, languages: readonly string[]): string {
  const found = languages.find((language) => texts[language])
  return (found === undefined ? Object.values(texts).find((text) => text !== '') : texts[found]) ?? ''
}

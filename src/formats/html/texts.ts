/** The few words of a page that do not come from the object. */
const texts = {
  en: {
    yes: 'yes',
    no: 'no',
    path: 'Part of',
    pool: 'Collection',
    tags: 'Tags',
    changed: 'Last changed',
    identifier: 'Identifier',
    enlarge: 'Enlarge',
    hidden: 'Not accessible',
    about: 'About this record',
    files: 'Files',
  },
  de: {
    yes: 'ja',
    no: 'nein',
    path: 'Teil von',
    pool: 'Bestand',
    tags: 'Schlagworte',
    changed: 'Zuletzt geändert',
    identifier: 'Kennung',
    enlarge: 'Vergrößern',
    hidden: 'Nicht zugänglich',
    about: 'Über diesen Datensatz',
    files: 'Dateien',
  },
} as const

export type PageTexts = Readonly<Record<keyof (typeof texts)['en'], string>>

/** The language of the words, and the words. */
export function wordsIn(languages: readonly string[]): { readonly language: string; readonly words: PageTexts } {
  for (const language of languages) {
    const words = texts[language.split('-')[0] as keyof typeof texts]
    if (words) return { language, words }
  }
  return { language: 'en', words: texts.en }
}

import type { Column } from '../datamodel/model.ts'
import type { Localized } from '../platform/values/localized.ts'
import { everyField, replacement } from './filename-template.ts'
import type { FilenameTemplates } from './model.ts'

/** The template for files of a field, in the best of the languages, and its language (`und`: none). */
export function chooseTemplate(
  templates: FilenameTemplates,
  column: Column,
  languages: readonly string[],
): { readonly template: string; readonly language: string } | null {
  for (const key of [column.fullName, column.name, everyField]) {
    const texts = templates[key]
    const language = texts && bestLanguage(texts, [...languages, 'und'])
    if (texts && language !== undefined) return { template: texts[language] as string, language }
  }
  return null
}

/** Names of the replacements in a template, without a language at their end. */
export function replacementsOf(template: string): string[] {
  return [...template.matchAll(replacement)].map(([, name = '']) => name)
}

/** Fills in the replacements. One without a value becomes empty. */
export function fillTemplate(template: string, valueFor: (name: string) => string): string {
  return template.replaceAll(replacement, (_, name: string) => valueFor(name))
}

function bestLanguage(texts: Localized, languages: readonly string[]): string | undefined {
  const said = Object.keys(texts).filter((language) => texts[language])
  return languages.find((language) => said.includes(language)) ?? said[0]
}

import type { BaseConfig } from '../../config/service.ts'
import { markdownToHtml } from './markdown.ts'
import type { Pair } from './metadata.ts'
import { languageMap } from './texts.ts'

/** The statement that viewers must show: Markdown of the base configuration; null: none. */
export function statementOf({ label, value }: BaseConfig['deep_link_access']['iiif_required_statement']): Pair | null {
  const html = Object.entries(value).map(([language, text]) => [language, markdownToHtml(text)] as const)
  const shown = languageMap([Object.fromEntries(html)])
  return shown && { label: languageMap([label]) ?? { en: ['Attribution'] }, value: shown }
}

import { german } from './texts.de.ts'
import { english, type TextName } from './texts.en.ts'

/** All texts of pages and mails, for the documentation. */
export function pageTextTable(): string {
  const names = Object.keys(english) as TextName[]
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
  return [
    '| key | English | German |',
    '|---|---|---|',
    ...names.map((name) => `| \`page.${name}\` | ${cell(english[name])} | ${cell(german[name])} |`),
  ].join('\n')
}

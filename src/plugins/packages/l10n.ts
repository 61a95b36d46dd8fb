import { createReadStream } from 'node:fs'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse'
import { type AppError, badRequest } from '../../platform/errors.ts'

/** Most bytes of a file of texts. */
const longest = 20_000_000
const mostLanguages = 200
const isLanguage = /^[A-Za-z0-9][A-Za-z0-9-]{0,34}$/
export const languagePattern = isLanguage.source

/** The path of the prepared texts of a language. */
export function textsFile(folder: string, language: string): string {
  return join(folder, `${language}.json`)
}

/**
 * Reads a CSV of texts, with the key in the first column and one further column for each language, and writes a JSON file
 * for each language. @throws {AppError} when it cannot be read.
 */
export async function prepareTexts(csv: string, into: string): Promise<void> {
  const size = await stat(csv).then(
    (info) => (info.isFile() ? info.size : null),
    () => null,
  )
  if (size === null) throw badTexts('there is no such file')
  if (size > longest) throw badTexts(`it is longer than ${longest} bytes`)
  const languages = new Map<number, { language: string; texts: Map<string, string> }>()
  let header: string[] | null = null
  const rows = createReadStream(csv).pipe(
    parse({
      bom: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: 1_000_000,
    }),
  )
  try {
    for await (const row of rows as AsyncIterable<string[]>) {
      if (!header) {
        header = row
        for (const [column, name] of row.entries()) {
          const language = name.trim()
          if (column > 0 && isLanguage.test(language)) languages.set(column, { language, texts: new Map() })
        }
        if (languages.size > mostLanguages) throw badTexts(`it has more than ${mostLanguages} languages`)
        continue
      }
      const key = row[0]?.trim() ?? ''
      if (key === '') continue
      for (const [column, { texts }] of languages) {
        const text = row[column]
        if (text !== undefined && text !== '') texts.set(key, text)
      }
    }
  } catch (error) {
    throw error instanceof Error && error.name === 'AppError' ? error : badTexts((error as Error).message)
  }
  await mkdir(into, { recursive: true })
  for (const { language, texts } of languages.values()) {
    await writeFile(textsFile(into, language), JSON.stringify(Object.fromEntries(texts)))
  }
}

function badTexts(reason: string): AppError {
  return badRequest(`plugin.l10n: the texts of the plugin cannot be read: ${reason}.`, { name: 'plugin.l10n', reason })
}

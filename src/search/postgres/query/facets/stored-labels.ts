/** Labels of stored values as SQL: what objects count under where no set of the index has it. */
import type { SearchField } from '../../../plan/fields.ts'
import type { TextChoice } from '../../../plan/measures.ts'
import { columnPath, valuePath } from '../conditions/stored-values.ts'

/** A localized text counts in the first of the languages that it has; with `others` in any other one, if it has none of them. */
interface Texts {
  readonly languages: readonly string[]
  readonly others: boolean
}

/** Whether the sets of the index have these texts: they have localized texts in the first database language. */
export function isIndexed(choice: TextChoice | undefined, [first]: readonly string[]): boolean {
  return choice === undefined || (choice.others && choice.language === first)
}

export function textsOf(choice: TextChoice | undefined, languages: readonly string[]): Texts {
  if (choice === undefined) return { languages, others: true }
  return choice.others
    ? { languages: [choice.language, ...languages], others: true }
    : { languages: [choice.language], others: false }
}

/** A select with a row for each value of a column in `content`, and its label as `value`. */
export function storedLabelsSql(field: SearchField, content: string, texts: Texts): string {
  if (field.kind === 'l10n') {
    const label = localizedSql('found', texts)
    return `select ${label} as value from jsonb_path_query(${content}, ${literal(columnPath(field))}) found
      where ${label} is not null`
  }
  const path = literal(valuePath(field, null))
  // A boolean without value is false.
  if (field.kind === 'boolean' && field.path.length === 0) {
    return `select coalesce(jsonb_path_query_first(${content}, ${path}), 'false') #>> '{}' as value where ${content} is not null`
  }
  return `select found #>> '{}' as value from jsonb_path_query(${content}, ${path}) found`
}

/** One text of a localized value. */
export function localizedSql(value: string, { languages, others }: Texts): string {
  const texts = languages.map((language) => `${value} ->> ${literal(language)}`)
  return `coalesce(${[...texts, ...(others ? [`jsonb_path_query_first(${value}, '$.*') #>> '{}'`] : [])].join(', ')})`
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Conditions on stored values of columns as SQL, for the few cases that the index cannot answer. */
import type { SearchField } from '../../../plan/fields.ts'
import type { Parameters } from '../sql/sql.ts'

/** SQL that is true for objects whose stored value is exactly one of these. */
export function storedValueSql(
  field: SearchField,
  values: readonly string[],
  languages: readonly string[] | null,
  alias: string,
  parameters: Parameters,
): string {
  const paths = pathsOf(field, languages)
  const given = parameters.add(JSON.stringify({ v: values.filter(isStorable) }), 'jsonb')
  const tests = paths.map(
    (path) => `jsonb_path_exists(sv.content, ${parameters.add(`${path} ? (@ == $v[*])`, 'jsonpath')}, ${given})`,
  )
  return `exists (select from object so join object_version sv on sv.system_object_id = so.system_object_id
    and sv.version = so.version where so.system_object_id = ${alias}.id and (${tests.join(' or ')}))`
}

/**
 * True for objects with a stored text that matches a pattern of `like`; `where`: condition under which the caller sees the column.
 */
export function storedPatternSql(
  columns: readonly {
    readonly field: SearchField
    readonly languages: readonly string[] | null
    readonly where: string | null
  }[],
  pattern: string,
  alias: string,
  parameters: Parameters,
): string {
  const like = parameters.add(pattern, 'text')
  const types = Map.groupBy(columns, ({ field }) => field.column.table.root.id)
  const tests = [...types].map(([type, own]) => {
    const each = own.map(({ field, languages, where }) => {
      const paths = pathsOf(field, languages).map((path) => parameters.add(path, 'jsonpath'))
      const found = paths.map(
        (path) =>
          `exists (select from jsonb_path_query(sv.content, ${path}) as t(value) where t.value #>> '{}' like ${like})`,
      )
      return where === null ? found.join(' or ') : `${where} and (${found.join(' or ')})`
    })
    return `so.objecttype = ${Number(type)} and (${each.join(' or ')})`
  })
  return `exists (select from object so join object_version sv on sv.system_object_id = so.system_object_id
    and sv.version = so.version where so.system_object_id = ${alias}.id and (${tests.join(' or ')}))`
}

function pathsOf(field: SearchField, languages: readonly string[] | null): readonly string[] {
  return languages && field.kind === 'l10n'
    ? languages.map((language) => valuePath(field, language))
    : [valuePath(field, null)]
}

/** A value that jsonb cannot hold cannot be stored either. */
export function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

/** JSON path of the whole values of a column in a content. */
export function columnPath({ path, column }: SearchField): string {
  return ['$', ...path.map((table) => `${JSON.stringify(table.key)}[*]`), JSON.stringify(column.key)].join('.')
}

/** JSON path of the texts of a column in a content; `language` null: texts in all languages. */
export function valuePath(field: SearchField, language: string | null): string {
  const steps = [columnPath(field)]
  if (field.kind === 'l10n') steps.push(language === null ? '*' : JSON.stringify(language))
  if (field.kind === 'custom') steps.push('conceptName')
  if (field.kind === 'date') steps.push('value')
  return steps.join('.')
}

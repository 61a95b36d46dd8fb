/** Resolves field names of requests to fields of records, and to the SQL expressions for them. */
import { notAllowed, unknownField } from '../request/names.ts'
import type { Bind } from './model.ts'
import type { Source, SourceField } from './source.ts'

export interface NamedField {
  readonly field: SourceField
  /** `pool.name.en-US` */
  readonly language: string | null
}

/** @throws {AppError} `SearchFieldUnknown` */
export function resolveField({ fields }: Source, written: string): NamedField {
  const field = fields.get(written)
  if (field) return { field, language: null }
  const dot = written.lastIndexOf('.')
  const localized = dot > 0 ? fields.get(written.slice(0, dot)) : undefined
  const language = written.slice(dot + 1)
  if (localized?.kind === 'l10n' && languageTag.test(language)) return { field: localized, language }
  throw unknownField(written, ['_fulltext', ...fields.keys()])
}

const languageTag = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,8}$/

/** A field with texts, and the languages that count; null: all. */
export interface TextField {
  readonly field: SourceField
  readonly languages: readonly string[] | null
}

const isText = ({ kind }: SourceField): boolean => kind === 'text' || kind === 'l10n'

/**
 * The text fields with these names; without names all texts of a record.
 * @throws {AppError} `SearchFieldNotAllowed` for a field that is no text.
 */
export function textFields(source: Source, names: readonly string[], languages: readonly string[]): TextField[] {
  const wanted = languages.length === 0 ? null : languages
  return (names.length === 0 ? ['_fulltext'] : names).flatMap((name) => {
    if (name === '_fulltext')
      return [...source.fields.values()]
        .filter((field) => isText(field) && !field.empty)
        .map((field) => ({ field, languages: wanted }))
    const { field, language } = resolveField(source, name)
    if (!isText(field)) throw notAllowed(name, 'text')
    return [{ field, languages: language === null ? wanted : [language] }]
  })
}

/** SQL: whether one of the values of a field fulfils a condition. */
export function someValue({ field, languages }: TextField, condition: (value: string) => string, bind: Bind): string {
  const { kind, list, sql, different } = field
  if (different !== null) return `${sql} = any(array(select v.value from ${different} where ${condition('v.value')}))`
  if (kind === 'l10n') {
    const only = languages === null ? '' : `v.key = any(${bind(languages)}::text[]) and `
    return `exists (select from jsonb_each_text(${sql}) v where ${only}${condition('v.value')})`
  }
  return list ? `exists (select from unnest(${sql}) as v (value) where ${condition('v.value')})` : condition(sql)
}

/** All texts of a field as one text; null: it has none. */
export function wholeText({ field: { kind, list, sql }, languages }: TextField, bind: Bind): string {
  if (kind === 'l10n') {
    if (languages === null) return `jsonb_texts(${sql})`
    return `(select string_agg(value, ' ') from jsonb_each_text(${sql}) where key = any(${bind(languages)}::text[]))`
  }
  return list ? `array_to_string(${sql}, ' ')` : sql
}

/** The text of a localized field in the first of the languages that has one. */
export function preferredText(sql: string, languages: readonly string[], bind: Bind): string {
  return `(select value from jsonb_each_text(${sql})
    order by array_position(${bind(languages)}::text[], key) nulls last, key collate "C" limit 1)`
}

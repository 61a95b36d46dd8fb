import type { Column, ColumnType, Table } from '../datamodel/model.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Localized } from '../platform/values/localized.ts'
import { fileField, fileFields } from './media-settings.ts'
import type { FilenameTemplates } from './model.ts'

/**
 * Templates for the names of files that are downloaded or exported: text with replacements `%name%`, for example
 * `%_system_object_id% - %artwork.title.de-DE%.%_asset.extension%`. A replacement is a system field, a column
 * (`<objecttype>.<column>`), or the standard of a linked object (`<objecttype>.<column>._standard.1.text`). Localised texts may
 * have a language at the end; without it, the language of the template or of the caller is used. A template that is given without a
 * language is stored under `und`.
 */

const localizedSystemFields = [
  '_pool.name',
  '_pool.shortname',
  '_standard.1.text',
  '_standard.2.text',
  '_standard.3.text',
]
const systemFields = [
  '_asset.class',
  '_asset.extension',
  '_asset.id',
  '_asset.original_filename',
  '_asset.version',
  '_created',
  '_global_object_id',
  '_last_modified',
  '_objecttype',
  '_system_object_id',
  '_uuid',
  '_version',
]
const localizedTypes: ReadonlySet<ColumnType> = new Set(['text_l10n', 'text_l10n_oneline'])
const plainTypes: ReadonlySet<ColumnType> = new Set([
  'text',
  'text_oneline',
  'string',
  'number',
  'integer.2',
  'double',
  'date',
  'datetime',
  'daterange',
])
const language = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/
/** A percent sign that does not begin a name is a literal one. */
export const replacement = /%([A-Za-z_][^%\s]*)%/g
const maxLength = 1000

/** Key of the template for all file fields that have none of their own. */
export const everyField = 'default'

/**
 * Reads `_export_asset_filenames`: one template, or templates by language; either for all file fields (`default`), or by field.
 *
 * @throws {AppError} `UnknownField`, `UnsupportedFieldType`, `ServerGeneric`; each with `parameters.path`.
 */
export function readFilenameTemplates(value: unknown, path: string, table: Table): FilenameTemplates {
  if (value === null || value === '') return {}
  if (typeof value === 'string') return { [everyField]: { und: checkTemplate(value, path, table) } }
  if (typeof value !== 'object' || value === undefined || Array.isArray(value)) {
    throw badRequest(`${path} must be a template, or templates by language`, { path })
  }
  const entries = Object.entries(value as Record<string, unknown>).filter(([, entry]) => entry !== null && entry !== '')
  const isLanguage = ([key, entry]: [string, unknown]): boolean =>
    typeof entry === 'string' && language.test(key) && !fileField(table, key)
  if (entries.length > 0 && entries.every(isLanguage)) return { [everyField]: readLanguages(value, path, table) }
  for (const [key] of entries) checkKey(key, `${path}.${key}`, table)
  return Object.fromEntries(
    entries
      .map(([key, entry]) => [key, readLanguages(entry, `${path}.${key}`, table)] as const)
      .filter(([, templates]) => Object.keys(templates).length > 0),
  )
}

/** The names of files come from their own object type, so links to other objects have no templates. */
function checkKey(key: string, path: string, table: Table): void {
  if (key === everyField || fileField(table, key)) return
  const column = table.columns.find(({ fullName, name }) => fullName === key || name === key)
  if (!column) {
    throw new AppError('UnknownField', { path, field: key }, { message: `${path}: there is no file field ${key}.` })
  }
  const message = `${path}: fields of type ${column.type} have no files of this object type.`
  throw new AppError('UnsupportedFieldType', { path, field: key, type: column.type }, { message })
}

function readLanguages(value: unknown, path: string, table: Table): Localized {
  if (typeof value === 'string') return { und: checkTemplate(value, path, table) }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest(`${path} must be templates by language`, { path })
  }
  const templates: Record<string, string> = {}
  for (const [locale, template] of Object.entries(value)) {
    if (template === null) continue
    if (typeof template !== 'string')
      throw badRequest(`${path}.${locale} must be a text`, { path: `${path}.${locale}` })
    if (template !== '') templates[locale] = checkTemplate(template, `${path}.${locale}`, table)
  }
  return templates
}

/**
 * A template for files of several object types: each replacement must exist in one of them; for the others it is empty.
 * @throws {AppError} `UnknownField`, `UnsupportedFieldType`, `ServerGeneric`
 */
export function checkFilenameTemplate(template: string, path: string, tables: readonly Table[]): void {
  if (template.length > maxLength) throw badRequest(`${path} is longer than ${maxLength} characters`, { path })
  for (const [, name = ''] of template.matchAll(replacement)) {
    let problem: unknown = badRequest(`${path}: there are no object types`, { path })
    const isKnown = tables.some((table) => {
      try {
        checkReplacement(name, path, table)
        return true
      } catch (error) {
        problem = error
        return false
      }
    })
    if (!isKnown) throw problem
  }
}

function checkTemplate(template: string, path: string, table: Table): string {
  if (template.length > maxLength) throw badRequest(`${path} is longer than ${maxLength} characters`, { path })
  for (const [, name = ''] of template.matchAll(replacement)) checkReplacement(name, path, table)
  return template
}

function checkReplacement(name: string, path: string, table: Table): void {
  if (systemFields.includes(name) || isLocalized(name, localizedSystemFields)) return
  const [tableName, columnName = '', ...rest] = name.split('.')
  const column = tableName === table.name ? table.columnByName.get(columnName) : undefined
  if (!column) {
    throw new AppError(
      'UnknownField',
      { path, field: name },
      { message: `${path}: there is no replacement %${name}%.` },
    )
  }
  if (isSupported(column, rest)) return
  const known = plainTypes.has(column.type) || localizedTypes.has(column.type) || column.type === 'link'
  throw new AppError(
    known ? 'UnknownField' : 'UnsupportedFieldType',
    { path, field: name, type: column.type },
    {
      message: known
        ? `${path}: there is no replacement %${name}%.`
        : `${path}: values of type ${column.type} cannot be in a file name (%${name}%).`,
    },
  )
}

function isSupported(column: Column, rest: readonly string[]): boolean {
  if (plainTypes.has(column.type)) return rest.length === 0
  if (localizedTypes.has(column.type)) return rest.length === 0 || (rest.length === 1 && language.test(rest[0] ?? ''))
  const standards = localizedSystemFields.filter((name) => name.startsWith('_standard.'))
  return column.type === 'link' && isLocalized(rest.join('.'), standards)
}

function isLocalized(name: string, fields: readonly string[]): boolean {
  return fields.some(
    (field) => name === field || (name.startsWith(`${field}.`) && language.test(name.slice(field.length + 1))),
  )
}

/** `_filename_replacements`: the replacements for templates, in alphabetical order, for each file field. */
export function filenameReplacements(table: Table, languages: readonly string[]): Record<string, string[]> {
  const files = fileFields(table)
  if (files.length === 0) return {}
  const localized = (field: string): string[] => [field, ...languages.map((locale) => `${field}.${locale}`)]
  const columns = table.columns.flatMap((column) => {
    const name = `${table.name}.${column.name}`
    if (plainTypes.has(column.type)) return [name]
    if (localizedTypes.has(column.type)) return localized(name)
    if (column.type !== 'link') return []
    return [1, 2, 3].flatMap((slot) => localized(`${name}._standard.${slot}.text`))
  })
  const names = [...systemFields, ...localizedSystemFields.flatMap(localized), ...columns]
    .map((name) => `%${name}%`)
    .sort()
  return Object.fromEntries(files.map((column) => [column.fullName, names]))
}

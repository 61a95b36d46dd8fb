import type { Column, NestedField } from '../../../datamodel/model.ts'
import { invalidValue, isRecord } from '../../content/values.ts'
import { assertRowsWritable, rowWriterOf, sameContent } from '../../masks/writer.ts'
import { type Content, type ContentRow, rowsOf } from '../../stored/content.ts'
import { withFiles } from './files.ts'
import { type AddRows, type ChangeRows, editLimits, type FieldEdit, type ReplaceText, type RowMatch } from './model.ts'
import { placesOf, replacedAt } from './texts.ts'

/** The work of edits so far, over all objects of a request. */
export interface Taken {
  /** Characters by which texts have grown. */
  characters: number
  /** Comparisons of rows. */
  comparisons: number
}

/**
 * The content with an edit; the given content is not changed in place.
 * @throws {AppError} `FieldNotWritable` for rows that can only be added or removed; `InvalidValue` for texts that grow too long.
 */
export function edited(content: Content, edit: FieldEdit, taken: Taken): Content {
  if (edit.kind !== 'replace_text' && edit.kind !== 'files') {
    const change = (rows: readonly ContentRow[], field: NestedField): readonly ContentRow[] =>
      'rows' in edit ? added(rows, field, edit, taken) : changed(rows, field, edit, taken)
    return atRows(content, edit.path, edit.place, change)
  }
  const within = (row: Content): Content => (edit.kind === 'files' ? withFiles(row, edit) : withText(row, edit, taken))
  if (edit.path.length === 0) return within(content)
  return atRows(content, edit.path, edit.place, (rows) => rows.map((row) => within(row) as ContentRow))
}

/** Changes the rows at the end of a path of nested tables. */
function atRows(
  content: Content,
  [field, ...inner]: readonly NestedField[],
  place: string,
  change: (rows: readonly ContentRow[], field: NestedField) => readonly ContentRow[],
): Content {
  if (!field) return content
  const before = rowsOf(content, field.table)
  const after =
    inner.length === 0 ? change(before, field) : before.map((row) => atRows(row, inner, place, change) as ContentRow)
  if (after.length === before.length && after.every((row, index) => row === before[index])) return content
  assertRowsWritable(field, before, after, place)
  const { [field.table.key]: _, ...rest } = content
  return after.length === 0 ? rest : { ...rest, [field.table.key]: after }
}

function added(before: readonly ContentRow[], field: NestedField, edit: AddRows, taken: Taken): readonly ContentRow[] {
  const writer = rowWriterOf(field)
  if (edit.unlessPresent) count(before.length * edit.rows.length, edit.place, taken)
  const rows = edit.rows
    .filter((values) => !edit.unlessPresent || !before.some((row) => hasValues(row, values)))
    .map((values) => Object.assign(writer.merge(values, null, edit.place), { _u: crypto.randomUUID() }) as ContentRow)
  return edit.kind === 'append' ? [...before, ...rows] : [...rows, ...before]
}

function changed(
  before: readonly ContentRow[],
  field: NestedField,
  edit: ChangeRows,
  taken: Taken,
): readonly ContentRow[] {
  const { fields, matches, place } = edit
  count(before.length * matches.length, place, taken)
  const fits = (row: ContentRow): boolean => matches.some((match) => isMatch(row, match))
  if (fields === null) return before.filter((row) => !fits(row))
  const writer = rowWriterOf(field)
  return before.map((row) =>
    fits(row) ? (Object.assign(writer.merge(copy(fields), row, place, true), { _u: row._u }) as ContentRow) : row,
  )
}

/** @throws {AppError} for rows of so many objects that comparing them would delay all other requests. */
function count(comparisons: number, place: string, taken: Taken): void {
  taken.comparisons += comparisons
  if (comparisons <= editLimits.comparisons && taken.comparisons <= editLimits.allComparisons) return
  throw invalidValue(
    `${place}.values`,
    `${taken.comparisons} comparisons`,
    'fewer rows to compare with those that are stored',
  )
}

function isMatch(row: ContentRow, { uuid, values }: RowMatch): boolean {
  return (uuid === undefined || row._u === uuid) && hasValues(row, values)
}

/** Whether a row has these values; null means no value. */
function hasValues(row: Content, values: Content): boolean {
  return Object.keys(values).every((key) => sameContent(row[key] ?? null, values[key] ?? null))
}

/** Each row gets a copy of the values: a later step writes into lists of files. */
function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copy(member)])) as T
}

function withText(content: Content, edit: ReplaceText, taken: Taken): Content {
  const { key } = edit.column
  const stored = content[key]
  const next = typeof stored === 'string' ? replaced(stored, edit, taken) : withTexts(stored, edit, taken)
  if (next === stored) return content
  const { [key]: _, ...rest } = content
  return next === '' || next === undefined ? rest : { ...rest, [key]: next }
}

function withTexts(stored: unknown, edit: ReplaceText, taken: Taken): unknown {
  if (!isRecord(stored)) return stored
  const texts = Object.entries(stored).map(([language, text]): [string, unknown] =>
    typeof text === 'string' && (edit.languages?.includes(language) ?? true)
      ? [language, replaced(text, edit, taken)]
      : [language, text],
  )
  if (texts.every(([language, text]) => text === stored[language])) return stored
  const left = texts.filter(([, text]) => text !== '')
  return left.length === 0 ? undefined : Object.fromEntries(left)
}

function replaced(text: string, edit: ReplaceText, taken: Taken): string {
  const places = placesOf(text, edit, editLimits.places)
  if (places === null) {
    throw invalidValue(`${edit.place}.search`, edit.search, `what stands at most ${editLimits.places} times in a text`)
  }
  if (places.length === 0) return text
  const more = places.length * (edit.text.length - edit.search.length)
  taken.characters += Math.max(0, more)
  const length = text.length + more
  if (more > 0 && (length > editLimits.grown || taken.characters > editLimits.growth)) {
    throw invalidValue(edit.place, `${length} characters`, 'texts that grow less')
  }
  return replacedAt(text, places, edit)
}

/** Links of the rows to look for. */
export function soughtLinks(
  field: NestedField,
  { values, place }: RowMatch,
): { to: number; column: Column; place: string }[] {
  return field.table.columns.flatMap((column) => {
    const to = column.type === 'link' ? values[column.key] : undefined
    return typeof to === 'number' ? [{ to, column, place }] : []
  })
}

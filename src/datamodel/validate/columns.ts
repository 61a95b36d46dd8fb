import { parseDate } from '../../platform/values/dates.ts'
import type { PatternBudget } from '../../platform/values/patterns.ts'
import { compileCheck } from '../check/compile.ts'
import { columnTypeOf, dateTypes, numberTypes, textTypes } from '../columns.ts'
import type { ColumnType } from '../model.ts'
import { compilePattern } from '../regexp.ts'
import type { ColumnApi, SchemaTableApi } from '../schema.ts'
import { checkIdentifier, type DocumentPath, inconsistent, wrongPlace } from './document-path.ts'

export interface SchemaIndex {
  readonly tables: ReadonlyMap<number, SchemaTableApi>
  readonly columns: ReadonlyMap<number, { readonly table: SchemaTableApi; readonly column: ColumnApi }>
  /** The budget of all `check_regexp` together. */
  readonly patterns: PatternBudget
}

type Validator = (column: ColumnApi, table: SchemaTableApi, place: DocumentPath, index: SchemaIndex) => void

export const validateColumn: Validator = (column, table, place, index) => {
  const validate = validators.get(column.kind ?? '')
  if (!validate) {
    throw inconsistent(
      at(place, 'kind'),
      `the kind "${column.kind}" is unknown; there are ${[...validators.keys()].join(', ')}`,
      { kind: column.kind ?? null },
    )
  }
  validate(column, table, place, index)
}

const validators: ReadonlyMap<string, Validator> = new Map([
  ['column', validateValueColumn],
  ['link', validateNestedEntry],
  ['reverse_link', validateReverseEntry],
])

function at(place: DocumentPath, member: string): DocumentPath {
  return { ...place, path: `${place.path}.${member}` }
}

function validateValueColumn(column: ColumnApi, table: SchemaTableApi, place: DocumentPath, index: SchemaIndex): void {
  checkIdentifier(column.name, at(place, 'name'), 63)
  const sameName = (table.columns ?? []).filter((other) => other.kind === 'column' && other.name === column.name)
  if (sameName.length > 1) {
    throw inconsistent(at(place, 'name'), `the table has ${sameName.length} columns of this name`, {
      name: column.name,
    })
  }
  const type = columnTypeOf(column.type)
  if (!type)
    throw wrongPlace('UnknownColumnType', at(place, 'type'), `the column type "${column.type ?? ''}" is unknown`, {
      type: column.type ?? null,
    })
  if (type === 'link') validateLink(column, table, place, index)
  if (column.reverse_edit && (type !== 'link' || table.owned_by)) {
    throw inconsistent(at(place, 'reverse_edit'), 'only a link column of an object type can be edited in reverse')
  }
  validateText(column, type, place, index)
  validateRange(column, type, place)
  if (column.check) {
    const problem = compileCheck(column.check)
    if (typeof problem === 'string') throw inconsistent(at(place, 'check'), problem, { check: column.check })
  }
}

function validateLink(column: ColumnApi, table: SchemaTableApi, place: DocumentPath, index: SchemaIndex): void {
  const keys = (table.foreign_keys ?? []).filter((key) => key.columns.some((r) => r.column_id === column.column_id))
  if (keys.length !== 1) {
    throw inconsistent(place, `a link column needs one foreign key that names its object type, it has ${keys.length}`)
  }
  const id = keys[0]?.referenced_table.table_id ?? 0
  const target = index.tables.get(id)
  if (!target || target.owned_by) {
    throw inconsistent(
      place,
      target ? `${target.name} is a nested table and cannot be linked` : 'the linked object type does not exist',
      {
        other_table_id: id,
      },
    )
  }
  if (column.other_table_id && column.other_table_id !== id) {
    throw inconsistent(
      at(place, 'other_table_id'),
      `the foreign key of the column says another object type (${target.name})`,
      {
        other_table_id: column.other_table_id,
      },
    )
  }
  if (keys[0]?.on_delete === 'setnull' && column.not_null) {
    throw inconsistent(
      at(place, 'not_null'),
      'the link cannot become empty, so its foreign key cannot say on_delete setnull',
    )
  }
}

/** `kind: link`: the position of a nested table among the columns of its owner. */
function validateNestedEntry(column: ColumnApi, table: SchemaTableApi, place: DocumentPath, index: SchemaIndex): void {
  const nested = index.tables.get(column.other_table_id ?? 0)
  const parameters = { other_table_id: column.other_table_id ?? null }
  if (!nested) throw inconsistent(at(place, 'other_table_id'), 'the nested table does not exist', parameters)
  if (nested.owned_by?.other_table_id !== table.table_id) {
    throw inconsistent(at(place, 'other_table_id'), `${nested.name} is not owned by ${table.name}`, parameters)
  }
}

/** `kind: reverse_link`: the position of the objects that link to this object type among its columns. */
function validateReverseEntry(column: ColumnApi, table: SchemaTableApi, place: DocumentPath, index: SchemaIndex): void {
  if (table.owned_by) throw inconsistent(place, 'a nested table has no reverse links')
  if (column.is_hierarchical) {
    if (table.is_hierarchical || table.polyhierarchical) return
    throw inconsistent(at(place, 'is_hierarchical'), 'the object type is no hierarchy')
  }
  const other = index.tables.get(column.other_table_id ?? 0)
  if (!other) {
    throw inconsistent(at(place, 'other_table_id'), 'the object type does not exist', {
      other_table_id: column.other_table_id ?? null,
    })
  }
  const behind = index.columns.get(column.other_column_id ?? 0)
  const parameters = { other_column_id: column.other_column_id ?? null }
  if (behind?.table !== other || behind.column.kind !== 'column') {
    throw inconsistent(at(place, 'other_column_id'), `${other.name} has no such column`, parameters)
  }
  if (!behind.column.reverse_edit) {
    throw inconsistent(
      at(place, 'other_column_id'),
      `the column ${behind.column.name} does not have reverse_edit`,
      parameters,
    )
  }
  const key = other.foreign_keys?.find((k) => k.columns.some((r) => r.column_id === column.other_column_id))
  if (key?.referenced_table.table_id !== table.table_id) {
    throw inconsistent(
      at(place, 'other_column_id'),
      `the column ${behind.column.name} does not link to ${table.name}`,
      parameters,
    )
  }
  const twins = (table.columns ?? []).filter(
    (c) => c.kind === 'reverse_link' && c.other_column_id === column.other_column_id,
  )
  if (twins.length > 1)
    throw inconsistent(at(place, 'other_column_id'), 'the same reverse link is there twice', parameters)
}

function validateText(column: ColumnApi, type: ColumnType, place: DocumentPath, { patterns }: SchemaIndex): void {
  if (column.check_regexp) {
    if (!textTypes.has(type))
      throw inconsistent(at(place, 'check_regexp'), `values of type ${type} have no text to match`)
    const problem = compilePattern(column.check_regexp, column.check_regexp_flags ?? '', patterns)
    if (typeof problem === 'string') {
      throw inconsistent(at(place, 'check_regexp'), problem, { check_regexp: column.check_regexp.slice(0, 200) })
    }
  }
  for (const bound of ['length_min', 'length_max'] as const) {
    const value = column[bound]
    if (value === undefined) continue
    if (!textTypes.has(type)) throw inconsistent(at(place, bound), `values of type ${type} have no length`)
    if (value < 0) throw inconsistent(at(place, bound), 'a length is not negative', { value })
  }
  if ((column.length_min ?? 0) > (column.length_max ?? Number.POSITIVE_INFINITY)) {
    throw inconsistent(at(place, 'length_min'), 'is more than length_max', { value: column.length_min })
  }
}

function validateRange(column: ColumnApi, type: ColumnType, place: DocumentPath): void {
  for (const flag of ['check_range_lower_open', 'check_range_upper_open'] as const) {
    const value = column[flag]
    if (value !== undefined && value !== null && typeof value !== 'boolean') {
      throw inconsistent(at(place, flag), 'is true or false', { value })
    }
  }
  if (column.check_range_not_empty && type !== 'daterange') {
    throw inconsistent(at(place, 'check_range_not_empty'), `values of type ${type} are no ranges`)
  }
  const lower = boundOf(column.check_range_lower, type, at(place, 'check_range_lower'))
  const upper = boundOf(column.check_range_upper, type, at(place, 'check_range_upper'))
  if (lower === null || upper === null) return
  const open = column.check_range_lower_open === true || column.check_range_upper_open === true
  if (lower > upper || (open && lower === upper)) {
    throw inconsistent(at(place, 'check_range_lower'), 'no value is between check_range_lower and check_range_upper')
  }
}

/** A limit as a value that can be compared; dates in seconds. */
function boundOf(bound: unknown, type: ColumnType, place: DocumentPath): number | bigint | null {
  if (bound === undefined || bound === null || bound === '') return null
  if (numberTypes.has(type)) {
    const number = typeof bound === 'string' ? Number(bound) : bound
    if (typeof number === 'number' && Number.isFinite(number)) return number
    throw inconsistent(place, 'is a number', { value: bound })
  }
  if (!dateTypes.has(type)) throw inconsistent(place, `values of type ${type} have no order`)
  const text = typeof bound === 'object' ? (bound as { value?: unknown }).value : bound
  const date = typeof text === 'string' || typeof text === 'number' ? parseDate(String(text)) : null
  if (!date) throw inconsistent(place, 'is a date', { value: bound })
  return date.from
}

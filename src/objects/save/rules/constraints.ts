import type { Column, MaskField, Table } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Yielder } from '../../../platform/process/cooperative-yield.ts'
import { parseDate } from '../../../platform/values/dates.ts'
import { isRecord, printable } from '../../content/values.ts'
import { showingMasks } from '../../masks/access.ts'
import { type Content, rowsOf } from '../../stored/content.ts'
import type { Item } from '../item.ts'

/** A rule of the datamodel that a content breaks. */
export interface Violation {
  readonly column: Column
  /** `not_null`, `required`, `check`, `check_regexp`, `check_range`, `check_range_not_empty`, `length`. */
  readonly rule: string
  /** The requirement of the rule, as text. */
  readonly expected: string
  readonly value: unknown
  /** Place below the object's block: `_nested:a__b.0.role`. */
  readonly place: string
}

/** The first rule of the datamodel that the content breaks, or null. Unique keys and links are checked by the database. */
export function findViolation(table: Table, content: Content, place = ''): Violation | null {
  for (const column of table.columns) {
    const violation = checkColumn(column, content, `${place}${column.name}`)
    if (violation) return violation
  }
  for (const nested of table.nested) {
    for (const [index, row] of rowsOf(content, nested).entries()) {
      const violation = findViolation(nested, row, `${place}${nested.wireKey}.${index}.`)
      if (violation) return violation
    }
  }
  return null
}

/** Fields that the mask requires in addition to the datamodel. */
export function findMissing(fields: readonly MaskField[], content: Content, place = ''): Violation | null {
  for (const field of fields) {
    if (field.kind === 'column' && field.required && content[field.column.key] === undefined) {
      const at = `${place}${field.column.name}`
      return { column: field.column, rule: 'required', expected: 'a value', value: null, place: at }
    }
    if (field.kind !== 'nested') continue
    for (const [index, row] of rowsOf(content, field.table).entries()) {
      const missing = findMissing(field.fields, row, `${place}${field.table.wireKey}.${index}.`)
      if (missing) return missing
    }
  }
  return null
}

/**
 * @throws {AppError} `ConstraintViolation` naming object, field, rule and value; the value only where the object was sent
 * with a mask that has the field, as otherwise the caller may not know it.
 */
export function assertConstraints({ table, mask, content, place, draft }: Item): void {
  const violation = findViolation(table, content) ?? findMissing(mask.fields, content)
  if (!violation) return
  const { column, rule, expected, value } = violation
  const name = `${place}.${table.name}.${violation.place}`
  const known = draft !== null && !draft.unsent && showingMasks(table).column(column).has(mask)
  throw new AppError(
    'ConstraintViolation',
    {
      name,
      objecttype: table.name,
      field: column.fullName,
      rule,
      expected,
      ...(known ? { value: value === null || value === undefined ? null : printable(value) } : {}),
    },
    { message: `${name}: ${rule} is violated, expected ${expected}` },
  )
}

/** The first of `rules` that a row breaks in `column`, or null: for rules that are new to stored objects. */
export function brokenRule(column: Column, content: Content, rules: readonly string[]): string | null {
  const violation = checkColumn(column, content, column.name)
  return violation && rules.includes(violation.rule) ? violation.rule : null
}

function checkColumn(column: Column, content: Content, place: string): Violation | null {
  const { constraints } = column
  const value = content[column.key]
  const broken = (rule: string, expected: string): Violation => ({ column, rule, expected, value, place })
  if (value === undefined) {
    return constraints.notNull && column.type !== 'boolean' ? broken('not_null', 'a value') : null
  }
  if (constraints.checkTest && !constraints.checkTest(value)) return broken('check', constraints.check ?? '')
  for (const text of textsOf(column, value)) {
    if (constraints.regexp && !constraints.regexp.test(text)) {
      return broken('check_regexp', `text matching ${constraints.regexp.source}`)
    }
    if (constraints.lengthMin === null && constraints.lengthMax === null) continue
    const length = characters(text)
    if (constraints.lengthMin !== null && length < constraints.lengthMin) {
      return broken('length', `at least ${constraints.lengthMin} characters`)
    }
    if (constraints.lengthMax !== null && length > constraints.lengthMax) {
      return broken('length', `at most ${constraints.lengthMax} characters`)
    }
  }
  return checkRange(column, value, broken)
}

function textsOf(column: Column, value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if ((column.type === 'text_l10n' || column.type === 'text_l10n_oneline') && isRecord(value)) {
    return Object.values(value) as string[]
  }
  return []
}

function characters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Bounds are inclusive unless open. A date is the interval it spans, so all of it must be between the bounds. */
function checkRange(
  column: Column,
  value: unknown,
  broken: (rule: string, expected: string) => Violation,
): Violation | null {
  const { rangeLower, rangeUpper, rangeLowerOpen, rangeUpperOpen, rangeNotEmpty } = column.constraints
  if (rangeNotEmpty && column.type === 'daterange' && isRecord(value) && !(value.from && value.to)) {
    return broken('check_range_not_empty', 'a range with "from" and "to"')
  }
  if (isSet(rangeLower)) {
    const order = compareBound(value, rangeLower, 'from')
    if (order !== null && (order < 0 || (order === 0 && rangeLowerOpen))) {
      return broken('check_range', `${rangeLowerOpen ? 'more than' : 'at least'} ${String(rangeLower)}`)
    }
  }
  if (isSet(rangeUpper)) {
    const order = compareBound(value, rangeUpper, 'to')
    if (order !== null && (order > 0 || (order === 0 && rangeUpperOpen))) {
      return broken('check_range', `${rangeUpperOpen ? 'less than' : 'at most'} ${String(rangeUpper)}`)
    }
  }
  return null
}

function isSet(bound: unknown): boolean {
  return bound !== null && bound !== undefined && bound !== ''
}

/** Order of a value and a bound; null when they cannot be compared (an open end of a range, another type). */
function compareBound(value: unknown, bound: unknown, side: 'from' | 'to'): number | null {
  if (typeof value === 'number') {
    const limit = typeof bound === 'string' ? Number(bound) : bound
    return typeof limit === 'number' && Number.isFinite(limit) ? value - limit : null
  }
  if (!isRecord(value)) return null
  const text = value.value ?? value[side]
  const date = typeof text === 'string' ? parseDate(text) : null
  const limit = parseDate(String(isRecord(bound) ? bound.value : bound))
  if (!date || !limit) return null
  const difference = date[side] - limit[side]
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Checks that the items fulfil the constraints of the datamodel. @throws {AppError} `ConstraintViolation` */
export async function checkConstraints(items: readonly Item[], yielder: Yielder): Promise<void> {
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    if (!item.changed || item.mode === 'delete') continue
    assertConstraints(item)
    assertRowUuids(item.table, item, item.content)
  }
}

/** A row's uuid identifies it within its object, so it may occur there once (DB-006 allows this check to be skipped). */
function assertRowUuids(table: Table, item: Item, content: Item['content'], seen = new Set<string>()): void {
  for (const nested of table.nested) {
    for (const [index, row] of rowsOf(content, nested).entries()) {
      if (seen.has(row._u)) {
        const name = `${item.place}.${item.table.name}.${nested.wireKey}.${index}._uuid`
        throw new AppError(
          'ConstraintViolation',
          { name, objecttype: item.table.name, field: '_uuid', rule: 'unique_row', value: row._u },
          { message: `${name}: another row of the object has this _uuid` },
        )
      }
      seen.add(row._u)
      assertRowUuids(nested, item, row, seen)
    }
  }
}

/** `in` elements: a field and its accepted values. */
import { AppError } from '../../platform/errors.ts'
import type { FieldCatalogue, SearchField } from '../plan/fields.ts'
import type { Clause, PublishedBy, VisibleCollections } from '../plan/plan.ts'
import { or, type PoolByReference } from './clauses.ts'
import { exactRange } from './moments.ts'
import { type Named, notAllowed, type SystemName } from './names.ts'
import { integerOf, numberOf, wrong } from './read.ts'
import type { Clock } from './relative-dates.ts'

interface ValueContext {
  /** Whether objects below the given ones count too (`include_path`). */
  readonly below: boolean
  readonly place: string
  readonly fields: FieldCatalogue
  readonly clock: Clock
  /** The second half of the global ids of this instance. */
  readonly databaseName: string
  readonly collections: VisibleCollections
  readonly poolByReference: PoolByReference
  /** The index about rows can only tell that some row has one of the values. */
  readonly inRows: (field: SearchField, clause: Clause) => Clause
}

/** `null` among the values means "has no value". */
export function valuesClause(
  named: Exclude<Named, { kind: 'targetId' | 'period' }>,
  values: readonly unknown[],
  context: ValueContext,
): Clause {
  const present = values.filter((value) => value !== null)
  if (named.kind === 'id') return { is: 'ownId', objecttype: named.objecttype, ids: integers(present, context.place) }
  if (named.kind === 'parent') {
    const none = present.length < values.length
    const ids = integers(present, context.place)
    return withBelow({ is: 'childOf', objecttype: named.objecttype, ids, none }, context.below)
  }
  if (named.kind === 'system') return systemClause(named, present, present.length < values.length, context)
  const clauses: Clause[] = []
  if (present.length < values.length) clauses.push({ is: 'empty', field: named.field })
  if (present.length > 0) {
    const { field } = named
    clauses.push(context.inRows(field, fieldClause(field, named.language, named.written, present, context)))
  }
  return or(clauses)
}

function fieldClause(
  field: SearchField,
  language: string | null,
  written: string,
  values: readonly unknown[],
  { below, place, clock, databaseName }: ValueContext,
): Clause {
  const languages = language === null ? null : [language]
  const value = (list: readonly (string | number | boolean)[]): Clause => ({
    is: 'value',
    field,
    languages,
    values: list,
    below,
  })
  switch (field.kind) {
    case 'text':
    case 'string':
    case 'l10n':
    case 'custom':
      if (field.part?.expert) throw notAllowed(written, 'in')
      return value(texts(values, place))
    case 'number':
      return or(numbers(values, place).map((number) => exactNumber(field, number)))
    case 'boolean':
      return value(booleans(values, place))
    case 'link':
      if (written.endsWith('._global_object_id')) return value(globalIds(values, place, databaseName))
      return value(integers(values, place))
    case 'files':
      return value(integers(values, place))
    case 'date':
      return or(values.map((date, index) => exactDate(field, date, `${place}[${index}]`, clock)))
    case 'geo':
      throw notAllowed(written, 'in')
  }
}

function exactNumber(field: SearchField, value: number): Clause {
  return { is: 'numbers', field, from: { value, inclusive: true }, to: { value, inclusive: true } }
}

function exactDate(field: SearchField, value: unknown, place: string, clock: Clock): Clause {
  return { is: 'sameDate', field, range: exactRange(value, place, clock) }
}

function systemClause(
  { name, written }: { name: SystemName; written: string },
  values: readonly unknown[],
  withNull: boolean,
  { below, place, fields, databaseName, collections: seen, poolByReference }: ValueContext,
): Clause {
  switch (name) {
    case '_collections': {
      if (below) throw notAllowed(written, 'include_path')
      const known = seen && new Set(seen)
      const ids = integers(values, place).filter((id) => known?.has(id) ?? true)
      // Most callers may see thousands of collections, while a search uses a few.
      return { is: 'collected', ids, none: withNull, seen: withNull ? seen : [] }
    }
    case '_published': {
      if (below) throw notAllowed(written, 'include_path')
      const by = publishedBy(written)
      return {
        is: 'published',
        by,
        values: by === '_id' ? integers(values, place) : texts(values, place),
        none: withNull,
      }
    }
    case '_system_object_id':
      return withBelow({ is: 'id', ids: integers(values, place) }, below)
    case '_global_object_id':
      return withBelow({ is: 'id', ids: globalIds(values, place, databaseName) }, below)
    case '_uuid':
      return { is: 'uuid', values: texts(values, place) }
    case '_objecttype':
      return { is: 'objecttype', ids: texts(values, place).map((type) => objecttypeId(fields, type, place)) }
    case '_pool':
      return { is: 'pool', ids: integers(values, place), below, none: withNull }
    case '_pool.reference': {
      const ids = texts(values, place).flatMap((reference) => poolByReference(reference) ?? [])
      return { is: 'pool', ids, below, none: withNull }
    }
    case '_tags':
      return { is: 'tag', ids: integers(values, place) }
    case '_owner': {
      const kind = written.includes('.group.') ? 'g' : 'u'
      // Facets name users and groups together: `u1`, `g5`.
      const isPrincipal = (value: unknown) => typeof value === 'string' && /^[ug][1-9]\d{0,14}$/.test(value)
      const ids = integers(
        values.map((value) => (isPrincipal(value) ? (value as string).slice(1) : value)),
        place,
      )
      return {
        is: 'owner',
        principals: ids.map((id, index) => (isPrincipal(values[index]) ? (values[index] as string) : `${kind}${id}`)),
      }
    }
    default:
      throw notAllowed(written, 'in')
  }
}

/** The member of publish records at the end of a name. */
export function publishedBy(written: string): PublishedBy {
  return written.slice(written.lastIndexOf('.') + 1) as PublishedBy
}

/** Objects by their ids, or by the ids of their parents, with all objects below them. */
function withBelow(clause: Extract<Clause, { is: 'id' | 'objecttype' | 'childOf' }>, below: boolean): Clause {
  if (!below) return clause
  const objecttype = clause.is === 'childOf' ? clause.objecttype : null
  return or([clause, { is: 'below', objecttype, ids: clause.ids }])
}

function objecttypeId(fields: FieldCatalogue, name: string, place: string): number {
  for (const { table } of fields.types.values()) if (table.name === name) return table.id
  throw new AppError('UnknownObjecttype', { name: place, objecttype: name.slice(0, 200) })
}

function integers(values: readonly unknown[], place: string): number[] {
  return values.map((value, index) => {
    const found = integerOf(value)
    if (found !== null) return found
    throw wrong(`${place}[${index}]`, 'an integer')
  })
}

/** `12@strongroom`, or `12@local` for this instance. Objects of another instance are not found here. */
function globalIds(values: readonly unknown[], place: string, databaseName: string): number[] {
  return values.flatMap((value, index) => {
    const match = typeof value === 'string' ? /^([1-9]\d{0,14})@(.+)$/s.exec(value) : null
    if (!match) throw wrong(`${place}[${index}]`, 'a global id, <system object id>@<database>')
    return match[2] === databaseName || match[2] === 'local' ? [Number(match[1])] : []
  })
}

function numbers(values: readonly unknown[], place: string): number[] {
  return values.map((value, index) => {
    const number = numberOf(value)
    if (number !== null) return number
    throw wrong(`${place}[${index}]`, 'a number')
  })
}

function booleans(values: readonly unknown[], place: string): boolean[] {
  return values.map((value, index) => {
    if (typeof value === 'boolean') return value
    // As a facet has it.
    if (value === 'true' || value === 'false') return value === 'true'
    throw wrong(`${place}[${index}]`, 'true or false')
  })
}

function texts(values: readonly unknown[], place: string): string[] {
  return values.map((value, index) => {
    if (typeof value === 'string') return value
    if (typeof value === 'number') return String(value)
    throw wrong(`${place}[${index}]`, 'a string')
  })
}

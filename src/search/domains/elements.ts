/** Compiles elements of a search request to conditions on records. */
import { badRequest } from '../../platform/errors.ts'
import { momentSql } from '../moment-sql.ts'
import { saysSomething } from '../request/known.ts'
import { boundsOf, exactRange, momentRange } from '../request/moments.ts'
import { notAllowed } from '../request/names.ts'
import {
  choice,
  deepest,
  type Fields,
  fieldsAt,
  integerOf,
  listAt,
  mostElements,
  optional,
  stringsAt,
  wrong,
} from '../request/read.ts'
import type { Clock } from '../request/relative-dates.ts'
import { resolveField } from './fields.ts'
import type { Bind } from './model.ts'
import type { Source, SourceField } from './source.ts'
import { textCondition } from './texts.ts'

export interface ElementContext {
  readonly source: Source
  readonly bind: Bind
  readonly clock: Clock
  readonly depth: number
  /** Called for conditions that look at texts of records one by one. */
  readonly onTexts: () => void
}

const mostValues = 10_000

/** All `must`, at least one `should` where there are any, no `must_not`. */
export function elementsCondition(sent: unknown, place: string, context: ElementContext): string {
  if (context.depth > deepest) throw wrong(place, `nested at most ${deepest} deep`)
  const by = { must: [] as string[], should: [] as string[], must_not: [] as string[] }
  for (const [index, entry] of listAt(sent ?? [], place, mostElements).entries()) {
    const at = `${place}[${index}]`
    const element = fieldsAt(entry, at)
    const bool = optional(element, 'bool', 'string', at) ?? 'must'
    by[choice(bool, ['must', 'should', 'must_not'], `${at}.bool`)].push(elementCondition(element, at, context))
  }
  return all([
    ...by.must,
    ...(by.should.length > 0 ? [any(by.should)] : []),
    // A condition on unknown data of a record (SQL null) does not exclude the record.
    ...by.must_not.map((condition) => `(${condition}) is not true`),
  ])
}

const all = (conditions: readonly string[]): string =>
  conditions.length === 0 ? 'true' : `(${conditions.join(' and ')})`
const any = (conditions: readonly string[]): string =>
  conditions.length === 0 ? 'false' : `(${conditions.join(' or ')})`

/** Element types that concern the datamodel and its objects. */
const ofObjects = ['changelog_range', 'nested', 'similar', 'geo_bounding_box', 'geo_shape']

function elementCondition(element: Fields, place: string, context: ElementContext): string {
  const type = optional(element, 'type', 'string', place) ?? ''
  if (ofObjects.includes(type))
    throw badRequest(`${place}.type: ${type} is for objects only.`, { name: `${place}.type`, type })
  const boost = optional(element, 'boost', 'number', place)
  if (boost !== undefined && boost !== 1) throw wrong(`${place}.boost`, 'absent where nothing is sorted by relevance')
  switch (choice(type, ['text', 'match', 'in', 'range', 'complex'], `${place}.type`)) {
    case 'in':
      return inCondition(element, place, context)
    case 'range':
      return rangeCondition(element, place, context)
    case 'complex':
      return elementsCondition(element.search, `${place}.search`, { ...context, depth: context.depth + 1 })
    default:
      return textCondition(element, namesOf(element, place), place, context)
  }
}

/** `fields`, or the single `field`. */
function namesOf(element: Fields, place: string): readonly string[] {
  const field = optional(element, 'field', 'string', place)
  const names = element.fields ? stringsAt(element.fields, `${place}.fields`, 100) : []
  return names.length === 0 && field ? [field] : names
}

function inCondition(element: Fields, place: string, context: ElementContext): string {
  for (const name of ['subsearch', 'objecttype', 'include_path']) {
    if (saysSomething(element[name])) throw wrong(`${place}.${name}`, 'absent: it is for objects only')
  }
  const names = namesOf(element, place)
  if (names.length === 0) throw wrong(`${place}.fields`, 'a list of field names')
  const values = listAt(element.in, `${place}.in`, mostValues)
  const present = values.filter((value) => value !== null)
  return any(
    names.flatMap((name) => {
      const { field, language } = resolveField(context.source, name)
      const one = language === null ? field : inLanguage(field, language, context.bind)
      return [
        ...(present.length < values.length ? [emptyCondition(one)] : []),
        ...(present.length > 0 ? [valuesCondition(one, present, `${place}.in`, context)] : []),
      ]
    }),
  )
}

/** The text in one language as a field of its own. */
function inLanguage({ name, sql, empty }: SourceField, language: string, bind: Bind): SourceField {
  return {
    name,
    kind: 'text',
    list: false,
    sql: `(${sql} ->> ${bind(language)}::text)`,
    empty,
    different: null,
    ordered: false,
  }
}

function emptyCondition({ kind, list, sql }: SourceField): string {
  if (list) return `coalesce(cardinality(${sql}), 0) = 0`
  return kind === 'l10n' ? `coalesce(${sql}, '{}') = '{}'` : `${sql} is null`
}

function valuesCondition(
  field: SourceField,
  values: readonly unknown[],
  place: string,
  context: ElementContext,
): string {
  const { kind, list, sql } = field
  const { bind } = context
  const oneOf = (sent: readonly unknown[], type: string): string =>
    list ? `${sql} && ${bind(sent)}::${type}[]` : `${sql} = any(${bind(sent)}::${type}[])`
  const each = <T>(read: (value: unknown) => T | null, expected: string): T[] =>
    values.map((value, index) => {
      const found = read(value)
      if (found === null) throw wrong(`${place}[${index}]`, expected)
      return found
    })
  switch (kind) {
    case 'id':
    case 'number':
      return oneOf(each(integerOf, 'an integer'), 'bigint')
    case 'boolean':
      return oneOf(
        each((value) => (typeof value === 'boolean' ? value : null), 'true or false'),
        'boolean',
      )
    case 'date':
      return any(
        values.map((value, index) =>
          momentSql(sql, exactRange(value, `${place}[${index}]`, context.clock), typed(bind)),
        ),
      )
    case 'l10n': {
      const texts = each(textOf, 'a string')
      return `(${indexed(texts, context)}exists (select from jsonb_each_text(${sql}) v where v.value = any(${bind(texts)}::text[])))`
    }
    case 'text': {
      const texts = each(textOf, 'a string')
      if (field.different !== null) return oneOf(texts, 'text')
      return `(${indexed(texts, context)}${oneOf(texts, 'text')})`
    }
  }
}

/** With more values than this, reading all records is quicker. */
const mostLookedUp = 200

/**
 * A condition on the words of the values, for the index: a record has all words of one of the values. Empty where there is no such
 * index.
 */
function indexed(values: readonly string[], { source: { words }, bind, onTexts }: ElementContext): string {
  onTexts()
  if (words === null || values.length > mostLookedUp) return ''
  return `${any(values.map((value) => words.find(`record_words(${bind(value)}::text)`)))} and `
}

const typed =
  (bind: Bind) =>
  (value: string, type: string): string =>
    `${bind(value)}::${type}`

const textOf = (value: unknown): string | null => {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : null
}

function rangeCondition(element: Fields, place: string, { source, bind, clock }: ElementContext): string {
  const name = optional(element, 'field', 'string', place)
  if (name === undefined) throw wrong(`${place}.field`, 'the name of a field')
  const { field } = resolveField(source, name)
  const { from, to } = boundsOf(element, place)
  if (field.list || !['number', 'id', 'date'].includes(field.kind)) throw notAllowed(name, 'range')
  if (isOpen(from.value) && isOpen(to.value)) return `${field.sql} is not null`
  if (field.kind === 'date') return momentSql(field.sql, momentRange(from, to, clock), typed(bind))
  const conditions = [
    { bound: from, sign: from.inclusive ? '>=' : '>' },
    { bound: to, sign: to.inclusive ? '<=' : '<' },
  ].flatMap(({ bound, sign }) => {
    if (isOpen(bound.value)) return []
    const { value } = bound
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    if (typeof number !== 'number' || !Number.isFinite(number)) throw wrong(bound.place, 'a number')
    const type = Number.isSafeInteger(number) ? 'bigint' : 'numeric'
    return [`${field.sql} ${sign} ${bind(String(number))}::${type}`]
  })
  return all(conditions)
}

const isOpen = (value: unknown): boolean => value === undefined || value === null || value === ''

/** The order of hits: sort keys as SQL, and the beginning of a page. */

import type { Visibility } from '../../../plan/field-visibility.ts'
import type { FieldCatalogue, SearchField, Weight } from '../../../plan/fields.ts'
import type { SortField, SortKey, TextClause } from '../../../plan/plan.ts'
import { ofObjecttype } from '../../document/lexemes.ts'
import { isLocalized, keySql } from '../../slots.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { accessSql, readableSql, visibilityNode, visibilityOfTypes, visibleSql } from '../access/visibility.ts'
import { clauseSql, scoreNode } from '../conditions/condition.ts'
import type { ConditionContext } from '../conditions/context.ts'
import { type DocumentSql, documentSql, isOfDocument, madeOf, type Sql } from '../sql/of-document.ts'
import { atMicroseconds, microseconds, type Parameters } from '../sql/sql.ts'
import { allOf, anyOf, lexeme, type Node, prefix, tsquery } from '../sql/tsquery.ts'
import { digitsSql, linkPathSql, ownPathSql, parentSql, periodKeySql } from './order-variants.ts'
import { firstLinkedSql, firstTargetSql, reachedKeySql, targetKeySql } from './reached-key.ts'
import { carriedKeySql, headSql, shownKeySql } from './sort-values.ts'

export interface OrderColumn {
  readonly key: SortKey
  /** Over search_document under the alias `d`. */
  readonly sql: Sql
  /** The beginning of a value that may be long: indexes contain only these. */
  readonly head?: string
  /** Whether the value may be null. Null is sorted last, whatever the direction. */
  readonly nullable: boolean
  /** SQL of the value as `_sort` contains it, given the name of the column. */
  readonly shown: (column: string) => string
  /** A value of `_sort` as a parameter; `id` is the id of the hit that had this value. */
  readonly parameter: (value: unknown, parameters: Parameters, id: unknown) => string
}

export function orderColumns(context: ConditionContext): OrderColumn[] {
  return context.plan.sort.map((key) => orderColumn(key, context))
}

function orderColumn(key: SortKey, context: ConditionContext): OrderColumn {
  const plain = { key, nullable: false, shown: (column: string) => column }
  const { field } = key
  switch (field.by) {
    case 'id':
      return { ...plain, sql: documentSql('d.id'), parameter: (value, parameters) => parameters.add(value, 'bigint') }
    case 'score':
      return { ...plain, sql: scoreSql(context), parameter: (value, parameters) => parameters.add(value, 'float8') }
    case 'objecttype':
      return { ...plain, sql: objecttypeSql(context), parameter: (value, parameters) => parameters.add(value, 'int') }
    case 'created':
    case 'modified':
      return {
        ...plain,
        ...timeSql(field.by === 'created' ? 'd.created_at' : 'd.modified_at', context.plan),
        shown: microseconds,
        parameter: (value, parameters) => atMicroseconds(parameters.add(value, 'bigint')),
      }
    case 'standard':
      return keyColumn(key, field.path ? ownPathSql(field, context.plan) : sortKeySql(field, context.plan))
    case 'parent':
      return keyColumn(key, parentSql(field, context.plan))
    case 'field':
      return keyColumn(key, seenKeySql(field, context))
  }
}

function keyColumn(key: SortKey, sql: Sql): OrderColumn {
  return {
    key,
    sql,
    // An order by data of other objects has no index.
    ...(isLong(key.field) && isOfDocument(sql) ? { head: headSql(sql.text) } : {}),
    nullable: true,
    shown: shownKeySql,
    parameter: (value, parameters, id) =>
      carriedKeySql(value as string, { key: String(sql), id, add: (each, type) => parameters.add(each, type) }),
  }
}

/** Whether keys may be long: keys of texts are as long as the texts; keys of numbers, dates and truth values are short. */
export function isLong(field: SortField): boolean {
  if (field.by === 'standard' || field.by === 'parent') return true
  return field.by === 'field' && ['text', 'string', 'l10n', 'link'].includes(field.field.kind)
}

function timeSql(column: string, { fields, fieldVisibility }: PostgresPlan): { sql: Sql; nullable: boolean } {
  const types = [...fields.types.values()].map(({ table }) => ({
    id: table.id,
    visibility: fieldVisibility.any(table),
  }))
  const where = visibilityOfTypes(types)
  return where
    ? { sql: documentSql(`case when ${accessSql(where, 'd')} then ${column} end`), nullable: true }
    : { sql: documentSql(column), nullable: false }
}

type ByField = Extract<SortField, { by: 'field' }>

/** The sort key where the caller sees the column; for links, where the caller may also know the title of the linked object. */
function seenKeySql({ others = [], steps = [], ...by }: ByField, context: ConditionContext): Sql {
  const [step, ...further] = steps
  if (step) {
    const key = String(seenKeySql({ ...by, steps: further }, context))
    return reachedKeySql(step, { key, which: by.which ?? 'least' }, context.plan)
  }
  if (others.length > 0) {
    const keys = [by.field, ...others].map((field) => seenKeySql({ ...by, field }, context))
    return madeOf(keys, `coalesce(${keys.join(', ')})`)
  }
  const { plan, linked } = context
  const { field } = by
  const { target } = field.column
  const known = target === null || linked.knowsAll(target)
  const sql = by.path ? linkPathSql(by, plan) : known ? sortKeySql(by, plan) : titleKeySql(by, plan)
  return visibleSql(plan.fieldVisibility.column(field), sql, 'd')
}

/**
 * An order by the first linked object: its id and its type, its key (null: it depends on more than that object), and SQL of the key
 * with the id `x.id`, given the context of a statement; null: it is another order.
 */
export function targetOrder({ field: by }: SortKey, context: ConditionContext) {
  const { plan } = context
  if (by.by !== 'field') return null
  const [step, ...further] = by.steps ?? []
  const target = step && !step.reverse ? firstTargetSql(step.field, plan) : null
  if (!step || !target) return null
  const keyIn = (own: ConditionContext): Sql => seenKeySql({ ...by, steps: further }, own)
  const key = keyIn(context)
  return {
    target,
    type: step.target.id,
    key: isOfDocument(key) ? key : null,
    keySql: (own: ConditionContext): string => targetKeySql(String(keyIn(own)), plan),
  }
}

/** An order by objects whose column links to the sorted ones: the key of these; null: it is another order. */
export function backOrder({ field: by }: SortKey, context: ConditionContext) {
  if (by.by !== 'field' || by.steps?.length !== 1) return null
  const [step] = by.steps
  if (!step?.reverse) return null
  const key = seenKeySql({ ...by, steps: [] }, context)
  return isOfDocument(key) ? { link: step.field, key, which: by.which ?? 'least' } : null
}

/** The sort key of the first linked object itself, as far as the caller may read it. */
function titleKeySql({ field, languages }: ByField, plan: PostgresPlan): Sql {
  const { slots, scope } = plan
  const place = slots.linked(field)
  const keys = languages.map((language) => slots.standardKey(language)).filter((slot) => slot !== undefined)
  if (place === undefined || keys.length === 0) return documentSql('null::bytea')
  const key = keys.map((slot) => keySql(slot, 't')).join(', ')
  const type = field.column.table.root.id
  const first = firstLinkedSql(place)
  const sql = `(select coalesce(${key}) from search_document t where t.id = ${first} and ${readableSql(plan, 't')})`
  return scope.objecttypes?.length === 1 && scope.objecttypes[0] === type
    ? sql
    : `case when d.objecttype = ${type} then ${sql} end`
}

/** Sort keys in the first of the languages that has one; objects of other types have no value. */
export function sortKeySql(field: Extract<SortField, { by: 'standard' | 'field' }>, plan: PostgresPlan): DocumentSql {
  return documentSql(keyText(field, plan))
}

function keyText(field: Extract<SortField, { by: 'standard' | 'field' }>, plan: PostgresPlan): string {
  const slots =
    field.by === 'standard'
      ? field.languages.map((language) => plan.slots.standardKey(language))
      : isLocalized(field.field)
        ? field.languages.map((language) => plan.slots.sortKey(field.field, language))
        : [plan.slots.sortKey(field.field)]
  const keys = slots.filter((slot) => slot !== undefined).map((slot) => keySql(slot, 'd'))
  if (keys.length === 0) return 'null::bytea'
  let sql = keys.length === 1 ? (keys[0] as string) : `coalesce(${keys.join(', ')})`
  if (field.by === 'standard') return sql
  if (field.digits !== undefined) sql = digitsSql(field, plan)
  if (field.end) sql = `substring(${sql} from 9)`
  if (field.width) sql = periodKeySql(sql, field.width)
  const type = field.field.column.table.root.id
  const only = plan.scope.objecttypes?.length === 1 && plan.scope.objecttypes[0] === type
  return only ? sql : `case when d.objecttype = ${type} then ${sql} end`
}

/** The highest number of words that count for the score; a pattern may match a thousand words. */
const mostScored = 60
/** The score of a match, wherever the words are. Words in the title add up to one more, in the subtitle up to a half. */
const matchScore = 0.1

/**
 * The score of an object: the boost of each element, more where the words are in the title or subtitle, and more where these are
 * short. Only elements that could make a difference are evaluated for each match.
 */
export function scoreSql(context: ConditionContext): Sql {
  const asked: Sql[] = []
  const terms = context.plan.score.flatMap(({ clause, boost, certain }): string[] => {
    if (boost === 0) return []
    const weight = context.parameters.add(boost, 'float8')
    const names = clause.is === 'text' ? namesSql(clause, context) : null
    const score = names ? `${weight} * (${matchScore} + ${names})` : `${weight} * ${matchScore}`
    if (certain) return [score]
    const sql = clauseSql(clause, 'd', context)
    if (sql === null) return []
    asked.push(sql)
    return [`case when ${sql} then ${score} else 0 end`]
  })
  return madeOf(asked, terms.length === 0 ? '0::float8' : `(${terms.join(' + ')})::float8`)
}

/** Rank of the words among those of title and subtitle; null when the clause does not cover these. */
function namesSql(clause: TextClause, context: ConditionContext): string | null {
  const named = clause.targets.some(({ field }) => field === null || field.weight === 'A' || field.weight === 'B')
  const node = named ? scoreNode(clause, context) : null
  const words = node ? namesOf(node).slice(0, mostScored) : []
  if (words.length === 0) return null
  const query = context.parameters.add(tsquery(anyOf(words)), 'tsquery')
  return `ts_rank('{0, 0, 0.5, 1}', ${seenNamesSql(context.plan)}, ${query}, 1)`
}

/** Title and subtitle, as far as the caller sees all columns in them. */
function seenNamesSql({ fields, fieldVisibility }: PostgresPlan): string {
  if (fieldVisibility.whole) return 'd.names'
  const where = (weight: Weight): Node | null =>
    allSeen(
      namesIn(fields).flatMap(({ id, field }) =>
        field.weight === weight ? { id, visibility: fieldVisibility.column(field) } : [],
      ),
    )
  const [title, subtitle] = [where('A'), where('B')]
  if (!title && !subtitle) return 'd.names'
  const weight = (letter: string, node: Node | null): string =>
    node ? `case when ${accessSql(node, 'd')} then '${letter}'::"char" end` : `'${letter}'::"char"`
  return `ts_filter(d.names, array_remove(array[${weight('a', title)}, ${weight('b', subtitle)}], null))`
}

const names = new WeakMap<FieldCatalogue, readonly { readonly id: number; readonly field: SearchField }[]>()

/** The columns that make up titles and subtitles, with their object types: the same for all searches. */
function namesIn(fields: FieldCatalogue): readonly { readonly id: number; readonly field: SearchField }[] {
  const known = names.get(fields)
  if (known) return known
  const found = [...fields.types.values()].flatMap(({ table, all }) =>
    all.filter((field) => field.fulltext && 'AB'.includes(field.weight)).map((field) => ({ id: table.id, field })),
  )
  names.set(fields, found)
  return found
}

/** Objects for which all visibilities of their type hold; null: all objects. */
function allSeen(visibilities: readonly { readonly id: number; readonly visibility: Visibility }[]): Node | null {
  const hidden = visibilities.flatMap(({ id, visibility }): Node[] => {
    const where = visibilityNode(visibility)
    return where ? [allOf([lexeme(ofObjecttype(id)), { op: 'not', of: where }])] : []
  })
  return hidden.length === 0 ? null : { op: 'not', of: anyOf(hidden) }
}

/** The words of a condition, without their fields. */
function namesOf(node: Node): Node[] {
  const found = new Map<string, Node>()
  const walk = (each: Node): void => {
    if ('op' in each) {
      if (each.op === 'linked') walk(each.candidates)
      else if (each.op === 'seen') walk(each.of)
      else if (each.op === 'shared' || each.op === 'member') return
      else if (each.op !== 'not') each.of.forEach(walk)
      return
    }
    const word = /^[~@]/.test(each.lexeme)
      ? each.lexeme.slice(each.lexeme.indexOf(':') + 1 || 1)
      : /^[\da-z]+(?:\.[^:]+)?:(.+)$/.exec(each.lexeme)?.[1]
    if (word !== undefined) found.set(`${word}${each.prefix}`, each.prefix ? prefix(word) : lexeme(word))
  }
  walk(node)
  return [...found.values()]
}

function objecttypeSql({ plan, parameters }: ConditionContext): DocumentSql {
  const sorted = [...plan.model.objecttypes.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((table) => table.id)
  return documentSql(`coalesce(array_position(${parameters.add(sorted, 'int[]')}, d.objecttype), 0)`)
}

/** `order by` over the given names of the columns. */
export function orderBy(columns: readonly OrderColumn[], names: readonly string[]): string {
  return columns.map((column, index) => directed(column, names[index] as string)).join(', ')
}

/** The same over the columns themselves, along their indexes: the beginnings of keys first, then the whole keys. */
export function orderByIndex(columns: readonly OrderColumn[]): string {
  return indexColumns(columns)
    .map(({ column, sql }) => directed(column, sql))
    .join(', ')
}

function indexColumns(columns: readonly OrderColumn[]) {
  return columns.flatMap((column) =>
    [...(column.head ? [column.head] : []), String(column.sql)].map((sql) => ({ column, sql })),
  )
}

function directed({ key, nullable }: OrderColumn, sql: string): string {
  const direction = key.descending ? ' desc' : ''
  // Ascending order has nulls last by default; written explicitly it would not match an index.
  return `${sql}${direction}${nullable && key.descending ? ' nulls last' : ''}`
}

/** Condition for the rows after the given hit. */
export function afterSql(
  columns: readonly OrderColumn[],
  names: readonly string[],
  after: readonly unknown[],
  parameters: Parameters,
): string {
  const placeholders = columns.map((column, index) =>
    after[index] === null ? 'null' : column.parameter(after[index], parameters, after.at(-1)),
  )
  const alternatives: string[] = []
  for (let i = 0; i < columns.length; i++) {
    const behind = behindSql(columns[i] as OrderColumn, names[i] as string, after[i], placeholders[i] as string)
    if (behind === null) continue
    const equal = columns
      .slice(0, i)
      .map((_, j) => (after[j] === null ? `${names[j]} is null` : `${names[j]} = ${placeholders[j]}`))
    alternatives.push([...equal, behind].join(' and '))
  }
  return alternatives.length === 0 ? 'false' : `(${alternatives.map((each) => `(${each})`).join(' or ')})`
}

/** null: no rows come after a missing value. */
function behindSql({ key, nullable }: OrderColumn, name: string, value: unknown, placeholder: string): string | null {
  if (value === null) return null
  const comparison = `${name} ${key.descending ? '<' : '>'} ${placeholder}`
  return nullable ? `(${comparison} or ${name} is null)` : comparison
}

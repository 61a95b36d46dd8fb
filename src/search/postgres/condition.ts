/**
 * Clauses of a plan as conditions on search_document. What lexemes can say goes into one `tsquery`, which the index
 * answers; what they cannot is checked on what the index finds.
 */
import type { SearchField } from '../fields.ts'
import { labelOf } from '../indexing/facets.ts'
import { exactByLexeme } from '../indexing/field-lexemes.ts'
import {
  belowPool,
  dateEnd,
  dateStart,
  exactValue,
  hasValue,
  inPool,
  linkAncestor,
  numberValue,
  ofObjecttype,
  ownedBy,
  rowOf,
  withoutPool,
  withTag,
} from '../lexemes.ts'
import { openEnd, openStart, orderedMoment, orderedNumber, rangePieces } from '../ordered.ts'
import type { ChangeClause, Clause, MomentRange, SearchPlan, SearchScope } from '../plan.ts'
import { keySql, type Slots } from '../slots.ts'
import { always, anyLexeme, type Condition, conjunction, never, ofNode, ofSql } from './conditions.ts'
import { rightsCondition } from './rights.ts'
import type { Parameters } from './sql.ts'
import { storedValueSql } from './stored-values.ts'
import { datesNode, piecesNode, textNode } from './text.ts'
import { allOf, anyOf, isPositive, lexeme, type Node, tsquery } from './tsquery.ts'
import type { Expansions } from './wildcards.ts'

export interface ConditionContext {
  readonly plan: SearchPlan
  readonly expansions: Expansions
  readonly parameters: Parameters
}

interface Place {
  /** Alias of the table whose `lexemes` are asked. */
  readonly alias: string
  /** The rows of a nested table, or the documents themselves. */
  readonly rows: boolean
}

/** The `where` of a scope for search_document under the alias; null: nothing matches. */
export function scopeSql(scope: SearchScope, alias: string, context: ConditionContext): string | null {
  const condition = conjunction([compile(scope.where, { alias, rows: false }, context), rightsCondition(scope.rights)])
  if (condition.never) return null
  const parts: string[] = []
  const { types } = context.plan.fields
  const searched = scope.objecttypes ?? [...types.keys()]
  const ofTypes = anyOf(searched.map((id) => lexeme(ofObjecttype(id))))
  let { node } = condition
  // The index finds nothing by what is absent, so the object types go first.
  if (node && (scope.objecttypes || !isPositive(node))) node = allOf([ofTypes, node])
  if (node) parts.push(matches(alias, node, context))
  // Written out: indexes for sorting are made for one object type.
  if (scope.objecttypes?.length === 1) parts.push(`${alias}.objecttype = ${Number(scope.objecttypes[0])}`)
  else if (scope.objecttypes && !node)
    parts.push(`${alias}.objecttype = any(${context.parameters.add(scope.objecttypes, 'int[]')})`)
  if (condition.sql) parts.push(condition.sql)
  if (scope.deleted === false) parts.push(`not ${alias}.deleted`)
  else if (scope.deleted !== true) {
    parts.push(`(not ${alias}.deleted or ${alias}.id = any(${context.parameters.add(scope.deleted, 'bigint[]')}))`)
  }
  return parts.length === 0 ? 'true' : parts.join(' and ')
}

/** A clause by itself, as a boolean expression; null: it cannot match. */
export function clauseSql(clause: Clause, alias: string, context: ConditionContext): string | null {
  return expression(compile(clause, { alias, rows: false }, context), alias, context)
}

/** The lexemes by which a text clause finds objects: what the score is made of. */
export function scoreNode(clause: Clause, context: ConditionContext): Node | null {
  return clause.is === 'text' ? textNode(clause, textContext(context)) : null
}

/**
 * Long alternatives become several conditions: to begin with, a GIN index evaluates a query once for each of its
 * lexemes, so 5,000 in one take thirteen times as long as the same in pieces of 250
 * (2.6 s and 0.2 s on two busy cores).
 */
const longestQuery = 250

function matches(alias: string, node: Node, { parameters }: ConditionContext): string {
  const one = (each: Node): string => `${alias}.lexemes @@ ${parameters.add(tsquery(each), 'tsquery')}`
  const isLong = (each: Node): each is Extract<Node, { op: 'or' }> =>
    'op' in each && each.op === 'or' && each.of.length > longestQuery
  const parts = conjuncts(node)
  const long = parts.filter(isLong)
  if (long.length === 0) return one(node)
  const short = parts.filter((each) => !isLong(each))
  const pieces = (of: readonly Node[]): string[] =>
    Array.from({ length: Math.ceil(of.length / longestQuery) }, (_, index) =>
      one(anyOf(of.slice(index * longestQuery, (index + 1) * longestQuery))),
    )
  const conditions = long.map(({ of }) => `(${pieces(of).join(' or ')})`)
  return [...(short.length > 0 ? [one(allOf(short))] : []), ...conditions].join(' and ')
}

function conjuncts(node: Node): readonly Node[] {
  return 'op' in node && node.op === 'and' ? node.of.flatMap(conjuncts) : [node]
}

function expression(condition: Condition, alias: string, context: ConditionContext): string | null {
  if (condition.never) return null
  const parts = [
    ...(condition.node ? [matches(alias, condition.node, context)] : []),
    ...(condition.sql ? [condition.sql] : []),
  ]
  return parts.length === 0 ? 'true' : `(${parts.join(' and ')})`
}

function disjunction(conditions: readonly Condition[], alias: string, context: ConditionContext): Condition {
  const possible = conditions.filter((condition) => !condition.never)
  if (possible.length === 0) return never
  const nodes = possible.map((condition) => condition.node)
  const known = nodes.filter((node) => node !== null)
  const node = known.length === nodes.length ? anyOf(known) : null
  if (possible.every((condition) => condition.sql === null)) return node ? ofNode(node) : always
  const sql = possible.map((condition) => expression(condition, alias, context)).join(' or ')
  return { never: false, node, sql: `(${sql})` }
}

function negation(condition: Condition, alias: string, context: ConditionContext): Condition {
  if (condition.never) return always
  if (condition.sql === null) return condition.node ? ofNode({ op: 'not', of: condition.node }) : never
  return ofSql(`not coalesce(${expression(condition, alias, context)}, false)`)
}

function compile(clause: Clause, place: Place, context: ConditionContext): Condition {
  const { parameters } = context
  const { alias } = place
  switch (clause.is) {
    case 'all':
      return always
    case 'none':
      return never
    case 'and':
      return conjunction(clause.of.map((each) => compile(each, place, context)))
    case 'or':
      return disjunction(
        clause.of.map((each) => compile(each, place, context)),
        alias,
        context,
      )
    case 'not':
      if (clause.of.is === 'empty') return present(clause.of.field, place, context.plan.slots)
      return negation(compile(clause.of, place, context), alias, context)
    case 'text': {
      const node = textNode(clause, textContext(context))
      return node ? ofNode(node) : never
    }
    case 'value':
      return valueCondition(clause, place, context)
    case 'empty':
      return absent(clause.field, place, context.plan.slots)
    case 'numbers': {
      const bound = (each: typeof clause.from) => each && { text: orderedNumber(each.value), inclusive: each.inclusive }
      const pieces = rangePieces('number', bound(clause.from), bound(clause.to))
      if (pieces.exact.length + pieces.prefixes.length === 0) return never
      return ofNode(piecesNode(pieces, (text) => numberValue(clause.field.code, text)))
    }
    case 'dates':
      return ofNode(datesNode(clause.field.code, clause.range.from, clause.range.to))
    case 'sameDate':
      return ofNode(sameDate(clause.field.code, clause.range))
    case 'created':
      return ofSql(momentSql(`${alias}.created_at`, clause.range, parameters))
    case 'modified':
      return ofSql(momentSql(`${alias}.modified_at`, clause.range, parameters))
    case 'objecttype':
      return anyLexeme(clause.ids.map(ofObjecttype))
    case 'id':
      return clause.ids.length === 0 ? never : ofSql(`${alias}.id = any(${parameters.add(clause.ids, 'bigint[]')})`)
    case 'pool': {
      const pools = clause.ids.map(clause.below ? belowPool : inPool)
      return anyLexeme(clause.none ? [...pools, withoutPool] : pools)
    }
    case 'tag':
      return anyLexeme(clause.ids.map(withTag))
    case 'owner':
      return anyLexeme(clause.principals.map(ownedBy))
    case 'uuid':
      return ofSql(
        `${alias}.id in (select system_object_id from object where uuid = any(${parameters.add(clause.values, 'text[]')}))`,
      )
    case 'ownId':
      return ofSql(
        `${alias}.id in (select system_object_id from object where objecttype = ${parameters.add(clause.objecttype, 'int')}
           and id = any(${parameters.add(clause.ids, 'bigint[]')}))`,
      )
    case 'childOf':
      return ofSql(childOfSql(clause, alias, parameters))
    case 'row':
      return rowCondition(clause, place, context)
    case 'linked':
      return linkedCondition(clause, place, context)
    case 'changed':
      return ofSql(changedSql(clause, alias, parameters))
  }
}

function textContext({ plan, expansions }: ConditionContext) {
  const searched = plan.scope.objecttypes ?? [...plan.fields.types.keys()]
  const types = searched.flatMap((id) => plan.fields.types.get(id) ?? [])
  return { types, languages: plan.languages, expansions }
}

function valueCondition(
  { field, values, below, languages }: Extract<Clause, { is: 'value' }>,
  place: Place,
  context: ConditionContext,
): Condition {
  if (values.length === 0) return never
  if (field.kind === 'boolean') {
    const isTrue = lexeme(exactValue(field.code, 'true'))
    if (values.includes(true) && values.includes(false)) return ofNode(ofType(field, place))
    return ofNode(values.includes(true) ? isTrue : allOf([ofType(field, place), { op: 'not', of: isTrue }]))
  }
  if (field.kind === 'link' || field.kind === 'files') {
    const ids = values as readonly number[]
    return anyLexeme(
      ids.flatMap((id) => [exactValue(field.code, id), ...(below ? [linkAncestor(field.code, id)] : [])]),
    )
  }
  if (exactByLexeme(field)) {
    // A label may be cut; then the stored value decides.
    const labels = (values as readonly string[]).map((value) =>
      labelOf(field, field.kind === 'custom' ? { conceptName: value } : value, []),
    )
    const exact = anyLexeme(labels.filter((label) => label !== null).map((label) => exactValue(field.code, label)))
    if (place.rows || labels.every((label, index) => label === values[index])) return exact
  }
  return storedValueCondition(field, values as readonly string[], languages, place, context)
}

/** The words find candidates, the stored value decides. */
function storedValueCondition(
  field: SearchField,
  values: readonly string[],
  languages: readonly string[] | null,
  place: Place,
  context: ConditionContext,
): Condition {
  const nodes = values.map((text) =>
    textNode(
      { is: 'text', targets: [{ field, languages }], text, mode: 'fulltext', phrase: false },
      textContext(context),
    ),
  )
  const known = nodes.filter((node) => node !== null)
  const candidates = known.length === nodes.length ? anyOf(known) : ofType(field, place)
  return {
    never: false,
    node: candidates,
    sql: storedValueSql(field, values, languages, place.alias, context.parameters),
  }
}

/** Whatever could have the field: objects of its type, or rows of its table. */
function ofType(field: SearchField, { rows }: Place): Node {
  return lexeme(rows ? rowOf(field.column.table.id) : ofObjecttype(field.column.table.root.id))
}

/** Whether a lexeme says that there is a value; otherwise the sort key does. */
function saysSo(field: SearchField): boolean {
  return field.path.length > 0 || ['link', 'l10n', 'custom', 'files', 'geo'].includes(field.kind)
}

function absent(field: SearchField, place: Place, slots: Slots): Condition {
  // A boolean without value is false.
  if (field.kind === 'boolean') return never
  const type = ofType(field, place)
  if (saysSo(field)) return ofNode(allOf([type, { op: 'not', of: lexeme(hasValue(field.code)) }]))
  return { never: false, node: type, sql: `${keySql(slots.sortKey(field) ?? 0, place.alias)} is null` }
}

function present(field: SearchField, place: Place, slots: Slots): Condition {
  if (field.kind === 'boolean') return ofNode(ofType(field, place))
  if (saysSo(field)) return ofNode(lexeme(hasValue(field.code)))
  const key = `${keySql(slots.sortKey(field) ?? 0, place.alias)} is not null`
  return { never: false, node: ofType(field, place), sql: key }
}

function sameDate(code: string, { from, to }: MomentRange): Node {
  return allOf([
    lexeme(dateStart(code, from === null ? openStart : orderedMoment(from))),
    lexeme(dateEnd(code, to === null ? openEnd : orderedMoment(to))),
  ])
}

/** What timestamps of PostgreSQL can hold, in seconds. */
const earliest = -200_000_000_000n
const latest = 9_000_000_000_000n

function momentSql(column: string, { from, to }: MomentRange, parameters: Parameters): string {
  const clamp = (value: bigint): string => String(value < earliest ? earliest : value > latest ? latest : value)
  const parts: string[] = []
  if (from !== null) parts.push(`${column} >= to_timestamp(${parameters.add(clamp(from), 'float8')})`)
  if (to !== null) parts.push(`${column} < to_timestamp(${parameters.add(clamp(to + 1n), 'float8')})`)
  return parts.length === 0 ? 'true' : parts.join(' and ')
}

function rowCondition(
  { nested, of }: Extract<Clause, { is: 'row' }>,
  place: Place,
  context: ConditionContext,
): Condition {
  const alias = `${place.alias}n`
  const inner = conjunction([ofNode(lexeme(rowOf(nested.table.id))), compile(of, { alias, rows: true }, context)])
  const sql = expression(inner, alias, context)
  if (sql === null) return never
  const within = place.rows ? ` and ${alias}.parent = ${place.alias}.row` : ''
  return ofSql(`exists (select from search_nested ${alias} where ${alias}.id = ${place.alias}.id${within} and ${sql})`)
}

function linkedCondition(
  { field, of }: Extract<Clause, { is: 'linked' }>,
  { alias }: Place,
  context: ConditionContext,
): Condition {
  const target = `${alias}l`
  const inner = scopeSql(of, target, context)
  if (inner === null) return never
  const column = context.parameters.add(field.column.id, 'int')
  return {
    never: false,
    node: lexeme(hasValue(field.code)),
    sql: `${alias}.id in (select link.from_id from search_document ${target}
      join object_link link on link.to_id = ${target}.id and link.column_id = ${column} where ${inner})`,
  }
}

function changedSql(
  { range, operations, comment, userId }: ChangeClause,
  alias: string,
  parameters: Parameters,
): string {
  const parts = [`v.system_object_id = ${alias}.id`, momentSql('v.at', range, parameters)]
  if (operations) parts.push(`v.operation = any(${parameters.add(operations, '"char"[]')})`)
  if (userId !== null) parts.push(`v.by_user = ${parameters.add(userId, 'bigint')}`)
  if (comment !== null) {
    parts.push(`v.comment ilike ${parameters.add(`%${comment.replace(/[\\%_]/g, '\\$&')}%`, 'text')}`)
  }
  return `exists (select from object_version v where ${parts.join(' and ')})`
}

function childOfSql(
  { objecttype, ids, none }: Extract<Clause, { is: 'childOf' }>,
  alias: string,
  parameters: Parameters,
): string {
  const type = parameters.add(objecttype, 'int')
  const parents = `array(select p.system_object_id from object p where p.objecttype = ${type}
    and p.id = any(${parameters.add(ids, 'bigint[]')}))`
  // The first part of each branch is what the index on parents knows.
  const children = `select c.system_object_id from object c
    where c.parents && ${parents} and c.parents <> '{}' and c.objecttype = ${type}`
  const tops = `select c.system_object_id from object c where c.objecttype = ${type} and c.parents = '{}'`
  return `${alias}.id in (${none ? `${children} union all ${tops}` : children})`
}

/**
 * Clauses of a plan as conditions on search_document. What lexemes can say goes into one `tsquery`, which the index
 * answers; what they cannot is checked on what the index finds.
 */
import type { SystemFieldName } from '../../../../datamodel/model.ts'
import { type Expression, isEverything } from '../../../../rights/service.ts'
import { openEnd, openStart, orderedMoment, orderedNumber, rangePieces } from '../../../document/ordered.ts'
import type { Rectangle } from '../../../geo/rectangles.ts'
import type { Visibility } from '../../../plan/field-visibility.ts'
import type { SearchField, TypeFields } from '../../../plan/fields.ts'
import type { ChangeClause, Clause, MomentRange, SearchScope } from '../../../plan/plan.ts'
import { labelOf } from '../../document/facets.ts'
import { exactByLexeme } from '../../document/field-lexemes.ts'
import {
  belowObject,
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
  standsBelow,
  withoutPool,
  withTag,
} from '../../document/lexemes.ts'
import { keySql } from '../../slots.ts'
import { rightsCondition } from '../access/access.ts'
import { knownSetsSql } from '../access/access-sets.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { ofDocuments, predicateSql, type RowScope } from '../access/predicate.ts'
import { isTimely, trashSql } from '../access/trash.ts'
import { accessSql, readableSql, visibilityNode, visibilityOfTypes, whereSeen } from '../access/visibility.ts'
import type { LinkedObjects } from '../linked/linked.ts'
import { always, anyLexeme, type Condition, conjunction, never, ofNode, ofSql } from '../sql/conditions.ts'
import { type DocumentSql, documentSql, joined, madeOf, type Sql } from '../sql/of-document.ts'
import type { Parameters } from '../sql/sql.ts'
import { allOf, anyOf, isPositive, lexeme, type Node } from '../sql/tsquery.ts'
import { linkNode } from '../words/sources.ts'
import { datesNode, type Expansions, piecesNode, textNode } from '../words/text.ts'
import { boxSql, cellsNode, shapeSql } from './geo.ts'
import { isRange, keyRange, keyRangeSql } from './key-ranges.ts'
import { storedPatternSql, storedValueSql } from './stored-values.ts'

export interface ConditionContext {
  readonly plan: PostgresPlan
  readonly expansions: Expansions
  readonly linked: LinkedObjects
  readonly parameters: Parameters
  /** Ids of the object types of the search, or of the search in it, that is compiled; absent: those of the plan. */
  readonly searched?: readonly number[]
  /** Ranges by the sort keys, where these say it. */
  readonly byKeys?: boolean
}

/** The `where` of a scope for search_document under the alias; null: nothing matches. */
export function scopeSql(scope: SearchScope, alias: string, context: ConditionContext): Sql | null {
  const place = ofDocuments(alias)
  const { types } = context.plan.fields
  const searched = scope.objecttypes ?? [...types.keys()]
  const condition = conjunction([
    compile(scope.where, place, { ...context, searched }),
    readable(scope.rights, alias, context),
  ])
  if (condition.never) return null
  const parts: Sql[] = []
  const add = (text: string): number => parts.push(documentSql(text))
  const ofTypes = anyOf(searched.map((id) => lexeme(ofObjecttype(id))))
  let { node } = condition
  // The index finds nothing by what is absent, so the object types go first.
  if (node && (scope.objecttypes || !isPositive(node))) node = allOf([ofTypes, node])
  if (node) parts.push(predicateSql(node, place, context.parameters, context.plan.accessSets))
  // Written out: indexes for sorting are made for one object type.
  if (scope.objecttypes?.length === 1) add(`${alias}.objecttype = ${Number(scope.objecttypes[0])}`)
  else if (scope.objecttypes && !node)
    add(`${alias}.objecttype = any(${context.parameters.add(scope.objecttypes, 'int[]')})`)
  if (condition.sql) parts.push(condition.sql)
  const present = trashSql(scope, alias, context.plan, (value, type) => context.parameters.add(value, type))
  if (present) parts.push(isTimely({ scope }) ? present : documentSql(present))
  const { without } = context.plan.fieldVisibility
  if (without.length > 0) add(`${alias}.id <> all(${context.parameters.add(without, 'bigint[]')})`)
  return parts.length === 0 ? documentSql('true') : joined(parts, ' and ')
}

/** What the caller may read, by the numbers of the sets where these are known, else as lexemes for the index. */
function readable(rights: Expression, alias: string, { plan, parameters }: ConditionContext): Condition {
  const condition = rightsCondition(rights)
  if (condition.never || !condition.node) return condition
  const known = plan.accessSets.known(rights)
  return known
    ? ofSql(documentSql(knownSetsSql(known, alias, (value, type) => parameters.add(value, type))))
    : condition
}

/** A clause by itself, as a boolean expression; null: it cannot match. */
export function clauseSql(clause: Clause, alias: string, context: ConditionContext): Sql | null {
  const place = ofDocuments(alias)
  return expression(compile(clause, place, context), place, context)
}

/** The lexemes by which a text clause finds objects: what the score is made of. */
export function scoreNode(clause: Clause, context: ConditionContext): Node | null {
  return clause.is === 'text' ? textNode(clause, textContext(context)) : null
}

function expression(condition: Condition, place: RowScope, { parameters }: ConditionContext): Sql | null {
  if (condition.never) return null
  const parts = [
    ...(condition.node ? [predicateSql(condition.node, place, parameters)] : []),
    ...(condition.sql ? [condition.sql] : []),
  ]
  return parts.length === 0 ? documentSql('true') : madeOf(parts, `(${parts.join(' and ')})`)
}

function disjunction(conditions: readonly Condition[], place: RowScope, context: ConditionContext): Condition {
  const possible = conditions.filter((condition) => !condition.never)
  if (possible.length === 0) return never
  const nodes = possible.map((condition) => condition.node)
  const known = nodes.filter((node) => node !== null)
  const node = known.length === nodes.length ? anyOf(known) : null
  if (possible.every((condition) => condition.sql === null)) return node ? ofNode(node) : always
  const parts = possible.flatMap((condition) => expression(condition, place, context) ?? [])
  return { never: false, node, sql: madeOf(parts, `(${parts.join(' or ')})`) }
}

function negation(condition: Condition, place: RowScope, context: ConditionContext): Condition {
  if (condition.never) return always
  if (condition.sql === null) return condition.node ? ofNode({ op: 'not', of: condition.node }) : never
  const of = expression(condition, place, context)
  return of === null ? always : ofSql(madeOf([of], `not coalesce(${of}, false)`))
}

function compile(clause: Clause, place: RowScope, context: ConditionContext): Condition {
  const { parameters } = context
  const { alias } = place
  const byKey =
    context.byKeys && !place.rows && isRange(clause)
      ? keyRange(clause, context.plan.slots, context.searched ?? context.plan.scope.objecttypes)
      : null
  if (byKey) return seenBySql(byKey.field, keyRangeSql(byKey, alias, parameters), place, context)
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
        place,
        context,
      )
    case 'not':
      if (clause.of.is === 'empty') return present(clause.of.field, place, context)
      return negation(compile(clause.of, place, context), place, context)
    case 'text': {
      const node = textNode(clause, textContext(context))
      return node ? ofNode(node) : never
    }
    case 'value':
      return valueCondition(clause, place, context)
    case 'empty':
      return absent(clause.field, place, context)
    case 'pattern':
      return patternCondition(clause, place, context)
    case 'numbers': {
      const bound = (each: typeof clause.from) => each && { text: orderedNumber(each.value), inclusive: each.inclusive }
      const pieces = rangePieces('number', bound(clause.from), bound(clause.to), {
        single: isSingle(clause.field, place),
      })
      if (pieces.length === 0) return never
      return seen(
        clause.field,
        piecesNode(pieces, (text) => numberValue(clause.field.code, text)),
        context,
      )
    }
    case 'dates':
      return seen(
        clause.field,
        datesNode(clause.field, clause.range, { single: isSingle(clause.field, place) }),
        context,
      )
    case 'sameDate':
      return seen(clause.field, sameDate(clause.field.code, clause.range), context)
    case 'geoBox': {
      const sql = boxSql(clause.field, clause.boxes, place.root, context.plan, parameters)
      return geoCondition(clause.field, clause.boxes, sql, context)
    }
    case 'geoShape': {
      const sql = shapeSql(clause.field, clause.ring, place.root, context.plan, parameters)
      return geoCondition(clause.field, clause.ring.around, sql, context)
    }
    case 'created':
      return conjunction([ofSql(momentSql(`${alias}.created_at`, clause.range, parameters)), anyMask(context)])
    case 'modified':
      return conjunction([ofSql(momentSql(`${alias}.modified_at`, clause.range, parameters)), anyMask(context)])
    case 'objecttype':
      return anyLexeme(clause.ids.map(ofObjecttype))
    case 'id':
      return clause.ids.length === 0
        ? never
        : ofSql(documentSql(`${alias}.id = any(${parameters.add(clause.ids, 'bigint[]')})`))
    case 'pool': {
      const pools = clause.ids.flatMap((id) => (clause.below ? withinPool(id, context) : inPool(id)))
      return conjunction([anyLexeme(clause.none ? [...pools, withoutPool] : pools), systemField('pool', context)])
    }
    case 'tag':
      return conjunction([anyLexeme(clause.ids.map(withTag)), systemField('tags', context)])
    case 'owner':
      return conjunction([anyLexeme(clause.principals.map(ownedBy)), systemField('owner', context)])
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
      return childOfCondition(clause, alias, context)
    case 'below':
      return belowCondition(clause, place, context)
    case 'row':
      return rowCondition(clause, place, context)
    case 'linked':
      return linkedCondition(clause, place, context)
    case 'joined':
      return joinedCondition(clause, place, context)
    case 'changed':
      return conjunction([ofSql(changedSql(clause, alias, parameters)), anyMask(context)])
  }
}

/** Whether a document, or a row, has one value of it at most. */
function isSingle({ path, file }: SearchField, { rows }: RowScope): boolean {
  return file === null && (rows || path.length === 0)
}

/** A condition on a column, where the caller sees the column. */
function seen(field: SearchField, of: Node, { plan }: ConditionContext): Condition {
  const node = whereSeen(plan.fieldVisibility.column(field), of)
  return node ? ofNode(node) : never
}

/** The same of a condition in SQL. */
function seenBySql(field: SearchField, sql: Sql, { root }: RowScope, { plan }: ConditionContext): Condition {
  const visibility = plan.fieldVisibility.column(field)
  if (visibility === 'never') return never
  const where = visibilityNode(visibility)
  return ofSql(where ? madeOf([sql], `(${accessSql(where, root)} and ${sql})`) : sql)
}

function withinPool(id: number, { plan }: ConditionContext): string | string[] {
  const pools = plan.fieldVisibility.poolsWithin(id)
  return pools === 'all' ? belowPool(id) : pools.map(inPool)
}

function systemField(name: SystemFieldName, context: ConditionContext): Condition {
  return ofTypes(context, (type) => context.plan.fieldVisibility.system(type.table, name))
}

/** Where any mask at all may be used: the others are known by their ids and titles only. */
function anyMask(context: ConditionContext): Condition {
  return ofTypes(context, (type) => context.plan.fieldVisibility.any(type.table))
}

function ofTypes({ plan }: ConditionContext, visibilityOf: (type: TypeFields) => Visibility): Condition {
  if (plan.fieldVisibility.whole) return always
  const node = visibilityOfTypes(
    [...plan.fields.types.values()].map((type) => ({ id: type.table.id, visibility: visibilityOf(type) })),
  )
  return node ? ofNode(node) : always
}

function textContext({
  plan,
  expansions,
  linked,
  searched = plan.scope.objecttypes ?? [...plan.fields.types.keys()],
}: ConditionContext) {
  const types = searched.flatMap((id) => plan.fields.types.get(id) ?? [])
  return { types, languages: plan.languages, expansions, fieldVisibility: plan.fieldVisibility, linked }
}

function valueCondition(
  { field, values, below, languages }: Extract<Clause, { is: 'value' }>,
  place: RowScope,
  context: ConditionContext,
): Condition {
  if (values.length === 0) return never
  if (field.kind === 'boolean') {
    const isTrue = lexeme(exactValue(field.code, 'true'))
    if (values.includes(true) && values.includes(false)) return seen(field, ofType(field, place), context)
    return seen(
      field,
      values.includes(true) ? isTrue : allOf([ofType(field, place), { op: 'not', of: isTrue }]),
      context,
    )
  }
  if (field.kind === 'link' || field.kind === 'files') {
    const ids = values as readonly number[]
    const under = below ? belowNode(field, ids, context) : null
    const nodes = ids.map((id) => lexeme(exactValue(field.code, id)))
    return seen(field, anyOf(under ? [...nodes, under] : nodes), context)
  }
  if (exactByLexeme(field)) {
    // A label may be cut; then the stored value decides.
    const labels = (values as readonly string[]).map((value) =>
      labelOf(field, field.kind === 'custom' ? { conceptName: value } : value, []),
    )
    const known = labels.filter((label) => label !== null)
    const exact =
      known.length === 0
        ? never
        : seen(field, anyOf(known.map((label) => lexeme(exactValue(field.code, label)))), context)
    if (place.rows || field.file || labels.every((label, index) => label === values[index])) return exact
  }
  return storedValueCondition(field, values as readonly string[], languages, place, context)
}

/** Links to objects below these; where an object stands is known to those who may read it. */
function belowNode(field: SearchField, ids: readonly number[], { linked }: ConditionContext): Node | null {
  const table = field.column.target
  const own = anyOf(ids.map((id) => lexeme(linkAncestor(field.code, id))))
  if (!table || linked.knowsAll(table)) return own
  return linkNode(field, table, anyOf(ids.map((id) => lexeme(standsBelow(id)))), own, linked)
}

/** The words find candidates, the stored value decides. */
function storedValueCondition(
  field: SearchField,
  values: readonly string[],
  languages: readonly string[] | null,
  place: RowScope,
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
  const node = whereSeen(context.plan.fieldVisibility.column(field), candidates)
  if (!node) return never
  return {
    never: false,
    node,
    sql: storedValueSql(field, values, languages, place.alias, context.parameters),
  }
}

/** The cells find candidates, the rectangles decide. */
function geoCondition(
  field: SearchField,
  areas: readonly Rectangle[],
  sql: Sql | null,
  { plan }: ConditionContext,
): Condition {
  const node = whereSeen(plan.fieldVisibility.column(field), cellsNode(field, areas))
  return node && sql ? { never: false, node, sql } : never
}

/** Texts as they are stored, where the caller sees them. What is not well-formed cannot be stored. */
function patternCondition(
  { of, pattern }: Extract<Clause, { is: 'pattern' }>,
  { alias, root }: RowScope,
  { plan, parameters }: ConditionContext,
): Condition {
  const columns = of.flatMap(({ field, languages }) => {
    const visibility = plan.fieldVisibility.column(field)
    if (visibility === 'never') return []
    const where = visibilityNode(visibility)
    return [{ field, languages, where: where ? String(accessSql(where, root)) : null }]
  })
  if (columns.length === 0 || pattern.includes('\0') || !pattern.isWellFormed()) return never
  return ofSql(storedPatternSql(columns, likeOf(pattern), alias, parameters))
}

/** The pattern as `like` has it. */
function likeOf(pattern: string): string {
  return pattern.replace(/\\[\s\S]|[\s\S]/g, (piece) => {
    if (piece === '*') return '%'
    if (piece === '?') return '_'
    const char = piece.length > 1 ? piece.slice(1) : piece
    return /[\\%_]/.test(char) ? `\\${char}` : char
  })
}

/** Whatever could have the field: objects of its type, or rows of its table. */
function ofType(field: SearchField, { rows }: RowScope): Node {
  return lexeme(rows ? rowOf(field.column.table.id) : ofObjecttype(field.column.table.root.id))
}

/** Whether a lexeme says that there is a value; otherwise the sort key does. */
function saysSo(field: SearchField): boolean {
  return field.file !== null || field.path.length > 0 || ['link', 'l10n', 'custom', 'files', 'geo'].includes(field.kind)
}

function absent(field: SearchField, place: RowScope, context: ConditionContext): Condition {
  // A boolean without value is false.
  if (field.kind === 'boolean') return never
  const type = ofType(field, place)
  const visibility = context.plan.fieldVisibility.column(field)
  if (saysSo(field)) {
    const value = whereSeen(visibility, lexeme(hasValue(field.code)))
    return ofNode(value ? allOf([type, { op: 'not', of: value }]) : type)
  }
  const where = visibilityNode(visibility)
  const missing = `${keyOf(field, place, context)} is null`
  const sql = where ? `(not ${accessSql(where, place.root)} or ${missing})` : missing
  return { never: false, node: type, sql: documentSql(sql) }
}

function present(field: SearchField, place: RowScope, context: ConditionContext): Condition {
  if (field.kind === 'boolean') return seen(field, ofType(field, place), context)
  if (saysSo(field)) return seen(field, lexeme(hasValue(field.code)), context)
  const node = whereSeen(context.plan.fieldVisibility.column(field), ofType(field, place))
  return node ? { never: false, node, sql: documentSql(`${keyOf(field, place, context)} is not null`) } : never
}

function keyOf(field: SearchField, place: RowScope, { plan }: ConditionContext): string {
  return keySql(plan.slots.sortKey(field) ?? 0, place.alias)
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

function momentSql(column: string, { from, to }: MomentRange, parameters: Parameters): DocumentSql {
  const clamp = (value: bigint): string => String(value < earliest ? earliest : value > latest ? latest : value)
  const parts: string[] = []
  if (from !== null) parts.push(`${column} >= to_timestamp(${parameters.add(clamp(from), 'float8')})`)
  if (to !== null) parts.push(`${column} < to_timestamp(${parameters.add(clamp(to + 1n), 'float8')})`)
  return documentSql(parts.length === 0 ? 'true' : parts.join(' and '))
}

function rowCondition(
  { nested, of }: Extract<Clause, { is: 'row' }>,
  place: RowScope,
  context: ConditionContext,
): Condition {
  const alias = `${place.alias}n`
  const rows: RowScope = { alias, rows: true, root: place.root }
  const inner = conjunction([ofNode(lexeme(rowOf(nested.table.id))), compile(of, rows, context)])
  const sql = expression(inner, rows, context)
  if (sql === null) return never
  const within = place.rows ? ` and ${alias}.parent = ${place.alias}.row` : ''
  const found = `exists (select from search_nested ${alias} where ${alias}.id = ${place.alias}.id${within} and ${sql})`
  const visibility = context.plan.fieldVisibility.rows(nested)
  if (visibility === 'never') return never
  const node = visibilityNode(visibility)
  // Rows do not know where their object is.
  if (node && place.rows) return ofSql(`(${accessSql(node, place.root)} and ${found})`)
  return { never: false, node, sql: found }
}

function linkedCondition(
  { field, of }: Extract<Clause, { is: 'linked' }>,
  { alias }: RowScope,
  context: ConditionContext,
): Condition {
  const target = `${alias}l`
  const inner = scopeSql(of, target, context)
  const node = whereSeen(context.plan.fieldVisibility.column(field), lexeme(hasValue(field.code)))
  if (inner === null || node === null) return never
  const column = context.parameters.add(field.column.id, 'int')
  return {
    never: false,
    node,
    sql: `${alias}.id in (select link.from_id from search_document ${target}
      join object_link link on link.to_id = ${target}.id and link.column_id = ${column} where ${inner})`,
  }
}

/** Objects that what another search finds links to, or that link to the same. */
function joinedCondition(
  { field, of, by }: Extract<Clause, { is: 'joined' }>,
  { alias }: RowScope,
  context: ConditionContext,
): Condition {
  const { plan, parameters } = context
  const target = `${alias}j`
  const inner = scopeSql(of, target, context)
  const visibility = by === null ? 'always' : plan.fieldVisibility.column(by)
  const node = field === null ? null : whereSeen(plan.fieldVisibility.column(field), lexeme(hasValue(field.code)))
  if (inner === null || visibility === 'never' || (field !== null && node === null)) return never
  const where = visibilityNode(visibility)
  const found = where ? `${inner} and ${accessSql(where, target)}` : String(inner)
  const ids =
    by === null
      ? `select ${target}.id from search_document ${target} where ${found}`
      : `select sought.to_id from search_document ${target} join object_link sought on sought.from_id = ${target}.id
          and sought.column_id = ${parameters.add(by.column.id, 'int')} where ${found}`
  if (field === null) return ofSql(`${alias}.id in (${ids})`)
  const column = parameters.add(field.column.id, 'int')
  return {
    never: false,
    node,
    sql: `${alias}.id in (select link.from_id from object_link link where link.column_id = ${column}
      and link.to_id in (${ids}))`,
  }
}

/** Objects of hierarchies that stand below others, where the caller sees where they stand. */
function belowCondition(
  { objecttype, ids }: Extract<Clause, { is: 'below' }>,
  place: RowScope,
  context: ConditionContext,
): Condition {
  const { plan, parameters } = context
  const hierarchies = [...plan.fields.types.values()].filter(
    ({ table: { id, hierarchical, polyhierarchical } }) =>
      (hierarchical || polyhierarchical) && (objecttype === null || objecttype === id),
  )
  // In a polyhierarchy only those that the caller may read are known to stand above an object.
  const readsAll = isEverything(plan.fieldVisibility.rights)
  const isKnown = ({ table }: TypeFields): boolean => readsAll || !table.polyhierarchical
  const among = (types: readonly TypeFields[], readable: string | null): Condition => {
    const seen = types.flatMap(
      ({ table }) => whereSeen(plan.fieldVisibility.system(table, 'parent'), lexeme(ofObjecttype(table.id))) ?? [],
    )
    if (seen.length === 0 || ids.length === 0) return never
    if (objecttype === null && readable === null) {
      return ofNode(allOf([anyOf(seen), anyOf(ids.map((id) => lexeme(standsBelow(id))))]))
    }
    const wanted = parameters.add(ids, 'bigint[]')
    const own = objecttype === null ? `t.system_object_id = any(${wanted})` : ownIds(objecttype, wanted)
    const above = `select string_agg('${belowObject}' || t.system_object_id, '|')::tsquery
      from object t where ${own}${readable ?? ''}`
    return { never: false, node: anyOf(seen), sql: `${place.alias}.lexemes @@ (${above})` }
  }
  const ownIds = (type: number, wanted: string): string =>
    `t.objecttype = ${parameters.add(type, 'int')} and t.id = any(${wanted})`
  const readable = readsAll
    ? null
    : ` and exists (select from search_document r where r.id = t.system_object_id and ${readableSql(plan, 'r')})`
  return disjunction(
    [
      among(hierarchies.filter(isKnown), null),
      among(
        hierarchies.filter((type) => !isKnown(type)),
        readable,
      ),
    ],
    place,
    context,
  )
}

function changedSql(
  { range, operations, comment, userId }: ChangeClause,
  alias: string,
  parameters: Parameters,
): string {
  const parts = [`v.system_object_id = ${alias}.id`, momentSql('v.at', range, parameters).text]
  if (operations) parts.push(`v.operation = any(${parameters.add(operations, '"char"[]')})`)
  if (userId !== null) parts.push(`v.by_user = ${parameters.add(userId, 'bigint')}`)
  if (comment !== null) {
    parts.push(`v.comment ilike ${parameters.add(`%${comment.replace(/[\\%_]/g, '\\$&')}%`, 'text')}`)
  }
  return `exists (select from object_version v where ${parts.join(' and ')})`
}

function childOfCondition(
  { objecttype, ids, none }: Extract<Clause, { is: 'childOf' }>,
  alias: string,
  { plan, parameters }: ConditionContext,
): Condition {
  const table = plan.fields.types.get(objecttype)?.table
  if (!table) return never
  const type = parameters.add(objecttype, 'int')
  // In a polyhierarchy parents that the caller may not read are shown without their `_id`.
  const readable =
    table.polyhierarchical && !plan.fieldVisibility.whole
      ? ` and exists (select from search_document t where t.id = p.system_object_id and ${readableSql(plan, 't')})`
      : ''
  const parents = `array(select p.system_object_id from object p where p.objecttype = ${type}
    and p.id = any(${parameters.add(ids, 'bigint[]')})${readable})`
  // The first part of each branch is what the index on parents knows.
  const children = `select c.system_object_id from object c
    where c.parents && ${parents} and c.parents <> '{}' and c.objecttype = ${type}`
  const tops = `select c.system_object_id from object c where c.objecttype = ${type} and c.parents = '{}'`
  const visibility = plan.fieldVisibility.system(table, 'parent')
  if (visibility === 'never') return never
  const sql = `${alias}.id in (${none ? `${children} union all ${tops}` : children})`
  return { never: false, node: visibilityNode(visibility), sql }
}

import type { Expression } from '../../../../rights/service.ts'
import { orderedNumber, rangePieces } from '../../../document/ordered.ts'
import type { Clause, SearchScope } from '../../../plan/plan.ts'
import { inPool, numberValue, ofObjecttype, ownedBy, rowOf, withoutPool, withTag } from '../../document/lexemes.ts'
import { rightsCondition } from '../access/access.ts'
import { knownSetsSql } from '../access/access-sets.ts'
import { ofDocuments, predicateSql, type RowScope } from '../access/predicate.ts'
import { trashSql } from '../access/trash.ts'
import { accessSql, visibilityNode } from '../access/visibility.ts'
import { always, anyLexeme, type Condition, conjunction, never, ofNode, ofSql } from '../sql/conditions.ts'
import { documentSql, joined, type Sql } from '../sql/of-document.ts'
import { allOf, anyOf, isPositive, lexeme, type Node } from '../sql/tsquery.ts'
import { datesNode, piecesNode, textNode } from '../words/text.ts'
import {
  anyMask,
  type ConditionContext,
  disjunction,
  expression,
  negation,
  systemField,
  textContext,
  whereVisible,
  whereVisibleSql,
} from './context.ts'
import { boxSql, shapeSql } from './geo.ts'
import { belowCondition, childOfCondition, withinPool } from './hierarchies.ts'
import { isRange, keyRange, keyRangeSql } from './key-ranges.ts'
import {
  asksLinks,
  collectedCondition,
  joinedCondition,
  linkedCondition,
  linkedDisjunction,
  linkedNegation,
  publishedCondition,
} from './links.ts'
import { changedSql, momentCondition } from './moments.ts'
import { absent, geoCondition, isSingle, patternCondition, present, sameDate, valueCondition } from './values.ts'

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
  // The index cannot search for absent lexemes, so the object types go first.
  if (node && (scope.objecttypes || !isPositive(node))) node = allOf([ofTypes, node])
  if (node) parts.push(predicateSql(node, place, context.parameters, context.plan.accessSets))
  // Not a parameter: indexes for sorting are made for one object type.
  if (scope.objecttypes?.length === 1) add(`${alias}.objecttype = ${Number(scope.objecttypes[0])}`)
  else if (scope.objecttypes && !node)
    add(`${alias}.objecttype = any(${context.parameters.add(scope.objecttypes, 'int[]')})`)
  if (condition.sql) parts.push(condition.sql)
  const present = trashSql(scope, alias, context.plan, (value, type) => context.parameters.add(value, type))
  if (present) parts.push(typeof scope.deleted === 'object' ? present : documentSql(present))
  const { without } = context.plan.fieldVisibility
  if (without.length > 0) add(`${alias}.id <> all(${context.parameters.add(without, 'bigint[]')})`)
  return parts.length === 0 ? documentSql('true') : joined(parts, ' and ')
}

/** The read rights of the caller: by set numbers where these are in memory, else as lexemes for the index. */
export function readable(rights: Expression, alias: string, { plan, parameters }: ConditionContext): Condition {
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

/** A clause as lexemes alone. `none`: it cannot match; null: it is more than that. */
export function clauseNode(clause: Clause, context: ConditionContext): Node | 'none' | null {
  const condition = compile(clause, ofDocuments('d'), context)
  if (condition.never) return 'none'
  return condition.sql === null ? condition.node : null
}

/** The lexemes by which a text clause finds objects. The score is computed from them. */
export function scoreNode(clause: Clause, context: ConditionContext): Node | null {
  return clause.is === 'text' ? textNode(clause, textContext(context)) : null
}

function compile(clause: Clause, place: RowScope, context: ConditionContext): Condition {
  const { parameters } = context
  const { alias } = place
  const byKey =
    context.byKeys && !place.rows && isRange(clause)
      ? keyRange(clause, context.plan.slots, context.searched ?? context.plan.scope.objecttypes)
      : null
  if (byKey) return whereVisibleSql(byKey.field, keyRangeSql(byKey, alias, parameters), place, context)
  switch (clause.is) {
    case 'all':
      return always
    case 'none':
      return never
    case 'and':
      return conjunction(clause.of.map((each) => compile(each, place, context)))
    case 'or':
      if (!place.rows && clause.of.length > 1 && clause.of.some((each) => asksLinks(each, context.linked))) {
        return linkedDisjunction(clause.of, place, context, compile)
      }
      return disjunction(
        clause.of.map((each) => compile(each, place, context)),
        place,
        context,
      )
    case 'not':
      if (clause.of.is === 'empty') return present(clause.of.field, place, context)
      if (!place.rows && asksLinks(clause.of, context.linked)) return linkedNegation(clause.of, place, context, compile)
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
      return whereVisible(
        clause.field,
        piecesNode(pieces, (text) => numberValue(clause.field.code, text)),
        context,
      )
    }
    case 'dates':
      return whereVisible(
        clause.field,
        datesNode(clause.field, clause.range, { single: isSingle(clause.field, place) }),
        context,
      )
    case 'sameDate':
      return whereVisible(clause.field, sameDate(clause.field.code, clause.range), context)
    case 'geoBox': {
      const sql = boxSql(clause.field, clause.boxes, place.root, context.plan, parameters)
      return geoCondition(clause.field, clause.boxes, sql, context)
    }
    case 'geoShape': {
      const sql = shapeSql(clause.field, clause.ring, place.root, context.plan, parameters)
      return geoCondition(clause.field, clause.ring.around, sql, context)
    }
    case 'created':
      return conjunction([ofSql(momentCondition(`${alias}.created_at`, clause.range, parameters)), anyMask(context)])
    case 'modified':
      return conjunction([ofSql(momentCondition(`${alias}.modified_at`, clause.range, parameters)), anyMask(context)])
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
    case 'collected':
      return conjunction([collectedCondition(clause, alias, context), systemField('collections', context)])
    case 'published':
      return conjunction([publishedCondition(clause, alias, context), systemField('publish', context)])
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
      return linkedCondition(clause, place, context, scopeSql)
    case 'joined':
      return joinedCondition(clause, place, context, scopeSql)
    case 'changed':
      return conjunction([ofSql(changedSql(clause, alias, parameters)), anyMask(context)])
  }
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
  // Rows do not contain the place of their object.
  if (node && place.rows) return ofSql(`(${accessSql(node, place.root)} and ${found})`)
  return { never: false, node, sql: found }
}

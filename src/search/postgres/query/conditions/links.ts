/**
 * Conditions on linked objects. Such a condition is a search of its own among the linked objects that the caller may read; the
 * table of links joins it to the objects. The SQL allows PostgreSQL to begin on either side: a condition by itself is a semi-join,
 * an alternative is one part of a union. Where the linked objects are few, their links are lexemes (link-targets.ts). A subselect
 * beside `or` would be compared with each object in turn once its result is larger than `work_mem`.
 */
import type { SearchField } from '../../../plan/fields.ts'
import type { Clause, SearchScope } from '../../../plan/plan.ts'
import { exactValue, hasValue, ofObjecttype } from '../../document/lexemes.ts'
import { ofDocuments, type RowScope } from '../access/predicate.ts'
import { accessSql, visibilityNode, whereSeen } from '../access/visibility.ts'
import type { LinkedObjects } from '../linked/linked.ts'
import { always, type Condition, never, ofNode, ofSql } from '../sql/conditions.ts'
import { documentSql, type Sql } from '../sql/of-document.ts'
import { allOf, anyOf, isPositive, lexeme } from '../sql/tsquery.ts'
import { type ConditionContext, expression } from './context.ts'

type Compile = (clause: Clause, place: RowScope, context: ConditionContext) => Condition
type ScopeSql = (scope: SearchScope, alias: string, context: ConditionContext) => Sql | null

/**
 * Whether the clause has a condition on other tables. Conditions inside rows of nested tables are ignored, and such through links
 * whose targets are known.
 */
export function asksLinks(clause: Clause, linked: LinkedObjects): boolean {
  if (clause.is === 'and' || clause.is === 'or') return clause.of.some((each) => asksLinks(each, linked))
  if (clause.is === 'not') return asksLinks(clause.of, linked)
  if (clause.is === 'linked' || clause.is === 'joined') return linked.targets(clause) === null
  return clause.is === 'collected' || clause.is === 'published'
}

/** Objects whose column links to one of these, where the caller sees the column. */
function linksTo(field: SearchField, ids: readonly number[], { plan }: ConditionContext): Condition {
  if (ids.length === 0) return never
  const node = anyOf(ids.map((id) => lexeme(exactValue(field.code, id))))
  const seen = whereSeen(plan.fieldVisibility.column(field), node)
  return seen ? ofNode(seen) : never
}

export function linkedCondition(
  clause: Extract<Clause, { is: 'linked' }>,
  { alias, rows }: RowScope,
  context: ConditionContext,
  scopeSql: ScopeSql,
): Condition {
  const { field, of } = clause
  const ids = context.linked.targets(clause)
  if (ids) return linksTo(field, ids, context)
  const target = `${alias}l`
  const inner = scopeSql(of, target, context)
  const visibility = context.plan.fieldVisibility.column(field)
  const node = whereSeen(visibility, lexeme(hasValue(field.code)))
  if (inner === null || node === null) return never
  if (rows) {
    // Rows have their link targets only in their lexemes.
    const start = exactValue(field.code, '')
    const sql = `exists (select from unnest(tsvector_to_array(${alias}.lexemes)) link where starts_with(link, '${start}')
      and substr(link, ${start.length + 1})::bigint in (select ${target}.id from search_document ${target} where ${inner}))`
    return { never: false, node, sql }
  }
  const column = context.parameters.add(field.column.id, 'int')
  return {
    never: false,
    // If all callers see the link, its row is enough: comparing the lexemes of each match would take most of the time.
    node: visibility === 'always' ? null : node,
    sql: `${alias}.id in (select link.from_id from search_document ${target}
      join object_link link on link.to_id = ${target}.id and link.column_id = ${column} where ${inner})`,
  }
}

/** Objects that matches of another search link to, or that link to the same objects. */
export function joinedCondition(
  clause: Extract<Clause, { is: 'joined' }>,
  { alias }: RowScope,
  context: ConditionContext,
  scopeSql: ScopeSql,
): Condition {
  const { plan, parameters } = context
  const { field, of, by } = clause
  const known = context.linked.targets(clause)
  if (known && field) return linksTo(field, known, context)
  if (known)
    return known.length === 0 ? never : ofSql(documentSql(`${alias}.id = any(${parameters.add(known, 'bigint[]')})`))
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

/** Lists of collections are not part of documents: adding an object to a collection does not change the object. */
export function collectedCondition(
  { ids, none, seen }: Extract<Clause, { is: 'collected' }>,
  alias: string,
  { parameters }: ConditionContext,
): Condition {
  const among = (list: readonly number[]): string => `e.collection_id = any(${parameters.add(list, 'bigint[]')})`
  const within = `${alias}.id in (select e.object_id from collection_object e where ${among(ids)})`
  if (!none) return ids.length === 0 ? never : ofSql(within)
  const any = `exists (select from collection_object e where e.object_id = ${alias}.id${seen ? ` and ${among(seen)}` : ''})`
  return ofSql(ids.length === 0 ? `not ${any}` : `(not ${any} or ${within})`)
}

const publishedColumns = {
  _id: ['id', 'bigint[]'],
  collector: ['collector', 'text[]'],
  publish_uri: ['publish_uri', 'text[]'],
} as const

/** Publish records are not part of documents: they are about other places, and change without a save of the object. */
export function publishedCondition(
  { by, values, none }: Extract<Clause, { is: 'published' }>,
  alias: string,
  { parameters }: ConditionContext,
): Condition {
  const [column, type] = publishedColumns[by]
  const any = `exists (select from publish p where p.system_object_id = ${alias}.id)`
  if (values.length === 0) return none ? ofSql(`not ${any}`) : never
  const within = `${alias}.id in (select p.system_object_id from publish p where p.${column} = any(${parameters.add(values, type)}))`
  return ofSql(none ? `(not ${any} or ${within})` : within)
}

/** A disjunction of clauses. Clauses without links are combined into one part. */
export function linkedDisjunction(
  of: readonly Clause[],
  { alias }: RowScope,
  context: ConditionContext,
  compile: Compile,
): Condition {
  const own = of.filter((clause) => !asksLinks(clause, context.linked))
  const parts: readonly Clause[] = [
    ...(own.length > 0 ? [{ is: 'or', of: own } as const] : []),
    ...of
      .filter((clause) => asksLinks(clause, context.linked))
      .flatMap((clause) => (clause.is === 'or' ? clause.of : [clause])),
  ]
  const inner = `${alias}u`
  const found: string[] = []
  for (const part of parts) {
    const where = documentsWhere(compile(part, ofDocuments(inner), context), inner, context)
    if (where === 'true') return always
    if (where !== null) found.push(`select ${inner}.id from search_document ${inner} where ${where}`)
  }
  return found.length === 0 ? never : ofSql(`${alias}.id in (${found.join(' union all ')})`)
}

/** Objects that do not fulfil the clause. */
export function linkedNegation(
  of: Clause,
  { alias }: RowScope,
  context: ConditionContext,
  compile: Compile,
): Condition {
  const inner = `${alias}u`
  const where = documentsWhere(compile(of, ofDocuments(inner), context), inner, context)
  if (where === null) return always
  if (where === 'true') return never
  // PostgreSQL always makes a hash table of an array, as it takes it for ten rows. An anti-join of searches without statistics
  // would compare each object with each of the found ones: ten seconds for 50,000.
  const found = `array(select ${inner}.id from search_document ${inner} where ${where})`
  return ofSql(`not (${alias}.id in (select unnest(${found})))`)
}

/** A condition by itself, so that an index finds the objects. */
function documentsWhere(condition: Condition, alias: string, context: ConditionContext): string | null {
  if (condition.never) return null
  const { node, sql } = condition
  const types = context.searched ?? context.plan.scope.objecttypes ?? [...context.plan.fields.types.keys()]
  // The index cannot search for absent lexemes.
  const positive = node && !isPositive(node) ? allOf([anyOf(types.map((id) => lexeme(ofObjecttype(id)))), node]) : node
  const where = expression({ never: false, node: positive, sql }, ofDocuments(alias), context)
  return where === null ? null : String(where)
}

import { openEnd, openStart, orderedMoment } from '../../../document/ordered.ts'
import type { Rectangle } from '../../../geo/rectangles.ts'
import { likeOf } from '../../../like-pattern.ts'
import type { SearchField } from '../../../plan/fields.ts'
import type { Clause, MomentRange } from '../../../plan/plan.ts'
import { isWholeLabel, labelOf } from '../../document/facets.ts'
import { exactByLanguage, exactByLexeme } from '../../document/field-lexemes.ts'
import {
  dateEnd,
  dateStart,
  exactValue,
  hasValue,
  linkAncestor,
  ofObjecttype,
  rowOf,
  standsBelow,
} from '../../document/lexemes.ts'
import { keySql } from '../../slots.ts'
import type { RowScope } from '../access/predicate.ts'
import { accessSql, visibilityNode, whereSeen } from '../access/visibility.ts'
import { type Condition, never, ofNode, ofSql } from '../sql/conditions.ts'
import { documentSql, type Sql } from '../sql/of-document.ts'
import { allOf, anyOf, lexeme, type Node } from '../sql/tsquery.ts'
import { codesOf, linkNode } from '../words/sources.ts'
import { textNode } from '../words/text.ts'
import { type ConditionContext, textContext, whereVisible } from './context.ts'
import { cellsNode } from './geo.ts'
import { isStorable, storedPatternSql, storedValueSql } from './stored-values.ts'

/** Whether a document, or a row, has at most one value of the field. */
export function isSingle({ path, part }: SearchField, { rows }: RowScope): boolean {
  return part === null && (rows || path.length === 0)
}

export function valueCondition(
  { field, values, below, languages }: Extract<Clause, { is: 'value' }>,
  place: RowScope,
  context: ConditionContext,
): Condition {
  if (values.length === 0) return never
  if (field.kind === 'boolean') {
    const isTrue = lexeme(exactValue(field.code, 'true'))
    if (values.includes(true) && values.includes(false)) return whereVisible(field, ofType(field, place), context)
    return whereVisible(
      field,
      values.includes(true) ? isTrue : allOf([ofType(field, place), { op: 'not', of: isTrue }]),
      context,
    )
  }
  if (field.kind === 'link' || field.kind === 'files') {
    const ids = values as readonly number[]
    const under = below ? belowNode(field, ids, context) : null
    const nodes = ids.map((id) => lexeme(exactValue(field.code, id)))
    return whereVisible(field, anyOf(under ? [...nodes, under] : nodes), context)
  }
  // All languages that are not configured share their lexemes.
  const isOfConfigured = languages?.every((language) => context.plan.languages.includes(language)) ?? true
  if (exactByLexeme(field) && (isOfConfigured || !exactByLanguage(field))) {
    // A label may be cut; then the stored value decides.
    const labels = (values as readonly string[]).map((value) => labelOf(field, asStored(field, value), []))
    const known = labels.filter((label) => label !== null).filter(isStorable)
    const codes = exactByLanguage(field) ? codesOf(field, languages, context.plan.languages) : [field.code]
    const exact =
      known.length === 0
        ? never
        : whereVisible(
            field,
            anyOf(codes.flatMap((code) => known.map((label) => lexeme(exactValue(code, label))))),
            context,
          )
    const isWhole = (label: string | null, index: number): boolean =>
      label === values[index] && (label === null || isWholeLabel(label))
    if (place.rows || field.part || labels.every(isWhole)) return exact
  }
  return storedValueCondition(field, values as readonly string[], languages, place, context)
}

/** A value that has this label. */
function asStored({ kind }: SearchField, label: string): unknown {
  if (kind === 'custom') return { conceptName: label }
  return kind === 'l10n' ? { und: label } : label
}

/** Links to objects below these. Only readers of an object may know the objects above it. */
function belowNode(field: SearchField, ids: readonly number[], { linked }: ConditionContext): Node | null {
  const table = field.column.target
  const own = anyOf(ids.map((id) => lexeme(linkAncestor(field.code, id))))
  if (!table || linked.knowsAll(table)) return own
  return linkNode(field, table, anyOf(ids.map((id) => lexeme(standsBelow(id)))), own, linked)
}

/** The words find candidates, the stored value then decides. */
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
export function geoCondition(
  field: SearchField,
  areas: readonly Rectangle[],
  sql: Sql | null,
  { plan }: ConditionContext,
): Condition {
  const node = whereSeen(plan.fieldVisibility.column(field), cellsNode(field, areas))
  return node && sql ? { never: false, node, sql } : never
}

/** Compares texts as they are stored, where the caller sees them. A text that is not well-formed cannot be stored. */
export function patternCondition(
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

/** Documents that can have the field: objects of its type, or rows of its table. */
function ofType(field: SearchField, { rows }: RowScope): Node {
  return lexeme(rows ? rowOf(field.column.table.id) : ofObjecttype(field.column.table.root.id))
}

/** Whether a lexeme shows that there is a value; otherwise the sort key does. */
function saysSo(field: SearchField): boolean {
  return field.part !== null || field.path.length > 0 || ['link', 'l10n', 'custom', 'files', 'geo'].includes(field.kind)
}

export function absent(field: SearchField, place: RowScope, context: ConditionContext): Condition {
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

export function present(field: SearchField, place: RowScope, context: ConditionContext): Condition {
  if (field.kind === 'boolean') return whereVisible(field, ofType(field, place), context)
  if (saysSo(field)) return whereVisible(field, lexeme(hasValue(field.code)), context)
  const node = whereSeen(context.plan.fieldVisibility.column(field), ofType(field, place))
  return node ? { never: false, node, sql: documentSql(`${keyOf(field, place, context)} is not null`) } : never
}

function keyOf(field: SearchField, place: RowScope, { plan }: ConditionContext): string {
  return keySql(plan.slots.sortKey(field) ?? 0, place.alias)
}

export function sameDate(code: string, { from, to }: MomentRange): Node {
  return allOf([
    lexeme(dateStart(code, from === null ? openStart : orderedMoment(from))),
    lexeme(dateEnd(code, to === null ? openEnd : orderedMoment(to))),
  ])
}

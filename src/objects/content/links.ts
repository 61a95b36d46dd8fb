import type { Column, Table } from '../../datamodel/model.ts'
import { type Content, type ContentRow, rowsOf } from '../stored/content.ts'

/** A link of a content: its column and its target. */
export interface LinkTriple {
  readonly from: number
  readonly column: number
  readonly to: number
}

interface LinkPlan {
  readonly columns: readonly Column[]
  readonly nested: readonly { readonly table: Table; readonly plan: LinkPlan }[]
}

const plans = new WeakMap<Table, LinkPlan>()

/** The columns of a table that can hold links, so that contents without any are not walked. */
function planOf(table: Table): LinkPlan {
  let plan = plans.get(table)
  if (!plan) {
    plan = {
      columns: table.columns.filter((column) => column.type === 'link'),
      nested: table.nested
        .map((nested) => ({ table: nested, plan: planOf(nested) }))
        .filter(({ plan: inner }) => inner.columns.length + inner.nested.length > 0),
    }
    plans.set(table, plan)
  }
  return plan
}

/**
 * Calls `visit` for each link of a content. `row` is the uuid of the nested row with the link, or empty. Column and row together
 * are a location in the sense of the rule about newly introduced targets (OBJ-017).
 */
export function forEachLink(
  table: Table,
  content: Content,
  visit: (column: Column, systemObjectId: number, row: string, holder: Content) => void,
): void {
  walk(planOf(table), content, '', visit)
}

function walk(
  plan: LinkPlan,
  content: Content,
  row: string,
  visit: (column: Column, systemObjectId: number, row: string, holder: Content) => void,
): void {
  for (const column of plan.columns) {
    const target = content[column.key]
    if (typeof target === 'number') visit(column, target, row, content)
  }
  for (const { table, plan: inner } of plan.nested) {
    for (const each of rowsOf(content, table)) walk(inner, each, each._u, visit)
  }
}

/** The distinct links of a content, as rows of `object_link`. */
export function linkTriples(table: Table, content: Content, from: number): LinkTriple[] {
  const seen = new Set<string>()
  const triples: LinkTriple[] = []
  forEachLink(table, content, (column, to) => {
    const name = `${column.id}:${to}`
    if (seen.has(name)) return
    seen.add(name)
    triples.push({ from, column: column.id, to })
  })
  return triples
}

/**
 * Links in columns that were removed from the datamodel. Contents keep such values, since the column may come back. `object_link`,
 * which still has these links, tells which of the numbers are links.
 */
export function formerLinks(table: Table, content: Content, from: number): LinkTriple[] {
  const triples: LinkTriple[] = []
  visitFormer(table, content, (column, to) => triples.push({ from, column, to }))
  return triples
}

function visitFormer(table: Table | null, content: Content, visit: (column: number, to: number) => void): void {
  for (const key in content) {
    const value = content[key]
    const known = table?.columnByKey.has(key) ?? false
    if (!known && typeof value === 'number' && isColumnKey(key)) visit(Number(key), value)
    else if (isTableKey(key)) for (const row of value as ContentRow[]) visitFormer(nestedOf(table, key), row, visit)
  }
}

const isColumnKey = (key: string): boolean => /^\d+$/.test(key)
const isTableKey = (key: string): boolean => /^n\d+$/.test(key)

/** `null`: the nested table was removed from the datamodel. */
function nestedOf(table: Table | null, key: string): Table | null {
  return table?.nested.find((nested) => nested.key === key) ?? null
}

/**
 * A copy of the content without the links that `drop` lists by the ids of column and target; columns that were removed from the
 * datamodel are included. A nested row that held only dropped links is removed, too.
 */
export function withoutLinks(
  table: Table | null,
  content: Content,
  drop: (columnId: number, to: number) => boolean,
): Content {
  const copy: Content = { ...content }
  for (const key in content) {
    const value = content[key]
    if (typeof value === 'number' && isColumnKey(key)) {
      if (drop(Number(key), value)) delete copy[key]
    } else if (isTableKey(key)) {
      const nested = nestedOf(table, key)
      const kept = (value as ContentRow[])
        .map((row) => ({ before: row, after: withoutLinks(nested, row, drop) as ContentRow }))
        .filter(({ before, after }) => Object.keys(after).length > 1 || Object.keys(before).length === 1)
        .map(({ after }) => after)
      if (kept.length > 0) copy[key] = kept
      else delete copy[key]
    }
  }
  return copy
}

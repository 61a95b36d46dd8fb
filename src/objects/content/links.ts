import type { Column, Table } from '../../datamodel/model.ts'
import type { LinkTriple } from '../save/write/store.ts'
import { type Content, type ContentRow, rowsOf } from './stored.ts'

interface LinkPlan {
  readonly columns: readonly Column[]
  readonly nested: readonly { readonly table: Table; readonly plan: LinkPlan }[]
}

const plans = new WeakMap<Table, LinkPlan>()

/** Where a table can hold links, so that contents without any are not walked. */
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
 * Calls `visit` for each link of a content. `row` is the uuid of the row that it stands in, or empty: with the column what
 * the rule about newly introduced targets calls a location (OBJ-017).
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

/** The distinct links of a content as they stand in `object_link`. */
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
 * A copy of the content without the links that `drop` names. A nested row that held nothing but dropped links goes
 * with them.
 */
export function withoutLinks(table: Table, content: Content, drop: (column: Column, to: number) => boolean): Content {
  return clear(planOf(table), content, drop)
}

function clear(plan: LinkPlan, content: Content, drop: (column: Column, to: number) => boolean): Content {
  const copy: Content = { ...content }
  for (const column of plan.columns) {
    const target = copy[column.key]
    if (typeof target === 'number' && drop(column, target)) delete copy[column.key]
  }
  for (const { table, plan: inner } of plan.nested) {
    const rows = rowsOf(copy, table)
    if (rows.length === 0) continue
    const kept = rows
      .map((row) => ({ before: row, after: clear(inner, row, drop) as ContentRow }))
      .filter(({ before, after }) => Object.keys(after).length > 1 || Object.keys(before).length === 1)
      .map(({ after }) => after)
    if (kept.length > 0) copy[table.key] = kept
    else delete copy[table.key]
  }
  return copy
}

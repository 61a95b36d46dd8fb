import type { Column, Table } from '../../datamodel/model.ts'
import { type Content, rowsOf } from '../stored/content.ts'

/** A file in a column of an object, with the members that belong to this column and not to the file. */
export interface FileEntry {
  _id: number
  preferred: boolean
  name?: string
  frontend_prefs?: Record<string, unknown>
  /** A file that is named by a reference has only this until the save has found it. */
  _reference?: string
}

interface FilePlan {
  readonly columns: readonly Column[]
  readonly nested: readonly { readonly table: Table; readonly plan: FilePlan }[]
}

const plans = new WeakMap<Table, FilePlan>()

/** The columns of a table that can hold files, so that contents without any are not walked. */
function planOf(table: Table): FilePlan {
  let plan = plans.get(table)
  if (!plan) {
    plan = {
      columns: table.columns.filter((column) => column.type === 'eas'),
      nested: table.nested
        .map((nested) => ({ table: nested, plan: planOf(nested) }))
        .filter(({ plan: inner }) => inner.columns.length + inner.nested.length > 0),
    }
    plans.set(table, plan)
  }
  return plan
}

/** Calls `visit` for each list of files of a content. */
export function forEachFileList(
  table: Table,
  content: Content,
  visit: (column: Column, files: FileEntry[]) => void,
): void {
  walk(planOf(table), content, visit)
}

function walk(plan: FilePlan, content: Content, visit: (column: Column, files: FileEntry[]) => void): void {
  for (const column of plan.columns) {
    const files = content[column.key]
    if (Array.isArray(files)) visit(column, files as FileEntry[])
  }
  for (const { table, plan: inner } of plan.nested) {
    for (const row of rowsOf(content, table)) walk(inner, row, visit)
  }
}

/** The files of a content by column: each once, however many rows have it. */
export function filesByColumn(table: Table, content: Content): Map<Column, Set<number>> {
  const found = new Map<Column, Set<number>>()
  forEachFileList(table, content, (column, files) => {
    const ids = found.get(column) ?? new Set()
    found.set(column, ids)
    for (const { _id } of files) ids.add(_id)
  })
  return found
}

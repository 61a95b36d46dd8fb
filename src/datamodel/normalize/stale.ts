import type { ColumnApi, SchemaApi, SchemaTableApi } from '../schema.ts'

/**
 * The tables without parts that were implied by something that the new snapshot no longer has: the entry of a removed nested table,
 * the reverse entry of a removed or ordinary link, the foreign key of a removed column. Only parts that the working copy already
 * had are removed; a new part with a missing reference stays, and is refused by the validation.
 */
export function dropStale(tables: readonly SchemaTableApi[], head: SchemaApi): SchemaTableApi[] {
  const byId = new Map(tables.map((table) => [table.table_id ?? 0, table]))
  const known = new Map(head.tables.map((table) => [table.table_id ?? 0, table]))
  return tables.map((table) => {
    const before = known.get(table.table_id ?? 0)
    if (!before) return table
    const entries = new Map((before.columns ?? []).map((column) => [column.column_id ?? 0, column.kind]))
    const columns = new Set((table.columns ?? []).map((column) => column.column_id))
    return {
      ...table,
      columns: (table.columns ?? []).filter(
        (column) => entries.get(column.column_id ?? 0) !== column.kind || isLive(column, table, byId),
      ),
      foreign_keys: (table.foreign_keys ?? []).filter(
        ({ columns: [reference] }) => columns.has(reference?.column_id) || !hadForeignKey(before, reference?.column_id),
      ),
    }
  })
}

/** Whether an entry still refers to something; value columns always count as live. */
function isLive(entry: ColumnApi, table: SchemaTableApi, tables: ReadonlyMap<number, SchemaTableApi>): boolean {
  const other = tables.get(entry.other_table_id ?? 0)
  if (entry.kind === 'link') return other?.owned_by?.other_table_id === table.table_id
  if (entry.kind !== 'reverse_link') return true
  if (entry.is_hierarchical) return table.is_hierarchical === true || table.polyhierarchical === true
  const behind = other?.columns?.find(
    (column) => column.kind === 'column' && column.column_id === entry.other_column_id,
  )
  return behind?.type === 'link' && behind.reverse_edit === true
}

function hadForeignKey(table: SchemaTableApi, columnId: number | undefined): boolean {
  return (table.foreign_keys ?? []).some((key) => key.columns.some((reference) => reference.column_id === columnId))
}

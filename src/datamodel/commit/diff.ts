import { columnTypeOf } from '../columns.ts'
import type { Snapshot } from '../compile/model.ts'
import { columnKey, localized, maskLocalized, tableKey } from '../l10n.ts'
import type { ColumnApi, FieldApi, MaskApi, SchemaTableApi } from '../schema.ts'

export interface ColumnChange {
  readonly table: SchemaTableApi
  readonly before: ColumnApi
  readonly after: ColumnApi
}

/** The changes of a commit, compared by ids: names are not used for it. */
export interface Difference {
  readonly addedTables: readonly SchemaTableApi[]
  readonly removedTables: readonly SchemaTableApi[]
  /** Value columns that are in both versions. */
  readonly keptColumns: readonly ColumnChange[]
  readonly addedColumns: readonly { readonly table: SchemaTableApi; readonly column: ColumnApi }[]
  /** Object types with any change (fields, nested tables, masks, names), by id; removed ones too. */
  readonly changedObjecttypes: ReadonlyMap<number, string>
  /** Object types of both versions whose index entries change. */
  readonly reindexObjecttypes: readonly number[]
}

/** Compares two normalised snapshots; both are read from the database, so that equal parts have equal JSON. */
export function differenceOf(before: Snapshot, after: Snapshot): Difference {
  const [old, next] = [viewOf(before), viewOf(after)]
  const addedTables = after.schema.tables.filter((table) => !old.tables.has(idOf(table)))
  const removedTables = before.schema.tables.filter((table) => !next.tables.has(idOf(table)))
  const keptColumns: ColumnChange[] = []
  const addedColumns: { table: SchemaTableApi; column: ColumnApi }[] = []
  for (const table of after.schema.tables) {
    for (const column of table.columns ?? []) {
      if (column.kind !== 'column') continue
      const known = old.columns.get(column.column_id ?? 0)
      if (known) keptColumns.push({ table, before: known, after: column })
      else addedColumns.push({ table, column })
    }
  }
  const changed = new Map<number, string>()
  const reindex: number[] = []
  for (const [id, table] of new Map([...old.tables, ...next.tables])) {
    if (table.owned_by) continue
    if (fingerprint(id, old) !== fingerprint(id, next)) changed.set(id, table.name)
    const both = old.tables.has(id) && next.tables.has(id)
    if (both && indexFingerprint(id, old) !== indexFingerprint(id, next)) reindex.push(id)
  }
  return {
    addedTables,
    removedTables,
    keptColumns,
    addedColumns,
    changedObjecttypes: changed,
    reindexObjecttypes: reindex,
  }
}

interface View {
  readonly snapshot: Snapshot
  readonly tables: ReadonlyMap<number, SchemaTableApi>
  readonly columns: ReadonlyMap<number, ColumnApi>
  readonly owned: ReadonlyMap<number, readonly SchemaTableApi[]>
  readonly masks: ReadonlyMap<number, readonly MaskApi[]>
}

function idOf(table: SchemaTableApi): number {
  return table.table_id ?? 0
}

function viewOf(snapshot: Snapshot): View {
  const { tables } = snapshot.schema
  const values = tables.flatMap((table) => (table.columns ?? []).filter((column) => column.kind === 'column'))
  return {
    snapshot,
    tables: new Map(tables.map((table) => [idOf(table), table])),
    columns: new Map(values.map((column) => [column.column_id ?? 0, column])),
    owned: Map.groupBy(
      tables.filter((table) => table.owned_by),
      (table) => table.owned_by?.other_table_id ?? 0,
    ),
    masks: Map.groupBy(snapshot.masks.masks, (mask) => mask.table_id ?? 0),
  }
}

/** An object type with the nested tables below it. */
function family(id: number, view: View): SchemaTableApi[] {
  const table = view.tables.get(id)
  if (!table) return []
  return [table, ...(view.owned.get(id) ?? []).flatMap((nested) => family(idOf(nested), view))]
}

/** Everything that a user of the object type can notice. */
function fingerprint(id: number, view: View): string {
  const { l10n } = view.snapshot
  const tables = family(id, view)
  const masks = view.masks.get(id) ?? []
  const names = [
    ...tables.flatMap((table) => [tableKey(table.name), ...(table.columns ?? []).map((c) => columnKey(table.name, c))]),
  ].map((key) => sorted(localized(l10n, key)))
  const maskNames = masks.map((mask) => sorted(maskLocalized(l10n, mask)))
  return JSON.stringify([tables, masks, names, maskNames])
}

/** Everything that index entries depend on: fields, their types and order, and the settings of masks for standard and search. */
function indexFingerprint(id: number, view: View): string {
  const tables = family(id, view).map((table) => [
    table.name,
    table.is_hierarchical,
    table.polyhierarchical,
    table.pool_link,
    table.has_tags,
    table.acl_table,
    table.in_main_search,
    (table.columns ?? []).map((c) => [c.kind, c.name, typeOf(c), c.column_id, c.other_table_id, c.other_column_id]),
    (table.foreign_keys ?? []).map((key) => [key.columns[0]?.column_id, key.referenced_table.table_id]),
  ])
  const masks = (view.masks.get(id) ?? []).map((mask) => [
    mask.mask_id,
    mask.name,
    mask.is_preferred,
    maskFields(mask, view),
  ])
  return JSON.stringify([tables, masks])
}

function maskFields(mask: MaskApi, view: View): unknown[] {
  return (mask.fields ?? [])
    .filter((field) => field.column_id || field.other_table_id)
    .map((field) => [
      field.kind,
      field.column_id,
      field.other_table_id,
      field.other_column_id,
      field.mask_id,
      field.edit?.mode,
      forIndex(field, view),
      field.inheritance?.inherit,
      field.nested_sort,
      field.nested_standard_first_only,
      field.mask ? maskFields(field.mask, view) : null,
    ])
}

/** Without settings that only front ends use: they do not affect the index. The expert search concerns the texts of files. */
function forIndex({ column_id, output, search }: FieldApi, view: View): unknown[] {
  const { detail: _d, text: _t, standard, ...shown } = output ?? {}
  const { design: _, ...title } = standard ?? {}
  const { expert, ...searched } = search ?? {}
  const column = view.columns.get(column_id ?? 0)
  const texts = column && typeOf(column) === 'eas' ? expert : null
  return [shown, title, search ? { ...searched, texts } : null]
}

function typeOf(column: ColumnApi): string | undefined {
  const type = columnTypeOf(column.type)
  return type === 'custom' ? column.type : type
}

function sorted(texts: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1))
}

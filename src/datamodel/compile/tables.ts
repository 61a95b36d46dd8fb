import { compileCheck } from '../check/compile.ts'
import { columnTypeOf } from '../columns.ts'
import { columnKey, localized, tableLocalized } from '../l10n.ts'
import type { Bidirectional, Column, Constraints, Mask, OnDelete, Table, UniqueKey } from '../model.ts'
import { compilePattern } from '../regexp.ts'
import type { ColumnApi, LocaApi, SchemaApi, SchemaTableApi, UniqueKeyApi } from '../schema.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** A table while it is built: its lists are filled in several passes, because tables refer to each other in circles. */
export interface TableDraft extends Mutable<Omit<Table, 'masks' | 'columns' | 'nested' | 'reverses' | 'linkedFrom'>> {
  columns: Column[]
  nested: Table[]
  reverses: Column[]
  linkedFrom: Column[]
  masks: Map<string, Mask>
  columnByName: Map<string, Column>
  columnByKey: Map<string, Column>
}

export interface CompiledTables {
  readonly tablesById: Map<number, TableDraft>
  readonly columnsById: Map<number, Column>
}

/** Tables, columns, keys and their references; masks are added by `masks.ts`. */
export function compileTables(schema: SchemaApi, l10n: LocaApi): CompiledTables {
  const tablesById = new Map(schema.tables.map((table) => [table.table_id ?? 0, draftTable(table, l10n)]))
  const columnsById = new Map<number, Column>()
  for (const source of schema.tables) linkOwner(source, tablesById)
  for (const source of schema.tables) {
    const table = tableOf(tablesById, source.table_id)
    table.root = rootOf(table)
    for (const column of source.columns ?? []) {
      if (column.kind !== 'column') continue
      const compiled = compileColumn(column, source, table, tablesById, l10n)
      table.columns.push(compiled)
      table.columnByName.set(compiled.name, compiled)
      table.columnByKey.set(compiled.key, compiled)
      columnsById.set(compiled.id, compiled)
    }
  }
  for (const source of schema.tables) orderNested(source, tablesById)
  for (const column of columnsById.values()) {
    const target = column.target as TableDraft | null
    target?.linkedFrom.push(column)
    if (column.reverseEdit) target?.reverses.push(column)
  }
  for (const source of schema.tables) {
    const table = tableOf(tablesById, source.table_id)
    table.uniqueKeys = compileUniqueKeys(source, table)
  }
  compileBidirectional(schema, tablesById, columnsById)
  return { tablesById, columnsById }
}

export function tableOf(tables: ReadonlyMap<number, TableDraft>, id: number | undefined): TableDraft {
  const table = tables.get(id ?? 0)
  if (!table) throw new Error(`table ${id} is not in the snapshot; it was not validated`)
  return table
}

function draftTable(source: SchemaTableApi, l10n: LocaApi): TableDraft {
  const id = source.table_id ?? 0
  const draft = {
    id,
    name: source.name,
    kind: source.owned_by ? 'nested' : 'object',
    owner: null,
    poolLink: source.pool_link ?? false,
    hasTags: source.has_tags ?? false,
    aclTable: source.acl_table ?? false,
    hierarchical: source.is_hierarchical ?? false,
    polyhierarchical: source.polyhierarchical ?? false,
    inMainSearch: source.in_main_search ?? false,
    comment: source.comment ?? '',
    columns: [],
    columnByName: new Map(),
    columnByKey: new Map(),
    nested: [],
    key: `n${id}`,
    wireKey: `_nested:${source.name}`,
    reverses: [],
    linkedFrom: [],
    uniqueKeys: [],
    bidirectional: [],
    nameLocalized: tableLocalized(l10n, source),
    masks: new Map(),
  } as unknown as TableDraft
  draft.root = draft
  return draft
}

function linkOwner(source: SchemaTableApi, tables: ReadonlyMap<number, TableDraft>): void {
  if (source.owned_by) tableOf(tables, source.table_id).owner = tableOf(tables, source.owned_by.other_table_id)
}

function rootOf(table: Table): Table {
  let root = table
  while (root.owner) root = root.owner
  return root
}

/** Puts nested tables in the order of their entries at the owner. */
function orderNested(source: SchemaTableApi, tables: ReadonlyMap<number, TableDraft>): void {
  const owner = tableOf(tables, source.table_id)
  for (const column of source.columns ?? []) {
    if (column.kind === 'link') owner.nested.push(tableOf(tables, column.other_table_id))
  }
}

function compileColumn(
  source: ColumnApi,
  tableSource: SchemaTableApi,
  table: Table,
  tables: ReadonlyMap<number, TableDraft>,
  l10n: LocaApi,
): Column {
  const type = columnTypeOf(source.type)
  if (!type) throw new Error(`column type ${source.type} is unknown; the snapshot was not validated`)
  const foreignKey = (tableSource.foreign_keys ?? []).find((key) =>
    key.columns.some((reference) => reference.column_id === source.column_id),
  )
  const name = source.name ?? ''
  return {
    id: source.column_id ?? 0,
    name,
    type,
    typeName: type === 'custom' ? (source.type ?? '') : type,
    table,
    fullName: `${fullTableName(table)}.${name}`,
    target: type === 'link' && foreignKey ? tableOf(tables, foreignKey.referenced_table.table_id) : null,
    onDelete: (foreignKey?.on_delete ?? 'restrict') as OnDelete,
    reverseEdit: source.reverse_edit ?? false,
    constraints: compileConstraints(source),
    customSettings: Object.fromEntries(
      Object.entries(source.custom_settings ?? {}).map(([key, value]) => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ),
    nameLocalized: localized(l10n, columnKey(table.name, source)),
    key: String(source.column_id),
  }
}

/** `artwork`, or `artwork._nested:artwork__contributor` for a nested table: the name in search. */
function fullTableName(table: Table): string {
  return table.owner ? `${fullTableName(table.owner)}.${table.wireKey}` : table.name
}

function compileConstraints(source: ColumnApi): Constraints {
  const pattern = source.check_regexp ? compilePattern(source.check_regexp, source.check_regexp_flags ?? '') : null
  const check = source.check ? compileCheck(source.check) : null
  return {
    notNull: source.not_null ?? false,
    regexp: typeof pattern === 'string' ? null : pattern,
    check: source.check || null,
    checkTest: typeof check === 'string' ? null : check,
    rangeLower: source.check_range_lower ?? null,
    rangeUpper: source.check_range_upper ?? null,
    rangeLowerOpen: source.check_range_lower_open === true,
    rangeUpperOpen: source.check_range_upper_open === true,
    rangeNotEmpty: source.check_range_not_empty ?? false,
    lengthMin: source.length_min ?? null,
    lengthMax: source.length_max ?? null,
  }
}

/** Keys of one group are one key over all their columns. */
function compileUniqueKeys(source: SchemaTableApi, table: TableDraft): UniqueKey[] {
  const groups = new Map<string, UniqueKeyApi[]>()
  for (const [index, key] of (source.unique_keys ?? []).entries()) {
    const name = key.group ? `group ${key.group}` : `single ${index}`
    groups.set(name, [...(groups.get(name) ?? []), key])
  }
  return [...groups.values()].map((members) => {
    const references = members.flatMap((key) => key.columns)
    const ids = [...new Set(references.map((r) => r.column_id ?? 0).filter((id) => id > 0))].sort((a, b) => a - b)
    const columns = ids.map((id) => table.columnByKey.get(String(id))).filter((column) => column !== undefined)
    const withParent = references.some((reference) => reference.auto_column_parent)
    const withUplink = references.some((reference) => reference.auto_column_uplink)
    return {
      key: uniqueKeyId(ids, withParent, withUplink),
      name: members[0]?.name ?? '',
      table,
      columns,
      withParent,
      withUplink,
    }
  })
}

/** The parts of a key as an id, so that a key keeps its stored values exactly as long as it has the same parts. */
function uniqueKeyId(ids: readonly number[], withParent: boolean, withUplink: boolean): string {
  return `${ids.join('.')}${withParent ? 'p' : ''}${withUplink ? 'u' : ''}`
}

function compileBidirectional(
  schema: SchemaApi,
  tables: ReadonlyMap<number, TableDraft>,
  columns: ReadonlyMap<number, Column>,
): void {
  const pairs = new Map<number, Bidirectional>()
  for (const table of schema.tables) {
    for (const pair of table.bidirectional ?? []) {
      const [first, second] = pair.columns
        .filter((r) => !r.auto_column_uplink)
        .map((r) => columns.get(r.column_id ?? 0))
      if (!first) continue
      const opposite = second ?? first
      pairs.set(first.id, { table: first.table, column: first, opposite })
      pairs.set(opposite.id, { table: opposite.table, column: opposite, opposite: first })
    }
  }
  for (const pair of pairs.values()) {
    const table = tableOf(tables, pair.table.id)
    table.bidirectional = [...table.bidirectional, pair]
  }
}

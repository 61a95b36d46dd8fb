import type { BidirectionalApi, ColumnApi, ForeignKeyApi, SchemaApi, SchemaTableApi, UniqueKeyApi } from '../schema.ts'
import { dropStale } from './stale.ts'

/** The data that completes a posted snapshot. */
export interface NormalizeBase {
  /** The stored working copy: tables and columns without an id are found there by their name. */
  readonly head: SchemaApi
  readonly version: number
  readonly basedOnVersion: number
}

/**
 * The canonical form of a snapshot: every table and column has its id (new ones above the highest ever used), every reference its
 * id and its name hint, flags and lists are present, and implied parts are added: the entry of a nested table at its owner, the
 * reverse entry of a `reverse_edit` link, the foreign key of a link that contains its table. Idempotent. Invalid parts stay
 * unchanged; `validate.ts` refuses them afterwards.
 */
export function normalizeSchema(input: SchemaApi, base: NormalizeBase): SchemaApi {
  const names = identify(input, base.head)
  const completed = dropStale(
    names.tables.map((table) => completeTable(table, names)),
    base.head,
  )
  markReverseHalves(completed)
  addNestedEntries(completed)
  addReverseEntries(completed)
  return numberEntries(
    {
      ...input,
      version: base.version,
      based_on_version: base.basedOnVersion,
      based_on_base_version: input.based_on_base_version ?? base.head.based_on_base_version ?? 0,
      max_table_id: names.maxTableId,
      max_column_id: names.maxColumnId,
      type: 'user',
      committed_at: null,
      tables: completed,
    },
    base.head,
  )
}

/** Marks the reverse half of each pair: its second column. */
function markReverseHalves(tables: readonly SchemaTableApi[]): void {
  const pairs = tables.flatMap((table) => table.bidirectional ?? [])
  const halves = pairs.map((pair) => pair.columns.flatMap(({ column_id: id }) => (id === undefined ? [] : [id])))
  const paired = new Set(halves.flat())
  const reverse = new Set(halves.flatMap(([, second]) => (second === undefined ? [] : [second])))
  for (const column of tables.flatMap((table) => table.columns ?? [])) {
    if (column.kind === 'column' && paired.has(column.column_id ?? 0))
      column.bidirectional_reverse = reverse.has(column.column_id ?? 0)
  }
}

interface Names {
  readonly tables: SchemaTableApi[]
  readonly maxTableId: number
  readonly maxColumnId: number
  readonly tableById: ReadonlyMap<number, SchemaTableApi>
  readonly tableByName: ReadonlyMap<string, SchemaTableApi>
  readonly columnName: ReadonlyMap<number, string>
}

/** Gives ids to tables and value columns; entries of nested and reverse tables are numbered last. */
function identify(input: SchemaApi, head: SchemaApi): Names {
  const headTables = new Map(head.tables.map((table) => [table.name, table]))
  const all = [input, head]
  let maxTableId = Math.max(0, ...all.flatMap((schema) => [schema.max_table_id ?? 0, ...tableIds(schema)]))
  let maxColumnId = Math.max(0, ...all.flatMap((schema) => [schema.max_column_id ?? 0, ...columnIds(schema)]))
  const takenTables = new Set(tableIds(input))
  const takenColumns = new Set(columnIds(input))
  const claim = (taken: Set<number>, known: number | undefined): number | undefined => {
    if (!known || taken.has(known)) return undefined
    taken.add(known)
    return known
  }
  const tables = input.tables.map((table) => {
    const known = headTables.get(table.name)
    const table_id = table.table_id || claim(takenTables, known?.table_id) || ++maxTableId
    const knownColumns = new Map(
      (known?.columns ?? []).filter((c) => c.kind === 'column').map((c) => [c.name, c.column_id] as const),
    )
    const columns = (table.columns ?? []).map((column) => {
      const kind = column.kind ?? 'column'
      if (kind !== 'column') return { ...column, kind }
      return {
        ...column,
        kind,
        column_id: column.column_id || claim(takenColumns, knownColumns.get(column.name)) || ++maxColumnId,
      }
    })
    return { ...table, table_id, columns }
  })
  return {
    tables,
    maxTableId,
    maxColumnId,
    tableById: new Map(tables.map((table) => [table.table_id, table])),
    tableByName: new Map(tables.map((table) => [table.name, table])),
    columnName: new Map(
      tables.flatMap((t) => t.columns.filter((c) => c.kind === 'column').map((c) => [c.column_id ?? 0, c.name ?? ''])),
    ),
  }
}

function tableIds(schema: SchemaApi): number[] {
  return schema.tables.map((table) => table.table_id ?? 0).filter((id) => id > 0)
}

function columnIds(schema: SchemaApi): number[] {
  return schema.tables.flatMap((table) => (table.columns ?? []).map((c) => c.column_id ?? 0)).filter((id) => id > 0)
}

function completeTable(table: SchemaTableApi, names: Names): SchemaTableApi {
  const columns = (table.columns ?? []).map((column) => completeColumn(column, names))
  const known = (table.foreign_keys ?? []).map((key) => completeForeignKey(key, table, columns, names))
  const implied = impliedForeignKeys(table, columns, known, names)
  const { owned_by, ...rest } = table
  return {
    ...rest,
    comment: table.comment ?? '',
    pool_link: table.pool_link ?? false,
    acl_table: table.acl_table ?? false,
    has_tags: table.has_tags ?? false,
    is_hierarchical: table.is_hierarchical ?? false,
    polyhierarchical: table.polyhierarchical ?? false,
    in_main_search: table.in_main_search ?? false,
    ...(owned_by ? { owned_by: tableReference(owned_by, names) } : {}),
    columns: columns.map((column) => withoutOwnTarget(column, [...known, ...implied])),
    foreign_keys: [...known, ...implied],
    unique_keys: (table.unique_keys ?? []).map((key) => completeUniqueKey(key, table, columns)),
    bidirectional: (table.bidirectional ?? []).map((pair) => completeBidirectional(pair, columns, names)),
  }
}

interface TableReference {
  other_table_id?: number
  other_table_name_hint?: string
}

/** A reference by id, or by name if there is no id; the hint is always the current name. */
function tableReference<T extends TableReference>(reference: T, names: Names): T {
  const byId = names.tableById.get(reference.other_table_id ?? 0)
  const found =
    byId ?? (reference.other_table_id ? undefined : names.tableByName.get(reference.other_table_name_hint ?? ''))
  if (!found) return reference
  return { ...reference, other_table_id: found.table_id, other_table_name_hint: found.name }
}

function completeColumn(column: ColumnApi, names: Names): ColumnApi {
  const flags = {
    not_null: column.not_null ?? false,
    reverse_edit: column.reverse_edit ?? false,
    is_hierarchical: column.is_hierarchical ?? false,
    bidirectional_reverse: column.bidirectional_reverse ?? false,
    custom_settings: column.custom_settings ?? {},
  }
  const named = tableReference(column, names)
  if (column.kind === 'column') return { ...named, ...flags, ...rangeDefaults(column) }
  if (column.kind !== 'reverse_link' || !named.other_table_id) return { ...named, ...flags }
  const table = names.tableById.get(named.other_table_id)
  const behind = (table?.columns ?? []).find(
    ({ kind, column_id, name }) =>
      kind === 'column' &&
      (named.other_column_id ? column_id === named.other_column_id : name === named.other_column_name_hint),
  )
  if (!behind?.column_id) return { ...named, ...flags }
  return { ...named, ...flags, other_column_id: behind.column_id, other_column_name_hint: behind.name ?? '' }
}

function rangeDefaults(column: ColumnApi): Partial<ColumnApi> {
  return {
    check_range_lower: column.check_range_lower ?? null,
    check_range_upper: column.check_range_upper ?? null,
    check_range_lower_open: column.check_range_lower_open ?? false,
    check_range_upper_open: column.check_range_upper_open ?? false,
    check_range_not_empty: column.check_range_not_empty ?? false,
  }
}

interface ColumnReference {
  column_id?: number
  column_name_hint?: string
}

/** A column of the same table by id, else by name; of any table when `anywhere` is set. */
function columnReference<T extends ColumnReference>(
  reference: T,
  columns: readonly ColumnApi[],
  anywhere?: ReadonlyMap<number, string>,
): T {
  const found = columns.find((column) =>
    reference.column_id ? column.column_id === reference.column_id : column.name === reference.column_name_hint,
  )
  if (found?.column_id && found.kind === 'column') {
    return { ...reference, column_id: found.column_id, column_name_hint: found.name ?? '' }
  }
  const elsewhere = anywhere?.get(reference.column_id ?? 0)
  return elsewhere ? { ...reference, column_name_hint: elsewhere } : reference
}

function completeForeignKey(
  key: ForeignKeyApi,
  table: SchemaTableApi,
  columns: readonly ColumnApi[],
  names: Names,
): ForeignKeyApi {
  const { table_id, name_hint } = key.referenced_table
  const target = table_id ? names.tableById.get(table_id) : names.tableByName.get(name_hint ?? '')
  const own = key.columns.map((reference) => columnReference(reference, columns))
  return {
    ...key,
    name: key.name ?? foreignKeyName(table, own[0]?.column_name_hint ?? '', target?.name ?? ''),
    on_delete: (key.on_delete ?? 'restrict').toLowerCase().replace(' ', ''),
    on_update: (key.on_update ?? 'cascade').toLowerCase().replace(' ', ''),
    columns: own,
    referenced_table: {
      ...key.referenced_table,
      ...(target?.table_id ? { table_id: target.table_id, name_hint: target.name } : {}),
      columns: key.referenced_table.columns ?? [{ auto_column_primary_key: true }],
    },
  }
}

/** Adds the missing foreign key of a link column that contains its table itself (`other_table_id` or the hint). */
function impliedForeignKeys(
  table: SchemaTableApi,
  columns: readonly ColumnApi[],
  known: readonly ForeignKeyApi[],
  names: Names,
): ForeignKeyApi[] {
  const covered = new Set(known.flatMap((key) => key.columns.map((reference) => reference.column_id)))
  return columns
    .filter((column) => column.kind === 'column' && column.type === 'link' && !covered.has(column.column_id))
    .flatMap((column) => {
      const target = names.tableById.get(column.other_table_id ?? 0)
      if (!target) return []
      return {
        name: foreignKeyName(table, column.name ?? '', target.name),
        on_delete: 'restrict',
        on_update: 'cascade',
        columns: [{ column_id: column.column_id, column_name_hint: column.name }],
        referenced_table: {
          table_id: target.table_id,
          name_hint: target.name,
          columns: [{ auto_column_primary_key: true }],
        },
      } as ForeignKeyApi
    })
}

/** Only the foreign key stores the target of a link; the same value in a column is removed. */
function withoutOwnTarget(column: ColumnApi, keys: readonly ForeignKeyApi[]): ColumnApi {
  if (column.kind !== 'column' || column.other_table_id === undefined) return column
  const key = keys.find((candidate) => candidate.columns.some((r) => r.column_id === column.column_id))
  if (column.type === 'link' && key?.referenced_table.table_id !== column.other_table_id) return column
  const { other_table_id, other_table_name_hint, ...rest } = column
  return rest
}

function foreignKeyName(table: SchemaTableApi, column: string, target: string): string {
  return `${table.name}__${column}__${target}_fkey`
}

function completeUniqueKey(key: UniqueKeyApi, table: SchemaTableApi, columns: readonly ColumnApi[]): UniqueKeyApi {
  const own = key.columns.map((reference) =>
    reference.auto_column_parent || reference.auto_column_uplink ? reference : columnReference(reference, columns),
  )
  const hints = own.map(
    (reference) => reference.column_name_hint ?? (reference.auto_column_parent ? '_parent' : '_uplink'),
  )
  return { ...key, name: key.name ?? `${table.name}__${hints.join('__')}_unique`, columns: own }
}

function completeBidirectional(pair: BidirectionalApi, columns: readonly ColumnApi[], names: Names): BidirectionalApi {
  return {
    ...pair,
    columns: pair.columns.map((reference) =>
      reference.auto_column_uplink ? reference : columnReference(reference, columns, names.columnName),
    ),
  }
}

/** A nested table appears at its owner; the entry is added when the snapshot has none. */
function addNestedEntries(tables: SchemaTableApi[]): void {
  const byId = new Map(tables.map((table) => [table.table_id, table]))
  for (const table of tables) {
    const owner = byId.get(table.owned_by?.other_table_id)
    if (!owner || owner === table) continue
    if (owner.columns?.some((c) => c.kind === 'link' && c.other_table_id === table.table_id)) continue
    owner.columns?.push(entry({ kind: 'link', other_table_id: table.table_id, other_table_name_hint: table.name }))
  }
}

/** A link with `reverse_edit` appears at the table it points to. */
function addReverseEntries(tables: SchemaTableApi[]): void {
  const byId = new Map(tables.map((table) => [table.table_id, table]))
  for (const table of tables) {
    for (const column of table.columns ?? []) {
      if (column.kind !== 'column' || column.type !== 'link' || !column.reverse_edit) continue
      const key = table.foreign_keys?.find((k) =>
        k.columns.some((reference) => reference.column_id === column.column_id),
      )
      const target = byId.get(key?.referenced_table.table_id)
      if (!target || target.columns?.some((c) => c.kind === 'reverse_link' && c.other_column_id === column.column_id))
        continue
      target.columns?.push(
        entry({
          kind: 'reverse_link',
          other_table_id: table.table_id,
          other_table_name_hint: table.name,
          other_column_id: column.column_id,
          other_column_name_hint: column.name,
        }),
      )
    }
  }
}

function entry(column: ColumnApi): ColumnApi {
  return {
    ...column,
    not_null: false,
    reverse_edit: false,
    is_hierarchical: false,
    bidirectional_reverse: false,
    custom_settings: {},
  }
}

/** Entries of nested and reverse tables have ids too; the same entry keeps its id of the working copy. */
function numberEntries(schema: SchemaApi, head: SchemaApi): SchemaApi {
  let max = schema.max_column_id ?? 0
  const taken = new Set(columnIds(schema))
  const before = new Map(
    head.tables.flatMap((table) => (table.columns ?? []).map((c) => [entryKey(table, c), c.column_id] as const)),
  )
  const tables = schema.tables.map((table) => ({
    ...table,
    columns: (table.columns ?? []).map((column) => {
      if (column.column_id) return column
      const known = before.get(entryKey(table, column))
      const column_id = known && !taken.has(known) ? known : ++max
      taken.add(column_id)
      return { ...column, column_id }
    }),
  }))
  return { ...schema, max_column_id: max, tables }
}

function entryKey(table: SchemaTableApi, column: ColumnApi): string {
  const behind = column.is_hierarchical ? 'parent' : String(column.other_column_id ?? '')
  return `${table.table_id}/${column.kind}/${column.other_table_id ?? ''}/${behind}`
}

/** The parts of the service's datamodel that an import needs. */

export interface WireColumn {
  readonly kind?: string
  readonly name?: string
  readonly type?: string
  readonly column_id?: number
  readonly not_null?: boolean
  readonly name_localized?: Readonly<Record<string, string>>
}

interface WireForeignKey {
  readonly columns: readonly { readonly column_id: number }[]
  readonly referenced_table: { readonly table_id: number }
}

export interface WireTable {
  readonly name: string
  readonly table_id: number
  readonly pool_link?: boolean
  readonly is_hierarchical?: boolean
  readonly polyhierarchical?: boolean
  readonly owned_by?: { readonly other_table_id: number }
  readonly columns: readonly WireColumn[]
  readonly foreign_keys?: readonly WireForeignKey[]
  readonly unique_keys?: readonly { readonly columns: readonly { readonly column_id?: number }[] }[]
}

export interface WireMask {
  readonly name: string
  readonly mask_id?: number
  readonly table_id?: number
  readonly is_preferred?: boolean
}

/** The committed datamodel. */
export interface StoredModel {
  readonly tables: readonly WireTable[]
  readonly masks: readonly WireMask[]
}

export function tableOf(model: StoredModel, name: string): WireTable | undefined {
  return model.tables.find((table) => table.name === name)
}

export function columnNamed(table: WireTable, name: string): WireColumn | undefined {
  return table.columns.find((column) => column.name === name && column.kind !== 'reverse_link')
}

/** Name of the object type that is the target of a link column. */
export function targetOf(model: StoredModel, table: WireTable, column: WireColumn): string | undefined {
  const key = table.foreign_keys?.find(({ columns }) => columns.some(({ column_id }) => column_id === column.column_id))
  return model.tables.find(({ table_id }) => table_id === key?.referenced_table.table_id)?.name
}

/** Whether values of the column alone are unique. */
export function isUnique(table: WireTable, column: WireColumn): boolean {
  return (table.unique_keys ?? []).some(
    ({ columns: [first, ...more] }) => more.length === 0 && first !== undefined && first.column_id === column.column_id,
  )
}

/** The default mask for reading and saving objects of the type. */
export function usualMask(model: StoredModel, table: WireTable): string {
  const own = model.masks.filter(({ table_id }) => table_id === table.table_id)
  return (own.find((mask) => mask.is_preferred) ?? own[0])?.name ?? '_all_fields'
}

/** Whether the type can be a list with its values in this column: no other column may be required. */
export function isList(table: WireTable, name: string): boolean {
  const column = columnNamed(table, name)
  if (!column || table.owned_by || table.pool_link) return false
  const others = table.columns.some((each) => each !== column && each.not_null === true)
  return ['string', 'text_oneline', 'text'].includes(column.type ?? '') && isUnique(table, column) && !others
}

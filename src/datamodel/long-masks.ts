import type { Snapshot } from './compile/model.ts'
import { columnKey, localized, maskLocalized, tableLocalized } from './l10n.ts'
import type { FieldApi, MaskApi, MaskSchemaApi, SchemaTableApi } from './schema.ts'

/** Masks in format `long`: each field with its column definition, its full name and the localised names. */
export function longMasks(snapshot: Snapshot): MaskSchemaApi {
  const tables = new Map(snapshot.schema.tables.map((table) => [table.table_id ?? 0, table]))
  return { ...snapshot.masks, masks: snapshot.masks.masks.map((mask) => longMask(mask, snapshot, tables)) }
}

type Tables = ReadonlyMap<number, SchemaTableApi>

function longMask(mask: MaskApi, snapshot: Snapshot, tables: Tables): MaskApi {
  const table = tables.get(mask.table_id ?? 0)
  if (!table) return mask
  const named = {
    ...mask,
    table_name_localized: { ...tableLocalized(snapshot.l10n, table) },
    fields: (mask.fields ?? []).map((field) => longField(field, table, snapshot, tables)),
  }
  return mask.mask_id ? { ...named, name_localized: { ...maskLocalized(snapshot.l10n, mask) } } : named
}

function longField(field: FieldApi, table: SchemaTableApi, snapshot: Snapshot, tables: Tables): FieldApi {
  const column = (table.columns ?? []).find((candidate) => {
    if (field.kind === 'linked-table')
      return candidate.kind === 'link' && candidate.other_table_id === field.other_table_id
    if (field.kind !== 'reverse-linked-table')
      return candidate.kind === 'column' && candidate.column_id === field.column_id
    if (candidate.kind !== 'reverse_link') return false
    return field.is_hierarchical ? candidate.is_hierarchical : candidate.other_column_id === field.other_column_id
  })
  const inline = field.mask ? { mask: longMask(field.mask, snapshot, tables) } : {}
  if (!column) return { ...field, ...inline }
  return {
    ...field,
    ...inline,
    ...{
      column: { ...column, name_localized: { ...localized(snapshot.l10n, columnKey(table.name, column)) } },
      full_name: `${fullName(table, tables)}.${wireName(field, column.name)}`,
    },
  }
}

/** The name that search uses: `artwork._nested:artwork__contributor.role`. */
function fullName(table: SchemaTableApi, tables: Tables): string {
  const owner = tables.get(table.owned_by?.other_table_id ?? 0)
  return owner ? `${fullName(owner, tables)}._nested:${table.name}` : table.name
}

function wireName(field: FieldApi, columnName: string | undefined): string {
  if (field.kind === 'linked-table') return `_nested:${field.other_table_name_hint}`
  if (field.kind !== 'reverse-linked-table') return columnName ?? ''
  const behind = field.is_hierarchical ? '_id_parent' : field.other_column_name_hint
  return `_reverse_nested:${field.other_table_name_hint}:${behind}`
}

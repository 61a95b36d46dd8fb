/** The system mask `_all_fields` of each object type, as versions show it. */
import { allFieldsName } from './compile/all-fields.ts'
import type { Snapshot } from './compile/model.ts'
import type { ColumnApi, FieldApi, MaskApi, SchemaTableApi } from './schema.ts'

type Tables = ReadonlyMap<number, SchemaTableApi>

/** All fields of all object types, editable; of other objects behind a link those that are not on the way already. */
export function withAllFields({ masks, schema, ...snapshot }: Snapshot): Snapshot {
  const tables = new Map(schema.tables.map((table) => [table.table_id ?? 0, table]))
  const all = schema.tables.filter(({ owned_by: owner }) => !owner?.other_table_id)
  return { ...snapshot, schema, masks: { ...masks, masks: all.map((table) => allFieldsOf(table, tables)) } }
}

export { allFieldsName }

function allFieldsOf(table: SchemaTableApi, tables: Tables): MaskApi {
  return {
    name: allFieldsName,
    table_id: table.table_id ?? 0,
    table_name_hint: table.name,
    is_preferred: false,
    require_comment: 'never',
    fields: fieldsOf(table, tables, [table], null),
  }
}

const shown = () => ({
  edit: { mode: 'edit' },
  output: { detail: true, text: true, table: true },
  search: { expert: true, fulltext: true, facet: true, nested: true },
})

/** `behind`: the column by which an object is reached, which says nothing more there. */
function fieldsOf(
  table: SchemaTableApi,
  tables: Tables,
  path: readonly SchemaTableApi[],
  behind: number | null,
): FieldApi[] {
  return (table.columns ?? []).flatMap((column): FieldApi[] => {
    if (column.kind === 'column') return column.column_id === behind ? [] : [columnField(column, table)]
    const other = tables.get(Number(column.other_table_id ?? 0))
    if (!other) return []
    if (column.kind === 'link') {
      const fields = fieldsOf(other, tables, path, null)
      return [{ kind: 'linked-table', ...referred(column), ...shown(), mask: { fields } }]
    }
    if (column.kind !== 'reverse_link' || column.is_hierarchical || path.includes(other)) return []
    const fields = fieldsOf(other, tables, [...path, other], Number(column.other_column_id ?? 0))
    const mask = { table_id: other.table_id ?? 0, table_name_hint: other.name, fields }
    return [{ kind: 'reverse-linked-table', ...referred(column), ...shown(), mask }]
  })
}

function columnField(column: ColumnApi, table: SchemaTableApi): FieldApi {
  const key = table.foreign_keys?.find(({ columns }) => columns.some((one) => one.column_id === column.column_id))
  return {
    kind: key ? 'link' : 'field',
    column_id: column.column_id ?? 0,
    column_name_hint: column.name ?? '',
    ...(key
      ? {
          other_table_id: key.referenced_table.table_id ?? 0,
          other_table_name_hint: key.referenced_table.name_hint ?? '',
          mask_id: 'PREFERRED',
        }
      : {}),
    ...shown(),
  }
}

function referred(column: ColumnApi): FieldApi {
  const { other_table_id, other_table_name_hint, other_column_id, other_column_name_hint } = column
  return {
    ...(other_table_id === undefined ? {} : { other_table_id }),
    ...(other_table_name_hint === undefined ? {} : { other_table_name_hint }),
    ...(other_column_id === undefined ? {} : { other_column_id }),
    ...(other_column_name_hint === undefined ? {} : { other_column_name_hint }),
  }
}

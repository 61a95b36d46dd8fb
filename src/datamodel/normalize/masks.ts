import type { FieldApi, MaskApi, MaskSchemaApi, SchemaApi, SchemaTableApi } from '../schema.ts'

/**
 * The canonical form of a mask document for a normalised snapshot: masks have ids (a mask without one gets the id of the mask with
 * its name in the working copy, or a new one), references have ids and hints. Idempotent.
 */
export function normalizeMasks(
  input: MaskSchemaApi,
  { head, schema, version }: { head: MaskSchemaApi; schema: SchemaApi; version: number },
): MaskSchemaApi {
  const index = indexSchema(schema)
  const all = [...input.masks, ...head.masks]
  let max = Math.max(input.max_mask_id ?? 0, head.max_mask_id ?? 0, ...all.map((mask) => mask.mask_id ?? 0))
  const known = new Map(head.masks.map((mask) => [mask.name, mask.mask_id]))
  const taken = new Set(input.masks.map((mask) => mask.mask_id ?? 0).filter((id) => id > 0))
  const masks = input.masks.map((mask) => {
    const named = known.get(mask.name)
    const mask_id = mask.mask_id || (named && !taken.has(named) ? named : ++max)
    taken.add(mask_id)
    return completeMask({ ...mask, mask_id }, index)
  })
  return { ...input, type: 'user', version, based_on_schema_version: version, max_mask_id: max, masks }
}

interface Index {
  readonly byId: ReadonlyMap<number, SchemaTableApi>
  readonly byName: ReadonlyMap<string, SchemaTableApi>
}

function indexSchema(schema: SchemaApi): Index {
  return {
    byId: new Map(schema.tables.map((table) => [table.table_id ?? 0, table])),
    byName: new Map(schema.tables.map((table) => [table.name, table])),
  }
}

function tableBy(id: number | undefined, name: string | undefined, index: Index): SchemaTableApi | undefined {
  return id ? index.byId.get(id) : index.byName.get(name ?? '')
}

function completeMask(mask: MaskApi, index: Index): MaskApi {
  const table = tableBy(mask.table_id, mask.table_name_hint, index)
  return {
    ...mask,
    ...(table ? { table_id: table.table_id, table_name_hint: table.name } : {}),
    is_preferred: mask.is_preferred ?? false,
    require_comment: mask.require_comment || 'never',
    fields: completeFields(mask.fields ?? [], table, index),
  }
}

function completeFields(fields: readonly FieldApi[], table: SchemaTableApi | undefined, index: Index): FieldApi[] {
  return fields.map((field) => {
    switch (field.kind) {
      case 'field':
      case 'link':
        return completeColumnField(field, table, index)
      case 'linked-table':
      case 'reverse-linked-table':
        return completeTableField(field, table, index)
      default:
        return field
    }
  })
}

function columnBy(id: number | undefined, name: string | undefined, table: SchemaTableApi | undefined) {
  return (table?.columns ?? []).find(
    (column) => column.kind === 'column' && (id ? column.column_id === id : column.name === name),
  )
}

function completeColumnField(field: FieldApi, table: SchemaTableApi | undefined, index: Index): FieldApi {
  const column = columnBy(field.column_id, field.column_name_hint, table)
  if (!column) return field
  const key = table?.foreign_keys?.find((k) => k.columns.some((r) => r.column_id === column.column_id))
  const target = index.byId.get(key?.referenced_table.table_id ?? 0)
  return {
    ...field,
    kind: column.type === 'link' ? 'link' : 'field',
    column_id: column.column_id,
    column_name_hint: column.name,
    ...(target ? { other_table_id: target.table_id, other_table_name_hint: target.name } : {}),
  }
}

function completeTableField(field: FieldApi, table: SchemaTableApi | undefined, index: Index): FieldApi {
  const children = field.kind === 'reverse-linked-table' && field.is_hierarchical === true
  const other = children ? table : tableBy(field.other_table_id, field.other_table_name_hint, index)
  if (!other) return field
  const named = { ...field, other_table_id: other.table_id, other_table_name_hint: other.name }
  const inline = field.mask
    ? {
        mask: {
          ...field.mask,
          table_id: other.table_id,
          table_name_hint: other.name,
          fields: completeFields(field.mask.fields ?? [], other, index),
        },
      }
    : {}
  if (field.kind === 'linked-table' || children) return { ...named, ...inline }
  const column = columnBy(field.other_column_id, field.other_column_name_hint, other)
  if (!column) return { ...named, ...inline }
  return { ...named, other_column_id: column.column_id, other_column_name_hint: column.name, ...inline }
}

/**
 * The masks without parts that a changed snapshot no longer has: masks of removed object types, fields of removed columns and
 * tables, sort keys. New parts of the snapshot are not added to masks: the author of a mask decides who sees them.
 */
export function pruneMasks(masks: MaskSchemaApi, schema: SchemaApi): MaskSchemaApi {
  const index = indexSchema(schema)
  const kept = masks.masks.flatMap((mask) => {
    const table = index.byId.get(mask.table_id ?? 0)
    if (!table || table.owned_by) return []
    return [{ ...mask, fields: pruneFields(mask.fields ?? [], table, index) }]
  })
  return { ...masks, masks: kept }
}

function pruneFields(fields: readonly FieldApi[], table: SchemaTableApi, index: Index): FieldApi[] {
  return fields.flatMap((field): FieldApi[] => {
    if (field.kind === 'field' || field.kind === 'link') {
      if (!columnBy(field.column_id || -1, undefined, table)) return []
      return [table.is_hierarchical || table.polyhierarchical || table.owned_by ? field : withoutInheritance(field)]
    }
    if (field.kind !== 'linked-table' && field.kind !== 'reverse-linked-table') return [field]
    const other = index.byId.get(field.other_table_id ?? 0)
    if (!other || !stillThere(field, table, other)) return []
    return [pruneTableField(field, other, index)]
  })
}

function stillThere(field: FieldApi, table: SchemaTableApi, other: SchemaTableApi): boolean {
  if (field.kind === 'linked-table') return other.owned_by?.other_table_id === table.table_id
  if (field.is_hierarchical) return table.is_hierarchical === true || table.polyhierarchical === true
  return columnBy(field.other_column_id || -1, undefined, other)?.reverse_edit === true
}

function pruneTableField(field: FieldApi, other: SchemaTableApi, index: Index): FieldApi {
  const columns = new Set((other.columns ?? []).map((column) => column.name))
  return {
    ...field,
    ...(field.nested_sort ? { nested_sort: field.nested_sort.filter((key) => columns.has(key.field)) } : {}),
    ...(field.mask ? { mask: { ...field.mask, fields: pruneFields(field.mask.fields ?? [], other, index) } } : {}),
  }
}

function withoutInheritance(field: FieldApi): FieldApi {
  return field.inheritance?.inherit ? { ...field, inheritance: { ...field.inheritance, inherit: false } } : field
}

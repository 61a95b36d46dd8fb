import { maskLocalized } from '../l10n.ts'
import type { ColumnField, Mask, MaskField, NestedField, ReverseField, Table } from '../model.ts'
import type { FieldApi, LocaApi, MaskApi, MaskSchemaApi } from '../schema.ts'
import { allFieldsMask } from './all-fields.ts'
import { defaultSystemFields, fieldBase, reversePoolMode, systemFields } from './fields.ts'
import { type CompiledTables, type TableDraft, tableOf } from './tables.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type MaskDraft = Mutable<Omit<Mask, 'fields' | 'fieldByColumn'>> & {
  fields: MaskField[]
  fieldByColumn: Map<string, ColumnField>
}

/** Adds the masks to the tables; afterwards every object type has its `_all_fields` and its preferred mask. */
export function compileMasks(compiled: CompiledTables, masks: MaskSchemaApi, l10n: LocaApi): Map<number, Mask> {
  const objecttypes = [...compiled.tablesById.values()].filter((table) => table.kind === 'object')
  for (const table of objecttypes) {
    const mask = allFieldsMask(table)
    table.masks.set(mask.name, mask)
    table.preferredMask = mask
  }
  const drafts = masks.masks.map((source) => ({ source, draft: draftMask(source, compiled, l10n) }))
  const masksById = new Map<number, Mask>(drafts.map(({ draft }) => [draft.id, draft]))
  for (const { source, draft } of drafts) {
    const table = tableOf(compiled.tablesById, draft.table.id)
    if (draft.isPreferred || (table.preferredMask.isAllFields && !draft.isAllFields)) table.preferredMask = draft
    table.masks.set(draft.name, draft)
    fillMask(draft, source, { compiled, masksById, top: draft })
  }
  return masksById
}

function draftMask(source: MaskApi, compiled: CompiledTables, l10n: LocaApi): MaskDraft {
  const table = tableOf(compiled.tablesById, source.table_id)
  return {
    id: source.mask_id ?? 0,
    name: source.name ?? '',
    table,
    isAllFields: false,
    isInline: false,
    isPreferred: source.is_preferred ?? false,
    fields: [],
    fieldByColumn: new Map(),
    system: source.system_fields ? systemFields(source.system_fields, table) : defaultSystemFields(table),
    requireComment: (source.require_comment || 'never') as Mask['requireComment'],
    reversePoolChanged: reversePoolMode(source.custom_settings),
    nameLocalized: maskLocalized(l10n, source),
  }
}

interface Context {
  readonly compiled: CompiledTables
  readonly masksById: ReadonlyMap<number, Mask>
  /** The outermost mask, which `SAME` and inline masks refer to. */
  readonly top: Mask
}

function fillMask(draft: MaskDraft, source: MaskApi, context: Context): void {
  draft.fields = compileFields(source.fields ?? [], draft.table, context)
  for (const field of draft.fields) if (field.kind === 'column') draft.fieldByColumn.set(field.column.name, field)
}

/** Fields in the order of the mask; entries that only shape a form (`splitter`, `panel`, …) are no fields. */
function compileFields(sources: readonly FieldApi[], table: Table, context: Context): MaskField[] {
  return sources.flatMap((source): MaskField[] => {
    switch (source.kind) {
      case 'field':
      case 'link':
        return compileColumnField(source, table, context)
      case 'linked-table':
        return [compileNestedField(source, context)]
      case 'reverse-linked-table':
        return [compileReverseField(source, table, context)]
      default:
        return []
    }
  })
}

function compileColumnField(source: FieldApi, table: Table, context: Context): ColumnField[] {
  const column = table.columnByKey.get(String(source.column_id))
  if (!column) return []
  return [{ kind: 'column', ...fieldBase(source), column, linkMask: linkMask(source, context) }]
}

function linkMask(source: FieldApi, context: Context): Mask | null {
  if (typeof source.mask_id === 'number') return context.masksById.get(source.mask_id) ?? null
  return source.mask_id?.toLowerCase() === 'same' ? context.top : null
}

function compileNestedField(source: FieldApi, context: Context): NestedField {
  const table = tableOf(context.compiled.tablesById, source.other_table_id)
  return {
    kind: 'nested',
    ...fieldBase(source),
    table,
    fields: compileFields(source.mask?.fields ?? [], table, context),
    sort: (source.nested_sort ?? []).flatMap((key) => {
      const column = table.columnByName.get(key.field ?? '')
      return column ? [{ column, descending: key.order === 'desc' }] : []
    }),
    standardFirstOnly: source.nested_standard_first_only ?? false,
  }
}

function compileReverseField(source: FieldApi, table: Table, context: Context): ReverseField {
  const target: TableDraft = source.is_hierarchical
    ? tableOf(context.compiled.tablesById, table.id)
    : tableOf(context.compiled.tablesById, source.other_table_id)
  const column = source.is_hierarchical ? null : (target.columnByKey.get(String(source.other_column_id)) ?? null)
  return {
    kind: 'reverse',
    ...fieldBase(source),
    column,
    table: target,
    mask: inlineMask(source, target, context),
    wireKey: `_reverse_nested:${target.name}:${column ? column.name : '_id_parent'}`,
  }
}

/** The mask of reverse objects: defined in the field, or a mask of the other object type with the id `mask_id`. */
function inlineMask(source: FieldApi, table: Table, context: Context): Mask {
  if (!source.mask && typeof source.mask_id === 'number') {
    const named = context.masksById.get(source.mask_id)
    if (named) return named
  }
  const inline = source.mask ?? {}
  const draft: MaskDraft = {
    id: 0,
    name: context.top.name,
    table,
    isAllFields: false,
    isInline: true,
    isPreferred: false,
    fields: [],
    fieldByColumn: new Map(),
    system: inline.system_fields ? systemFields(inline.system_fields, table) : defaultSystemFields(table),
    requireComment: 'never',
    reversePoolChanged: context.top.reversePoolChanged,
    nameLocalized: {},
  }
  fillMask(draft, inline, context)
  return draft
}

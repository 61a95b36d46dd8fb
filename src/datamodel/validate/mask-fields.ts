import { standardFormats } from '../compile/fields.ts'
import { limits } from '../limits.ts'
import type { FieldApi, MaskApi, SchemaTableApi } from '../schema.ts'
import { type DocumentPath, inconsistent, wrongPlace } from './document-path.ts'

export const editModes: ReadonlySet<string> = new Set(['edit', 'show', 'off'])
const standardMasks = new Set(['preferred', 'standard', 'same'])

/** The data that the fields of all masks of a document are checked against. */
export interface MaskContext {
  readonly tables: ReadonlyMap<number, SchemaTableApi>
  readonly masks: ReadonlyMap<number, MaskApi>
  fieldCount: number
}

/** @throws {AppError} `InvalidMaskMode` */
export function checkMode(mode: string | undefined, modes: ReadonlySet<string>, place: DocumentPath): void {
  if (!mode || modes.has(mode)) return
  throw wrongPlace('InvalidMaskMode', place, `the mode "${mode}" is unknown; there are ${[...modes].join(', ')}`, {
    mode,
  })
}

/** Checks the fields of a mask, or of an inline mask `depth` levels deep in it. */
export function validateFields(
  fields: readonly FieldApi[],
  table: SchemaTableApi,
  place: DocumentPath,
  context: MaskContext,
  depth: number,
): void {
  if (depth > limits.maskDepth) throw inconsistent(place, `masks are nested deeper than ${limits.maskDepth} levels`)
  context.fieldCount += fields.length
  if (context.fieldCount > limits.maskFields)
    throw inconsistent(place, `the masks have more than ${limits.maskFields} fields`)
  const seen = new Map<string, number>()
  for (const [at, field] of fields.entries()) {
    const here = {
      ...place,
      path: `${place.path}.fields[${at}]`,
      column: field.column_name_hint ?? field.other_table_name_hint ?? '',
    }
    const identity = validateField(field, table, here, context, depth)
    if (identity === null) continue
    const first = seen.get(identity)
    if (first !== undefined) throw inconsistent(here, `is the same as fields[${first}]`)
    seen.set(identity, at)
  }
}

/** @returns an identifier of the field's content, so that duplicates can be found; null for fields that only shape a form. */
function validateField(
  field: FieldApi,
  table: SchemaTableApi,
  place: DocumentPath,
  context: MaskContext,
  depth: number,
): string | null {
  if (field.kind === 'field' || field.kind === 'link') {
    validateCommon(field, place)
    validateColumnField(field, table, place, context)
    return `column ${field.column_id}`
  }
  if (field.kind === 'linked-table') {
    validateCommon(field, place)
    validateNestedField(field, table, place, context, depth)
    return `nested ${field.other_table_id}`
  }
  if (field.kind === 'reverse-linked-table') {
    validateCommon(field, place)
    validateReverseField(field, table, place, context, depth)
    return field.is_hierarchical ? 'children' : `reverse ${field.other_column_id}`
  }
  if (!field.kind) throw inconsistent({ ...place, path: `${place.path}.kind` }, 'the kind of the field is missing')
  return null
}

function validateCommon(field: FieldApi, place: DocumentPath): void {
  const at = (member: string): DocumentPath => ({ ...place, path: `${place.path}.${member}` })
  checkMode(field.edit?.mode, editModes, at('edit.mode'))
  const standard = field.output?.standard
  for (const member of ['format', 'format_inner'] as const) {
    const format = standard?.[member]
    if (format && !(standardFormats as readonly string[]).includes(format)) {
      throw inconsistent(
        at(`output.standard.${member}`),
        `the format "${format}" is unknown; there are ${standardFormats.join(', ')}`,
        { format },
      )
    }
  }
  const orders = {
    standard: standard?.order,
    standard_eas: field.output?.standard_eas?.order,
    standard_geo: field.output?.standard_geo?.order,
  }
  for (const [member, order] of Object.entries(orders)) {
    if (order === undefined || (order >= 0 && order <= 3)) continue
    throw inconsistent(at(`output.${member}.order`), 'is 1, 2 or 3', { order })
  }
  const fallback = field.custom_settings?.default
  if (typeof fallback === 'string' && fallback !== '' && !isJson(fallback)) {
    throw inconsistent(
      at('custom_settings.default'),
      'is JSON text, for example "\\"new\\"" or "{\\"de-DE\\": \\"neu\\"}"',
      { value: fallback.slice(0, 200) },
    )
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function validateColumnField(field: FieldApi, table: SchemaTableApi, place: DocumentPath, context: MaskContext): void {
  const column = (table.columns ?? []).find((c) => c.kind === 'column' && c.column_id === field.column_id)
  if (!column) {
    throw inconsistent({ ...place, path: `${place.path}.column_id` }, `${table.name} has no such column`, {
      column_id: field.column_id ?? null,
      column_name_hint: field.column_name_hint ?? null,
    })
  }
  if (field.inheritance?.inherit && !isHierarchy(table, context)) {
    throw wrongPlace(
      'InheritanceNotSupported',
      { ...place, path: `${place.path}.inheritance.inherit` },
      `${table.name} is no hierarchy`,
    )
  }
  if (column.type === 'link') checkLinkMask(field, place, context, field.other_table_id)
}

function isHierarchy(table: SchemaTableApi, context: MaskContext): boolean {
  let root: SchemaTableApi | undefined = table
  while (root?.owned_by) root = context.tables.get(root.owned_by.other_table_id ?? 0)
  return root?.is_hierarchical === true || root?.polyhierarchical === true
}

/** `mask_id`: the id of a mask of the linked object type, or PREFERRED, STANDARD or SAME. */
function checkLinkMask(field: FieldApi, place: DocumentPath, context: MaskContext, tableId: number | undefined): void {
  const { mask_id } = field
  if (mask_id === undefined || mask_id === '' || mask_id === 0) return
  const here = { ...place, path: `${place.path}.mask_id` }
  if (typeof mask_id === 'string') {
    if (standardMasks.has(mask_id.toLowerCase())) return
    throw wrongPlace('LinkMaskNotFound', here, `"${mask_id}" is no mask id, PREFERRED, STANDARD or SAME`, { mask_id })
  }
  if (context.masks.get(mask_id)?.table_id === tableId) return
  throw wrongPlace('LinkMaskNotFound', here, `the linked object type has no mask ${mask_id}`, { mask_id })
}

function validateNestedField(
  field: FieldApi,
  table: SchemaTableApi,
  place: DocumentPath,
  context: MaskContext,
  depth: number,
): void {
  const nested = context.tables.get(field.other_table_id ?? 0)
  if (nested?.owned_by?.other_table_id !== table.table_id || !nested) {
    throw inconsistent({ ...place, path: `${place.path}.other_table_id` }, `${table.name} has no such nested table`, {
      other_table_id: field.other_table_id ?? null,
      other_table_name_hint: field.other_table_name_hint ?? null,
    })
  }
  for (const [at, key] of (field.nested_sort ?? []).entries()) {
    const here = { ...place, path: `${place.path}.nested_sort[${at}]` }
    if (!(nested.columns ?? []).some((column) => column.kind === 'column' && column.name === key.field)) {
      throw inconsistent({ ...here, path: `${here.path}.field` }, `${nested.name} has no such column`, {
        field: key.field ?? null,
      })
    }
    if (key.order && key.order !== 'asc' && key.order !== 'desc') {
      throw inconsistent({ ...here, path: `${here.path}.order` }, 'is asc or desc', { order: key.order })
    }
  }
  const inner = { ...place, path: `${place.path}.mask`, table: nested.name }
  validateFields(field.mask?.fields ?? [], nested, inner, context, depth + 1)
}

function validateReverseField(
  field: FieldApi,
  table: SchemaTableApi,
  place: DocumentPath,
  context: MaskContext,
  depth: number,
): void {
  let other: SchemaTableApi | undefined = table
  if (field.is_hierarchical) {
    if (!table.is_hierarchical && !table.polyhierarchical) {
      throw inconsistent({ ...place, path: `${place.path}.is_hierarchical` }, `${table.name} is no hierarchy`)
    }
  } else {
    other = context.tables.get(field.other_table_id ?? 0)
    const entry = (table.columns ?? []).find(
      (c) => c.kind === 'reverse_link' && c.other_column_id === field.other_column_id,
    )
    if (!other || !entry || entry.other_table_id !== field.other_table_id) {
      throw inconsistent(
        { ...place, path: `${place.path}.other_column_id` },
        `${table.name} has no such reverse link`,
        {
          other_table_id: field.other_table_id ?? null,
          other_column_id: field.other_column_id ?? null,
        },
      )
    }
  }
  if (!field.mask) checkLinkMask(field, place, context, other.table_id)
  if (!field.mask && typeof field.mask_id === 'string' && field.mask_id !== '') {
    throw wrongPlace(
      'LinkMaskNotFound',
      { ...place, path: `${place.path}.mask_id` },
      'a reverse link needs a mask of its own or a mask id',
      {
        mask_id: field.mask_id,
      },
    )
  }
  const inner = { ...place, path: `${place.path}.mask`, table: other.name }
  validateFields(field.mask?.fields ?? [], other, inner, context, depth + 1)
}

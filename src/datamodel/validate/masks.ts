import { systemFieldNames } from '../compile/fields.ts'
import { limits } from '../limits.ts'
import type { FieldApi, MaskApi, MaskSchemaApi, SchemaApi } from '../schema.ts'
import { checkIdentifier, type DocumentPath, inconsistent, wrongPlace } from './document-path.ts'
import { checkMode, editModes, type MaskContext, validateFields } from './mask-fields.ts'

const commentModes = new Set(['never', 'always', 'insert', 'update', 'delete'])
const outputModes = new Set(['show', 'off', 'edit'])
const poolModes = new Set(['always', 'never', 'ask'])

/**
 * Refuses a normalised mask document that does not fit its snapshot. Reports the first invalid place.
 *
 * @throws {AppError} `SchemaDuplicateMaskName`, `InvalidIdentifier`, `InvalidMaskMode`, `LinkMaskNotFound`,
 * `InheritanceNotSupported`, `SchemaLoopingReverse`, `ObjecttypeMustHaveExtactlyOnePreferredMask` or
 * `SchemaInconsistent`, each with `parameters.path`.
 */
export function validateMasks(masks: MaskSchemaApi, schema: SchemaApi): void {
  if (masks.masks.length > limits.masks)
    throw inconsistent({ path: 'masks' }, `there are more than ${limits.masks} masks`)
  const context: MaskContext = {
    tables: new Map(schema.tables.map((table) => [table.table_id ?? 0, table])),
    masks: new Map(masks.masks.map((mask) => [mask.mask_id ?? 0, mask])),
    fieldCount: 0,
  }
  checkNamesAndIds(masks)
  for (const [at, mask] of masks.masks.entries())
    validateMask(mask, { path: `masks[${at}]`, mask: mask.name ?? '' }, context)
  checkPreferred(masks)
  refuseLoops(masks)
}

function checkNamesAndIds(masks: MaskSchemaApi): void {
  const names = new Map<string, number>()
  const ids = new Map<number, number>()
  for (const [at, mask] of masks.masks.entries()) {
    const place = { path: `masks[${at}]`, mask: mask.name ?? '' }
    checkIdentifier(mask.name, { ...place, path: `${place.path}.name` }, 128)
    const name = mask.name ?? ''
    if (names.has(name)) {
      throw wrongPlace(
        'SchemaDuplicateMaskName',
        { ...place, path: `${place.path}.name` },
        `masks[${names.get(name)}] has the same name`,
        { name },
      )
    }
    const id = mask.mask_id ?? 0
    if (ids.has(id))
      throw inconsistent({ ...place, path: `${place.path}.mask_id` }, `the id ${id} is used twice`, { mask_id: id })
    names.set(name, at)
    ids.set(id, at)
  }
}

function validateMask(mask: MaskApi, place: DocumentPath, context: MaskContext): void {
  const table = context.tables.get(mask.table_id ?? 0)
  if (!table || table.owned_by) {
    throw inconsistent(
      { ...place, path: `${place.path}.table_id` },
      table ? 'a nested table has no masks' : 'the object type does not exist',
      {
        table_id: mask.table_id ?? null,
        table_name_hint: mask.table_name_hint ?? null,
      },
    )
  }
  if (!commentModes.has(mask.require_comment ?? 'never')) {
    throw inconsistent(
      { ...place, path: `${place.path}.require_comment` },
      'is never, always, insert, update or delete',
      {
        require_comment: mask.require_comment,
      },
    )
  }
  const poolMode = mask.custom_settings?.reverse_pool_changed_mode
  if (poolMode !== undefined && !poolModes.has(String(poolMode).replace(/^reverse_pool_changed_/, ''))) {
    throw inconsistent(
      { ...place, path: `${place.path}.custom_settings.reverse_pool_changed_mode` },
      'is reverse_pool_changed_always, reverse_pool_changed_never or reverse_pool_changed_ask',
      { value: poolMode },
    )
  }
  validateSystemFields(mask, place)
  validateFields(mask.fields ?? [], table, { ...place, table: table.name }, context, 0)
}

function validateSystemFields(mask: MaskApi, place: DocumentPath): void {
  for (const name of systemFieldNames) {
    const field = mask.system_fields?.[name]
    const at = `${place.path}.system_fields.${name}`
    checkMode(field?.edit?.mode, editModes, { ...place, path: `${at}.edit.mode` })
    checkMode(field?.output?.mode, outputModes, { ...place, path: `${at}.output.mode` })
  }
}

function checkPreferred(masks: MaskSchemaApi): void {
  const preferred = new Map<number, MaskApi[]>()
  for (const mask of masks.masks) {
    const list = preferred.get(mask.table_id ?? 0) ?? []
    preferred.set(mask.table_id ?? 0, mask.is_preferred ? [...list, mask] : list)
  }
  for (const [at, mask] of masks.masks.entries()) {
    const list = preferred.get(mask.table_id ?? 0) ?? []
    if (list.length === 1) continue
    throw wrongPlace(
      'ObjecttypeMustHaveExtactlyOnePreferredMask',
      { path: `masks[${at}].is_preferred`, mask: mask.name ?? '', table: mask.table_name_hint ?? '' },
      `the object type has ${list.length} preferred masks`,
      { objecttype: mask.table_name_hint ?? null, masks: list.map((m) => m.name) },
    )
  }
}

/** Reverse fields that refer to a mask by its id may not lead back to a mask on the path: such a mask would be infinite. */
function refuseLoops(masks: MaskSchemaApi): void {
  const next = new Map(masks.masks.map((mask) => [mask.mask_id ?? 0, reverseMaskIds(mask.fields ?? [])]))
  const state = new Map<number, 'open' | 'done'>()
  const visit = (id: number, depth: number): boolean => {
    if (state.get(id) === 'open' || depth > limits.maskDepth) return true
    if (state.get(id) === 'done') return false
    state.set(id, 'open')
    const loops = (next.get(id) ?? []).some((to) => visit(to, depth + 1))
    state.set(id, 'done')
    return loops
  }
  for (const [at, mask] of masks.masks.entries()) {
    if (!visit(mask.mask_id ?? 0, 0)) continue
    throw wrongPlace(
      'SchemaLoopingReverse',
      { path: `masks[${at}]`, mask: mask.name ?? '' },
      'its reverse fields lead back to the mask itself',
    )
  }
}

function reverseMaskIds(fields: readonly FieldApi[]): number[] {
  return fields.flatMap((field) => {
    const inner = reverseMaskIds(field.mask?.fields ?? [])
    const named =
      field.kind === 'reverse-linked-table' && !field.mask && typeof field.mask_id === 'number' && field.mask_id > 0
    return named ? [...inner, field.mask_id as number] : inner
  })
}

import type {
  FieldMode,
  FieldSearch,
  FieldStandard,
  Mask,
  MaskField,
  StandardFormat,
  SystemFieldMode,
  SystemFieldName,
  Table,
} from '../model.ts'
import type { FieldApi, MaskApi } from '../schema.ts'

/** The members that all kinds of mask fields have. */
export type FieldBase = Omit<MaskField, 'kind' | 'column' | 'linkMask' | 'table' | 'fields' | 'sort' | 'mask'>

export const systemFieldNames = [
  'parent',
  'object_id',
  'tags',
  'acl',
  'owner',
  'pool',
  'collections',
  'publish',
] as const satisfies readonly SystemFieldName[]

export const standardFormats = [
  'comma',
  'space',
  'colon',
  'semicolon',
  'newline',
  'brackets',
  'round-parentheses',
  'square-brackets',
  'dash',
  'pipe',
] as const satisfies readonly StandardFormat[]

export const defaultSearch: FieldSearch = { fulltext: true, expert: true, facet: false, nested: false }

/** The settings of a stored field, with defaults for absent ones: editable, shown everywhere, searchable. */
export function fieldBase(source: FieldApi): FieldBase {
  const { output, edit, search } = source
  return {
    mode: (edit?.mode || 'edit') as FieldMode,
    appendOnly: edit?.append_only ?? false,
    removeOnly: edit?.remove_only ?? false,
    inTable: output?.table ?? true,
    standard: standardOf(source),
    standardEas: output?.standard_eas?.order || null,
    standardGeo: output?.standard_geo?.order || null,
    search: { ...defaultSearch, ...(search ? picked(search) : {}) },
    inherit: source.inheritance?.inherit ?? false,
    required: isTrue(source.custom_settings?.required),
    defaultValue: defaultValueOf(source),
  }
}

function picked(search: NonNullable<FieldApi['search']>): FieldSearch {
  return {
    fulltext: search.fulltext ?? false,
    expert: search.expert ?? false,
    facet: search.facet ?? false,
    nested: search.nested ?? false,
  }
}

function standardOf(source: FieldApi): FieldStandard | null {
  const standard = source.output?.standard
  if (!standard?.order) return null
  return {
    order: standard.order as FieldStandard['order'],
    format: (standard.format || 'comma') as StandardFormat,
    formatInner: (standard.format_inner || 'comma') as StandardFormat,
    stopIfSet: standard.stop_if_set ?? false,
  }
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === '1' || value === 'yes'
}

/** `custom_settings.default` is JSON text, because settings are texts; a value that is not a text is used unchanged. */
function defaultValueOf(source: FieldApi): unknown {
  const value = source.custom_settings?.default
  if (typeof value !== 'string') return value
  return value === '' ? undefined : JSON.parse(value)
}

/** `reverse_pool_changed_always` or `always`, and so on; `ask` when it is absent. */
export function reversePoolMode(settings: MaskApi['custom_settings']): Mask['reversePoolChanged'] {
  const mode = String(settings?.reverse_pool_changed_mode ?? 'ask').replace(/^reverse_pool_changed_/, '')
  return mode === 'always' || mode === 'never' ? mode : 'ask'
}

export function systemFields(
  source: NonNullable<MaskApi['system_fields']>,
  table: Table,
): Record<SystemFieldName, SystemFieldMode> {
  const defaults = defaultSystemFields(table)
  const entries = systemFieldNames.map((name) => {
    const given = source[name]
    const mode: SystemFieldMode = {
      output: (given?.output?.mode || defaults[name].output) as FieldMode,
      edit: (given?.edit?.mode || defaults[name].edit) as FieldMode,
    }
    return [name, mode] as const
  })
  return Object.fromEntries(entries) as Record<SystemFieldName, SystemFieldMode>
}

/** System fields of a mask without settings for them, and of `_all_fields`: all that the object type has. */
export function defaultSystemFields(table: Table): Record<SystemFieldName, SystemFieldMode> {
  const edit: SystemFieldMode = { output: 'show', edit: 'edit' }
  const show: SystemFieldMode = { output: 'show', edit: 'show' }
  const off: SystemFieldMode = { output: 'off', edit: 'off' }
  return {
    parent: table.hierarchical || table.polyhierarchical ? edit : off,
    object_id: show,
    tags: table.hasTags ? edit : off,
    acl: edit,
    owner: edit,
    pool: table.poolLink ? edit : off,
    collections: show,
    publish: show,
  }
}

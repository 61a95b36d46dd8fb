import {
  type CollectionUploads,
  fileColumnNamed,
  linkNamed,
  namedPool,
  textColumnNamed,
} from '../collections/service.ts'
import type { Column, Model, Table } from '../datamodel/model.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { resolveHierarchy } from './hierarchy.ts'
import type { Target, UpdateMode, UpdatePolicy } from './model.ts'
import { readUploadPlugin } from './upload-plugin.ts'

/** `create_object` in stored form (collections/schema.ts). */
interface Settings {
  readonly objecttype?: string
  readonly mask_id?: number
  readonly pool_id?: number
  readonly linked_pool_id?: number
  readonly linked_object_pools?: Readonly<Record<string, unknown>>
  readonly eas_field?: string
  readonly update_mode?: UpdateMode
  readonly update_policy?: UpdatePolicy
  readonly update_search_field?: string
  readonly recognize_series?: boolean
  readonly recognize_version?: boolean
  readonly mapping?: 'standard' | 'none' | number
  readonly mapping_recipe_configs?: Target['recipeConfigs']
  readonly plugin?: string
  readonly plugin_config?: unknown
  readonly tags?: readonly { readonly _id: number }[]
}

/**
 * The settings for objects made of uploads into the collection.
 * @throws {AppError} `CollectionUploadNoObjectFound` without settings; `UnknownObjecttype`, `MaskNotFound`,
 * `UnknownField` where the datamodel has changed since.
 */
export function resolveTarget({ collection, settings }: CollectionUploads, model: Model): Target {
  const given = settings as Settings | null
  if (!given?.objecttype) {
    throw new AppError('CollectionUploadNoObjectFound', { collection: collection.id }, { message: noSettings })
  }
  const table = model.objecttypes.get(given.objecttype)
  if (!table) throw new AppError('UnknownObjecttype', { objecttype: given.objecttype })
  const mask = given.mask_id === undefined ? table.preferredMask : model.masksById.get(given.mask_id)
  if (!mask || mask.table !== table)
    throw new AppError('MaskNotFound', { objecttype: table.name, mask: given.mask_id ?? '' })
  const column = fileColumn(table, given.eas_field)
  if (given.recognize_series && column.table === table) {
    throw badRequest('create_object.recognize_series: a series needs a field in a nested table', {
      name: 'recognize_series',
    })
  }
  const linkedPools = linkedPoolsOf(table, given)
  return {
    collectionId: collection.id,
    collection,
    plugin: readUploadPlugin(given.plugin, given.plugin_config),
    table,
    mask,
    column,
    rows: column.table === table ? null : column.table,
    poolId: given.pool_id ?? null,
    linkedPoolId: given.linked_pool_id ?? null,
    linkedPools,
    tagIds: (given.tags ?? []).map(({ _id }) => _id),
    mapping: given.mapping === undefined || given.mapping === 'none' ? null : given.mapping,
    recipeConfigs: given.mapping_recipe_configs ?? {},
    mode: given.update_mode ?? 'insert',
    policy: given.update_policy ?? 'create_version',
    match: matchColumn(table, given),
    recognizeSeries: given.recognize_series === true,
    recognizeVersion: given.recognize_version === true,
    hierarchy: resolveHierarchy(table, given, linkedPools),
  }
}

/** @throws {AppError} where the datamodel has changed since: `UnknownField`, or the type has no pools any more */
function linkedPoolsOf(table: Table, { linked_object_pools: pools = {} }: Settings): ReadonlyMap<Column, number> {
  return new Map(
    Object.entries(pools).map(([name, entry]) => {
      const link = linkNamed(table, name)
      if (!link?.target) throw unknownField(table, 'linked_object_pools', name)
      const setting = `create_object.linked_object_pools.${name}`
      if (!link.target.poolLink) throw badRequest(`${setting}: ${link.target.name} has no pools`, { field: name })
      const id = namedPool(entry)?.id
      if (id === undefined) throw badRequest(`${setting} must name a pool by its _id`, { field: name })
      return [link, id]
    }),
  )
}

const noSettings = 'The collection has no upload settings.'

function matchColumn(table: Table, { update_mode: mode = 'insert', update_search_field: name }: Settings) {
  if (mode === 'insert') return null
  if (!name) throw badRequest('create_object.update_search_field: updates need a field that names files', { name: '' })
  const column = textColumnNamed(table, name)
  if (!column) throw unknownField(table, 'update_search_field', name)
  return column
}

/** Without a name: the only column of files that the object type has. */
function fileColumn(table: Table, name: string | undefined): Column {
  if (name) {
    const column = fileColumnNamed(table, name)
    if (column) return column
    throw unknownField(table, 'eas_field', name)
  }
  const all = [table, ...table.nested].flatMap(({ columns }) => columns.filter(({ type }) => type === 'eas'))
  if (all.length === 1) return all[0] as Column
  throw badRequest('create_object.eas_field: it must be said which field takes the files', { objecttype: table.name })
}

function unknownField(table: Table, setting: string, name: string): AppError {
  return new AppError('UnknownField', { name: setting, field: name, objecttype: table.name })
}

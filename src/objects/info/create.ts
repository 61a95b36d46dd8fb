import type { Mask, Table } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import type { CallerRights } from '../../rights/service.ts'
import { maskFits } from '../masks/filter.ts'
import { type Choices, namedPool, namedTags, namedType, settableTags, toMaskInfo } from './choices.ts'
import type { CreateInfo, CreateInfoBody } from './schema.ts'

/**
 * The objects that the caller may create: types and pools, and for one pool the masks and tags. A save decides by the same rules.
 */
export function createInfo(choices: Choices, rights: CallerRights, body: CreateInfoBody): CreateInfo {
  const { model } = choices
  if (body.objecttype === undefined) {
    const types = [...model.objecttypes.values()].flatMap((table) => creatable(choices, rights, table, body) ?? [])
    return { _available_objecttypes: types }
  }
  const table = namedType(model, body.objecttype)
  const pool = namedPool(choices, rights, table, body.pool_id)
  if (table.poolLink && pool === null) {
    const found = creatable(choices, rights, table, body)
    if (!found) throw noMasks(table, null)
    return { _available_objecttypes: [found] }
  }
  const tags = tagsOf(choices, table, pool, body.tag_ids)
  const limits = rights.masksToCreate(table.id, pool, tags)
  if (limits === 'none') return { _available_objecttypes: [] }
  const masks = choices.masks(table, pool).filter((mask) => usable(choices, rights, mask, { pool, tags, limits }))
  if (masks.length === 0) throw noMasks(table, pool)
  return {
    _available_objecttypes: [{ _id: table.id, name: table.name, pool_ids: pool === null ? [] : [pool] }],
    _available_masks: masks.map(toMaskInfo),
    _available_tags: settableTags(choices, rights, table, pool)
      .filter(({ is_default, add }) => is_default || add)
      .map(({ _id, is_default }) => ({ _id, is_default })),
  }
}

/**
 * The type with the pools in which the caller may create with some mask, and with the tags that are sent or else some; null: nowhere.
 * A pool that is sent is the only one.
 * @throws {AppError} `TagNotFound`
 */
function creatable(choices: Choices, rights: CallerRights, table: Table, { pool_id: only, tag_ids: sent }: Wanted) {
  const may = (pool: number | null): boolean => {
    const tags = table.hasTags ? (sent ?? null) : []
    if (tags !== null && !areEnabled(choices, table, pool, tags)) return false
    const limits = rights.masksToCreate(table.id, pool, tags)
    if (limits === 'none') return false
    return choices.masks(table, pool).some((mask) => usable(choices, rights, mask, { pool, tags, limits }))
  }
  const known = only === undefined || only === null ? rights.poolIds() : rights.poolIds().filter((id) => id === only)
  const pools = table.poolLink ? known.filter(may) : []
  if (table.poolLink ? pools.length === 0 : typeof only === 'number' || !may(null)) return null
  return { _id: table.id, name: table.name, pool_ids: [...pools] }
}

type Wanted = Pick<CreateInfoBody, 'pool_id' | 'tag_ids'>

/** Whether an object in this pool can have all these tags. @throws {AppError} `TagNotFound` */
function areEnabled({ deps }: Choices, table: Table, pool: number | null, tags: readonly number[]): boolean {
  const snapshot = deps.tags.snapshot()
  const missing = tags.find((id) => !snapshot.has(id))
  if (missing !== undefined) throw new AppError('TagNotFound', { field: 'tag_ids', tag: missing })
  const available = deps.tags.available(table.id, pool) ?? snapshot
  return tags.every((id) => available.get(id)?.enabled)
}

/** Pool and tags (null: any tags) of the new object, and the masks that grants give there. */
interface Target {
  readonly pool: number | null
  readonly tags: readonly number[] | null
  readonly limits: Exclude<ReturnType<CallerRights['masksToCreate']>, 'none'>
}

function usable(choices: Choices, rights: CallerRights, mask: Mask, { pool, tags, limits }: Target): boolean {
  const isStandard = mask === choices.standard(mask.table, pool)
  if (rights.root) return true
  if (mask.isAllFields && !isStandard) return false
  if (tags !== null && !maskFits(choices.deps, mask, tags)) return false
  return limits === null || limits.has(mask.id) || (isStandard && limits.has('standard'))
}

/** The tags of the new object; null: any tags. */
function tagsOf(choices: Choices, table: Table, pool: number | null, sent: CreateInfoBody['tag_ids']) {
  if (!table.hasTags) return []
  return sent === null ? null : namedTags(choices, table, pool, sent, null)
}

function noMasks(table: Table, pool: number | null): AppError {
  return new AppError('NoMasksForCreate', { objecttype: table.name, pool })
}

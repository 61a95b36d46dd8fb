import type { Mask, Model, Table } from '../../datamodel/model.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { CallerRights } from '../../rights/service.ts'
import { checkTags, mayTag } from '../../tags/service.ts'
import { type MaskDeps, masksByPreference, standardMask } from '../masks/preference.ts'
import type { ObjectDeps } from '../save/context.ts'

export type ChoiceDeps = Pick<ObjectDeps, 'tags' | 'clock' | 'pools'> & Omit<MaskDeps, 'pools'>

/** The masks, pools and tags to choose from, independent of the caller. */
export interface Choices {
  readonly deps: ChoiceDeps
  readonly model: Model
  /** Masks that a client can name, the ones to prefer first. */
  masks(table: Table, poolId: number | null): readonly Mask[]
  standard(table: Table, poolId: number | null): Mask
}

export function choicesOf(deps: ChoiceDeps, model: Model): Choices {
  return {
    deps,
    model,
    masks: (table, poolId) => masksByPreference({ deps }, { table, poolId }).filter((mask) => !mask.isInline),
    standard: (table, poolId) => standardMask({ deps }, { table, poolId }),
  }
}

/** @throws {AppError} `ObjecttypeNotFound` */
export function namedType(model: Model, name: string): Table {
  const table = model.objecttypes.get(name)
  if (!table) throw new AppError('ObjecttypeNotFound', { objecttype: name })
  return table
}

/** @throws {AppError} `PoolNotFound`, also for a pool that the caller may not see */
export function namedPool(
  { deps }: Choices,
  rights: CallerRights,
  table: Table,
  id: number | null | undefined,
): number | null {
  if (id === undefined || id === null) return null
  if (!table.poolLink) throw badRequest(`Objects of type ${table.name} lie in no pool.`, { name: 'pool_id' })
  if (deps.pools.byId(id)?.holdsObjects && rights.knowsPool(id)) return id
  throw new AppError('PoolNotFound', { name: 'pool_id', _id: id })
}

/** The tags that a save would give. @throws {AppError} `TagNotFound`, `TagNotEnabled` */
export function namedTags(
  { deps }: Choices,
  table: Table,
  pool: number | null,
  sent: readonly number[] | undefined,
  previous: readonly number[] | null,
): number[] {
  const available = deps.tags.available(table.id, pool)
  return checkTags(deps.tags.snapshot(), { tags: sent, previous, available, skipConstraints: true })
}

/** Tags that are enabled in the pool; `add`: the caller may apply it. */
export function settableTags({ deps }: Choices, rights: CallerRights, table: Table, pool: number | null) {
  if (!table.hasTags) return []
  const snapshot = deps.tags.snapshot()
  const at = deps.clock().getTime()
  const enabled = [...(deps.tags.available(table.id, pool) ?? snapshot).values()].filter((tag) => tag.enabled)
  return enabled.map(({ id, isDefault }) => ({
    _id: id,
    is_default: isDefault,
    add: mayTag(snapshot.get(id) ?? { acl: [] }, 'tag_add', rights, at),
  }))
}

export function toMaskInfo({ id, name, isAllFields }: Mask): { _id?: number; name: string } {
  return isAllFields ? { name } : { _id: id, name }
}

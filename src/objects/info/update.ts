import type { Mask, Table } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { createYielder, eachYielding } from '../../platform/process/cooperative-yield.ts'
import type { CallerRights, Guarded } from '../../rights/service.ts'
import { maskFits } from '../masks/filter.ts'
import { exists } from '../save/disclosure.ts'
import { headsWhere } from '../stored/load.ts'
import type { Head } from '../stored/rows.ts'
import { type Choices, namedPool, namedTags, namedType, settableTags, toMaskInfo } from './choices.ts'
import type { UpdateInfo, UpdateInfoBody } from './schema.ts'

/** The rights that are answered for several objects at once: those that decide what can be done with them. */
const told = ['read', 'write', 'delete', 'unlink', 'link', 'acl', 'change_owner'] as const

/**
 * The rights of the caller on each of the objects, the pools to move them to, tags and masks. With `pool_id` and `tag_ids` the
 * answer is for the objects as they would be in that pool, with those tags.
 * @throws {AppError} `ObjectNotFound` for an object that the caller may neither read nor write, like an update of it
 */
export async function updateInfo(
  choices: Choices,
  from: Queryable,
  rights: CallerRights,
  body: UpdateInfoBody,
): Promise<UpdateInfo> {
  const table = namedType(choices.model, body.objecttype)
  const pool = namedPool(choices, rights, table, body.pool_id)
  const objects = await named(choices, from, rights, table, body.object_ids)
  const common = new Common()
  const add = (object: Head): void => {
    const { guard } = object
    const held = told.filter((right) => rights.may(right, guard))
    const writes = held.includes('write')
    common.keep(
      'rights',
      held.filter((right) => writes || right === 'read'),
    )
    const tags = table.hasTags ? namedTags(choices, table, pool, body.tag_ids ?? undefined, object.tags) : []
    const after: Guarded = { ...guard, poolId: pool ?? guard.poolId, tags }
    const key = JSON.stringify([after.poolId, guard.poolId, tags, object.tags])
    const mayLeave = writes && held.includes('unlink')
    if (!writes) common.keep('pools', [])
    else
      common.once(`pools${mayLeave}${key}`, 'pools', () =>
        poolsFor(choices, rights, table, { ...guard, tags }, mayLeave),
      )
    common.once(`tags${key}`, 'tags', () => tagsFor(choices, rights, table, after, object.tags))
    common.keep('masks', masksFor(choices, rights, object, after))
  }
  await eachYielding(objects, add, createYielder())
  const rightNames = common.of<(typeof told)[number]>('rights')
  const answer: UpdateInfo = {
    _generated_rights: Object.fromEntries(rightNames.map((right) => [right, {}])),
    _available_pools: common.of<number>('pools'),
  }
  if (!rightNames.includes('write')) return answer
  return {
    ...answer,
    _available_tags: common.of<number>('tags').map((_id) => ({ _id })),
    _available_masks: common.of<Mask>('masks').map(toMaskInfo),
  }
}

/** The entries that all objects have in common, in the order of the first object. */
class Common {
  readonly #lists = new Map<string, unknown[]>()
  readonly #seen = new Set<string>()

  keep(name: string, values: readonly unknown[]): void {
    const known = this.#lists.get(name)
    const present = new Set(values)
    this.#lists.set(name, known ? known.filter((value) => present.has(value)) : [...values])
  }

  /** Objects of the same kind (equal `key`) are looked at once. */
  once(key: string, name: string, values: () => readonly unknown[]): void {
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.keep(name, values())
  }

  of<T>(name: string): T[] {
    return (this.#lists.get(name) ?? []) as T[]
  }
}

async function named(
  { model }: Choices,
  from: Queryable,
  rights: CallerRights,
  table: Table,
  ids: readonly number[],
): Promise<Head[]> {
  const condition = 'o.objecttype = $1 and o.id = any($2::bigint[]) and o.deleted_at is null'
  const found = await headsWhere(from, model, condition, [table.id, ids], 'objects-to-update')
  const byId = new Map(found.map((head) => [head.id, head]))
  return [...new Set(ids)].map((_id) => {
    const head = byId.get(_id)
    if (head && exists(rights, { ...head.guard, deleted: false }, 'write')) return head
    throw new AppError('ObjectNotFound', { name: 'object_ids', objecttype: table.name, _id })
  })
}

/** The current pool of the object, and the pools that it may be moved to. */
function poolsFor(
  { deps }: Choices,
  rights: CallerRights,
  table: Table,
  { tags, poolId }: Guarded,
  mayLeave: boolean,
): readonly number[] {
  if (!table.poolLink) return []
  const here = poolId !== null && deps.pools.byId(poolId) && rights.knowsPool(poolId) ? [poolId] : []
  if (poolId !== null && !mayLeave) return here
  return rights.poolIds().filter((id) => id === poolId || rights.mayCreate(table.id, id, tags))
}

/** Tags of the object remain possible, whether they are enabled or not. */
function tagsFor(
  choices: Choices,
  rights: CallerRights,
  table: Table,
  after: Guarded,
  stored: readonly number[],
): readonly number[] {
  const settable = settableTags(choices, rights, table, after.poolId).filter(({ add }) => add)
  return [...new Set([...stored, ...settable.map(({ _id }) => _id)])]
}

/** Masks with which it can be saved, in its current and its new state. */
function masksFor({ deps, masks, standard }: Choices, rights: CallerRights, { table, guard }: Head, after: Guarded) {
  const fits = (mask: Mask, object: Guarded): boolean => {
    const isStandard = mask === standard(table, object.poolId)
    return (
      maskFits(deps, mask, object.tags) &&
      rights.mayUseMask({ id: mask.id, isAllFields: mask.isAllFields, isStandard }, object, 'write')
    )
  }
  return masks(table, after.poolId).filter((mask) => rights.root || (fits(mask, guard) && fits(mask, after)))
}

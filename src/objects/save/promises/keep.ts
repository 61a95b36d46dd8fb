import type { AppError } from '../../../platform/errors.ts'
import { quotaExceeded } from '../../../platform/limits/callers.ts'
import type { SaveContext } from '../context.ts'
import { guarded } from '../disclosure.ts'
import { guardAfter, type Item } from '../item.ts'
import type { GivenIds } from './model.ts'
import { insertPromises, joinPromises, keepPromises, TooManyPromises } from './store.ts'

/** Seconds after which a client may try again: promises end when somebody creates their objects. */
const retryAfter = 3600

/**
 * The ids that promises reserve for new objects. An object only takes such an id if every user who has linked to it may read it;
 * otherwise those links would lead to an object that was never shown to them.
 */
export async function reservedIds(
  { promises: { claimed }, deps, tx }: SaveContext,
  items: readonly Item[],
): Promise<ReadonlyMap<Item, number>> {
  const reserved = new Map<Item, number>()
  if (claimed.size === 0) return reserved
  const users = new Set([...claimed.values()].flatMap((promise) => promise.users))
  const actors = await deps.actorsOf(tx, [...users])
  const rights = await Promise.all([...actors.values()].map((actor) => deps.rights.forActor(actor)))
  const readers = new Map(rights.map((caller) => [caller.userId, caller]))
  for (const item of items) {
    const promise = item.mode === 'create' ? claimed.get(item.uuid) : undefined
    if (promise?.objecttypeId !== item.table.id) continue
    const guard = guarded(guardAfter(item))
    // Users who cannot sign in any more see nothing.
    if (promise.users.every((user) => readers.get(user)?.may('read', guard) ?? true)) reserved.set(item, promise.id)
  }
  return reserved
}

/** Stores the promises that a save makes, uses and keeps. */
export async function settlePromises(
  { promises: { made, introduced }, tx, deps, actor }: SaveContext,
  { final, kept }: GivenIds,
): Promise<void> {
  const inserted = [...made.values()].map(({ id, table, uuid }) => ({
    id: final.get(id) as number,
    objecttypeId: table.id,
    uuid,
  }))
  if (kept.length > 0) {
    await keepPromises(tx, kept)
    tx.afterCommit(deps.wakeIndex)
  }
  if (introduced.size > 0) await joinPromises(tx, [...introduced], actor.userId)
  if (inserted.length === 0) return
  const most = deps.config.quotaPromises
  try {
    await insertPromises(tx, inserted, { userId: actor.userId, most })
  } catch (error) {
    if (error instanceof TooManyPromises) throw tooMany(most)
    throw error
  }
}

const tooMany = (most: number): AppError => quotaExceeded('svc.quotas.promises', most, retryAfter)

import type { NewEvent } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { PoolSnapshot, StoredPool } from './model.ts'

export interface PoolEvent {
  readonly type: 'POOL_INSERT' | 'POOL_UPDATE' | 'POOL_DELETE'
  readonly pool: StoredPool
}

/** The pools above changed ones are updated too (EVENT-033): each once, and only if it has no event of its own. */
export function parentUpdates(
  stored: PoolSnapshot,
  changed: readonly StoredPool[],
  parents: readonly (number | null)[],
): PoolEvent[] {
  const own = new Set(changed.map((pool) => pool.id))
  const above = [...new Set(parents)]
    .filter((id) => id !== null && !own.has(id))
    .flatMap((id) => stored.get(id as number) ?? [])
  return above.map((pool) => ({ type: 'POOL_UPDATE', pool }))
}

export function toEvents(actor: Actor, events: readonly PoolEvent[]): NewEvent[] {
  return events.map(({ type, pool }) => ({
    type,
    actor,
    basetype: 'pool',
    schema: 'BASE',
    objectId: pool.id,
    objectVersion: pool.version,
    info: { displayname: pool.name, shortname: pool.shortname, reference: pool.reference },
  }))
}

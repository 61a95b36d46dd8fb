/** The tree of pools: building it, reading it, and refusing invalid trees. */
import { AppError } from '../platform/errors.ts'
import { ByName } from '../platform/values/text.ts'
import type { Pool, PoolSnapshot, StandardMasks, StoredPool } from './model.ts'

/** The tree of the pools: depth first, siblings by id. */
export function buildSnapshot(stored: readonly StoredPool[]): PoolSnapshot {
  const children = Map.groupBy(
    [...stored].sort((a, b) => a.id - b.id),
    (pool) => pool.parentId,
  )
  const byId = new Map<number, Pool>()
  const stack = [...(children.get(null) ?? [])].reverse()
  for (let pool = stack.pop(); pool; pool = stack.pop()) {
    const parent = pool.parentId === null ? undefined : byId.get(pool.parentId)
    const below = children.get(pool.id) ?? []
    byId.set(pool.id, {
      ...pool,
      path: [...(parent?.path ?? []), pool.id],
      level: parent ? parent.level + 1 : 0,
      children: below.map(({ id }) => id),
      holdsObjects: parent !== undefined,
      effectiveMasks: masksBelow(parent?.effectiveMasks, pool.standardMasks),
    })
    stack.push(...below.toReversed())
  }
  const root = byId.values().next().value
  if (!root) throw new Error('there is no root pool')
  const named = [...byId.values()].flatMap((pool) => (pool.reference === null ? [] : [[pool.reference, pool] as const]))
  return Object.assign(byId, { byReference: new ByName(named), root })
}

/** Returns the same object where nothing differs: callers that process many pools compare them by identity. */
function masksBelow(above: StandardMasks | undefined, own: StandardMasks): StandardMasks {
  return above && Object.keys(own).length === 0 ? above : { ...above, ...own }
}

/** A pool and all below it, parents first. */
export function subtree(snapshot: PoolSnapshot, id: number): Pool[] {
  const top = snapshot.get(id)
  if (!top) return []
  const pools = [top]
  for (let next = 0; next < pools.length; next++) {
    for (const child of pools[next]?.children ?? []) pools.push(snapshot.get(child) as Pool)
  }
  return pools
}

/** A pool that is about to get a parent; `place` is the path in the request. */
export interface Placed {
  readonly id: number
  readonly parentId: number | null
  readonly place: string
}

/**
 * Refuses parents that would make a pool its own ancestor.
 * @throws {AppError} `IllegalPathForPool`
 */
export function assertTree(parentOf: ReadonlyMap<number, number | null>, placed: readonly Placed[]): void {
  const safe = new Set<number>()
  for (const { id, place } of placed) {
    const walked = new Set<number>()
    for (let at: number | null = id; at !== null && !safe.has(at); at = parentOf.get(at) ?? null) {
      if (walked.has(at)) {
        throw new AppError(
          'IllegalPathForPool',
          { path: `${place}.pool._id_parent`, pool: id, parent: parentOf.get(id) },
          { message: `${place}: the pool would be its own ancestor` },
        )
      }
      walked.add(at)
    }
    for (const id of walked) safe.add(id)
  }
}

/** Pools as clients see them. */

import type { RightApi } from '../rights/schema.ts'
import { type CallerRights, renderWho, type WhoNames } from '../rights/service.ts'
import type { Pool, PoolSnapshot, StandardMasks } from './model.ts'
import type { PoolOutput } from './schema.ts'

/** Any record in wire form. */
export type Wire = Record<string, unknown>

/** The parts that other capabilities render, in the order of the pools. */
export interface PoolParts {
  readonly names: WhoNames
  readonly acls: readonly (readonly RightApi[])[]
  readonly transitions: readonly (readonly Wire[])[]
  /** `_tags` and `_compiled_tags` of a pool. */
  readonly tags: (pool: Pool) => { readonly own: readonly Wire[]; readonly compiled: readonly Wire[] }
}

export function renderPools(
  pools: readonly Pool[],
  { snapshot, rights, parts }: { snapshot: PoolSnapshot; rights: CallerRights; parts: PoolParts },
): PoolOutput[] {
  return pools.map((pool, index) => {
    const tags = parts.tags(pool)
    return {
      _basetype: 'pool' as const,
      pool: renderOwn(pool, parts.names),
      ...(pool.owner ? { _owner: renderWho(pool.owner, parts.names) } : {}),
      _level: pool.level,
      _path: pool.path.slice(0, -1).map((id) => renderAncestor(snapshot.get(id) as Pool, rights)),
      _has_children: hasChildren(pool, rights),
      ...(rights.mayPool('bag_acl', pool.id) ? { _acl: [...(parts.acls[index] ?? [])] } : {}),
      _private_acl: pool.privateAcl,
      _generated_rights: rights.rightsOnPool(pool.id),
      _tags: [...tags.own],
      _private_tags: pool.privateTags,
      _compiled_tags: [...tags.compiled],
      _transitions: [...(parts.transitions[index] ?? [])],
      _private_transitions: pool.privateTransitions,
      _standard_masks: renderMasks(pool.standardMasks),
      _created_at: pool.createdAt.toISOString(),
      _updated_at: pool.updatedAt.toISOString(),
    }
  })
}

function renderOwn(pool: Pool, names: WhoNames): PoolOutput['pool'] {
  const { caption_set_by: _, ...settings } = pool.settings
  return {
    _id: pool.id,
    _version: pool.version,
    _id_parent: pool.parentId,
    ...(pool.reference === null ? {} : { reference: pool.reference }),
    name: pool.name,
    shortname: pool.shortname,
    description: pool.description,
    comment: pool.comment,
    ...(pool.contact ? { contact: renderWho(pool.contact, names) } : {}),
    is_system_pool: pool.isSystem,
    ...settings,
  }
}

/** A pool in `standard` form. A pool that the caller may not see has only its id, so that the path has no gap. */
export function renderAncestor(pool: Pool, rights: CallerRights): Wire {
  if (!rights.mayPool('bag_read', pool.id)) return { _basetype: 'pool', pool: { _id: pool.id }, _level: pool.level }
  return {
    _basetype: 'pool',
    pool: {
      _id: pool.id,
      _version: pool.version,
      _id_parent: pool.parentId,
      ...(pool.reference === null ? {} : { reference: pool.reference }),
      name: pool.name,
      shortname: pool.shortname,
    },
    _level: pool.level,
    _has_children: hasChildren(pool, rights),
  }
}

/** Whether there are child pools that the caller may see. Not even the number of others is disclosed. */
function hasChildren({ children }: Pool, rights: CallerRights): boolean {
  return children.some((id) => rights.mayPool('bag_read', id))
}

function renderMasks(masks: StandardMasks): PoolOutput['_standard_masks'] {
  return Object.fromEntries(Object.entries(masks).map(([type, ids]) => [type, [...ids]]))
}

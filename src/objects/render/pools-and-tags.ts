import type { Wire } from '../masks/reader.ts'
import type { Head } from '../stored/rows.ts'
import type { Run, ShownPool, ShownTag } from './run.ts'

// Pools and tags come from snapshots whose entries are replaced when they change, so their wire form is made once.
const wirePools = new WeakMap<ShownPool, Wire>()
const wireTagsKnown = new WeakMap<ShownTag, Wire>()

/** A pool as objects show it; only the id, when the caller may not see the pool. */
export function wirePool({ deps, caller }: Run, poolId: number): Wire {
  const pool = deps.pools.byId(poolId)
  if (!pool || !caller.mayPool('bag_read', poolId)) return { _basetype: 'pool', pool: { _id: poolId } }
  let wire = wirePools.get(pool)
  if (!wire) {
    const { id, name, shortname, reference } = pool
    wire = { _basetype: 'pool', pool: { _id: id, ...(reference === null ? {} : { reference }), name, shortname } }
    wirePools.set(pool, wire)
  }
  return wire
}

/**
 * Tags of a version: the tags that the version itself had, and those of the object today whose kind belongs to all versions. The
 * tags of the latest version are in its guard.
 */
export function wireTags({ deps }: Run, { tags, guard }: Head): Wire[] {
  if (tags.length + guard.tags.length === 0) return []
  const snapshot = deps.tags.snapshot()
  const ofAll = (id: number): boolean => snapshot.get(id)?.type === 'all_versions'
  const shown = tags === guard.tags ? tags : [...tags.filter((id) => !ofAll(id)), ...guard.tags.filter(ofAll)]
  return shown.map((id) => {
    const tag = snapshot.get(id)
    if (!tag) return { _id: id }
    const wire = wireTagsKnown.get(tag) ?? wireTag(tag)
    wireTagsKnown.set(tag, wire)
    return wire
  })
}

function wireTag({ id, displayname, displaytype, reference, shortname }: ShownTag): Wire {
  const names = { ...(reference === null ? {} : { reference }), ...(shortname === null ? {} : { shortname }) }
  return { _id: id, displayname, displaytype, ...names }
}

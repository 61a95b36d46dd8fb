import type { Mask, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { bestMask, type MaskDeps, mayUseMask } from '../masks/preference.ts'
import { headsWhere, loadHeads } from '../stored/load.ts'
import type { Head } from '../stored/rows.ts'
import type { ReadDeps } from './render-pages.ts'

/** An object by one of the ids that addresses contain. */
export type NamedBy = { readonly systemObjectId: number } | { readonly uuid: string }

export interface LocatedObject {
  readonly kind: 'object'
  readonly systemObjectId: number
  readonly uuid: string
  readonly table: Table
  /** The latest one. */
  readonly version: number
  /** The mask that was named, or the best mask of the caller. */
  readonly mask: Mask
}

/**
 * `unknown`: there is no such object. `hidden`: the caller may not read it. `gone`: the caller could read it, but it is in the
 * trash, or the caller is root and the object is purged. `no mask`: the caller may read it, but not with this mask, or with no mask
 * at all.
 */
export type Located = LocatedObject | { readonly kind: 'unknown' | 'hidden' | 'gone' | 'no mask' }

type LocateDeps = Pick<ReadDeps, 'db' | 'datamodel' | 'rights'> & MaskDeps

export function createLocate(deps: LocateDeps) {
  return async (actor: Actor, named: NamedBy, maskName: string | null, q: Queryable = deps.db): Promise<Located> => {
    const model = deps.datamodel.current()
    const caller = await deps.rights.forActor(actor)
    const [head] =
      'uuid' in named
        ? await headsWhere(q, model, 'o.uuid = $1', [named.uuid], 'object-by-uuid')
        : await loadHeads(q, model, [named.systemObjectId])
    if (!head) return { kind: caller.root && (await isPurged(q, named)) ? 'gone' : 'unknown' }
    if (!caller.root && !caller.may('read', head.guard)) return { kind: 'hidden' }
    if (head.deletedAt) return { kind: 'gone' }
    const mask = maskName === null ? bestMask(deps, caller, head) : usableMask(deps, caller, head, maskName)
    if (!mask) return { kind: 'no mask' }
    const { systemObjectId, uuid, table, version } = head
    return { kind: 'object', systemObjectId, uuid, table, version, mask }
  }
}

function usableMask(deps: MaskDeps, caller: CallerRights, object: Head, name: string): Mask | null {
  const mask = object.table.masks.get(name)
  return mask && mayUseMask({ deps, caller }, mask, object) ? mask : null
}

async function isPurged(q: Queryable, named: NamedBy): Promise<boolean> {
  const [column, value] = 'uuid' in named ? ['uuid', named.uuid] : ['system_object_id', named.systemObjectId]
  const { rows } = await q.query(
    `select from object_tombstone where ${column} = $1`,
    [value],
    `object-purged-${column}`,
  )
  return rows.length > 0
}

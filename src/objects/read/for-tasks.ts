import type { Mask, Model, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { maskFits } from '../masks/filter.ts'
import { type MaskDeps, masksByPreference, standardMask } from '../masks/preference.ts'
import { loadHeads } from '../stored/load.ts'
import type { Head } from '../stored/rows.ts'

/** The properties of an object that a task needs to change it. */
export interface TaskObject {
  readonly systemObjectId: number
  readonly id: number
  readonly version: number
  readonly table: Table
  readonly poolId: number | null
  readonly tags: readonly number[]
  readonly deleted: boolean
  /** The best mask with which the user may write it; null: there is none. */
  readonly mask: Mask | null
  readonly mayDelete: boolean
}

export interface TaskObjectDeps {
  readonly db: Queryable
  readonly datamodel: { current(): Model }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  readonly masks: MaskDeps
}

/** Reads objects that a user has found, in the order of the ids; objects deleted in the meantime are left out. */
export function objectsForTasks({ db, datamodel, rights, masks: deps }: TaskObjectDeps) {
  return async (actor: Actor, systemObjectIds: readonly number[]): Promise<TaskObject[]> => {
    const caller = await rights.forActor(actor)
    const heads = await loadHeads(db, datamodel.current(), systemObjectIds)
    const byId = new Map(heads.map((head) => [head.systemObjectId, head]))
    return systemObjectIds.flatMap((id) => {
      const head = byId.get(id)
      if (!head) return []
      const { systemObjectId, version, table, poolId, tags, guard, deletedAt } = head
      const mask = writable(deps, caller, head)
      const mayDelete = caller.root || caller.may('delete', guard)
      const deleted = deletedAt !== null
      return { systemObjectId, id: head.id, version, table, poolId, tags, deleted, mask, mayDelete }
    })
  }
}

/** The same rule as in a save (save/rules/rights.ts). */
function writable(deps: MaskDeps, caller: CallerRights, head: Head): Mask | null {
  const { table, poolId, tags, guard } = head
  const standard = standardMask({ deps }, { table, poolId })
  const found = masksByPreference({ deps }, head).find((mask) => {
    if (mask.isInline || !maskFits(deps, mask, tags)) return false
    const use = { id: mask.id, isAllFields: mask.isAllFields, isStandard: mask === standard }
    return caller.root || caller.mayUseMask(use, guard, 'write')
  })
  return found ?? null
}

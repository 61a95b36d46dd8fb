import type { Model } from '../datamodel/model.ts'
import { fileAccess, type MaskDeps, maskAccess } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { createBatchLoader } from '../platform/postgres/batch-loader.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { World } from '../platform/postgres/snapshot.ts'
import type { CallerRights } from '../rights/service.ts'
import type { AggregationDeps } from './aggregations.ts'
import { createFieldVisibility, type FieldVisibility, fieldVisibilityWithout } from './plan/field-visibility.ts'
import type { SearchEngine, SearchPlan } from './plan/plan.ts'
import { type MovedObject, mostMoved, readMoved } from './queue/moved.ts'

interface VisibilityDeps extends Pick<AggregationDeps, 'poolOf' | 'readable'>, MaskDeps {
  readonly engine: SearchEngine
  readonly pipelined: Queryable
  readonly datamodel: { current(): Model }
  readonly world: () => World
  readonly freeVersions: () => readonly string[]
}

export type Seen = Pick<SearchPlan, 'fieldVisibility' | 'moment'>

/** Returns the function that finds which fields and objects a caller may see at the moment of a search. */
export function createCurrentVisibility(deps: VisibilityDeps) {
  const { engine } = deps

  /** The field visibility of each caller, kept until the data that it depends on changes. */
  const fieldVisibilities = new WeakMap<
    CallerRights,
    { readonly snapshots: number; readonly fieldVisibility: FieldVisibility }
  >()
  function fieldVisibilityOf(caller: CallerRights): FieldVisibility {
    const { snapshots } = deps.world()
    const known = fieldVisibilities.get(caller)
    if (known?.snapshots === snapshots) return known.fieldVisibility
    const fieldVisibility = createFieldVisibility({
      caller,
      maskAccess: maskAccess(deps, caller),
      fileAccess: (table) => fileAccess(caller, table, deps.freeVersions()),
      poolPath: (id) => deps.poolOf(id)?.path ?? [id],
    })
    fieldVisibilities.set(caller, { snapshots, fieldVisibility })
    return fieldVisibility
  }

  const moved = createBatchLoader(() => readMoved(deps.pipelined, engine.momentSql), { most: 1000 })

  /** An object that has moved since it was indexed is shown to a caller who may see it both by its current row and by the index. */
  async function seenNow(actor: Actor, caller: CallerRights): Promise<Seen> {
    const fieldVisibility = fieldVisibilityOf(caller)
    if (fieldVisibility.whole) return { fieldVisibility, moment: null }
    const { objects, moment } = await moved(null)
    return { fieldVisibility: await withoutLost(actor, fieldVisibility, objects), moment }
  }

  async function withoutLost(
    actor: Actor,
    fieldVisibility: FieldVisibility,
    objects: readonly MovedObject[],
  ): Promise<FieldVisibility> {
    if (objects.length === 0) return fieldVisibility
    const ids = objects.map(({ id }) => id)
    if (ids.length > mostMoved) return fieldVisibilityWithout(fieldVisibility, ids)
    const readable = await deps.readable(actor, ids)
    const { tablesById } = deps.datamodel.current()
    const isSeen = ({ id, objecttype }: MovedObject): boolean => {
      const table = objecttype === null ? undefined : tablesById.get(objecttype)
      return table !== undefined && readable.has(id) && !fieldVisibility.depends(table)
    }
    return fieldVisibilityWithout(
      fieldVisibility,
      objects.filter((object) => !isSeen(object)).map(({ id }) => id),
    )
  }

  return seenNow
}

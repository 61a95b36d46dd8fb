import type { Actor } from '../../platform/actor.ts'
import type { JsonAnswer } from '../../platform/http/json-answer.ts'
import { type Deadline, noDeadline } from '../../platform/limits/deadline.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { standardMask } from '../masks/preference.ts'
import type { Wire } from '../masks/reader.ts'
import { renderOptions } from '../read/options.ts'
import { headOf, inPages } from '../read/pages.ts'
import { createRenderStream, type ReadDeps, type RenderPages } from '../read/render-pages.ts'
import type { FormatName } from '../render/formats.ts'
import type { PreloadedObjects, RenderItem, Shape } from '../render/render.ts'
import { nothingPreloaded } from '../render/run.ts'
import type { Loaded } from '../stored/rows.ts'
import { showable } from './disclosure.ts'
import type { SavedObject } from './outcome.ts'

interface SavedContext {
  readonly skipReverseNested?: boolean
  readonly fileDays?: number | undefined
  readonly shape?: Shape | undefined
  readonly deadline?: Deadline
  readonly known?: PreloadedObjects
}

/** Answers about changed objects, before and after they are written. */
export function createSavedAnswers(deps: ReadDeps, render: RenderPages) {
  const renderStream = createRenderStream(deps)
  return {
    /** All objects as a change would leave them: for callbacks that run before it is written. */
    async *showPending(
      from: Queryable,
      viewer: Actor,
      objects: readonly Loaded[],
      promised?: PreloadedObjects['promised'],
    ): AsyncGenerator<Wire> {
      const caller = await deps.rights.forActor(viewer)
      const toItem = (object: Loaded): RenderItem => ({
        object,
        mask: object.table.masks.get('_all_fields') ?? object.table.preferredMask,
      })
      const options = renderOptions(deps, { format: 'full', skipReverseNested: true })
      const more = promised ? { known: { ...nothingPreloaded, promised } } : {}
      yield* renderStream(from, viewer, caller, [objects.map(toItem)], options, more)
    },

    /**
     * The saved objects, in the transaction of the save: each with the mask with which it was sent, as far as the caller may read
     * it. The right or mask to write an object does not include the right to read it.
     */
    async renderSaved(
      tx: Queryable,
      actor: Actor,
      saved: readonly SavedObject[],
      format: FormatName,
      { skipReverseNested = false, fileDays, shape, deadline = noDeadline, known }: SavedContext = {},
    ): Promise<JsonAnswer> {
      const caller = await deps.rights.forActor(actor)
      const untold = new Set<number>()
      const toItem = ({ item, object }: SavedObject): RenderItem => {
        const shown = showable({ deps, rights: caller }, item)
        if (shown === 'nothing') untold.add(object.systemObjectId)
        if (shown === 'whole') return { object, mask: item.mask }
        return { object: headOf(object), mask: standardMask({ deps }, object) }
      }
      const told: Shape = (wire, item) => {
        const shown = untold.has(item.object.systemObjectId) ? idsOnly(wire, item.object.table.name) : wire
        return shape ? shape(shown, item) : shown
      }
      return render(
        tx,
        actor,
        caller,
        inPages(saved, toItem),
        renderOptions(deps, { format, skipReverseNested, fileDays }),
        {
          ...(caller.root && !shape ? {} : { shape: told }),
          deadline,
          ...(known ? { known } : {}),
        },
      )
    },
  }
}

/** A saved object that the caller may not read: its identity, and its version, for the next save. */
function idsOnly(wire: Wire, objecttype: string): Wire {
  const { _objecttype, _system_object_id, _global_object_id, [objecttype]: block } = wire
  return { _objecttype, _system_object_id, _global_object_id, _not_allowed: true, [objecttype]: block }
}

import type { Column, Model } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { showingMasks } from '../masks/access.ts'
import { type MaskDeps, mayUseMask } from '../masks/preference.ts'
import { loadHeads } from '../stored/load.ts'
import type { Head } from '../stored/rows.ts'

/** The rights of a user to read values of the objects in a caption. */
export interface CaptionVisibility {
  object(systemObjectId: number): boolean
  /** Its `_standard`. */
  title(systemObjectId: number): boolean
  column(systemObjectId: number, column: Column): boolean
}

export interface CaptionVisibilityDeps {
  readonly model: Model
  readonly masks: MaskDeps
  /** The rights of the users, of those given, who may sign in now, and always of root. */
  readonly readersOf: (from: Queryable, userIds: readonly number[]) => Promise<ReadonlyMap<number, CallerRights>>
  /** Called with users who may no longer act: their captions show no values of objects. */
  readonly onGone: (userIds: readonly number[]) => void
}

const nothing: CaptionVisibility = { object: () => false, title: () => false, column: () => false }

/** By the user who set the captions; a constant number of statements. */
export async function captionVisibility(
  { model, masks, readersOf, onGone }: CaptionVisibilityDeps,
  from: Queryable,
  setters: readonly number[],
  systemObjectIds: readonly number[],
): Promise<(setter: number) => CaptionVisibility> {
  const asked = [...new Set(setters)]
  const readers = await readersOf(from, asked)
  const gone = asked.filter((id) => !readers.has(id))
  if (gone.length > 0) onGone(gone)
  const limited = [...readers.values()].some((caller) => !caller.root)
  const found = limited ? await loadHeads(from, model, [...new Set(systemObjectIds)]) : []
  const heads = new Map(found.map((head) => [head.systemObjectId, head]))
  return (setter) => {
    const caller = readers.get(setter)
    if (!caller) return nothing
    return caller.root ? everything : visibilityOf({ deps: masks, caller }, heads)
  }
}

const everything: CaptionVisibility = { object: () => true, title: () => true, column: () => true }

function visibilityOf(
  context: { readonly deps: MaskDeps; readonly caller: CallerRights },
  heads: ReadonlyMap<number, Head>,
): CaptionVisibility {
  const readable = (id: number): Head | null => {
    const head = heads.get(id)
    return head && context.caller.may('read', head.guard) ? head : null
  }
  return {
    object: (id) => readable(id) !== null,
    title(id) {
      const head = readable(id)
      return head !== null && mayUseMask(context, head.table.preferredMask, head)
    },
    column(id, column) {
      const head = readable(id)
      if (!head) return false
      return showingMasks(head.table)
        .column(column)
        .values()
        .some((mask) => mayUseMask(context, mask, head))
    },
  }
}

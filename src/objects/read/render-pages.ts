import type { Model } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Queryable } from '../../platform/db.ts'
import type { JsonAnswer } from '../../platform/json-body.ts'
import type { Lifetime } from '../../platform/lifetime.ts'
import { createPauses } from '../../platform/pauses.ts'
import type { Places } from '../../platform/places.ts'
import type { CallerRights } from '../../rights/service.ts'
import type { AnswerLimits } from '../render/parts.ts'
import { type RenderDeps, type RenderMore, type RenderOptions, renderAnswer } from '../render/render.ts'
import { loadHeads } from './load.ts'
import type { Pages } from './pages.ts'
import type { Head } from './stored-rows.ts'

export interface ReadDeps extends RenderDeps {
  readonly db: Db
  /** For the few statements behind one object by its id. */
  readonly quick: Queryable
  readonly datamodel: { current(): Model }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  /** The snapshots in memory that rendering reads besides the datamodel; each is replaced when it changes. */
  readonly snapshots: () => readonly unknown[]
  readonly limits: AnswerLimits
  /** Where long lists take their turn. */
  readonly heavy: Places
}

/** Heads that are looked for in memory: to ask whether more are as they were would hold up others. */
const mostRemembered = 300

export interface PagesMore extends RenderMore {
  readonly lifetime?: Lifetime
  /** Heads of linked objects; absent: they are read where the objects are read, as changes need it that are not committed yet. */
  readonly heads?: (model: Model, ids: readonly number[]) => Promise<readonly Head[]>
}

/** Renders objects that the caller may see, as they are loaded. */
export type RenderPages = ReturnType<typeof createRenderPages>

export function createRenderPages(deps: ReadDeps) {
  return (
    q: Queryable,
    actor: Actor,
    caller: CallerRights,
    pages: Pages,
    options: RenderOptions,
    more: PagesMore = {},
  ): Promise<JsonAnswer> => {
    const pauses = createPauses(more.lifetime && (() => more.lifetime?.check()))
    const model = deps.datamodel.current()
    const { heads } = more
    const headsOf = (ids: readonly number[]) =>
      heads && ids.length <= mostRemembered ? heads(model, ids) : loadHeads(q, model, ids)
    const base = { deps, q, model, actor, caller, options, pauses, headsOf }
    return renderAnswer(base, deps.limits, pages, more)
  }
}

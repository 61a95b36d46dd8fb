import type { Model } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { JsonAnswer } from '../../platform/http/json-answer.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { RequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { Shares } from '../../platform/memory/shares.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import type { World } from '../../platform/postgres/snapshot.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import type { CallerRights } from '../../rights/service.ts'
import type { Wire } from '../masks/reader.ts'
import type { AnswerLimits } from '../render/parts.ts'
import {
  type PreloadedObjects,
  type RenderDeps,
  type RenderItem,
  type RenderMore,
  type RenderOptions,
  renderAnswer,
  renderValues,
  type Shown,
} from '../render/render.ts'
import type { RunBase } from '../render/run.ts'
import { loadHeads } from '../stored/load.ts'
import type { Head } from '../stored/rows.ts'
import type { Needs, ObjectShares } from './object-cache.ts'
import { hasShortLinks } from './options.ts'
import type { Pages } from './pages.ts'

export interface ReadDeps extends RenderDeps {
  readonly db: Db
  /** For the few statements behind one object by its id. */
  readonly pipelined: Queryable
  /** For pages of hits. */
  readonly pages: Queryable
  readonly datamodel: { current(): Model }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  /** The in-memory state (datamodel, pools, tags) that rendering uses. */
  readonly world: () => World
  readonly limits: AnswerLimits
  /** Memory for the caches. */
  readonly memory: ObjectShares & Pick<Shares, 'objectAnswers'>
  /** Limits the number of long lists that are rendered at the same time. */
  readonly heavyRequests: RequestLimiter
}

/** Maximum number of heads to look for in memory: checking more for changes would delay other requests. */
const mostRemembered = 1000

/** Gives some of the data around objects without reading it from the database. */
export interface Nearby {
  /** Heads of objects, in no order. */
  heads(model: Model, ids: readonly number[]): Promise<readonly Head[]>
  around(model: Model, items: readonly Shown[], needs: Needs): Promise<PreloadedObjects>
}

export interface PagesMore extends RenderMore {
  readonly deadline?: Deadline
  /** Absent: linked objects are read from the same connection as the objects, as needed for changes that are not committed yet. */
  readonly nearby?: Nearby
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
  ): Promise<JsonAnswer> => renderAnswer(baseOf(deps, { q, actor, caller, options }, more), deps.limits, pages, more)
}

/** The same as values, a page at a time; pages are only as large as needed. */
export type RenderStream = ReturnType<typeof createRenderStream>

export function createRenderStream(deps: ReadDeps) {
  return async function* (
    q: Queryable,
    actor: Actor,
    caller: CallerRights,
    pages: Pages,
    options: RenderOptions,
    { whole = false, ...more }: Omit<PagesMore, 'each'> & { readonly whole?: boolean } = {},
  ): AsyncGenerator<Wire> {
    const base = baseOf(deps, { q, actor, caller, options }, more)
    for await (const items of pages) yield* renderRoomily(base, deps.limits, items, more, whole)
  }
}

/** `whole`: a page without room for its linked objects, or that is too large itself, is rendered in halves. */
async function* renderRoomily(
  base: RunBase,
  limits: AnswerLimits,
  items: readonly RenderItem[],
  more: RenderMore,
  whole: boolean,
): AsyncGenerator<Wire> {
  if (whole && items.length > 1) {
    const values = await renderValues(base, limits, items, more).then(
      (answer) => (answer.short === 0 ? answer.values : null),
      (error: unknown) => {
        if (error instanceof AppError && error.code === 'AnswerTooLarge') return null
        throw error
      },
    )
    if (values) {
      yield* values
      return
    }
    const middle = Math.ceil(items.length / 2)
    yield* renderRoomily(base, limits, items.slice(0, middle), more, whole)
    yield* renderRoomily(base, limits, items.slice(middle), more, whole)
  } else yield* (await renderValues(base, limits, items, more)).values
}

function baseOf(
  deps: ReadDeps,
  asked: Pick<RunBase, 'q' | 'actor' | 'caller' | 'options'>,
  { deadline, nearby }: PagesMore,
): RunBase {
  const { q, options } = asked
  const model = deps.datamodel.current()
  const headsOf = (ids: readonly number[]) =>
    nearby && ids.length <= mostRemembered ? nearby.heads(model, ids) : loadHeads(q, model, ids)
  const needs = { links: true, reverses: !options.skipReverseNested }
  const aroundOf =
    nearby && hasShortLinks(options) && !options.keep
      ? (items: readonly Shown[]) => nearby.around(model, items, needs)
      : null
  return { deps, model, ...asked, yielder: createYielder(deadline && (() => deadline.check())), headsOf, aroundOf }
}

/**
 * All that a search finds, for what takes longer than a request: exports, harvesters. Nothing is held between two
 * statements, so a walk may take its time, and each statement sees the rights and the index as they are then.
 */
import { createHash } from 'node:crypto'
import type { Actor } from '../platform/actor.ts'
import { type Deadline, noDeadline } from '../platform/limits/deadline.ts'
import type { CallerRights } from '../rights/service.ts'
import type { ChangesPage, ChangesWindow, SearchEngine, SearchPlan } from './plan/plan.ts'
import type { SearchRequest } from './schema.ts'

/** What of a search request says which objects, and in which order. */
export type WalkRequest = Pick<
  SearchRequest,
  'search' | 'objecttypes' | 'sort' | 'languages' | 'timezone' | 'include_deleted'
>

/** Ids that one statement brings: so many that sorting anew for each does not matter, few enough to forget about. */
const stride = 10_000

export interface WalkDeps {
  readonly engine: Pick<SearchEngine, 'page' | 'changes'>
  /** Since when it is known what went out of sight, in microseconds since 1970; null: ever since. */
  readonly followedSince: () => Promise<number | null>
  /** The plan of a request as of now. @throws {AppError} when the caller may not search now. */
  readonly planOf: (
    actor: Actor,
    request: WalkRequest,
  ) => Promise<{ readonly plan: SearchPlan; readonly caller: CallerRights }>
}

export function createWalks({ engine, followedSince, planOf }: WalkDeps) {
  return {
    /**
     * System object ids of all matches that the actor may read, in the order of `sort` (without one by id), `batch` at a
     * time. By id each object that matches all the while comes once, whatever else happens; in another order one whose
     * place changes meanwhile may come twice or not at all. Ends with its caller and with `deadline`.
     */
    async *walk(
      actor: Actor,
      request: WalkRequest,
      {
        batch = 1000,
        deadline = noDeadline,
        behind,
      }: {
        readonly batch?: number
        readonly deadline?: Deadline /** Goes on behind this object; by id only. */
        readonly behind?: number
      } = {},
    ): AsyncGenerator<readonly number[], void, undefined> {
      const ordered = request.sort?.length ? request : { ...request, sort: [{ field: '_system_object_id' }] }
      let after: readonly unknown[] | null = behind === undefined ? null : [behind]
      for (;;) {
        deadline.check()
        const { plan } = await planOf(actor, ordered)
        const limit = Math.max(batch, stride)
        const hits = await engine.page({ ...plan, after, offset: 0, limit, aggregations: [] }, deadline)
        for (let start = 0; start < hits.length; start += batch) {
          yield hits.slice(start, start + batch).map(({ id }) => id)
        }
        const last = hits.at(-1)
        if (!last || hits.length < limit) return
        after = last.sort
      }
    },

    /**
     * What has changed of the objects that the request finds, since a moment: those that are found and became something
     * else (they, their rights, what they show of others), and those that are not found any more although the actor could
     * see them, be it that they were changed, moved, tagged otherwise, deleted or purged. Grants of pools and object types
     * are no changes of objects: when they change, so does `basis`, and what was seen before is to be seen anew. So it is
     * where the window begins before all that is still known.
     */
    async changes(
      actor: Actor,
      request: WalkRequest,
      window: ChangesWindow,
      deadline: Deadline = noDeadline,
    ): Promise<ChangesPage & { readonly basis: string }> {
      const { plan, caller } = await planOf(actor, request)
      const page = await engine.changes({ ...plan, after: null, aggregations: [] }, window, deadline)
      const filter = JSON.stringify(caller.root ? null : caller.readable())
      // Asked behind the page: what is forgotten meanwhile may be missing in it.
      const known = window.since === null ? null : await followedSince()
      const forgotten = known !== null && window.since !== null && window.since <= known
      const seen = forgotten ? `${filter} before ${known}` : filter
      return { ...page, basis: createHash('sha256').update(seen).digest('base64url') }
    },
  }
}

/**
 * Reads all matches of a search, for tasks that take longer than a request: exports, harvesters. No lock, snapshot or cursor is
 * held between two statements, so a walk may take long. Each statement sees the rights and the index of its own time.
 */
import { createHash } from 'node:crypto'
import type { Actor } from '../platform/actor.ts'
import { type Deadline, noDeadline } from '../platform/limits/deadline.ts'
import type { CallerRights } from '../rights/service.ts'
import type { ChangesPage, ChangesWindow, SearchEngine, SearchPlan } from './plan/plan.ts'
import type { SearchRequest } from './schema.ts'

/** The part of a search request that decides about the matches and their order. */
export type WalkRequest = Pick<
  SearchRequest,
  'search' | 'objecttypes' | 'sort' | 'languages' | 'timezone' | 'include_deleted'
>

/** Ids that one statement returns: enough that sorting again for each does not matter, and few enough to hold in memory. */
const stride = 10_000

export interface WalkDeps {
  readonly engine: Pick<SearchEngine, 'page' | 'changes'>
  /**
   * The moment since which the index has a record of objects that became invisible, in microseconds since 1970. `null`: there is no
   * such limit.
   */
  readonly followedSince: () => Promise<number | null>
  /** The plan of a request with the current rights. @throws {AppError} when the caller may not search now. */
  readonly planOf: (
    actor: Actor,
    request: WalkRequest,
  ) => Promise<{ readonly plan: SearchPlan; readonly caller: CallerRights }>
}

export function createWalks({ engine, followedSince, planOf }: WalkDeps) {
  return {
    /**
     * System object ids of all matches that the actor may read, in the order of `sort` (by id where there is none), `batch` at a
     * time. In the order of ids, an object that matches during the whole walk is given exactly once. In another order, an object
     * whose sort position changes during the walk may be given twice or not at all. The walk ends when its consumer stops, or at
     * `deadline`.
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
        readonly deadline?: Deadline
        /** The walk begins after this object; in the order of ids only. */
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
     * Changes since a moment, among the objects that the request finds. They include objects that are found and have changed (the
     * object itself, its rights, the data that it shows of others). They also include objects that are not found any more although
     * the actor could see them: because they were changed, moved, tagged otherwise, deleted or purged. A change of the grants of
     * pools and object types is no change of objects: it changes `basis`, and then the consumer must read everything anew. `basis`
     * also changes when the window begins before the recorded changes.
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
      // Read after the page: records that are removed in between may be missing in the page.
      const known = window.since === null ? null : await followedSince()
      const forgotten = known !== null && window.since !== null && window.since <= known
      const seen = forgotten ? `${filter} before ${known}` : filter
      return { ...page, basis: createHash('sha256').update(seen).digest('base64url') }
    },
  }
}

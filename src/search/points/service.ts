/**
 * Points in time: pages of a search that stay as they were when it was first run. All matches are collected once, in their order,
 * and stored. A page is a section of these, with the current rights of the caller and the current contents of the objects. No
 * cursor or transaction stays open between two requests. So PostgreSQL can go on cleaning up, any process can answer the next page,
 * and no point in time is lost when a process ends.
 */
import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { quotaExceeded } from '../../platform/limits/callers.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { createPeriodic } from '../../platform/process/periodic.ts'
import type { Hit, SearchEngine, SearchOutcome, SearchPlan } from '../plan/plan.ts'
import type { Fields } from '../request/read.ts'
import { digestOfSearch, keepAliveText, type PointRequest, standardKeepAlive } from './request.ts'
import * as store from './store.ts'

export interface PointQuotas {
  /** The highest number of points of one caller (`own`), and of all callers. */
  readonly own: number
  readonly all: number
  /** The highest number of hits of one point. */
  readonly hits: number
}

export interface PointDeps {
  readonly db: Db
  readonly log: Pick<Logger, 'warn'>
  readonly engine: Pick<SearchEngine, 'search' | 'page' | 'collect'>
  readonly quotas: PointQuotas
}

/** A point in time in the form for answers. */
export interface ShownPoint {
  readonly id: string
  readonly keep_alive: string
}

export interface PointPage {
  readonly point: ShownPoint
  readonly outcome: SearchOutcome
}

const minute = 60_000
/** Ended points that are removed with one statement: each has at most some thousand rows. */
const removedAtOnce = 5
/** Seconds for which the hits are collected at most, independent of the time limit of requests. */
const collectedWithin = { least: 600, most: 86_400 }
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function createPoints({ db, log, engine, quotas }: PointDeps) {
  const janitor = createPeriodic({
    every: minute,
    paused: () => false,
    work: async (stopped) => {
      while (!stopped() && (await store.deleteEnded(db, removedAtOnce)) === removedAtOnce);
    },
    onFailure: (error) => log.warn({ err: error }, 'points in time that have ended could not be removed'),
  })

  /** @throws {AppError} `QuotaExceeded` */
  async function reserve(actor: Actor, request: Fields, keepAlive: number, deadline: Deadline): Promise<string> {
    await store.deleteEnded(db, removedAtOnce)
    const id = randomUUID()
    const { least, most } = collectedWithin
    const within = Math.min(most, Math.max(least, deadline.left / 1000 + least))
    const search = digestOfSearch(request)
    await db.transaction(async (tx) => {
      const open = await store.lockOpenPoints(tx, deadline.who)
      if (open.own >= quotas.own) throw quotaExceeded('svc.quotas.pointsInTime', quotas.own, open.ownEnds)
      if (open.all >= quotas.all) throw quotaExceeded('svc.quotas.allPointsInTime', quotas.all, open.allEnd)
      await store.insertPoint(tx, { id, userId: actor.userId, caller: deadline.who, search, keepAlive, within })
    })
    return id
  }

  async function collect(id: string, plan: SearchPlan, deadline: Deadline): Promise<number> {
    const hits = await engine.collect(plan, { id, most: quotas.hits, partLength: store.partLength }, deadline)
    if (hits === null) throw tooManyHits(quotas.hits)
    // It can be gone only if this took longer than a request may.
    if (!(await store.beginPoint(db.within(deadline), id, hits))) throw unknownPoint(id)
    return hits
  }

  /** The hits of a page: the collected hits that the caller may still see, in their order. */
  async function pageOf(id: string, hits: number, plan: SearchPlan, deadline: Deadline): Promise<readonly Hit[]> {
    const q = db.within(deadline)
    const offset = plan.after === null ? plan.offset : await behind(id, plan.after, deadline)
    if (offset >= hits) return []
    const ids = await store.readHits(q, id, offset, plan.limit)
    if (ids.length === 0) return []
    const where = { is: 'id', ids } as const
    // The limit makes the page look incomplete, so that no index is created for its order.
    const limit = ids.length + 1
    const there = await engine.page(
      { ...plan, scope: { ...plan.scope, where }, after: null, offset: 0, limit, aggregations: [] },
      deadline,
    )
    const byId = new Map(there.map((hit) => [hit.id, hit]))
    return ids.flatMap((each) => byId.get(each) ?? [])
  }

  /** Sort values end with the id of their hit. The id alone tells the former position, even if the other values have changed. */
  async function behind(id: string, after: readonly unknown[], deadline: Deadline): Promise<number> {
    const position = await store.positionOf(db.within(deadline), id, after.at(-1) as number)
    if (position !== null) return position + 1
    throw badRequest('search_after must be _sort of a hit of this point in time.', { name: 'search_after' })
  }

  async function countsOf(plan: SearchPlan, deadline: Deadline): Promise<Pick<SearchOutcome, 'facets' | 'ranges'>> {
    if (plan.aggregations.length === 0) return { facets: new Map(), ranges: new Map() }
    return engine.search({ ...plan, after: null, offset: 0, limit: 0 }, deadline)
  }

  return {
    /** Reserves a point of the caller before any work; `open` opens it. @throws {AppError} `QuotaExceeded` */
    async reserve(actor: Actor, { keepAlive }: PointRequest, request: Fields, deadline: Deadline): Promise<ShownPoint> {
      const { text, seconds } = keepAlive ?? standardKeepAlive
      return { id: await reserve(actor, request, seconds, deadline), keep_alive: text }
    },

    /** Collects the hits of a search, and returns its page. A failure leaves no point. */
    async open(point: ShownPoint, plan: SearchPlan, deadline: Deadline): Promise<PointPage> {
      const [count, { facets, ranges }] = await Promise.all([
        collect(point.id, plan, deadline),
        countsOf(plan, deadline),
      ])
      const hits = await pageOf(point.id, count, plan, deadline)
      return { point, outcome: { count, hits, facets, ranges } }
    },

    /** Frees the reservation of a point that was not opened. */
    abandon: (point: ShownPoint): Promise<void> => store.deletePoint(db, point.id),

    /** A page of an open point in time. @throws {AppError} `ServerGeneric` with the reason of the refusal. */
    async use(
      actor: Actor,
      { id, keepAlive }: { readonly id: string; readonly keepAlive: PointRequest['keepAlive'] },
      request: Fields,
      plan: SearchPlan,
      deadline: Deadline,
    ): Promise<PointPage> {
      if (!uuid.test(id)) throw unknownPoint(id)
      const search = digestOfSearch(request)
      const seconds = keepAlive?.seconds ?? null
      const used = await store.usePoint(db.within(deadline), id, { userId: actor.userId, search, keepAlive: seconds })
      if (used === null) throw unknownPoint(id)
      if (!used.same) throw otherSearch(id)
      const hits = await pageOf(id, used.hits, plan, deadline)
      return {
        point: { id, keep_alive: keepAlive?.text ?? keepAliveText(used.keepAlive) },
        outcome: { count: used.hits, hits, facets: new Map(), ranges: new Map() },
      }
    },

    /**
     * Ends the given points in time that belong to the actor. Other ids are ignored without a report, so that nothing is disclosed.
     */
    async end(actor: Actor, ids: readonly string[]): Promise<void> {
      await store.deletePoints(
        db,
        actor.userId,
        ids.filter((id) => uuid.test(id)),
      )
    },

    /** Removes ended points in time at once. */
    clean: () => janitor.run(),

    close: () => janitor.close(),
  }
}

function unknownPoint(id: string): AppError {
  const shown = id.slice(0, 100)
  return badRequest(`point_in_time.id: there is no point in time ${shown}, or it has ended.`, {
    name: 'point_in_time.id',
    id: shown,
  })
}

function otherSearch(id: string): AppError {
  return badRequest(
    `point_in_time.id: the point in time ${id} belongs to another search: objecttypes, search, sort, languages, timezone and include_deleted must be those that it was opened with.`,
    { name: 'point_in_time.id', id },
  )
}

function tooManyHits(most: number): AppError {
  return new AppError(
    'SearchTooCostly',
    { name: 'point_in_time', most },
    { message: `The search finds more than a point in time keeps: at most ${most} objects.` },
  )
}

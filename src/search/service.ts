/**
 * Search: a request becomes a plan (request/, plan/), an engine finds and counts (postgres/query), the capability that stores the
 * objects renders them. queue/ makes documents of saved objects (document/) and keeps the index up to date (postgres/index).
 */
import type { Logger } from 'pino'
import type { Model } from '../datamodel/model.ts'
import { formatNames, type MaskDeps, mergeModes } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { JsonAnswer } from '../platform/http/json-answer.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import { type Deadline, outsideDeadlines, shorter } from '../platform/limits/deadline.ts'
import type { RequestLimiter } from '../platform/limits/request-limiter.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { World } from '../platform/postgres/snapshot.ts'
import type { CallerRights } from '../rights/service.ts'
import type { AggregationDeps } from './aggregations.ts'
import { answerOf } from './answer.ts'
import { createCurrentVisibility, type Seen } from './current-visibility.ts'
import type { RecordKeepers } from './domains/model.ts'
import { createRecordSearch, domainOf } from './domains/service.ts'
import type { HitOptions } from './hits.ts'
import type { SearchEngine, SearchOutcome, SearchPlan, VisibleCollections } from './plan/plan.ts'
import { pointRequest } from './points/request.ts'
import { createPoints, type PointPage, type PointQuotas, type ShownPoint } from './points/service.ts'
import { beginRound, type CheckState, readState } from './queue/check-store.ts'
import { blockTopic, isBlocked, type Reindexing } from './queue/reindex.ts'
import type { PoolByReference } from './request/clauses.ts'
import { namesCollections } from './request/collections.ts'
import { type CompiledSearch, compileSearch } from './request/compile.ts'
import { costOf, isHeavy } from './request/cost.ts'
import { notKnown } from './request/known.ts'
import { choice, type Fields } from './request/read.ts'
import { type AlikeFiles, picturesOf } from './request/similar.ts'
import type { LanguageSynonyms } from './request/synonyms.ts'
import type { IndexCheck, SearchRequest } from './schema.ts'
import { createSuggest } from './suggest/service.ts'
import { createWalks, type WalkRequest } from './walk.ts'

export type { HitOptions } from './hits.ts'
export { createQueryLanguage, type QueryLanguage } from './language/service.ts'
export { fieldVisibilityBytes } from './plan/field-visibility.ts'
export { createPostgresIndex, type SearchIndex, type SearchIndexOptions } from './postgres/service.ts'
export { createIndexer, type Indexer } from './queue/indexer.ts'
export { createReindexing } from './queue/reindex.ts'
export type { WalkRequest } from './walk.ts'

/** Milliseconds that a search may work in the database before it continues among the heavy ones. */
const longestQuick = 2000

const noPictures: AlikeFiles = new Map()

export interface SearchServiceDeps extends AggregationDeps, MaskDeps {
  readonly bus: Bus
  /** For statements that take microseconds. */
  readonly pipelined: Queryable
  /** Dates such as `$now-7d` are relative to it. */
  readonly clock: () => Date
  readonly engine: SearchEngine
  readonly reindexing: Reindexing
  /** Whether the index is compared with the objects in the background. */
  readonly checksIndex: boolean
  /** The moment since which the index has a record of objects that became invisible to callers. */
  readonly followedSince: () => Promise<number | null>
  readonly datamodel: { current(): Model }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  /** The snapshots of pools, types and settings. */
  readonly world: () => World
  /** Versions of files that need no right of their own: `image.small`. */
  readonly freeVersions: () => readonly string[]
  readonly poolByReference: PoolByReference
  /** The collections that the actor may see; null: all. @throws {AppError} `SearchTooCostly` for too many of them */
  readonly collectionsSeen: (q: Queryable, actor: Actor) => Promise<VisibleCollections>
  /** Pictures that look like the files, the most similar first. @throws {AppError} for one that the actor may not see. */
  readonly alike: (actor: Actor, fileIds: readonly number[]) => Promise<AlikeFiles>
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  /** The services that store the records of the other domains, by `_basetype`. */
  readonly keepers: RecordKeepers
  /** The limiter in which expensive searches wait for their turn. */
  readonly heavyRequests: RequestLimiter
  /** The synonyms of each data language. */
  readonly synonyms: () => readonly LanguageSynonyms[]
  /** The actor of callers without a token. `null`: guests are not allowed. */
  readonly guest: () => Promise<Actor | null>
  readonly log: Pick<Logger, 'warn'>
  readonly pointQuotas: PointQuotas
  /** Milliseconds that an ordinary search may work in the database before it continues in the queue of the expensive ones. */
  readonly quickLimit?: number
}

export const startReindex: NeededRight = { name: 'system.root' }

export type SearchService = ReturnType<typeof createSearchService>

export function createSearchService(deps: SearchServiceDeps) {
  const { db, bus, engine } = deps
  const points = createPoints({ db, log: deps.log, engine, quotas: deps.pointQuotas })
  const records = createRecordSearch(deps)
  const seenNow = createCurrentVisibility(deps)
  /** Whether a block may be active. Only then the database is asked. */
  let maybeBlocked = true
  let blocks = 0
  const unsubscribe = bus.subscribe(blockTopic, () => {
    maybeBlocked = true
    blocks++
  })

  /** @throws {AppError} `ReindexInProgress` */
  async function assertOpen(actor: Actor): Promise<void> {
    if ((await blocked()) && !actor.isRoot) throw new AppError('ReindexInProgress')
  }

  /** Whether searches are blocked until a reindex is done. */
  async function blocked(): Promise<boolean> {
    if (!maybeBlocked) return false
    const before = blocks
    const answer = await isBlocked(db)
    // If a block was announced meanwhile, the database must be asked again.
    if (!answer && before === blocks) maybeBlocked = false
    return answer
  }

  async function compile(actor: Actor, caller: CallerRights, request: SearchRequest): Promise<CompiledSearch> {
    return compileAs(actor, caller, await seenNow(actor, caller), request)
  }

  async function compileAs(
    actor: Actor,
    caller: CallerRights,
    seen: Seen,
    request: SearchRequest,
  ): Promise<CompiledSearch> {
    const pictures = picturesOf(request as Fields)
    const compiled = compileSearch(request as Fields, {
      model: deps.datamodel.current(),
      languages: deps.languages(),
      ...seen,
      databaseName: deps.databaseName,
      synonyms: deps.synonyms(),
      poolByReference: deps.poolByReference,
      collections: namesCollections(request as Fields) ? await deps.collectionsSeen(db, actor) : [],
      alike: pictures.length > 0 ? await deps.alike(actor, pictures) : noPictures,
      isSortValue: engine.isSortValue,
      now: deps.clock(),
    })
    if (!compiled.includeDeleted) return compiled
    // Callers who may delete objects see them in the trash. This right is not part of the index.
    const deleted = caller.root || caller.deletable()
    return { ...compiled, plan: { ...compiled.plan, scope: { ...compiled.plan.scope, deleted } } }
  }

  const suggest = createSuggest({
    ...deps,
    async compilerFor(actor) {
      await assertOpen(actor)
      const caller = await deps.rights.forActor(actor)
      const seen = await seenNow(actor, caller)
      return (request) => compileAs(actor, caller, seen, request)
    },
    q: (deadline) => db.within(deadline),
    render: (actor, ids, deadline) => deps.renderHits(actor, ids, hitOptions({}), { additions: () => ({}), deadline }),
  })

  return {
    ...suggest,
    blocked,

    /**
     * Finds objects that the actor may read. The answer is a `SearchResponse`. Unknown names are reported beside it, or refused
     * when the caller is `strict`.
     */
    async search(
      actor: Actor,
      request: SearchRequest,
      { deadline, strict }: { readonly deadline: Deadline; readonly strict: boolean },
    ): Promise<JsonAnswer & { readonly ignored: readonly string[] }> {
      const domain = domainOf(request.type)
      if (domain !== null) return records.search(actor, domain, request, { deadline, strict })
      const cost = costOf(request as Fields)
      const asked = pointRequest(request as Fields)
      await assertOpen(actor)
      const options = hitOptions(request)
      const caller = await deps.rights.forActor(actor)
      const compiled = await compile(actor, caller, request)
      const { plan, ignored } = compiled
      if (strict && ignored[0] !== undefined) throw notKnown(ignored[0])
      const answer = async (outcome: SearchOutcome, point?: ShownPoint) => ({
        ...(await answerOf(deps, { actor, caller }, options, compiled, outcome, deadline, point)),
        ignored,
      })
      const ofPoint = async ({ outcome, point }: PointPage) => answer(outcome, point)
      if (asked !== null && asked.id !== null) {
        const { id, keepAlive } = asked
        const page = async () => ofPoint(await points.use(actor, { id, keepAlive }, request as Fields, plan, deadline))
        return isLargePage(plan, options) ? deps.heavyRequests.run(deadline, page) : page()
      }
      if (asked !== null) {
        const point = await points.reserve(actor, asked, request as Fields, deadline)
        // The number of matches is not known beforehand.
        const opened = async () => ofPoint(await points.open(point, plan, deadline))
        return deps.heavyRequests.run(deadline, opened).catch(async (error: unknown) => {
          await outsideDeadlines(() => points.abandon(point))
          throw error
        })
      }
      const whole = async () => answer(await engine.search(plan, deadline))
      const measured = compiled.aggregations.some(({ measure }) => measure !== null)
      if (isHeavy(cost) || measured || isLargePage(plan, options)) return deps.heavyRequests.run(deadline, whole)
      const quick = shorter(deadline, deps.quickLimit ?? longestQuick)
      let outcome: SearchOutcome
      try {
        outcome = await engine.search(plan, quick)
      } catch (error) {
        // The duration of a search cannot be predicted. A search that takes long continues among the expensive ones.
        if (!quick.over || deadline.over) throw error
        return deps.heavyRequests.run(deadline, whole)
      }
      return answer(outcome)
    },

    /** Checks a search without running it: throws the error that the search would be refused with. */
    async check(actor: Actor, request: SearchRequest): Promise<void> {
      costOf(request as Fields)
      await assertOpen(actor)
      hitOptions(request)
      await compile(actor, await deps.rights.forActor(actor), request)
    },

    /** The number of objects that the request finds and the actor may read. */
    async count(actor: Actor, request: WalkRequest, deadline: Deadline): Promise<number> {
      await assertOpen(actor)
      const { plan } = await compile(actor, await deps.rights.forActor(actor), request)
      return (await engine.search({ ...plan, after: null, offset: 0, limit: 0, aggregations: [] }, deadline)).count
    },

    ...createWalks({
      engine,
      followedSince: deps.followedSince,
      async planOf(actor, request) {
        await assertOpen(actor)
        const caller = await deps.rights.forActor(actor)
        const { plan } = await compile(actor, caller, request)
        return { plan, caller }
      },
    }),

    /** Queues all objects for the index. @throws {AppError} `SystemRightRequired` without `system.root`. */
    async reindex(actor: Actor, options: { block: boolean }): Promise<void> {
      requireRight(actor, startReindex)
      const { version } = deps.datamodel.current()
      const order = { actor, objecttypes: null, block: options.block, datamodel: version }
      await db.transaction((tx) => deps.reindexing.begin(tx, order))
    },

    /** Progress and findings of the check of the index. @throws {AppError} `SystemRightRequired` */
    async indexCheck(actor: Actor): Promise<IndexCheck> {
      requireRight(actor, startReindex)
      return shownCheck(await readState(db), deps.checksIndex)
    },

    /**
     * Restarts the check of the index from its beginning.
     * @throws {AppError} `SystemRightRequired`, `ServerGeneric` where it is off
     */
    async beginIndexCheck(actor: Actor): Promise<void> {
      requireRight(actor, startReindex)
      if (!deps.checksIndex)
        throw badRequest('The check of the index is switched off.', { name: 'svc.index.check.pause' })
      await beginRound(db)
    },

    /** Ends the given points in time that belong to the actor. */
    endPoints: points.end,

    /** Removes ended points in time. */
    cleanPoints: points.clean,

    async close(): Promise<void> {
      unsubscribe()
      await points.close()
    },
  }
}

function shownCheck(state: CheckState, isOn: boolean): IndexCheck {
  const { beganAt, endedAt, last, ...counts } = state
  return {
    status: !isOn ? 'off' : endedAt === null ? 'running' : 'waiting',
    began_at: beganAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
    ...counts,
    last,
  }
}

function hitOptions(request: SearchRequest): HitOptions {
  return {
    format: choice(request.format || 'standard', formatNames, 'format'),
    languages: null,
    mergeLinkedObjects: request.merge_linked_objects
      ? choice(request.merge_linked_objects, mergeModes, 'merge_linked_objects')
      : undefined,
    mergeMaxDepth: request.merge_max_depth,
    generateRights: request.generate_rights ?? false,
    allFields: request.best_mask_filter === false,
    includeFields: request.include_fields ?? [],
    fileDays: request.file_url_expire,
    excludeFields: request.exclude_fields ?? [],
  }
}

/** Whether rendering the page is much work, however quickly it was found. */
function isLargePage({ limit }: SearchPlan, { format, mergeLinkedObjects = 'none' }: HitOptions): boolean {
  return format !== 'short' && limit > (mergeLinkedObjects === 'none' ? 300 : 50)
}

/**
 * Keeps the records for harvesters in step with the objects that the user `oai_pmh` may see: by the changes of the index,
 * by the lists of collections, and by checking all objects again after a change of its rights or of the sets. Each step
 * is a transaction that reads the present state of objects, so a later change gives the record a later datestamp.
 */
import { hash } from 'node:crypto'
import type { Logger } from 'pino'
import type { ReadService } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Db } from '../platform/postgres/db.ts'
import { createPeriodic } from '../platform/process/periodic.ts'
import type { SearchService } from '../search/service.ts'
import type { SetService, Sets } from './sets.ts'
import * as store from './store.ts'

export interface FollowDeps {
  readonly db: Db
  readonly log: Pick<Logger, 'warn'>
  readonly sets: Pick<SetService, 'current'>
  readonly search: Pick<SearchService, 'changes'>
  readonly read: Pick<ReadService, 'readableSql'>
  readonly enabled: () => boolean
  /** The user whose rights count; null: the user has no rights. */
  readonly harvester: () => Promise<Actor | null>
  /** Another number when rights, settings, groups of people or collections may be others than before, as far as this process has heard. */
  readonly surroundings: () => number
}

/** Objects of each kind that one step checks. */
const atATime = 2000
/** Milliseconds. */
const pause = 20_000
const patience = 5000

/** Sorts after all objects of a moment. */
const last = Number.MAX_SAFE_INTEGER

export function createFollower(deps: FollowDeps) {
  const { db } = deps
  let running = false
  let rest: Rest | null = null

  async function work(stopped: () => boolean): Promise<void> {
    running = true
    try {
      if (!deps.enabled()) return void (await store.deactivate(db))
      if (!(await store.readState(db))?.active) await store.activate(db)
      while (!stopped() && (await step()));
    } finally {
      running = false
    }
  }

  /** @returns whether there is more work for this process */
  async function step(): Promise<boolean> {
    const began = { surroundings: deps.surroundings(), at: performance.now() }
    const actor = await deps.harvester()
    const state = await store.readState(db)
    if (!actor || !state) return false
    const { followed } = state
    const window = { since: followed?.at ?? null, until: null, after: followed, limit: followed ? atATime : 1 }
    const page = await deps.search.changes(actor, {}, window)
    const sets = await deps.sets.current(actor)
    const basis = hash('sha256', `${page.basis} ${sets.basis}`, 'base64url')
    const queued = await store.queued(db, atATime)
    const walked = state.basis === basis ? state.walked : 0
    const walk = walked === null ? [] : await store.idsBehind(db, walked, atATime)
    const walksOn = walked !== null && walk.length === atATime
    // A first run checks all objects, so earlier changes do not matter.
    const changed = followed ? page.objects.map(({ id }) => id) : []
    const next = followed ? page.next : null
    const until = next ?? { at: page.until, id: last }
    const isIdle = state.basis === basis && state.walked === null && changed.length + queued.length === 0
    if (isIdle && followed?.at === until.at) {
      rest = state.built ? { ...began, version: state.version, followedAt: until.at } : null
      return false
    }
    // After the changes: rights that are others by now make another basis in the next step.
    const readable = await deps.read.readableSql(actor)
    const done = await db.transaction(async (tx) => {
      const begun = await store.beginStep(tx, state.version)
      if (!begun) return false
      const touched = new Set([...changed, ...queued.map(({ id }) => id)])
      const looked = await store.lookAt(tx, readable, [...new Set([...touched, ...walk])])
      const build = { isFirst: !state.built, moment: begun.moment, touched: new Set(changed) }
      await tell(tx, looked, sets, build)
      const nextState = {
        built: state.built || !walksOn,
        basis,
        walked: walksOn ? (walk.at(-1) ?? null) : null,
        followed: until,
      }
      await store.endStep(
        tx,
        nextState,
        queued.map(({ seq }) => seq),
      )
      return true
    })
    return done && (next !== null || walksOn || queued.length === atATime)
  }

  const periodic = createPeriodic({
    every: pause,
    paused: () => false,
    work,
    onFailure(error) {
      if (error instanceof AppError && error.status < 500) return
      deps.log.warn({ err: error }, 'what harvesters are told could not be brought up to date; it is tried again')
    },
  })

  /** Whether nothing has happened since there was nothing to be done: one small statement, where a step takes several. */
  async function isResting(): Promise<boolean> {
    const known = rest
    if (!known || known.surroundings !== deps.surroundings() || performance.now() - known.at > pause) return false
    const now = await store.readMarks(db)
    return now !== null && now.version === known.version && now.changedAt === known.followedAt && !now.queued
  }

  /** All that has happened until now: a run that was under way may have looked before. */
  async function all(): Promise<void> {
    if (running) await periodic.run()
    await periodic.run()
  }

  return {
    close: periodic.close,

    /**
     * Updates records as far as that takes little time; the rest continues in the background.
     * @throws {AppError} `ServiceUnavailable` before the first run has finished
     */
    async current(): Promise<void> {
      if (await isResting()) return
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, patience)
      await Promise.race([all(), late])
      clearTimeout(timer)
      if ((await store.readState(db))?.built) return
      const wait = { retry_after: 10 }
      throw new AppError('ServiceUnavailable', wait, { message: 'The records are still being put together.' })
    },
  }
}

export type Follower = ReturnType<typeof createFollower>

/** How everything was when there was nothing to be done. */
interface Rest {
  readonly surroundings: number
  /** Of this process's clock: grants and lists that begin or end at a time are looked at again after a while. */
  readonly at: number
  readonly version: number
  readonly followedAt: number
}

interface Step {
  /** The first run over all objects: records get the datestamps of their objects. */
  readonly isFirst: boolean
  readonly moment: string
  /** Objects that have changed, whatever their record was. */
  readonly touched: ReadonlySet<number>
}

/** Writes the records that have changed. */
async function tell(
  tx: Parameters<typeof store.write>[0],
  looked: readonly store.Looked[],
  sets: Sets,
  { isFirst, moment, touched }: Step,
): Promise<void> {
  const found = looked.map((object) => ({ object, specs: object.there ? sets.of(object) : [] }))
  const numbers = await store.numbersOf(tx, [...new Set(found.flatMap(({ specs }) => specs))])
  const records = found.flatMap(({ object, specs }): store.ListedRecord[] => {
    const { id, told, there } = object
    const uuid = object.uuid ?? told?.uuid
    if (uuid === undefined || (!told && !there)) return []
    const gone = !there || sets.isDeleted(object.tags)
    const own = there ? specs.map((spec) => numbers.get(spec) as number).toSorted((a, b) => a - b) : (told?.sets ?? [])
    const isSame = told !== null && told.gone === gone && told.uuid === uuid && `${told.sets}` === `${own}`
    if (isSame && (gone || !touched.has(id))) return []
    const at = isFirst && !told ? object.modified : moment
    return [{ id, uuid, moment: at, gone, sets: own, told: [...new Set([...(told?.told ?? []), ...own])] }]
  })
  await store.write(tx, records)
}

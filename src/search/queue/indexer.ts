/**
 * Keeps the search index up to date from the queue that saves fill. All processes on one database may try; one of them is the
 * indexer, as long as there is work. A killed indexer loses nothing: its lock is released with its connection, its last batch is
 * rolled back, and the queue still has the entries.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { Logger } from 'pino'
import type { Model } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Bus } from '../../platform/postgres/bus.ts'
import { cutShort, type Db, onConnection, type Queryable, type Tx } from '../../platform/postgres/db.ts'
import { isDiskFull } from '../../platform/postgres/failures.ts'
import { inBackground } from '../../platform/process/cooperative-yield.ts'
import type { Foreground } from '../../platform/process/foreground.ts'
import type { Signal } from '../../platform/process/signal.ts'
import { createAnalysis, presenceOf } from './analysis.ts'
import { indexBatch, makeAnew, type RefreshStandards } from './batch.ts'
import { createChanges } from './changes.ts'
import { createIndexCheck } from './check.ts'
import type { ReadFiles } from './files.ts'
import { laneOf, lanes, nextBatch } from './lanes.ts'
import { createTargets } from './link-targets.ts'
import { indexTopic, type Reindexing } from './reindex.ts'
import { createRest } from './rest.ts'
import { spreadOn } from './spread.ts'
import * as store from './store.ts'
import type { BatchSettings, IndexConnection, IndexTarget } from './target.ts'
import { createWaiters } from './waiters.ts'

/** Entries of a batch. */
const batchSize = 500
const smallestBatch = 50
/** The same while users save: what a batch holds in memory until it is written makes collecting garbage longer for their saves. */
const busyBatch = 100
/** Milliseconds that a batch of many objects may take. New saves wait for its end. */
const longestBatch = 400
/** Milliseconds for which dependents of changed objects are queued between two batches. */
const spreadTime = 100
/** Milliseconds between checks of the queue without a signal: they find entries of a killed process, and grants that ended. */
const patrol = 5000
/** Milliseconds after which an indexer that found the lock taken tries again. */
const retryPause = 200
/** Milliseconds after which objects that were just being saved are tried again. */
const busyPause = 20
/** Milliseconds after which the walk through the queue restarts from its beginning. */
const longestWalk = 2000
const hour = 3_600_000
/** Milliseconds for which changes can be followed. After that, the index forgets who could see an object in its former place. */
const followed = 90 * 24 * hour
/** The number of documents after which pending index entries are sorted in, once the queue is empty. */
const worthSettling = 50

export interface IndexerDeps {
  readonly db: Db
  readonly bus: Bus
  readonly log: Logger
  readonly datamodel: { current(): Model; assertCurrent(tx: Tx, used: Model): Promise<void> }
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  readonly refreshStandards: RefreshStandards
  /** Called with objects that link to changed ones, once they show the new data of these. */
  readonly linkedChanged: (systemObjectIds: readonly number[]) => Promise<void>
  /** Reads the searchable data of files. */
  readonly readFiles: ReadFiles
  /** Ids from the root pool down to the pool. */
  readonly poolPath: (id: number) => readonly number[]
  /** Reports an object that cannot be indexed. */
  readonly onIndexed: (db: Queryable, systemObjectIds: readonly number[]) => Promise<void>
  readonly onFailure: (id: number, error: string) => Promise<void>
  /** Reports objects that are tried again. */
  readonly onRetry: (db: Queryable, failed: readonly store.Failed[]) => Promise<void>
  readonly reindexing: Reindexing
  /** Seconds between two steps of the check of the index (0: no check), and between two rounds. */
  readonly check: { readonly pause: number; readonly every: number }
  /** The place of the index. */
  readonly target: IndexTarget
  /** Raised when entries have been queued and committed in this process. */
  readonly queued: Pick<Signal, 'listen'>
  readonly clock?: () => Date
  /** Open saves of users. */
  readonly foreground: Pick<Foreground, 'isBusy'>
  /** Waits until the memory of this process has all changes that are committed. */
  readonly upToDate: () => Promise<void>
}

export type Indexer = Awaited<ReturnType<typeof createIndexer>>

export async function createIndexer(deps: IndexerDeps) {
  const { db, bus, log, reindexing, target } = deps
  const version = (): number => deps.datamodel.current().version
  const clock = deps.clock ?? (() => new Date())
  const now = (): number => clock().getTime()
  const targets = createTargets()
  const changes = createChanges(now)
  const rest = createRest()
  const waiters = createWaiters(db, rest.cut)
  /** The number of callers that wait until the queue is empty. */
  let hurrying = 0
  const batchDeps = {
    log,
    targets,
    changes,
    target,
    poolPath: deps.poolPath,
    refreshStandards: deps.refreshStandards,
    linkedChanged: deps.linkedChanged,
    readFiles: deps.readFiles,
    now,
    assertCurrent: (tx: Tx, model: Model) => deps.datamodel.assertCurrent(tx, model),
    onIndexed: deps.onIndexed,
    onFailure: deps.onFailure,
  }
  const settings = createSettings(deps)
  // The first batch waits for the preparation, the start does not.
  void target.warm(deps.languages())
  const analysis = createAnalysis(target.builder, now)
  await bus.present(presenceOf(target.builder))
  /** Generation of the index when this process last indexed. While it is unchanged, no other process has indexed. */
  let generation = -1
  let unsettled = 0
  let nextForgetting = 0
  let wanted = false
  /** Whether the last attempt failed, and the log says so. */
  let failing = false
  let closed = false
  let running: Promise<void> | null = null
  /** The connection that indexes. */
  let busy: PoolClient | null = null
  let retry: NodeJS.Timeout | undefined
  /** Whether the next step of the check is due. */
  let checking = false
  const check = createIndexCheck({
    log,
    ...deps.check,
    make: (on, ids) => makeAnew(batchDeps, on, settings.current(), ids),
    surplus: target.surplus,
    distrust: target.distrust,
    assertCurrent: (on) => deps.datamodel.assertCurrent({ ...on, afterCommit: () => {} }, settings.current().model),
    onRepair: deps.onRetry,
  })
  const checks = deps.check.pause === 0 ? undefined : setInterval(wakeForCheck, 1000 * deps.check.pause).unref()
  const timer = setInterval(() => void lookAround(), patrol).unref()

  /** True while this process asks others to index. It receives its own message too. */
  let asking = false
  const unsubscribe = bus.subscribe(indexTopic, () => {
    if (!asking) wake()
  })

  const unsubscribeServer = bus.onAnotherServer(() => {
    generation = -1
  })

  const endListening = deps.queued.listen(wake)

  /** Starts indexing; if it is running already, makes it read the queue once more. */
  function wake(): void {
    wanted = true
    if (closed || running) return
    running = inBackground(() => outsideDeadlines(run)).finally(() => {
      running = null
      if (wanted && !closed && !retry) wake()
    })
  }

  function wakeForCheck(): void {
    checking = true
    wake()
  }

  function wakeLater(pause: number): void {
    if (closed || retry) return
    retry = setTimeout(() => {
      retry = undefined
      wake()
    }, pause).unref()
  }

  async function run(): Promise<void> {
    while (wanted && !closed) {
      wanted = false
      try {
        if (await emptyQueue()) {
          failing = false
          continue
        }
        // Another process indexes. It may just have read the last entry before this one, so try again.
        wakeLater(retryPause)
      } catch (error) {
        const expected = closed || (error instanceof AppError && (error.status === 423 || error.status === 503))
        const worthSaying = !expected || isDiskFull(error)
        // Logged once, because it is tried again every second.
        if (worthSaying && !failing) log.error({ err: error }, 'indexing failed; it is tried again')
        failing ||= worthSaying
        wakeLater(worthSaying ? 1000 : retryPause)
      }
    }
  }

  /** Works until the queue is empty; false when another process is the indexer. */
  async function emptyQueue(): Promise<boolean> {
    const client = await db.connect()
    let broken = true
    busy = client
    try {
      const connection = { client, db: onConnection(client) }
      const locked = await store.lockIndexer(connection.db)
      if (locked) await indexAll(client, connection)
      await store.unlockIndexer(connection.db, locked)
      broken = false
      return locked
    } finally {
      busy = null
      // A broken connection is closed, which releases the lock; so is a connection that a stop may still try to cut short.
      client.release(broken || closed)
    }
  }

  async function indexAll(client: PoolClient, connection: IndexConnection): Promise<void> {
    const current = await target.generation(connection.db)
    if (current !== generation) {
      targets.clear()
      changes.forget()
    }
    generation = current
    const { languages } = settings.current()
    const claim = await analysis.claim(connection.db, languages, () =>
      reindexing.queue(connection.db, { actor: null, objecttypes: null, block: false, datamodel: version() }),
    )
    if (claim.kind === 'theirs') return leaveToOthers(connection.db, claim.again)
    if (claim.queued) log.info({ languages }, 'documents are built differently now: all objects are indexed anew')
    const reader = queueReader()
    let anew = false
    const backlog = await target.openBacklog(connection.db, log)
    while (!closed) {
      const most = deps.foreground.isBusy() && hurrying === 0 ? busyBatch : batchSize
      const { entries, size, more, spreading } = await reader.next(connection.db, most)
      if (entries.length === 0) {
        if (spreading) {
          await spreadFor(connection.db)
          continue
        }
        if (!closed && (await backlog.awaits(() => hasEntries(connection.db)))) continue
        await backlog.end()
        if (anew) await reindexing.finish(db, version())
        break
      }
      // A document must follow from the change that has queued its entry, also from pools and languages, which are in memory.
      await deps.upToDate()
      anew ||= entries.some(({ priority }) => priority === 2)
      await backlog.before(entries.length, size)
      const began = performance.now()
      const used = settings.current()
      const batch = await indexBatch(batchDeps, { client, db: connection.db }, used, entries)
      generation = batch.generation
      unsettled += batch.done.length
      waiters.indexed(batch.done)
      const took = performance.now() - began
      reader.took(entries.length, took)
      const queued = (spreading || batch.spreading) && (await spreadFor(connection.db))
      if (batch.done.length === 0) await sleep(busyPause)
      else if (!more && !queued && !waiters.any() && hurrying === 0) await rest.take(took)
    }
    // A stop can arrive while indexes are dropped.
    if (closed) return
    if (checking) {
      checking = false
      if (await check.step(connection)) wanted = true
    }
    await forgetTombstones(connection.db)
    if (unsettled < worthSettling) return
    unsettled = 0
    await target.settle(connection.db)
  }

  /** Queues dependents of changed objects for a while; false when there was none. */
  async function spreadFor(on: Queryable): Promise<boolean> {
    const begun = performance.now()
    let queued = false
    while (!closed && performance.now() - begun < spreadTime) {
      const step = await spreadOn(on)
      if (step === null) break
      queued ||= step > 0
    }
    return queued
  }

  /** A process of a newer release indexes. It is only notified of its own saves. */
  async function leaveToOthers(on: Queryable, again: number | null): Promise<void> {
    if (again !== null) wakeLater(again)
    if (!(await hasEntries(on))) return
    asking = true
    try {
      await bus.publish({ query: on.query, afterCommit: (action) => action() }, indexTopic)
    } finally {
      asking = false
    }
  }

  async function queueExpired(): Promise<void> {
    const expired = await target.expired(db, clock())
    if (expired.length > 0) await store.queueAnew(db, expired)
  }

  /** Deletes records that are older than followers of changes can ask for. */
  async function forgetTombstones(on: Queryable): Promise<void> {
    if (now() < nextForgetting) return
    nextForgetting = now() + hour
    await target.forgetTombstones(on, new Date(now() - followed))
  }

  async function retryFailed(): Promise<void> {
    const failed = await store.queueFailed(db)
    if (failed.length > 0) await deps.onRetry(db, failed)
  }

  async function lookAround(): Promise<void> {
    try {
      await queueExpired()
      await retryFailed()
      // Finishes orders of an indexer that was killed after its last batch.
      await reindexing.finish(db, version())
      wake()
    } catch (error) {
      log.warn({ err: error }, 'the index queue cannot be looked at')
    }
  }

  return {
    /** To be called after the commit of entries in the queue. */
    wake,

    /**
     * Waits until the current state of these objects is indexed; false when that takes longer. Objects that are not in the queue
     * are indexed already.
     */
    async awaitIndexed(systemObjectIds: readonly number[], seconds: number): Promise<boolean> {
      const done = waiters.wait(systemObjectIds, seconds)
      wake()
      return done
    },

    /** Resolves when the queue is empty: for tests. */
    async idle(): Promise<void> {
      hurrying += 1
      rest.cut()
      try {
        await queueExpired()
        await retryFailed()
        for (;;) {
          wake()
          await running
          if (!(await hasEntries(db))) return
          await sleep(10)
        }
      } finally {
        hurrying -= 1
      }
    },

    async close(): Promise<void> {
      closed = true
      clearInterval(timer)
      clearInterval(checks)
      clearTimeout(retry)
      unsubscribe()
      unsubscribeServer()
      endListening()
      waiters.close()
      rest.cut()
      // Nothing is lost: a batch is rolled back, and the next indexer continues with it and with the indexes.
      if (running) await cutShort(db, () => busy, running)
    },
  }
}

async function hasEntries(db: Queryable): Promise<boolean> {
  const any = '(select from index_queue limit 1) union all (select from index_spread limit 1)'
  return (await db.query(any, [], 'search-queue-any')).rowCount > 0
}

interface Next {
  readonly entries: readonly store.QueueEntry[]
  /** The number of entries in a batch of many. */
  readonly size: number
  /** Whether other entries wait too. */
  readonly more: boolean
  /** Whether dependents of changed objects must still be queued. */
  readonly spreading: boolean
}

/** Walks through the queue. An entry with a lower number that was committed late is found when the walk starts again. */
function queueReader() {
  let after = lanes.map(() => 0)
  let started = performance.now()
  let size = batchSize
  let singlesBefore = false
  const restart = (): void => {
    after = lanes.map(() => 0)
    started = performance.now()
  }
  return {
    async next(db: Queryable, most: number): Promise<Next> {
      const room = Math.min(size, most)
      if (performance.now() - started > longestWalk) restart()
      const atStart = after.every((seq) => seq === 0)
      const { entries: waiting, spreading } = await store.readQueue(db, room, after)
      if (waiting.length === 0 && !atStart) {
        restart()
        return this.next(db, most)
      }
      const { entries, singles } = nextBatch(waiting, { size: room, singlesBefore })
      singlesBefore = singles
      for (const entry of entries) after[laneOf(entry)] = entry.seq
      const more = waiting.length > entries.length || entries.length >= room
      return { entries, size: room, spreading, more }
    },

    /** Makes slow batches smaller. */
    took(entries: number, time: number): void {
      if (entries < smallestBatch) return
      const fitting = Math.floor((entries * longestBatch) / time)
      size = Math.max(smallestBatch, Math.min(batchSize, fitting, 2 * size))
    },
  }
}

/** Model and languages: the same object as long as neither changes. */
function createSettings({ datamodel, languages }: IndexerDeps) {
  let known: (BatchSettings & { readonly key: string }) | null = null
  return {
    current(): BatchSettings {
      const model = datamodel.current()
      const key = languages().join()
      if (known?.model !== model || known.key !== key) known = { model, languages: [...languages()], key }
      return known
    },
  }
}

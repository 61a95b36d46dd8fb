import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { AppError } from '../errors.ts'
import type { Bus } from './bus.ts'
import type { Queryable } from './db.ts'

/**
 * Small things that every request needs (pools, tags, the datamodel, …) are read as a whole and kept in memory. A snapshot is
 * renewed when the bus reports that its source has changed, and from time to time anyway, in case a message was lost. Renewing
 * happens beside the requests: reading the value never waits, so it is allowed inside transactions. A failed read is repeated; the
 * last good value is used meanwhile, but for a limited time.
 */
export interface Snapshot<Stored, T> {
  /**
   * The value as last read.
   * @throws {AppError} `ServiceUnavailable` when a change has been known for a long time but cannot be read.
   */
  get(): T
  /** Reads once more, for a caller that has just committed a change and answers with it. Not inside a transaction. */
  renewed(): Promise<T>
  /** Takes over a value that this process has just committed, before the message about it arrives. */
  take(stored: Stored): void
  /** Reads in a transaction that has found the value outdated, on its own connection. */
  renewThrough(tx: Queryable): Promise<void>
}

export interface SnapshotSource<Stored, T> {
  /** For the log. */
  readonly name: string
  /** Topics of the bus whose messages say that the source has changed. */
  readonly topics: readonly string[]
  /** Reads the source; `before` is the value so far. A result equal to the last one changes nothing. */
  read(from: Queryable, before: T | null): Promise<Stored>
  /** Compiles the stored value; returns `before` itself when that is newer. */
  build(stored: Stored, before: T | null): T
  /** Called with each new value. */
  onChange?(value: T): void
}

export type Snapshots = ReturnType<typeof createSnapshots>

/**
 * The state of all snapshots at one moment. It never changes: when any snapshot has a new value, a new world with a higher number
 * replaces it. A result computed from snapshots is valid for its world, whichever of them it used.
 */
export interface World {
  readonly number: number
  /** Counts changes of snapshots only, not of other data in memory (`turn`). */
  readonly snapshots: number
}

export interface SnapshotsOptions {
  readonly bus: Pick<Bus, 'subscribe' | 'onAnotherServer' | 'caughtUp'>
  /** A connection that requests cannot use up. */
  readonly reads: Queryable
  readonly log: Logger
  readonly now?: () => number
  /** Milliseconds after which everything is read again without a message. */
  readonly highestAge?: number
  /** Milliseconds for which a known change may be missing. */
  readonly longestOutdated?: number
}

/** Milliseconds that a request waits for changes that are being read. */
const longestWait = 1000
/** Milliseconds that work whose result is stored waits for changes that cannot be read. */
const longestRead = 10_000
/** Milliseconds between attempts after failures. */
const shortestPause = 100
const longestPause = 5000

interface Kept {
  readonly name: string
  attempt(): Promise<void> | null
  /** Whether a change is known that is not read yet. */
  isBehind(): boolean
  invalidate(): void
  /** Reads it as for the first time: its new value is unrelated to the old one. */
  startAfresh(): void
  close(): void
}

export function createSnapshots({
  bus,
  reads,
  log,
  now = Date.now,
  highestAge = 60_000,
  longestOutdated = 60_000,
}: SnapshotsOptions) {
  const all: Kept[] = []
  let world: World = Object.freeze({ number: 1, snapshots: 1 })
  const turn = (snapshots: 0 | 1): void => {
    world = Object.freeze({ number: world.number + 1, snapshots: world.snapshots + snapshots })
  }
  const timer = setInterval(() => {
    for (const kept of all) kept.invalidate()
  }, highestAge).unref()
  const endListening = bus.onAnotherServer(() => {
    for (const kept of all) kept.startAfresh()
  })

  /** Reads the first value. @throws when that is not possible: there is no earlier value to use. */
  async function open<Stored, T>(source: SnapshotSource<Stored, T>): Promise<Snapshot<Stored, T>> {
    // Subscribed before reading, so that no change is missed.
    let heard = 0
    let seen = 0
    let outdatedSince: number | null = null
    let failures = 0
    let taken = 0
    let attempt: Promise<void> | null = null
    let retry: NodeJS.Timeout | undefined
    let closed = false
    let ready = false
    let afresh = false
    const unsubscribe = source.topics.map((topic) =>
      bus.subscribe(topic, () => {
        if (ready) invalidate()
        else heard++
      }),
    )
    let stored: Stored = await source.read(reads, null)
    let value: T = source.build(stored, null)
    ready = true

    function adopt(next: Stored): void {
      if (isDeepStrictEqual(next, stored)) return
      const built = source.build(next, value)
      stored = next
      if (built === value) return
      value = built
      turn(1)
      source.onChange?.(value)
    }

    function replace(next: Stored): void {
      stored = next
      value = source.build(next, null)
      turn(1)
      source.onChange?.(value)
    }

    async function readNew(): Promise<void> {
      while (seen < heard && !closed) {
        const [upTo, takenBefore, first] = [heard, taken, afresh]
        const next = await source.read(reads, first ? null : value)
        // The read began before the last commit of this process, so its result may be older.
        if (taken !== takenBefore || first !== afresh) continue
        if (first) replace(next)
        else adopt(next)
        afresh = false
        seen = upTo
        outdatedSince = seen < heard ? now() : null
      }
      failures = 0
    }

    /** One attempt at a time; it also covers changes reported meanwhile. */
    function renew(): Promise<void> {
      clearTimeout(retry)
      attempt ??= readNew()
        .catch((error: unknown) => {
          if (closed) return
          failures++
          log.warn({ err: error, snapshot: source.name, failures }, 'what is kept in memory cannot be read anew')
          retry = setTimeout(renew, Math.min(longestPause, shortestPause * 2 ** (failures - 1))).unref()
        })
        .finally(() => {
          attempt = null
        })
      return attempt
    }

    function invalidate(): void {
      heard++
      outdatedSince ??= now()
      void renew()
    }

    all.push({
      name: source.name,
      attempt: () => attempt,
      isBehind: () => !closed && seen < heard,
      invalidate,
      startAfresh() {
        afresh = true
        invalidate()
      },
      close() {
        closed = true
        clearTimeout(retry)
        for (const end of unsubscribe) end()
      },
    })
    if (seen < heard) void renew()
    return {
      get() {
        if (outdatedSince === null || now() - outdatedSince < longestOutdated) return value
        throw new AppError(
          'ServiceUnavailable',
          { snapshot: source.name },
          { message: `${source.name} cannot be read` },
        )
      },
      async renewed() {
        const wanted = ++heard
        outdatedSince ??= now()
        await renew()
        if (seen < wanted) throw new AppError('ServiceUnavailable', { snapshot: source.name })
        return value
      },
      take(next) {
        taken++
        adopt(next)
      },
      async renewThrough(tx) {
        adopt(await source.read(tx, value))
      },
    }
  }

  return {
    open,

    /** The current world. */
    world: (): World => world,

    /** For other data in memory: some of it has changed. */
    turn: (): void => turn(0),

    /** Waits a moment for changes that are being read, so that a new request sees them; null: there are none. */
    whenCurrent(): Promise<unknown> | null {
      // Each request asks, and nearly always nothing is being read.
      if (all.every((kept) => kept.attempt() === null)) return null
      const attempts = all.flatMap((kept) => kept.attempt() ?? [])
      const late = new AbortController()
      return Promise.race([
        Promise.all(attempts),
        sleep(longestWait, undefined, { signal: late.signal, ref: false }).catch(() => {}),
      ]).finally(() => late.abort())
    },

    /**
     * Waits until all of them have the changes that are committed now, of all processes. Work in the background may begin before the
     * message about the change that caused it; what it stores would follow from an older state. Not inside a transaction.
     * @throws {AppError} `ServiceUnavailable` when changes cannot be read
     */
    async upToDate(): Promise<void> {
      await bus.caughtUp()
      for (const until = performance.now() + longestRead; ; ) {
        const [behind, ...others] = all.filter((kept) => kept.isBehind())
        if (!behind) return
        if (performance.now() > until) throw new AppError('ServiceUnavailable', { snapshot: behind.name })
        await Promise.all([behind, ...others].map((kept) => kept.attempt() ?? sleep(shortestPause)))
      }
    },

    close(): void {
      clearInterval(timer)
      endListening()
      for (const kept of all) kept.close()
    },
  }
}

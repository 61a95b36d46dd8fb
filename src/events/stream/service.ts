/**
 * The stream: every pollable event, in the order of the ids, to each *listener* that may know of it. One *follower* per process
 * reads the log for all listeners at its position. A listener that resumes further back catches up alone.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Actor } from '../../platform/actor.ts'
import { noDeadlineFor, outsideDeadlines } from '../../platform/limits/deadline.ts'
import { createRequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { createYielder, yieldIfDue } from '../../platform/process/cooperative-yield.ts'
import { pollableEvents, pollHorizon, type StoredEvent } from '../store.ts'
import type { Seen } from '../visibility.ts'
import { createFrames, type Frame } from './frames.ts'
import type { Ending, HeldToken, Listener } from './listener.ts'
import { createStreamShares } from './shares.ts'

export interface StreamOptions {
  readonly db: Db
  readonly log: Logger
  readonly databaseName: string
  readonly seen: Seen
  /** The callers of tokens that are still valid, by key; one statement for all that are not cached. */
  readonly callers: (held: readonly HeldToken[]) => Promise<ReadonlyMap<HeldToken, Actor>>
  /** The highest number of open streams. */
  readonly most: number
  /** The highest number of streams of one caller. */
  readonly mostOfCaller: number
  /** The highest number of unsent bytes of all streams together. */
  readonly maxBytes: number
  /** Milliseconds in which a listener must have taken half of the budget. */
  readonly patience: number
}

export type EventStreams = ReturnType<typeof createEventStreams>

/** Events that are read at once. */
const pageSize = 500
const smallestPage = 10
/** The highest number of unsent bytes of a listener, if there is room. */
const mostOfListener = 1_000_000
/** Milliseconds between two checks of the log. */
const interval = 250
/** The number of checks of the log between two pings: half a minute. */
const looksBetweenProbes = 120

export function createEventStreams(options: StreamOptions) {
  const { db, log, databaseName, seen, callers, patience } = options
  const listeners = new Set<Listener>()
  const shares = createStreamShares(options)
  const catching = createRequestLimiter({ concurrency: 2, waiting: Number.POSITIVE_INFINITY, patience: 2 ** 31 - 1 })
  const stop = new AbortController()
  /** All events up to here were offered to all listeners that are not catching up; null: there are no listeners. */
  let position: number | null = null
  let following: Promise<void> | null = null

  /**
   * The highest number of unsent bytes of one listener: its part of the total. A longer frame is sent when nothing else is unsent.
   */
  const budget = (): number => Math.min(mostOfListener, options.maxBytes / listeners.size)

  /** Pollable events of a part of the log; the page ends at `upTo`. */
  async function read(from: number, to: number, size: number): Promise<{ events: StoredEvent[]; upTo: number }> {
    const events = await pollableEvents(db, from, to, size)
    return { events, upTo: events.length < size ? to : (events.at(-1)?.id ?? to) }
  }

  /** Sends frames until the budget is used up; then the listener reads on by itself. Returns how many were sent. */
  function offer(listener: Listener, frames: readonly Frame[], upTo: number): number {
    const most = budget()
    for (const [sent, { id, frame }] of frames.entries()) {
      if (!listener.open || listener.waiting > most) return sent
      listener.send(frame)
      listener.position = id
    }
    listener.position = Math.max(upTo, listener.position)
    return frames.length
  }

  /** Ends listeners whose token is no longer valid. */
  async function present(some: readonly Listener[]): Promise<Map<Listener, Actor>> {
    const actors = await callers(some.map(({ caller }) => caller))
    const there = new Map<Listener, Actor>()
    for (const listener of some) {
      const actor = actors.get(listener.caller)
      if (actor) there.set(listener, actor)
      else listener.end('InvalidToken')
    }
    return there
  }

  /** Reads the log once for all; returns whether there may be more. */
  async function look(): Promise<boolean> {
    const horizon = await pollHorizon(db)
    const there = await present([...listeners].filter(({ open }) => open))
    position ??= horizon
    sendOn()
    if (horizon <= position) return false
    const { events, upTo } = await read(position, horizon, pageSize)
    const frames = createFrames(seen, events, databaseName)
    const yielder = createYielder()
    for (const [listener, actor] of there) {
      if (listener.catchingUp || listener.position < position) continue
      offer(listener, await frames.for(actor, listener.position), upTo)
      await yieldIfDue(yielder)
    }
    position = upTo
    sendOn()
    return upTo < horizon
  }

  /** Starts the catching up of listeners that are behind: because they resume, or because they were added meanwhile. */
  function sendOn(): void {
    for (const listener of listeners) if (position !== null && listener.position < position) follow(listener)
  }

  /** Reads for one listener alone until it has reached the position of the others. */
  async function catchUp(listener: Listener): Promise<void> {
    let size = pageSize
    while (listener.open && position !== null && listener.position < position) {
      if (!(await takes(listener))) return listener.end('TooSlow')
      await catching.run(noDeadlineFor(listener.who), async () => {
        const actor = listener.open ? (await present([listener])).get(listener) : undefined
        if (!actor || position === null) return
        const { events, upTo } = await read(listener.position, position, size)
        const frames = await createFrames(seen, events, databaseName).for(actor, listener.position)
        const sent = offer(listener, frames, upTo)
        // If events are large, the next page is no larger than what was sent.
        size = sent < frames.length ? Math.max(smallestPage, sent) : Math.min(pageSize, 2 * size)
      })
    }
  }

  /** Waits until half of the budget is free; false when that takes too long. */
  async function takes(listener: Listener): Promise<boolean> {
    const since = performance.now()
    while (listener.open && listener.waiting > budget() / 2) {
      if (performance.now() - since > patience) return false
      await sleep(interval, undefined, { signal: stop.signal })
    }
    return true
  }

  function follow(listener: Listener): void {
    if (listener.catchingUp || !listener.open) return
    listener.catchingUp = true
    catchUp(listener)
      .catch((error: unknown) => {
        if (stop.signal.aborted) return
        // When the client reconnects, it resumes at its position.
        log.warn({ err: error }, 'a stream of events cannot catch up')
        listener.end('ServiceUnavailable')
      })
      .finally(() => {
        listener.catchingUp = false
      })
  }

  async function run(): Promise<void> {
    for (let looks = 1; listeners.size > 0 && !stop.signal.aborted; looks++) {
      let more = false
      try {
        more = await look()
      } catch (error) {
        log.warn({ err: error }, 'the streams of events cannot read the log')
      }
      if (looks % looksBetweenProbes === 0) for (const listener of listeners) listener.probe()
      if (!more) await sleep(interval, undefined, { signal: stop.signal }).catch(() => {})
    }
    position = null
    following = null
  }

  return {
    /** @throws {AppError} `QuotaExceeded` or `ServiceUnavailable` when there is no room for one more of this caller. */
    admit: (who: string): void => void shares.roomFor(who),

    /** The start position of a new stream. The stream contains all events that are not committed yet. */
    now: () => pollHorizon(db),

    add(listener: Listener): void {
      if (!shares.add(listener)) {
        listener.end('TooManyStreams')
        return
      }
      listeners.add(listener)
      if (position !== null && listener.position < position) follow(listener)
      following ??= outsideDeadlines(run)
    },

    remove(listener: Listener): void {
      shares.remove(listener)
      listeners.delete(listener)
    },

    /** Ends all streams; resolves when the log is no longer read. */
    async close(why: Ending = 'ServiceUnavailable'): Promise<void> {
      stop.abort()
      for (const listener of listeners) listener.end(why)
      await following
    },
  }
}

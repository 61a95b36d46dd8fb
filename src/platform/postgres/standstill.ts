import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { AppError } from '../errors.ts'
import { outsideDeadlines } from '../limits/deadline.ts'
import { whenClosed } from '../limits/when-closed.ts'
import { type Bus, lockPresence } from './bus.ts'
import { keepTalking } from './connection-watch.ts'
import type { Db, Tx } from './db.ts'

/**
 * All processes on a database stop serving while one of them works on the whole of it. Each serving process shows itself under a
 * name. The process that wants to be alone takes a lock, so that it is the only one, and announces it. The others then refuse new
 * requests, let writing requests end, hide their name, and wait for the lock. The first process waits until no process shows that
 * name. Locks end with the process that holds them, so a killed process blocks no other.
 */
export interface Standstill {
  /** The work in progress, in one word; null: the process serves. */
  readonly word: string | null
  /** Counts a writing request until it is answered or its client has disconnected. */
  enter(response: ServerResponse): void
  /**
   * Makes all processes stop serving, does the work, and lets them continue; they then read the data in their memory again.
   * @throws {AppError} `DatabaseLockError` while another process does so.
   */
  run<T>(word: string, work: () => Promise<T>): Promise<T>
  /** In a transaction of the work: waits until no other process serves. @throws {AppError} `DatabaseLockError` */
  alone(tx: Tx): Promise<void>
  close(): Promise<void>
}

export interface StandstillOptions {
  readonly db: Db
  readonly bus: Bus
  readonly log: Logger
  /** Waits for data that is being read again; null: there is none. */
  readonly whenCurrent: () => Promise<unknown> | null
  /** Milliseconds in which writing requests have to end before their connections are closed. */
  readonly patience?: number
}

const topic = 'standstill'
/** The name of processes that serve. */
const serving = 'serving'
/** Advisory lock of the process that wants to be alone: `strg` in ASCII, followed by a number. */
const leadLock = 0x73747267_0670n
/** Milliseconds to wait for all other processes, and for each lock of a transaction. */
const longestWait = 30_000
/** Milliseconds between attempts. */
const pause = 100

export async function createStandstill(options: StandstillOptions): Promise<Standstill> {
  const { db, bus, log, whenCurrent, patience = 5000 } = options
  const writers = new Set<ServerResponse>()
  let word: string | null = null
  let announced: string | null = null
  let leading = false
  let closed = false
  let following: Promise<void> | null = null
  let onEmpty: (() => void) | null = null

  await serve()

  const unsubscribe = bus.subscribe(topic, (payload) => {
    // An empty message only reports that messages were lost.
    if (payload === '' || leading || closed) return
    announced = payload
    following ??= outsideDeadlines(follow).finally(() => {
      following = null
    })
  })

  async function follow(): Promise<void> {
    for (let said = announced; said !== null && !closed; said = announced) {
      announced = null
      word = said
      await leave()
      await untilOver()
      if (announced === null) await comeBack()
    }
  }

  /** Lets the writing requests end; those of slow clients are ended by closing their connection. */
  async function leave(): Promise<void> {
    if (writers.size > 0) {
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve
      })
      const late = new AbortController()
      const wait = sleep(patience, undefined, { signal: late.signal, ref: false }).catch(() => {})
      await Promise.race([empty, wait])
      late.abort()
      onEmpty = null
      for (const response of writers) response.destroy()
    }
    await bus.absent(serving)
  }

  /** Waits until the process that announced it is done, or dead. */
  function untilOver(): Promise<void> {
    return insistently(() => db.query('select pg_advisory_xact_lock_shared($1)', [leadLock]))
  }

  async function comeBack(): Promise<void> {
    await serve()
    bus.renewAll()
    for (let reading = whenCurrent(); reading && !closed; reading = whenCurrent()) await reading
    word = null
  }

  /** A process that starts, or returns to service, waits for the process that is alone. */
  function serve(): Promise<void> {
    return insistently(() => bus.present(serving))
  }

  async function insistently(work: () => Promise<unknown>): Promise<void> {
    for (let said = false; !closed; said = true) {
      try {
        await work()
        return
      } catch (error) {
        if (!said) log.warn({ err: error }, 'waiting until this process may serve')
        await sleep(pause)
      }
    }
  }

  return {
    get word() {
      return word
    },

    enter(response) {
      writers.add(response)
      whenClosed(response, () => {
        writers.delete(response)
        if (writers.size === 0) onEmpty?.()
      })
    },

    async run(said, work) {
      const holder = await db.connect()
      keepTalking(holder)
      try {
        const { rows } = await holder.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [leadLock])
        if (!rows[0]?.mine) throw new AppError('DatabaseLockError', { name: said })
        leading = true
        word = said
        try {
          await db.transaction((tx) => bus.publish(tx, topic, said))
          await leave()
          return await work()
        } finally {
          await comeBack()
          leading = false
        }
      } finally {
        // Closing the connection releases the lock, whatever state it is in.
        holder.release(true)
      }
    },

    async alone(tx) {
      await tx.query(`set local lock_timeout = ${longestWait}`)
      await lockPresence(tx, serving)
    },

    async close() {
      closed = true
      unsubscribe()
      await following
    },
  }
}

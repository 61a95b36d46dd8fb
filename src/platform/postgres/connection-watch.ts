import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import pg from 'pg'

/** Milliseconds within which a new connection must be open. */
export const connectPatience = 5000
/** Number of looks, one a second, without any bytes for a pending statement: then the server is asked. */
const silentLooks = 5
/** Number of answers of the server, one after the other, that it does no work for a connection: then the connection is closed. */
const idleAnswers = 2
/** Number of looks, one after the other, at which the server could not be asked: then silent connections are closed. */
const unaskedLooks = 6

/**
 * Returns which of these sessions of the server are working. @throws {pg.DatabaseError} when the server answers with an error; any
 * other error when it does not answer.
 */
export type AskServer = (processIds: readonly number[]) => Promise<ReadonlySet<number>>

export type ConnectionWatch = ReturnType<typeof createConnectionWatch>

interface Watched {
  readonly since: number
  /** A statement was sent whose answer is not complete. */
  waiting: boolean
  /** It is taken out of the pool. */
  inUse: boolean
  /** A COPY to the server, which this process has to continue. */
  copying: Writable | null
  ending: boolean
  /** Bytes received and sent at the last look. */
  moved: number
  silent: number
  idle: number
  unasked: number
}

/**
 * Closes connections that have fallen silent: a network can lose them without closing them, and then a statement would never get
 * its answer. The length of the silence is no evidence: some statements take minutes. So the server is asked whether it is working
 * for the connection. If it is not, or does not know the connection, or cannot be asked, the connection is closed, and the
 * statement fails as with any lost connection. A blocked event loop counts as one look, however long.
 */
export function createConnectionWatch(connect: () => pg.Client) {
  const clients = new Map<pg.Client, Watched>()
  let ask: AskServer = (processIds) => askAlone(connect, processIds)
  let timer: NodeJS.Timeout | undefined
  let asking = false

  function look(): void {
    const silent: pg.Client[] = []
    for (const [client, watched] of clients) {
      const moved = movedOn(client)
      const owed = watched.ending || (watched.waiting && !isOurTurn(client, watched))
      if (!owed || moved !== watched.moved) {
        Object.assign(watched, { moved, silent: 0, idle: 0, unasked: 0 })
        continue
      }
      watched.silent++
      if (watched.silent < silentLooks) continue
      // Only its end is awaited.
      if (watched.ending) giveUp(client)
      else silent.push(client)
    }
    if (silent.length > 0 && !asking) void judge(silent)
  }

  async function judge(silent: readonly pg.Client[]): Promise<void> {
    asking = true
    try {
      const working = await ask(silent.map(processIdOf))
      for (const client of silent) {
        forSilent(client, (watched) => {
          watched.unasked = 0
          watched.idle = working.has(processIdOf(client)) ? 0 : watched.idle + 1
          if (watched.idle >= idleAnswers) lose(client)
        })
      }
    } catch (error) {
      if (error instanceof pg.DatabaseError) return
      for (const client of silent) {
        forSilent(client, (watched) => {
          watched.unasked++
          if (watched.unasked >= unaskedLooks) lose(client)
        })
      }
    } finally {
      asking = false
    }
  }

  /** Unless some bytes have arrived meanwhile. */
  function forSilent(client: pg.Client, then: (watched: Watched) => void): void {
    const watched = clients.get(client)
    if (watched && watched.silent > 0 && movedOn(client) === watched.moved) then(watched)
  }

  /** Other idle connections have mostly fallen silent at the same time; replacing them disturbs no request. */
  function lose(client: pg.Client): void {
    giveUp(client)
    closeIdle(performance.now())
  }

  function closeIdle(before: number): void {
    for (const [client, { waiting, inUse, since }] of clients) {
      if (!waiting && !inUse && since <= before) giveUp(client)
    }
  }

  return {
    /** Must be called before it is connected; ends with the connection. */
    add(client: pg.Client): void {
      const watched: Watched = {
        since: performance.now(),
        waiting: false,
        inUse: false,
        copying: null,
        ending: false,
        moved: 0,
        silent: 0,
        idle: 0,
        unasked: 0,
      }
      clients.set(client, watched)
      timer ??= setInterval(look, 1000).unref()
      client.on('drain', () => {
        watched.waiting = false
        watched.copying = null
      })
      client.once('end', () => {
        clients.delete(client)
        if (clients.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
      const [query, end] = [client.query, client.end] as ((...args: unknown[]) => unknown)[]
      Object.assign(client, {
        query(...args: unknown[]) {
          watched.waiting = true
          if (args[0] instanceof Writable) watched.copying = args[0]
          return query?.apply(client, args)
        },
        end(...args: unknown[]) {
          watched.ending = true
          return end?.apply(client, args)
        },
      })
    },

    /** Idle connections of a pool can be closed without harm. */
    ofPool(pool: pg.Pool): void {
      pool.on('connect', (client) => this.add(client))
      const mark = (inUse: boolean) => (client: pg.Client) => {
        const watched = clients.get(client)
        if (watched) watched.inUse = inUse
      }
      pool.on('acquire', mark(true))
      const free = mark(false)
      pool.on('release', (_error, client) => free(client))
    },

    /** Uses the connection of another component to ask the server, until the returned function is called. */
    askThrough(other: AskServer): () => void {
      const before = ask
      ask = other
      return () => {
        ask = before
      }
    },

    /**
     * Closes connections that are idle since before that moment (`performance.now`): another connection of that time has fallen
     * silent.
     */
    closeIdle,

    /** Closes all connections that are older than that moment: they lead to another server. */
    closeAll(before: number): void {
      for (const [client, { since }] of clients) if (since <= before) giveUp(client)
    },
  }
}

/** Closes a connection without notifying the server: its statements fail as if the server had closed it. */
export function giveUp(client: pg.ClientBase): void {
  streamOf(client).destroy(new Error('Connection terminated: the database does not answer'))
}

/** Fails when there is no answer within `silentLooks` seconds in which this process was awake. */
export function answered<T>(client: pg.ClientBase, work: Promise<T>): Promise<T> {
  let left = silentLooks
  const timer = setInterval(() => {
    left--
    if (left <= 0) giveUp(client)
  }, 1000).unref()
  return work.finally(() => clearInterval(timer))
}

/**
 * For existing sessions. A session that waits for its client has answered, or has not received the statement. If the server is
 * configured to report nothing about sessions, all count as working.
 */
export const workingSql = `
  select pid from pg_stat_activity
  where pid = any($1::int[]) and state in ('active', 'fastpath function call', 'disabled')
    and wait_event_type is distinct from 'Client'`

async function askAlone(connect: () => pg.Client, processIds: readonly number[]): Promise<ReadonlySet<number>> {
  const client = connect()
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await answered(client, client.query<{ pid: number }>(workingSql, [processIds]))
    return new Set(rows.map(({ pid }) => pid))
  } finally {
    giveUp(client)
  }
}

/**
 * Sends a statement regularly on a connection that holds locks and is otherwise unused, so that a silent connection is noticed;
 * until the returned function is called.
 */
export function keepTalking(client: pg.ClientBase): () => void {
  const timer = setInterval(() => void client.query('select').catch(() => {}), 1000 * silentLooks).unref()
  const end = (): void => clearInterval(timer)
  client.once('end', end)
  return end
}

export function processIdOf(client: pg.ClientBase): number {
  return (client as unknown as { processID: number | null }).processID ?? 0
}

function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream
}

/** Bytes that were received, plus those that were passed to the network. */
function movedOn(client: pg.Client): number {
  const { bytesRead, bytesWritten, writableLength } = streamOf(client)
  return bytesRead + bytesWritten - writableLength
}

/** Whether this process has to act next: read received bytes, or continue a COPY. */
function isOurTurn(client: pg.Client, { copying }: Watched): boolean {
  const { readableLength, writableLength } = streamOf(client)
  if (readableLength > 0) return true
  return copying !== null && !copying.writableEnded && copying.writableLength === 0 && writableLength === 0
}

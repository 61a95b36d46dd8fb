import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Db, Queryable, Tx } from './db.ts'

export type BusListener = (payload: string) => void

/**
 * Messages between the parts of this process and to the other processes on the same database: "the datamodel has a
 * new version", "rights changed". They are hints to read again, not data: at most 7,000 bytes, delivered at least
 * once to each connected process after the commit, and all topics are called with an empty payload after a broken
 * connection, since whatever was sent meanwhile is lost.
 */
export interface Bus {
  /** Sends with the transaction: nobody hears of it when it rolls back. This process hears of it right at the commit. */
  publish(tx: Tx, topic: string, payload?: string): Promise<void>
  /** Calls `listener` for each message of the topic, until the returned function is called. */
  subscribe(topic: string, listener: BusListener): () => void
  /**
   * Shows to the other processes that one that is called so is running; `isPresent` asks. Several can have a name. When
   * the connection breaks, nobody sees it until there is a new one, five seconds later at most.
   */
  present(name: string): Promise<void>
  /** Ends that. */
  absent(name: string): Promise<void>
  /** Calls all topics with an empty payload, as after a broken connection: whatever is kept may be outdated. */
  renewAll(): void
  close(): Promise<void>
}

const channel = 'strongroom'
const longestPayload = 7000

interface Envelope {
  /** The process that sent it and has delivered it to itself already. */
  from: string
  topic: string
  payload: string
}

export async function createBus({ db, log }: { db: Db; log: Logger }): Promise<Bus> {
  const self = randomUUID()
  const listeners = new Map<string, Set<BusListener>>()
  const deliver = (topic: string, payload: string): void => {
    for (const listener of listeners.get(topic) ?? []) {
      try {
        listener(payload)
      } catch (error) {
        log.error({ err: error, topic }, 'a bus listener failed')
      }
    }
  }
  const connection = await listen({
    db,
    log,
    onMessage: (text) => {
      const { from, topic, payload } = JSON.parse(text) as Envelope
      if (from !== self) deliver(topic, payload)
    },
    onReconnect: renewAll,
  })
  function renewAll(): void {
    for (const topic of listeners.keys()) deliver(topic, '')
  }
  return {
    async publish(tx, topic, payload = '') {
      if (Buffer.byteLength(payload) > longestPayload) throw new RangeError(`bus payload of ${topic} is too long`)
      await notify(tx, { from: self, topic, payload })
      tx.afterCommit(() => deliver(topic, payload))
    },
    subscribe(topic, listener) {
      const ofTopic = listeners.get(topic) ?? new Set()
      listeners.set(topic, ofTopic.add(listener))
      return () => ofTopic.delete(listener)
    },
    present: (name) => connection.present(name),
    absent: (name) => connection.absent(name),
    renewAll,
    close: () => connection.close(),
  }
}

/** Tells our advisory locks on names from others. */
const presenceSeed = 0x73747269

/** Whether a process on the same database has shown itself under this name; not to be asked about the own name. */
export async function isPresent(db: Queryable, name: string): Promise<boolean> {
  const { rows } = await db.query<{ free: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, $2)) as free',
    [name, presenceSeed],
  )
  return rows[0]?.free === false
}

/** Waits until no process shows itself under this name, and keeps all from doing so until the transaction ends. */
export async function lockPresence(tx: Tx, name: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, $2))', [name, presenceSeed])
}

async function notify(tx: Queryable, envelope: Envelope): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [channel, JSON.stringify(envelope)], 'bus-notify')
}

interface ListenOptions {
  db: Db
  log: Logger
  onMessage: (text: string) => void
  onReconnect: () => void
}

/** A connection of its own that only listens; replaced when it breaks, with pauses that grow to five seconds. */
async function listen({ db, log, onMessage, onReconnect }: ListenOptions): Promise<{
  present(name: string): Promise<void>
  absent(name: string): Promise<void>
  close(): Promise<void>
}> {
  let closed = false
  const names: string[] = []
  let client: pg.Client
  let timer: NodeJS.Timeout | undefined

  const show = (on: pg.Client, name: string) =>
    on.query('select pg_advisory_lock_shared(hashtextextended($1, $2))', [name, presenceSeed])
  const open = async (): Promise<void> => {
    const fresh = new pg.Client({ ...db.pool.options, keepAlive: true })
    fresh.on('notification', (message) => onMessage(message.payload ?? ''))
    fresh.on('error', () => {})
    try {
      await fresh.connect()
      await fresh.query(`listen ${channel}`)
      for (const name of names) await show(fresh, name)
    } catch (error) {
      await fresh.end().catch(() => {})
      throw error
    }
    fresh.once('end', () => {
      if (!closed) reopen(50)
    })
    client = fresh
    if (closed) await fresh.end()
  }
  const reopen = (pause: number): void => {
    timer = setTimeout(() => {
      open().then(onReconnect, (error: Error) => {
        log.warn({ err: error }, 'the bus cannot listen yet')
        if (!closed) reopen(Math.min(pause * 2, 5000))
      })
    }, pause).unref()
  }

  await open()
  return {
    async present(name) {
      await show(client, name)
      names.push(name)
    },
    async absent(name) {
      const at = names.indexOf(name)
      if (at >= 0) names.splice(at, 1)
      // A connection that breaks gives all of its locks back.
      await client
        .query('select pg_advisory_unlock_shared(hashtextextended($1, $2))', [name, presenceSeed])
        .catch(() => {})
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await client.end()
    },
  }
}

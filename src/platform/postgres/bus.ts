import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { openBusConnection } from './bus-connection.ts'
import type { Db, Queryable, Tx } from './db.ts'

export type BusListener = (payload: string) => void

/**
 * Messages between the parts of this process and to the other processes on the same database: "the datamodel has a new version",
 * "rights changed". They are hints to read again, not data: at most 7,000 bytes, delivered at least once to each connected process
 * after the commit. All topics are called with an empty payload when messages were lost, or may have been: after a broken or silent
 * connection, and when one of them was not received (`bus_message` counts them).
 */
export interface Bus {
  /** Sends with the transaction: no message is sent when it rolls back. This process receives it right at the commit. */
  publish(tx: Tx, topic: string, payload?: string): Promise<void>
  /** Calls `listener` for each message of the topic, until the returned function is called. */
  subscribe(topic: string, listener: BusListener): () => void
  /**
   * Shows to the other processes that a process with this name is running; `isPresent` asks for it. Several processes can have the
   * same name. When the connection breaks, the name is hidden until there is a new connection, at most a second after the database
   * can be reached.
   */
  present(name: string): Promise<void>
  /** Ends that. */
  absent(name: string): Promise<void>
  /**
   * Calls `forget` before all topics when the database is another one than before, or an older state of it: data in memory is
   * useless then, even for comparison. Until the returned function is called.
   */
  onAnotherServer(forget: () => void): () => void
  /**
   * Waits until this process has received all messages of transactions that are committed now. If it cannot know that, all topics are
   * called.
   */
  caughtUp(): Promise<void>
  /** Calls all topics with an empty payload, as after a broken connection: all cached data may be outdated. */
  renewAll(): void
  close(): Promise<void>
}

const channel = 'strongroom'
const longestPayload = 7000

interface Envelope {
  /** Counts the messages of all processes (`bus_message`). */
  n: number
  /** The process that sent it and has already delivered it to itself. */
  from: string
  topic: string
  payload: string
}

/** Milliseconds for which a transaction with an unknown outcome may still be committed. */
const longestDoubt = 600_000

export async function createBus({ db, log }: { db: Db; log: Logger }): Promise<Bus> {
  const self = randomUUID()
  const listeners = new Map<string, Set<BusListener>>()
  const onAnother = new Set<() => void>()
  /** Until this time, messages of this process may belong to a transaction whose commit is uncertain. */
  let doubtUntil = 0
  const call = (topic: string, action: () => void): void => {
    try {
      action()
    } catch (error) {
      log.error({ err: error, topic }, 'a bus listener failed')
    }
  }
  const deliver = (topic: string, payload: string): void => {
    for (const listener of listeners.get(topic) ?? []) call(topic, () => listener(payload))
  }
  function renewAll(): void {
    for (const topic of listeners.keys()) deliver(topic, '')
  }
  const forgetDoubt = db.onUnknown(() => {
    doubtUntil = performance.now() + longestDoubt
    renewAll()
  })
  const connection = await openBusConnection({
    db,
    log,
    channel,
    presenceSeed,
    onMessage(text) {
      const { n, from, topic, payload } = JSON.parse(text) as Envelope
      if (from !== self || performance.now() < doubtUntil) deliver(topic, payload)
      return n
    },
    onLoss(another) {
      if (another) for (const forget of onAnother) call('another server', forget)
      renewAll()
    },
  })
  return {
    async publish(tx, topic, payload = '') {
      if (Buffer.byteLength(payload) > longestPayload) throw new RangeError(`bus payload of ${topic} is too long`)
      await tx.query(sendSql, [channel, self, topic, payload], 'bus-send')
      tx.afterCommit(() => deliver(topic, payload))
    },
    subscribe(topic, listener) {
      const ofTopic = listeners.get(topic) ?? new Set()
      listeners.set(topic, ofTopic.add(listener))
      return () => ofTopic.delete(listener)
    },
    onAnotherServer(forget) {
      onAnother.add(forget)
      return () => onAnother.delete(forget)
    },
    present: (name) => connection.present(name),
    absent: (name) => connection.absent(name),
    async caughtUp() {
      if (!(await connection.caughtUp().catch(() => false))) renewAll()
    },
    renewAll,
    async close() {
      forgetDoubt()
      await connection.close()
    },
  }
}

const sendSql = `
  with sent as (insert into bus_message default values returning id)
  select pg_notify($1, json_build_object('n', id, 'from', $2::text, 'topic', $3::text, 'payload', $4::text)::text) from sent`

/** Distinguishes our advisory locks on names from others. */
const presenceSeed = 0x73747269

/** Whether a process on the same database shows itself under this name; not for the process's own name. */
export async function isPresent(db: Queryable, name: string): Promise<boolean> {
  const { rows } = await db.query<{ free: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, $2)) as free',
    [name, presenceSeed],
  )
  return rows[0]?.free === false
}

/** Waits until no process shows itself under this name, and prevents all processes from doing so until the transaction ends. */
export async function lockPresence(tx: Tx, name: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, $2))', [name, presenceSeed])
}

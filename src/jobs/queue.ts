import { makeWorkerUtils } from 'graphile-worker'
import type { PoolClient } from 'pg'
import { keepTalking } from '../platform/postgres/connection-watch.ts'
import type { Db } from '../platform/postgres/db.ts'

/** Advisory lock under which the queue's tables are created or upgraded: `strg` in ASCII, followed by a number. */
const MIGRATION_LOCK = 0x73747267_0001n

/**
 * Creates or upgrades the tables of the queue (schema `graphile_worker`). Several processes may call this at once: with the lock
 * one process does the work, while the others wait and then have no work left.
 */
export async function migrateQueue(db: Db): Promise<void> {
  const client = await db.connect()
  try {
    await client.query('set lock_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const utils = await makeWorkerUtils({ pgPool: queuePool(db) })
    await utils.release()
  } finally {
    // Closing the connection releases the lock and resets the setting, whatever state it is in.
    client.release(true)
  }
}

/**
 * The pool in the form that the library needs. It requires listeners for errors of clients, and it may give back the client on
 * which it listens twice when the connection breaks while it stops, which the pool would answer with an exception that cannot be
 * caught. All listeners through one such pool share a connection: when one ends, the others lose their channels, so they must end
 * together.
 */
export function queuePool(db: Db): Db['pool'] {
  const { pool } = db
  if (pool.listenerCount('connect') === 0) {
    // An error of a client in use also makes its query fail, and is handled there.
    pool.on('connect', (client) => client.on('error', () => {}))
  }
  let listening: { readonly client: Promise<PoolClient>; listeners: number } | null = null
  const connect = (callback?: Parameters<typeof pool.connect>[0]): Promise<PoolClient> | undefined => {
    if (!callback) return pool.connect()
    listening ??= { client: pool.connect().then(inTurns), listeners: 0 }
    const shared = listening
    shared.listeners++
    let released = false
    const leave = (destroy?: Error | boolean): void => {
      if (released) return
      released = true
      if (listening === shared) listening = null
      shared.listeners--
      // It is never returned to the pool: the effects of its listeners are not undone.
      if (shared.listeners === 0) shared.client.then((client) => client.release(destroy ?? true)).catch(() => {})
    }
    shared.client.then(
      (client) => callback(undefined, client, leave),
      (error: Error) => {
        if (listening === shared) listening = null
        callback(error, undefined, () => {})
      },
    )
    return undefined
  }
  return Object.create(pool, { connect: { value: connect } }) as Db['pool']
}

/** Several callers send to it at once; it runs one statement after the other. */
function inTurns(client: PoolClient): PoolClient {
  const query = client.query.bind(client) as (text: string) => Promise<unknown>
  let last: Promise<unknown> = Promise.resolve()
  const send = (text: string): Promise<unknown> => {
    const answer = last.then(() => query(text))
    last = answer.catch(() => {})
    return answer
  }
  const listening = Object.assign(client, { query: send })
  keepTalking(listening)
  return listening
}

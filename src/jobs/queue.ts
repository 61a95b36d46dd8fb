import { makeWorkerUtils } from 'graphile-worker'
import type { PoolClient } from 'pg'
import type { Db } from '../platform/db.ts'

/** Advisory lock under which the queue's tables are created or upgraded; `strg` and a number of our own. */
const MIGRATION_LOCK = 0x73747267_0001n

/**
 * Creates or upgrades the tables of the queue (schema `graphile_worker`). Several processes may call this at once:
 * the lock lets one do the work while the others wait and then find nothing to do.
 */
export async function migrateQueue(db: Db): Promise<void> {
  const client = await db.connect()
  try {
    await client.query('set lock_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const utils = await makeWorkerUtils({ pgPool: queuePool(db) })
    await utils.release()
  } finally {
    // Closing the connection gives the lock and the setting back, whatever state it is in.
    client.release(true)
  }
}

/**
 * The pool as the library wants it. It insists on listeners for errors of clients, and it may give back the client on
 * which it listens twice when the connection breaks while it stops, which the pool would answer with an exception
 * that nobody can catch.
 */
export function queuePool(db: Db): Db['pool'] {
  const { pool } = db
  if (pool.listenerCount('connect') === 0) {
    // An error of a client that is in use also fails its query, which is where it is dealt with.
    pool.on('connect', (client) => client.on('error', () => {}))
  }
  const connect = (callback?: Parameters<typeof pool.connect>[0]): Promise<PoolClient> | undefined => {
    if (!callback) return pool.connect()
    pool.connect((error, client, release) => {
      let released = false
      callback(error, client, (destroy) => {
        if (!released) release(destroy)
        released = true
      })
    })
    return undefined
  }
  return Object.create(pool, { connect: { value: connect } }) as Db['pool']
}

import { makeWorkerUtils } from 'graphile-worker'
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
    const utils = await makeWorkerUtils({ pgPool: withErrorHandlers(db) })
    await utils.release()
  } finally {
    // Closing the connection gives the lock and the setting back, whatever state it is in.
    client.release(true)
  }
}

/** The library insists on listeners for errors of pool and clients, or it prints a warning to the console. */
export function withErrorHandlers(db: Db): Db['pool'] {
  if (db.pool.listenerCount('connect') === 0) {
    // An error of a client that is in use also fails its query, which is where it is dealt with.
    db.pool.on('connect', (client) => client.on('error', () => {}))
  }
  return db.pool
}

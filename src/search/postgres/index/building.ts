/** Builds indexes beside normal operation: one at a time, and cancelled by a stop. */
import type { PoolClient } from 'pg'
import { cutShort, type Db, onConnection, type Queryable } from '../../../platform/postgres/db.ts'

/** Advisory lock: two indexes that are built concurrently would each wait for the transaction of the other. */
export const buildLock = 7_310_042

/** Runs a statement that may take long, outside of a transaction. */
export type AtLength = (statement: string, values?: unknown[]) => Promise<void>

export interface Building {
  /** The connection that has the lock. */
  readonly on: Queryable
  readonly atLength: AtLength
}

/** Runs work that takes minutes on a connection of its own. When `signal` aborts, its current statement is cancelled. */
export async function building(
  db: Db,
  signal: AbortSignal,
  work: (building: Building) => Promise<void>,
): Promise<void> {
  const client = await db.connect()
  /** The connection while it runs a statement that may take long. */
  let busy: PoolClient | null = null
  const atLength: AtLength = async (statement, values = []) => {
    signal.throwIfAborted()
    busy = client
    try {
      await client.query(statement, values)
    } finally {
      busy = null
    }
  }
  const locked = async (): Promise<void> => {
    // Building waits for all older transactions; other statements do not wait for the building.
    await client.query('set lock_timeout = 0')
    await atLength('select pg_advisory_lock($1)', [buildLock])
    await work({ on: onConnection(client), atLength })
  }
  const making = locked()
  const stop = (): void => void cutShort(db, () => busy, making)
  signal.addEventListener('abort', stop, { once: true })
  try {
    await making
  } finally {
    signal.removeEventListener('abort', stop)
    // Releases the lock and the setting, whatever state the connection is in.
    client.release(true)
  }
}

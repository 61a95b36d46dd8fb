import type { Queryable } from '../../platform/postgres/db.ts'
import { translate } from '../../platform/postgres/failures.ts'

/** A transaction on the connection of the indexer. */
export async function inIndexTransaction<T>(db: Queryable, work: () => Promise<T>): Promise<T> {
  await db.query('begin')
  try {
    // The index can be built again, so its commits need not wait for the disk.
    await db.query('set local synchronous_commit = off')
    const result = await work()
    await db.query('commit')
    return result
  } catch (error) {
    // A connection that broke during COPY is not the fault of an object.
    await db.query('rollback').catch(() => {})
    throw translate(error)
  }
}

/** Indexing anew: everything, or what a commit of the datamodel has changed. */
import type { Bus } from '../../platform/bus.ts'
import type { Queryable, Tx } from '../../platform/db.ts'
import { indexTopic } from './indexer.ts'

/** Bus topic: searches are kept back, or no longer. */
export const blockTopic = 'search.block'

/**
 * Queues all objects of these types, or all there are, behind everything else that waits; in place of the entries that
 * an earlier reindex of them has left. Gives their number.
 */
export async function queueObjects(tx: Tx, bus: Bus, objecttypes: readonly number[] | null): Promise<number> {
  const { rowCount } = await tx.query(
    `with wanted as materialized (
       select system_object_id as id from object where $1::int[] is null or objecttype = any($1)
       union
       select id from search_document where $1::int[] is null or objecttype = any($1)
     ), superseded as (
       delete from index_queue where ctid = any(array(
         select ctid from index_queue
         where priority = 2 and ($1::int[] is null or system_object_id in (select id from wanted))
         for update skip locked))
     )
     insert into index_queue (system_object_id, priority) select id, 2 from wanted order by id`,
    [objecttypes],
  )
  await bus.publish(tx, indexTopic)
  return rowCount
}

/** Keeps searches of others than root back until what is queued now is done. */
export async function block(tx: Tx, bus: Bus): Promise<void> {
  await tx.query('update search_state set blocked_until = (select last_value from index_queue_seq)')
  await bus.publish(tx, blockTopic)
}

/** Whether searches are kept back; ends that when the work is done. */
export async function isBlocked(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ blocked: boolean }>(
    `select exists (select from index_queue q, search_state s where q.priority = 2 and q.seq <= s.blocked_until) as blocked
     from search_state where blocked_until is not null`,
    [],
    'search-blocked',
  )
  if (rows.length === 0) return false
  if (rows[0]?.blocked) return true
  await db.query('update search_state set blocked_until = null')
  return false
}

/** Queues the objects of these types in the transaction that changed their model. `block`: others than root wait. */
export const reindexTypes =
  (bus: Bus) =>
  async (tx: Tx, tableIds: readonly number[], options: { block: boolean }): Promise<void> => {
    await queueObjects(tx, bus, tableIds)
    if (options.block) await block(tx, bus)
  }

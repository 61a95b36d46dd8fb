/** Reindexing of everything, or of the object types that a commit of the datamodel has changed, with its events in the log. */
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Bus } from '../../platform/postgres/bus.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { IndexTarget, Leftover } from './target.ts'

/** Bus topic: the queue of the index has entries. */
export const indexTopic = 'index'

/** Bus topic: searches are blocked, or no longer blocked. */
export const blockTopic = 'search.block'

/** The name of the index in events: there is only one. */
export const indexName = 'objects'

export interface ReindexOrder {
  /** Null: the service itself. */
  readonly actor: Actor | null
  /** Null: all. */
  readonly objecttypes: readonly number[] | null
  /** Whether searches of all callers but root wait until it is done. */
  readonly block: boolean
  /** Version of the datamodel by which the objects are indexed. */
  readonly datamodel: number
}

export type Reindexing = ReturnType<typeof createReindexing>

export interface ReindexingDeps {
  readonly bus: Bus
  readonly events: EventLog
  readonly target: Pick<IndexTarget, 'leftovers'>
}

export function createReindexing({ bus, events, target }: ReindexingDeps) {
  /** Queues the objects, in place of the rest of an earlier order, and notes the order. */
  async function queue(db: Queryable, order: ReindexOrder): Promise<void> {
    const began = performance.now()
    const leftovers = await target.leftovers(db, order.objecttypes)
    const counts = await queueObjects(db, order.objecttypes, leftovers)
    await db.query(
      // The rest of an earlier order is done together with this one.
      `with sequence as (select last_value from index_queue_seq),
         earlier as (update reindex_run set until_seq = last_value from sequence)
       insert into reindex_run (until_seq, block, datamodel) select last_value, $1, $2 from sequence`,
      [order.block, order.datamodel],
    )
    const { actor, block: blocks, datamodel } = order
    await events.append(db, [
      { type: 'REINDEX_START', actor, info: { Datamodel: datamodel, BlockFrontend: blocks } },
      {
        type: 'REINDEX_QUEUED',
        actor,
        info: { Counts: counts, IndexVersions: { [indexName]: datamodel }, Took: secondsSince(began) },
      },
    ])
  }

  return {
    queue,

    /** The same as part of a transaction that changes indexed data, or that orders the reindex. */
    async begin(tx: Tx, order: ReindexOrder): Promise<void> {
      await queue(tx, order)
      if (order.block) await block(tx, bus)
      await bus.publish(tx, indexTopic)
    },

    /** Logs the result of each finished order. `datamodel`: the version with which objects are indexed now. */
    async finish(db: Db, datamodel: number): Promise<void> {
      const { rowCount } = await db.query(`select from reindex_run r where ${isDone} limit 1`, [], 'search-reindexed')
      if (rowCount === 0) return
      await db.transaction(async (tx) => {
        const runs = await takeFinished(tx)
        await events.append(
          tx,
          runs.flatMap((run) => finalEvents(run, datamodel)),
        )
      })
    },
  }
}

/** Returns the number of objects by type. `leftovers`: index data of objects that no longer exist. */
async function queueObjects(
  db: Queryable,
  objecttypes: readonly number[] | null,
  leftovers: readonly Leftover[],
): Promise<Record<string, number>> {
  const { rows } = await db.query<{ name: string; count: number }>(
    `with wanted as materialized (
       select system_object_id as id, objecttype from object where $1::int[] is null or objecttype = any($1)
       union
       select * from unnest($2::bigint[], $3::int[])
     ), superseded as (
       delete from index_queue where ctid = any(array(
         select ctid from index_queue
         where priority = 2 and ($1::int[] is null or system_object_id in (select id from wanted))
         for update skip locked))
     ), queued as (
       insert into index_queue (system_object_id, priority) select id, 2 from wanted order by id
     )
     select coalesce(t.name, w.objecttype::text) as name, count(*)::int as count
     from wanted w left join objecttype t on t.id = w.objecttype group by 1 order by 1`,
    [objecttypes, leftovers.map(({ id }) => id), leftovers.map(({ objecttype }) => objecttype)],
  )
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

const isDone = 'not exists (select from index_queue where priority = 2 and not bulk and seq <= r.until_seq)'

interface Run {
  readonly block: boolean
  readonly datamodel: number
  readonly seconds: number
  /** Objects that could not be indexed meanwhile. */
  readonly failed: number
}

async function takeFinished(tx: Tx): Promise<Run[]> {
  const { rows } = await tx.query<Run>(
    `delete from reindex_run r where ${isDone}
     returning block, datamodel, extract(epoch from clock_timestamp() - began_at)::float8 as seconds,
       (select count(*)::int from search_failure where at >= r.began_at) as failed`,
  )
  return rows
}

function finalEvents({ block: blocks, datamodel, seconds, failed }: Run, current: number): NewEvent[] {
  const info = {
    BlockFrontend: blocks,
    IndexVersionsQueued: { [indexName]: datamodel },
    IndexVersions: { [indexName]: current },
    Took: rounded(seconds),
  }
  return [
    { type: 'INDEX_SWITCH', actor: null, info: { IndexNames: [indexName], Errors: failed } },
    failed === 0
      ? { type: 'REINDEX_DONE', actor: null, info }
      : { type: 'REINDEX_ERROR', actor: null, info: { ...info, Error: `${failed} objects cannot be indexed` } },
  ]
}

const secondsSince = (began: number): number => rounded((performance.now() - began) / 1000)

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000

/** Blocks searches of all callers but root until the entries that are queued now are done. */
async function block(tx: Tx, bus: Bus): Promise<void> {
  await tx.query('update search_state set blocked_until = (select last_value from index_queue_seq)')
  await bus.publish(tx, blockTopic)
}

/** Whether searches are blocked; ends the block when the work is done. */
export async function isBlocked(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ blocked: boolean }>(
    `select exists (select from index_queue q, search_state s where q.priority = 2 and not q.bulk and q.seq <= s.blocked_until) as blocked
     from search_state where blocked_until is not null`,
    [],
    'search-blocked',
  )
  if (rows.length === 0) return false
  if (rows[0]?.blocked) return true
  await db.query('update search_state set blocked_until = null')
  return false
}

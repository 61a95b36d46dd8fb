import type { Cause } from '../platform/cause.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { createYielder, jsonYielding } from '../platform/process/cooperative-yield.ts'
import { storable } from '../platform/values/text.ts'

/** One row to write, in the spelling of the table. */
export interface EventRow {
  type: string
  pollable: boolean
  at: string
  user_id?: number
  user_displayname?: string
  user_reference?: string | null
  remote_addr?: string
  schema?: string
  basetype?: string
  objecttype?: string
  object_id?: number
  object_version?: number
  system_object_id?: number
  global_object_id?: string
  info?: object
  /** The rules that caused it. */
  cause?: Cause
  /** Whether it is stored but starts nothing. */
  inert?: boolean
}

/** One row as read. */
export interface StoredEvent {
  id: number
  type: string
  pollable: boolean
  at: Date
  user_id: number | null
  user_displayname: string | null
  user_reference: string | null
  remote_addr: string | null
  schema: string | null
  basetype: string | null
  objecttype: string | null
  object_id: number | null
  object_version: number | null
  system_object_id: number | null
  global_object_id: string | null
  info: Record<string, unknown> | null
}

const columns =
  'id, type, pollable, at, user_id, user_displayname, user_reference, remote_addr, schema, basetype, objecttype, ' +
  'object_id, object_version, system_object_id, global_object_id, info'

/*
 * Ids are drawn before the transaction commits, so a poller that has seen id 10 could miss an id 9 that commits later.
 * Comparing transaction ids with the snapshot's xmin does not help: the transaction that draws 9 may have started to write after
 * the one that draws 10. So each writer first announces a lower bound of the ids that it is about to draw: a shared advisory lock
 * whose key contains the sequence's last value, released by the end of its transaction. Pollers read up to the smallest announced
 * bound (`pollHorizon`). Writers never wait for each other, and transactions without events delay no reader. The high 16 bits of
 * the key distinguish these locks from others ('EV').
 */
const lockSpace = 0x4556

const insertSql = `
with announced as materialized (
  select pg_advisory_xact_lock_shared((${lockSpace}::bigint << 48) | last_value) from event_id_seq
)
insert into event (type, pollable, at, user_id, user_displayname, user_reference, remote_addr, schema, basetype,
  objecttype, object_id, object_version, system_object_id, global_object_id, info, cause, inert)
select e.type, e.pollable, e.at, e.user_id, e.user_displayname, e.user_reference, e.remote_addr, e.schema, e.basetype,
  e.objecttype, e.object_id, e.object_version, e.system_object_id, e.global_object_id, e.info, e.cause,
  coalesce(e.inert, false)
from announced, json_to_recordset($1) as e (type text, pollable boolean, at timestamptz, user_id bigint,
  user_displayname text, user_reference text, remote_addr text, schema text, basetype text, objecttype text,
  object_id bigint, object_version bigint, system_object_id bigint, global_object_id text, info jsonb, cause jsonb,
  inert boolean)
returning id`

/** The JSON form of a zero byte and of half a surrogate pair. */
const unstorable = /\\u(0000|d[89a-f])/i

/** Writes all rows with one statement; the ids are in the order of the rows. */
export async function insertEvents(tx: Queryable, rows: readonly EventRow[]): Promise<number[]> {
  const sent = await jsonYielding(rows, (row) => row, createYielder())
  // Messages of refusals contain the refused value; they are logged even if this value cannot be stored.
  const list = unstorable.test(sent)
    ? await jsonYielding(rows, (row) => ({ ...row, info: storable(row.info) }), createYielder())
    : sent
  const result = await tx.query<{ id: number }>(insertSql, [list], 'event_insert')
  return result.rows.map((row) => row.id)
}

/**
 * The highest event id up to which everything has committed or never will. The statement's snapshot is older than its reading of
 * the locks: a writer that holds no lock by then draws ids above everything that the snapshot shows.
 */
export async function pollHorizon(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ horizon: number }>(
    `select least(
       (select coalesce(max(id), 0) from event),
       (select min(((classid::bigint & 65535) << 32) | objid::bigint) from pg_locks
        where locktype = 'advisory' and objsubid = 1 and classid::bigint >> 16 = ${lockSpace}
          and database = (select oid from pg_database where datname = current_database()))
     ) as horizon`,
    [],
    'event_horizon',
  )
  return rows[0]?.horizon ?? 0
}

/**
 * Pollable events after `from`, ascending. The snapshot must be younger than the horizon, so the two are never read by the same
 * statement.
 */
export async function pollableEvents(
  db: Queryable,
  from: number,
  horizon: number,
  limit: number,
): Promise<StoredEvent[]> {
  const { rows } = await db.query<StoredEvent>(
    `select ${columns} from event where pollable and id > $1 and id <= $2 order by id limit $3`,
    [from, horizon, limit],
    'event_poll',
  )
  return rows
}

export async function eventsById(db: Queryable, ids: readonly number[]): Promise<StoredEvent[]> {
  const { rows } = await db.query<StoredEvent>(`select ${columns} from event where id = any($1) order by id`, [ids])
  return rows
}

/** The latest events about a record, oldest first. */
export async function eventsOfRecord(
  db: Queryable,
  {
    basetype,
    id,
    since,
    most,
  }: { readonly basetype: string; readonly id: number; readonly since: Date | null; readonly most: number },
): Promise<StoredEvent[]> {
  const { rows } = await db.query<StoredEvent>(
    `select ${columns} from (
       select * from event where object_id = $2 and basetype = $1 and ($3::timestamptz is null or at >= $3)
       order by id desc limit $4
     ) latest order by id`,
    [basetype, id, since, most],
    'event_of_record',
  )
  return rows
}

export async function deleteEvent(tx: Queryable, id: number): Promise<boolean> {
  return (await tx.query('delete from event where id = $1', [id])).rowCount > 0
}

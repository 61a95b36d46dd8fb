import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { Localized } from '../platform/values/localized.ts'
import type { Message, OwnMessage, Reader } from './model.ts'

/** A message to write, in the spelling of the table. */
export interface MessageRow {
  id: number
  version: number
  reference: string | null
  title: Localized
  message: Localized
  confirmation: Localized
  webfrontend_type: string | null
  webfrontend_props: Readonly<Record<string, string>>
  confirm_every_version: boolean
  show_always: boolean
  client_ids: readonly string[]
  start_time: Date | null
  end_time: Date | null
  for_everybody: boolean
}

const recordset = `jsonb_to_recordset($1) as n (id bigint, version int, reference text, title jsonb, message jsonb,
  confirmation jsonb, webfrontend_type text, webfrontend_props jsonb, confirm_every_version boolean,
  show_always boolean, client_ids text[], start_time timestamptz, end_time timestamptz, for_everybody boolean)`

const columns = `m.id, m.version, m.reference, m.title, m.message, m.confirmation,
  m.webfrontend_type as "webfrontendType", m.webfrontend_props as "webfrontendProps",
  m.confirm_every_version as "confirmEveryVersion", m.show_always as "showAlways", m.client_ids as "clientIds",
  m.start_time as "startTime", m.end_time as "endTime",
  case when not m.for_everybody then (select coalesce(jsonb_agg(g.group_id order by g.group_id), '[]')
    from message_group g where g.message_id = m.id) end as "groupIds",
  m.created_at as "createdAt", m.updated_at as "updatedAt"`

export async function listMessages(db: Queryable, page: { limit: number; offset: number }): Promise<Message[]> {
  const { rows } = await db.query<Message>(`select ${columns} from message m order by m.id limit $1 offset $2`, [
    page.limit,
    page.offset,
  ])
  return rows
}

export async function findMessages(db: Queryable, ids: readonly number[]): Promise<Message[]> {
  const { rows } = await db.query<Message>(`select ${columns} from message m where m.id = any($1) order by m.id`, [ids])
  return rows
}

/** Locks the messages with these ids or references, lowest id first. */
export async function lockMessages(tx: Tx, ids: readonly number[], references: readonly string[]): Promise<Message[]> {
  if (ids.length + references.length === 0) return []
  const { rows } = await tx.query<Message>(
    `select ${columns} from message m where m.id = any($1) or m.reference = any($2) order by m.id for update of m`,
    [ids, references],
  )
  return rows
}

/** SQL condition for the current messages of a reader: within their window, for one of the reader's groups, and for its client. */
const forReader = `(m.start_time is null or m.start_time <= now()) and (m.end_time is null or m.end_time > now())
  and (m.for_everybody
    or exists (select from message_group g where g.message_id = m.id and g.group_id = any($1::bigint[])))
  and (m.client_ids = '{}' or $2 = any(m.client_ids))`

export interface OwnFilter {
  /** Only messages that are shown at sign-in. */
  readonly atSignIn?: boolean
  readonly id?: number
}

/** The current messages for the reader, by id. */
export async function messagesFor(db: Queryable, reader: Reader, filter: OwnFilter = {}): Promise<OwnMessage[]> {
  const { rows } = await db.query<OwnMessage>(
    `select ${columns}, exists (select from message_confirmation c where c.user_id = $3 and c.message_id = m.id
         and (c.version = m.version or not m.confirm_every_version)) as confirmed
     from message m
     where ${forReader} and (not $4 or m.webfrontend_type is null) and ($5::bigint is null or m.id = $5)
     order by m.id limit 1000`,
    [reader.groupIds, reader.clientId, reader.userId, filter.atSignIn ?? false, filter.id ?? null],
    'messages_for_reader',
  )
  return rows
}

/** The groups that the messages are addressed to, regardless of their window; null: everybody. */
export async function addresseesOf(
  db: Queryable,
  ids: readonly number[],
): Promise<{ id: number; groupIds: number[] | null }[]> {
  const { rows } = await db.query<{ id: number; groupIds: number[] | null }>(
    `select m.id, case when not m.for_everybody then
       array(select g.group_id from message_group g where g.message_id = m.id) end as "groupIds"
     from message m where m.id = any($1)`,
    [ids],
  )
  return rows
}

export async function newMessageIds(tx: Tx, count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await tx.query<{ id: number }>(
    `select nextval(pg_get_serial_sequence('message', 'id')) as id from generate_series(1, $1)`,
    [count],
  )
  return rows.map((row) => row.id)
}

/** Writes new and stored messages, with their recipients. */
export async function writeMessages(
  tx: Tx,
  messages: readonly { row: MessageRow; groupIds: readonly number[] }[],
): Promise<void> {
  if (messages.length === 0) return
  const rows = JSON.stringify(messages.map(({ row }) => row))
  await tx.query(
    `insert into message as m (id, version, reference, title, message, confirmation, webfrontend_type,
       webfrontend_props, confirm_every_version, show_always, client_ids, start_time, end_time, for_everybody)
     select n.* from ${recordset}
     on conflict (id) do update set version = excluded.version, reference = excluded.reference,
       title = excluded.title, message = excluded.message, confirmation = excluded.confirmation,
       webfrontend_type = excluded.webfrontend_type, webfrontend_props = excluded.webfrontend_props,
       confirm_every_version = excluded.confirm_every_version, show_always = excluded.show_always,
       client_ids = excluded.client_ids, start_time = excluded.start_time, end_time = excluded.end_time,
       for_everybody = excluded.for_everybody, updated_at = now()`,
    [rows],
  )
  const pairs = JSON.stringify(
    messages.flatMap(({ row, groupIds }) => groupIds.map((group_id) => ({ message_id: row.id, group_id }))),
  )
  await tx.query(
    `delete from message_group mg where mg.message_id = any($2)
       and not exists (select from jsonb_to_recordset($1) as n (message_id bigint, group_id bigint)
         where n.message_id = mg.message_id and n.group_id = mg.group_id)`,
    [pairs, messages.map(({ row }) => row.id)],
  )
  await tx.query(
    `insert into message_group (message_id, group_id)
     select message_id, group_id from jsonb_to_recordset($1) as n (message_id bigint, group_id bigint)
     on conflict do nothing`,
    [pairs],
  )
}

/** Readdresses the messages for members of `from` to members of `to`. */
export async function readdress(tx: Tx, from: number, to: number): Promise<void> {
  await tx.query(
    `insert into message_group (message_id, group_id)
     select message_id, $2 from message_group where group_id = $1 on conflict do nothing`,
    [from, to],
  )
  await tx.query('delete from message_group where group_id = $1', [from])
}

export async function deleteMessage(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from message where id = $1', [id])
}

/** Records confirmations of a user; a message that has changed meanwhile is skipped. Returns the number of recorded ones. */
export async function confirmMessages(
  db: Queryable,
  userId: number,
  messages: readonly { id: number; version: number }[],
): Promise<number> {
  const { rows } = await db.query(
    `insert into message_confirmation (user_id, message_id, version)
     select $1, m.id, m.version
       from message m join unnest($2::bigint[], $3::int[]) as read (id, version) using (id, version)
     on conflict (user_id, message_id, version) do update set confirmed_at = now()
     returning message_id`,
    [userId, messages.map(({ id }) => id), messages.map(({ version }) => version)],
  )
  return rows.length
}

import { type Actor, visitorOf } from '../../platform/actor.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { numbersText, textsText } from '../../platform/postgres/literals.ts'

/** Rows of one collection and user, if many visitors share the user: the latest ones are kept. */
const mostVisitors = 1000

/** The visitor value for a user `u`. It is constant, except for guests and links. */
const visitorSql = (visitor: string): string =>
  `case when u.type in ('anonymous', 'collection') then ${visitor}::bytea else '' end`

/** Whether a collection `c` has a PIN that the user has not entered. */
export const lockedSql = (user: string, visitor: string): string => `(c.pin_id is not null and not exists (
    select from collection_pin p join "user" u on u.id = p.user_id
    where p.collection_id = c.id and p.user_id = ${user} and p.pin_id = c.pin_id and p.visitor = ${visitorSql(visitor)}))`

/** PINs of those collections that have one. */
export async function pinsOf(
  q: Queryable,
  ids: readonly number[],
): Promise<readonly { readonly id: number; readonly pinId: string; readonly hash: string }[]> {
  const { rows } = await q.query<{ id: number; pinId: string; hash: string }>(
    `select id, pin_id as "pinId", pin_hash as hash from collection
     where id = any($1::bigint[]) and pin_id is not null order by id`,
    [numbersText(ids)],
    'collection-pins',
  )
  return rows
}

/** Stores that the caller knows these PINs. */
export async function remember(
  tx: Tx,
  actor: Actor,
  pins: readonly { readonly id: number; readonly pinId: string }[],
): Promise<void> {
  if (pins.length === 0) return
  const values = [
    actor.userId,
    visitorOf(actor),
    numbersText(pins.map(({ id }) => id)),
    textsText(pins.map((one) => one.pinId)),
  ]
  await tx.query(
    `insert into collection_pin (collection_id, user_id, visitor, pin_id)
     select n.id, u.id, ${visitorSql('$2')}, n.pin from unnest($3::bigint[], $4::uuid[]) as n (id, pin)
     join collection c on c.id = n.id and c.pin_id = n.pin join "user" u on u.id = $1 order by n.id
     on conflict (collection_id, user_id, visitor) do update set pin_id = excluded.pin_id, entered_at = now()`,
    values,
    'collection-pin-remember',
  )
  await tx.query(
    `delete from collection_pin where user_id = $1 and collection_id = any($2::bigint[]) and (collection_id, visitor) in (
       select collection_id, visitor from (
         select collection_id, visitor, row_number() over (partition by collection_id order by entered_at desc) as place
         from collection_pin where user_id = $1 and collection_id = any($2::bigint[])) r where place > ${mostVisitors})`,
    [values[0], values[2]],
    'collection-pin-prune',
  )
}

export async function forget(tx: Tx, actor: Actor, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query(
    `delete from collection_pin p using "user" u
     where u.id = $1 and p.user_id = u.id and p.visitor = ${visitorSql('$2')} and p.collection_id = any($3::bigint[])`,
    [actor.userId, visitorOf(actor), numbersText(ids)],
    'collection-pin-forget',
  )
}

/** Collections whose present PIN the caller has entered. */
export async function enteredBy(q: Queryable, actor: Actor): Promise<number[]> {
  const { rows } = await q.query<{ id: number }>(
    `select p.collection_id as id from collection_pin p join "user" u on u.id = p.user_id
     join collection c on c.id = p.collection_id and c.pin_id = p.pin_id
     where p.user_id = $1 and p.visitor = ${visitorSql('$2')} order by 1`,
    [actor.userId, visitorOf(actor)],
    'collection-pins-entered',
  )
  return rows.map(({ id }) => id)
}

import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'

export interface ShareLink {
  readonly id: string
  readonly alias: string | null
  readonly path: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

const columns = 'id, alias, path, created_at as "createdAt", expires_at as "expiresAt"'

/** Links of one user are created one after the other, so that no user exceeds the quota. */
export async function lockLinksOf(tx: Tx, userId: number): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('share links', $1))`, [userId], 'share_links_lock')
}

/** Deletes some links that have ended, and all ended ones with these names. */
export async function forgetEnded(tx: Tx, names: readonly string[]): Promise<void> {
  await tx.query(
    `delete from share_link where expires_at <= now() and (id = any($1::text[]) or alias = any($1::text[])
       or id in (select id from share_link where expires_at <= now() order by expires_at limit 20 for update skip locked))`,
    [names],
    'share_links_ended',
  )
}

/** The number of links of a user, and the seconds until the first of them ends. */
export async function countOf(tx: Tx, userId: number): Promise<{ readonly count: number; readonly seconds: number }> {
  const { rows } = await tx.query<{ count: number; seconds: number }>(
    `select count(*)::int as count, coalesce(ceil(extract(epoch from min(expires_at) - now())), 0)::float8 as seconds
     from share_link where user_id = $1 and expires_at > now()`,
    [userId],
    'share_links_count',
  )
  return rows[0] ?? { count: 0, seconds: 0 }
}

/** Whether a user is one person: not one that represents all guests, or all people with a link. */
export async function isPerson(tx: Tx, userId: number): Promise<boolean> {
  const { rows } = await tx.query(
    `select from "user" where id = $1 and type not in ('anonymous', 'collection')`,
    [userId],
    'share_links_person',
  )
  return rows.length > 0
}

/** null: a link with such a name exists. Ids and aliases share one name space. */
export async function insertLink(
  tx: Tx,
  userId: number,
  { id, alias, path, expiresAt }: Omit<ShareLink, 'createdAt'>,
): Promise<ShareLink | null> {
  const { rows } = await tx.query<ShareLink>(
    `insert into share_link (id, alias, path, user_id, expires_at) select $1, $2, $3, $4, $5
     where not exists (select from share_link where id = $2 or alias = $1) on conflict do nothing returning ${columns}`,
    [id, alias, path, userId, expiresAt],
    'share_link_insert',
  )
  return rows[0] ?? null
}

export async function findLink(q: Queryable, name: string): Promise<ShareLink | null> {
  const { rows } = await q.query<ShareLink>(
    `select ${columns} from share_link where (id = $1 or alias = $1) and expires_at > now() order by id = $1 desc limit 1`,
    [name],
    'share_link_find',
  )
  return rows[0] ?? null
}

export async function linksOf(
  db: Db,
  userId: number,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<ShareLink[]> {
  const { rows } = await db.query<ShareLink>(
    `select ${columns} from share_link where user_id = $1 and expires_at > now() order by created_at, id limit $2 offset $3`,
    [userId, limit, offset],
    'share_links_list',
  )
  return rows
}

/** Whether there was such a link of this user; null: of any user. */
export async function deleteLink(db: Db, name: string, userId: number | null): Promise<boolean> {
  const { rowCount } = await db.query(
    'delete from share_link where (id = $1 or alias = $1) and ($2::bigint is null or user_id = $2)',
    [name, userId],
    'share_link_delete',
  )
  return (rowCount ?? 0) > 0
}

import { hash } from 'node:crypto'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'

/** A link as it is stored; the secret is sealed. */
export interface StoredShare {
  readonly userId: number
  readonly collectionId: number
  readonly secret: Buffer
}

export const secretHash = (secret: string): Buffer => hash('sha256', `share ${secret}`, 'buffer')

export async function insertShares(
  tx: Tx,
  shares: readonly (StoredShare & { readonly hash: Buffer })[],
): Promise<void> {
  if (shares.length === 0) return
  await tx.query(
    `insert into collection_share (user_id, collection_id, secret_hash, secret)
     select * from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[])`,
    [
      shares.map(({ userId }) => userId),
      shares.map(({ collectionId }) => collectionId),
      shares.map((one) => one.hash),
      shares.map(({ secret }) => secret),
    ],
    'collection-shares-insert',
  )
}

/** Links by their users; other users have none. */
export async function findShares(q: Queryable, userIds: readonly number[]): Promise<StoredShare[]> {
  if (userIds.length === 0) return []
  const { rows } = await q.query<StoredShare>(
    `select user_id as "userId", collection_id as "collectionId", secret from collection_share
     where user_id = any($1::bigint[]) order by user_id`,
    [numbersText(userIds)],
    'collection-shares-find',
  )
  return rows
}

/** Removes the links of collections that no grant names any more. */
export async function deleteUnnamed(tx: Tx, collectionIds: readonly number[]): Promise<void> {
  if (collectionIds.length === 0) return
  await tx.query(
    `delete from collection_share s using collection c
     where c.id = s.collection_id and c.id = any($1::bigint[])
       and not c.acl @> jsonb_build_array(jsonb_build_object('who', 'u' || s.user_id))`,
    [numbersText(collectionIds)],
    'collection-shares-unnamed',
  )
}

/** The user of the link with this secret, and the UUID of its collection. */
export async function findBySecret(
  q: Queryable,
  secret: string,
): Promise<{ readonly userId: number; readonly uuid: string } | null> {
  const { rows } = await q.query<{ userId: number; uuid: string }>(
    `select s.user_id as "userId", c.uuid from collection_share s join collection c on c.id = s.collection_id
     where s.secret_hash = $1`,
    [secretHash(secret)],
    'collection-share-secret',
  )
  return rows[0] ?? null
}

/** Mail addresses of users of type `email`, with which they sign in. */
export async function addressesOf(q: Queryable, userIds: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (userIds.length === 0) return new Map()
  const { rows } = await q.query<{ id: number; email: string }>(
    `select id, email from "user" where id = any($1::bigint[]) and type = 'email' and email is not null`,
    [numbersText(userIds)],
    'collection-shares-addresses',
  )
  return new Map(rows.map(({ id, email }) => [id, email]))
}

/** Links sealed with another key than the one with this prefix. */
export async function sealedOtherwise(tx: Tx, prefix: Buffer): Promise<StoredShare[]> {
  const { rows } = await tx.query<StoredShare>(
    `select user_id as "userId", collection_id as "collectionId", secret from collection_share
     where substring(secret for octet_length($1::bytea)) <> $1 order by user_id for update`,
    [prefix],
  )
  return rows
}

export async function replaceSecrets(
  tx: Tx,
  renewed: readonly { readonly userId: number; readonly secret: Buffer }[],
): Promise<void> {
  if (renewed.length === 0) return
  await tx.query(
    `update collection_share s set secret = n.secret from unnest($1::bigint[], $2::bytea[]) as n (id, secret)
     where s.user_id = n.id`,
    [renewed.map(({ userId }) => userId), renewed.map(({ secret }) => secret)],
  )
}

export async function hasShares(tx: Tx): Promise<boolean> {
  const { rows } = await tx.query('select from collection_share limit 1')
  return rows.length > 0
}

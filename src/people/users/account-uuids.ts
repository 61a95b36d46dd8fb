import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'

/** The context that a sealed UUID is bound to. */
const about = (userId: number): string => `account uuid ${userId}`

export type AccountUuids = ReturnType<typeof createAccountUuids>

/**
 * UUIDs that replace passwords for users of type `email` (CLIENT-023). Users do not choose them, and every mail contains the same
 * one; so they are sealed (encrypted) and not hashed.
 */
export function createAccountUuids(seal: Pick<Seal, 'seal' | 'open' | 'prefix'>) {
  return {
    /** Gives a UUID to the users who have none. */
    async give(tx: Tx, userIds: readonly number[]): Promise<void> {
      if (userIds.length === 0) return
      const sealed = await Promise.all(userIds.map((id) => seal.seal(Buffer.from(randomUUID()), about(id))))
      await tx.query(
        `update "user" u set account_uuid = n.uuid from unnest($1::bigint[], $2::bytea[]) as n (id, uuid)
         where u.id = n.id and u.type = 'email' and u.account_uuid is null`,
        [userIds, sealed],
        'account_uuid_give',
      )
    },

    /** The UUIDs of the users, as far as a key of this service can open them. */
    async read(db: Queryable, userIds: readonly number[]): Promise<ReadonlyMap<number, string>> {
      if (userIds.length === 0) return new Map()
      const { rows } = await db.query<{ id: number; sealed: Buffer }>(
        `select id, account_uuid as sealed from "user" where id = any($1) and account_uuid is not null`,
        [userIds],
        'account_uuid_read',
      )
      const opened = await Promise.all(
        rows.map(async ({ id, sealed }) => [id, (await seal.open(sealed, about(id)))?.toString()] as const),
      )
      return new Map(opened.filter((entry): entry is [number, string] => entry[1] !== undefined))
    },

    /** Whether the typed text is the UUID of the user; case is ignored, as in all UUIDs. */
    async isRight(userId: number, sealed: Buffer, typed: string): Promise<boolean> {
      const uuid = await seal.open(sealed, about(userId))
      if (uuid === null) return false
      const hashed = (text: string): Buffer => hash('sha256', text, 'buffer')
      return timingSafeEqual(hashed(typed.trim().toLowerCase()), hashed(uuid.toString()))
    },

    /** Seals UUIDs with the current key that are sealed with another one. Returns the number of UUIDs that no key can open. */
    async reseal(tx: Tx): Promise<number> {
      const { rows: some } = await tx.query('select from "user" where account_uuid is not null limit 1')
      // Where there is nothing to seal, there is no need for a key.
      if (some.length === 0) return 0
      const { rows } = await tx.query<{ id: number; sealed: Buffer }>(
        `select id, account_uuid as sealed from "user"
         where account_uuid is not null and substring(account_uuid for octet_length($1::bytea)) <> $1
         order by id for update`,
        [await seal.prefix()],
      )
      const renewed: { id: number; sealed: Buffer }[] = []
      for (const { id, sealed } of rows) {
        const uuid = await seal.open(sealed, about(id))
        if (uuid) renewed.push({ id, sealed: await seal.seal(uuid, about(id)) })
      }
      if (renewed.length > 0) {
        await tx.query(
          `update "user" u set account_uuid = n.uuid from unnest($1::bigint[], $2::bytea[]) as n (id, uuid)
           where u.id = n.id`,
          [renewed.map(({ id }) => id), renewed.map(({ sealed }) => sealed)],
        )
      }
      return rows.length - renewed.length
    },
  }
}

import type { UserType } from '../../people/model.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'

/** The source of a statement about a user: LDAP, or one of the providers. */
export interface Speaker {
  readonly kind: 'ldap' | 'openid' | 'saml'
  /** Empty: LDAP. */
  readonly provider: string
  /** The name by which LDAP finds the entry; null: for other kinds. */
  readonly name: string | null
}

/**
 * The directory's statement about a user. `gone`: the user is deleted there; `refused`: its data cannot be used here; `stale`: the
 * provider was asked too long ago, and can only be asked by a new sign-in; `unavailable`: no server answers.
 */
export type DirectoryStatus = 'there' | 'gone' | 'refused' | 'stale' | 'unavailable'

/** Stores that a directory has just identified a user. Nothing for user 0, which is used when there is no user. */
export async function storeIdentified(tx: Tx, userId: number, { kind, provider, name }: Speaker): Promise<void> {
  await tx.query(
    `insert into directory_word (user_id, kind, provider, name, said_at)
     select id, $2, $3, $4, now() from "user" where id = $1
     on conflict (user_id) do update
       set kind = excluded.kind, provider = excluded.provider, name = excluded.name, said_at = excluded.said_at`,
    [userId, kind, provider, name],
    'directory_word_keep',
  )
}

export interface StoredWord {
  readonly type: UserType
  readonly kind: Speaker['kind'] | null
  readonly provider: string | null
  /** The typed name, else the name in the record. */
  readonly name: string | null
  /** Null: there was no statement yet. */
  readonly minutesAgo: number | null
}

export async function findWord(from: Queryable, userId: number): Promise<StoredWord | null> {
  const { rows } = await from.query<StoredWord>(
    `select u.type, w.kind, w.provider, coalesce(w.name, u.login, u.email) as name,
       extract(epoch from now() - w.said_at)::float8 / 60 as "minutesAgo"
     from "user" u left join directory_word w
       on w.user_id = u.id and (w.kind = 'ldap') = (u.type = 'ldap') where u.id = $1`,
    [userId],
    'directory_word',
  )
  return rows[0] ?? null
}

import type { Queryable } from '../../platform/postgres/db.ts'
import { createSeal, type SealOptions } from '../../platform/secrets/seal.ts'

/** Secrets that are sealed with keys which are not here, so that they cannot be opened. */
export interface SealedElsewhere {
  /** Authenticator apps. */
  readonly apps: number
  /** Accounts without a password. */
  readonly accounts: number
}

/** Only reads the ids of keys, and creates none: for a database that was moved here from another machine. */
export async function sealedElsewhere(db: Queryable, options: SealOptions): Promise<SealedElsewhere> {
  const names = await createSeal(options).names()
  // Unsealed secrets of earlier releases have no key (20 bytes).
  const { rows } = await db.query<SealedElsewhere>(
    `select
       (select count(*)::int from user_factor
        where octet_length(totp_secret) <> 20 and substring(totp_secret from 2 for 8) <> all($1::bytea[])) as apps,
       (select count(*)::int from "user" where substring(account_uuid from 2 for 8) <> all($1::bytea[])) as accounts`,
    [names],
  )
  return rows[0] ?? { apps: 0, accounts: 0 }
}

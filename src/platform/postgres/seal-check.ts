import type { Seal } from '../secrets/seal.ts'
import type { Db } from './db.ts'

const about = 'secret key check'

/**
 * Whether a secret key here opens what the one sealed that the database was last used with; from now on it is the present
 * one. True on a new database, too.
 */
export function isKnownSecretKey(db: Db, seal: Pick<Seal, 'seal' | 'open' | 'prefix'>): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.query('lock table secret_key_check in share row exclusive mode')
    const { rows } = await tx.query<{ sealed: Buffer }>('select sealed from secret_key_check')
    const stored = rows[0]?.sealed
    const prefix = await seal.prefix()
    if (stored?.subarray(0, prefix.length).equals(prefix)) return true
    const known = stored === undefined || (await seal.open(stored, about)) !== null
    await tx.query(
      `insert into secret_key_check (sealed) values ($1) on conflict (one) do update set sealed = excluded.sealed`,
      [await seal.seal(Buffer.from(about), about)],
    )
    return known
  })
}

import type { Seal } from '../secrets/seal.ts'
import type { Db } from './db.ts'

const about = 'secret key check'

/**
 * Whether a secret key of this service opens the check value that was sealed with the last key of this database. Afterwards the
 * value is sealed with the current key. Also true on a new database.
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

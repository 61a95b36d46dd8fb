import { randomInt } from 'node:crypto'
import type { Db } from '../platform/db.ts'
import { rootUserId } from './model.ts'
import type { Passwords } from './passwords.ts'
import type { Sessions } from './sessions/service.ts'

/** Easy to tell apart when copied by hand. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

/**
 * Gives user `root` a password on the first start: the configured one, or a random one that is returned, this once, to
 * be printed. Later a configured password that differs replaces the stored one, and ends the sessions of root.
 */
export async function ensureRoot(
  { db, passwords, sessions }: { db: Db; passwords: Passwords; sessions: Sessions },
  configured: string | null,
): Promise<string | null> {
  const { rows } = await db.query<{ hash: string | null }>('select password_hash as hash from "user" where id = $1', [
    rootUserId,
  ])
  const stored = rows[0]?.hash ?? null
  if (stored === null) return setFirst(db, passwords, configured)
  if (configured === null || (await passwords.verify(configured, stored))) return null
  const hash = await passwords.hash(configured)
  await db.transaction(async (tx) => {
    await tx.query('update "user" set password_hash = $2, updated_at = now() where id = $1', [rootUserId, hash])
    await sessions.endOfUsers(tx, [{ userId: rootUserId }], '')
  })
  return null
}

/** Of several processes that start at once, one sets the password; the others return nothing to print. */
async function setFirst(db: Db, passwords: Passwords, configured: string | null): Promise<string | null> {
  const password = configured ?? Array.from({ length: 20 }, () => alphabet[randomInt(alphabet.length)]).join('')
  const { rowCount } = await db.query(
    'update "user" set password_hash = $2, updated_at = now() where id = $1 and password_hash is null',
    [rootUserId, await passwords.hash(password)],
  )
  return rowCount === 1 && configured === null ? password : null
}

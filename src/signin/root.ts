import { randomInt } from 'node:crypto'
import { rootUserId } from '../people/model.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { InitialPassword } from './initial-password.ts'
import type { Passwords } from './passwords.ts'
import type { Sessions } from './sessions/service.ts'

/** Characters that are not confused when copied by hand. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

export interface RootDependencies {
  db: Db
  passwords: Passwords
  sessions: Sessions
  initial: InitialPassword
}

/** A random password: 20 letters and digits, 99 bits. */
export function makePassword(): string {
  return Array.from({ length: 20 }, () => alphabet[randomInt(alphabet.length)]).join('')
}

/**
 * Gives user `root` a password on the first start: the configured one, or a random one that is returned, to be printed, by this
 * start and by all later ones until somebody has signed in with it. Later a configured password that differs replaces the stored
 * one, and ends the sessions of root.
 */
export async function ensureRoot(given: RootDependencies, configured: string | null): Promise<string | null> {
  const { db, passwords, sessions, initial } = given
  const { rows } = await db.query<{ hash: string | null; seen: boolean }>(
    'select password_hash as hash, last_seen_at is not null as seen from "user" where id = $1',
    [rootUserId],
  )
  const stored = rows[0]?.hash ?? null
  if (stored === null) return setFirst(given, configured)
  if (configured === null) return rows[0]?.seen ? null : shownAgain(given, stored)
  if (await passwords.verify(configured, stored)) return null
  const hash = await passwords.hash(configured)
  await db.transaction(async (tx) => {
    await tx.query('update "user" set password_hash = $2, updated_at = now() where id = $1', [rootUserId, hash])
    await sessions.endOfUsers(tx, [{ userId: rootUserId }], '')
  })
  await initial.forget()
  return null
}

/** If several processes start at once, one sets the password; the others return null. */
async function setFirst({ db, passwords, initial }: RootDependencies, configured: string | null) {
  const password = configured ?? makePassword()
  if (configured === null) await initial.keep(password)
  const { rowCount } = await db.query(
    'update "user" set password_hash = $2, updated_at = now() where id = $1 and password_hash is null',
    [rootUserId, await passwords.hash(password)],
  )
  if (rowCount === 1) return configured === null ? password : null
  if (configured === null) await initial.forget()
  return null
}

async function shownAgain({ passwords, initial }: RootDependencies, hash: string): Promise<string | null> {
  const kept = await initial.read()
  return kept !== null && (await passwords.verify(kept, hash)) ? kept : null
}

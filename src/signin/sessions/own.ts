import { rootUserId } from '../../people/model.ts'
import { manageUsers, mayPerson } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { requireRight } from '../../platform/http/system-right.ts'
import { isShared } from '../../platform/limits/callers.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Session } from './cache.ts'
import type { Sessions } from './service.ts'

/** The properties of a session by which its user recognises it. */
interface OpenSession {
  id: string
  userId: number
  clientId: string
  method: string
  scopes: string[]
  since: Date
  lastUsed: Date
  expires: Date
  address: string
  device: string | null
  bound: boolean
}

export type OwnSessions = ReturnType<typeof createOwnSessions>

/**
 * The sessions of a user, and how to end them. User managers may do so for other users, except for root; so may callers with the
 * right `sessions` on the user.
 */
export function createOwnSessions({ db, sessions }: { db: Db; sessions: Sessions }) {
  async function assertMay(actor: Actor, userId: number): Promise<void> {
    if (userId === actor.userId || (await mayPerson(db, 'user', userId, 'sessions', actor))) return
    requireRight(actor, manageUsers)
    if (userId === rootUserId) requireRight(actor, { name: 'system.root' })
  }

  /** The only session that a caller of a shared user (guests, links) may list and end; null: all of the user. */
  const onlyOwn = (actor: Actor): string | null => (isShared(actor) ? (actor.session?.id ?? '') : null)

  return {
    /** Open sessions of one user, last used first. */
    async list(actor: Actor, userId = actor.userId) {
      await assertMay(actor, userId)
      const { rows } = await db.query<OpenSession>(
        `select id, user_id as "userId", client_id as "clientId", method, scopes, authenticated_at as since,
           last_used_at as "lastUsed", expires_at as expires, remote_addr as address, user_agent as device,
           browser_hash is not null as bound
          from oauth_session where user_id = $1 and revoked_at is null and expires_at > now() and method <> 'plugin'
            and ($2::text is null or id::text = $2)
         order by last_used_at desc, id limit 1000`,
        [userId, onlyOwn(actor)],
        'sessions_of_user',
      )
      return rows.map((row) => ({
        _id: row.id,
        user_id: row.userId,
        client_id: row.clientId,
        method: row.method,
        scope: row.scopes.join(' '),
        since: row.since.toISOString(),
        last_used: row.lastUsed.toISOString(),
        expires: row.expires.toISOString(),
        address: row.address,
        device: row.device ?? '',
        bound_browser: row.bound,
        current: row.id === actor.session?.id,
      }))
    },

    /** Ends one session. @throws {AppError} `ResourceNotFound` when there is none with this id for the caller. */
    async end(actor: Actor, id: string): Promise<void> {
      const { rows } = await db.query<{ userId: number }>(
        'select user_id as "userId" from oauth_session where id = $1 and revoked_at is null',
        [id],
        'session_owner',
      )
      const userId = rows[0]?.userId
      if (userId === undefined || (onlyOwn(actor) ?? id) !== id) throw new AppError('ResourceNotFound', { _id: id })
      try {
        await assertMay(actor, userId)
      } catch (cause) {
        // Callers must not learn whether an id of another user exists.
        throw new AppError('ResourceNotFound', { _id: id }, { cause })
      }
      await sessions.endSession(id, actor.remoteAddr, 'signed_out')
    },

    /**
     * Ends all sessions of a user except for the caller's own, and forgets all kept sign-ins. Returns the number of ended sessions.
     */
    async endOthers(actor: Actor, current: Session, userId = actor.userId): Promise<number> {
      await assertMay(actor, userId)
      if (isShared(actor)) return 0
      return sessions.endOthers(userId, current, actor.remoteAddr)
    },
  }
}

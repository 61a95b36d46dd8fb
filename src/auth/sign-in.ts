import type { EventLog } from '../events/service.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { identityKey } from './model.ts'
import type { Passwords } from './passwords.ts'
import { signInObstacle } from './sessions/access.ts'
import type { Sessions } from './sessions/service.ts'
import type { Throttle } from './throttle.ts'

export interface Credentials {
  login: string
  password: string
  clientId: string
  remoteAddr: string
}

/** Who has signed in, and how they proved it. */
export interface SignedIn {
  userId: number
  method: string
}

interface Candidate {
  id: number
  passwordHash: string | null
  archived: boolean
  loginDisabled: boolean
  loginValidFrom: string | null
  loginValidTo: string | null
}

export type SignIn = ReturnType<typeof createSignIn>

export interface SignInDependencies {
  db: Db
  events: EventLog
  passwords: Passwords
  throttle: Throttle
  sessions: Sessions
  /** Told who has proved to be who they are, before they get a session. */
  verified?: (userId: number) => Promise<void>
  clock?: () => Date
}

const method = 'native'

/** Checks logins and passwords against the users of this instance. Login or email name the user. */
export function createSignIn({
  db,
  events,
  passwords,
  throttle,
  sessions,
  verified = async () => {},
  clock = () => new Date(),
}: SignInDependencies) {
  async function recordFailure(credentials: Credentials, user: Candidate | null, error: string): Promise<void> {
    const { clientId, remoteAddr } = credentials
    const actor = user && (await sessions.actorOfUser(user.id, remoteAddr))
    await db.transaction(async (tx) => {
      const attempt = await throttle.failed(tx, attemptOf(credentials))
      // What was typed is kept for known users only: people type passwords into the wrong field.
      const info = { method, client: clientId, attempt, error, ...(user ? { login: credentials.login } : {}) }
      await events.append(tx, [
        { type: 'LOGIN_FAILED', actor, info, ...(user ? { basetype: 'user', objectId: user.id } : {}) },
      ])
    })
  }

  return {
    /**
     * The user of these credentials; `null` when they are wrong or the user may not sign in. An unknown login costs as
     * much time as a wrong password.
     * @throws {AppError} `TooManyAttempts` while the login or the address are blocked.
     */
    async verify(credentials: Credentials): Promise<SignedIn | null> {
      const attempt = attemptOf(credentials)
      const user = await findCandidate(db, attempt.loginKey)
      const fits = await passwords.verify(credentials.password, user?.passwordHash ?? null, {
        before: () => throttle.assertOpen(db, attempt),
        failed: () => recordFailure(credentials, user, user ? 'wrong password' : 'unknown login'),
      })
      if (!user || !fits) return null
      const obstacle = signInObstacle(user, clock())
      if (!obstacle) {
        await verified(user.id)
        return { userId: user.id, method }
      }
      await recordFailure(credentials, user, obstacle)
      return null
    },

    /** Forgets the failures of a login that has succeeded. */
    succeeded: (db: Queryable, credentials: Credentials): Promise<void> =>
      throttle.succeeded(db, attemptOf(credentials)),
  }
}

function attemptOf({ login, remoteAddr }: Credentials) {
  return { loginKey: identityKey(login), remoteAddr }
}

/** A login comes before an email: one user's email may be another's login. */
async function findCandidate(db: Queryable, loginKey: string): Promise<Candidate | null> {
  const { rows } = await db.query<Candidate>(
    `select id, password_hash as "passwordHash", archived_at is not null as archived,
       login_disabled as "loginDisabled", login_valid_from::text as "loginValidFrom",
       login_valid_to::text as "loginValidTo"
     from "user" where login_key = $1 or email_key = $1 order by (login_key = $1) desc nulls last limit 1`,
    [loginKey],
    'sign_in_candidate',
  )
  return rows[0] ?? null
}

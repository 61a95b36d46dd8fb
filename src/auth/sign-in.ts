import type { EventLog } from '../events/service.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { identityKey } from './model.ts'
import type { Passwords } from './passwords.ts'
import { signInObstacle } from './sessions/access.ts'
import type { Sessions } from './sessions/service.ts'
import { newToken } from './sessions/token.ts'
import type { Attempt, OpenAttempt, Throttle } from './throttle.ts'

export interface Credentials {
  login: string
  password: string
  clientId: string
  remoteAddr: string
  /** What the browser keeps from an earlier sign-in; null: nothing. */
  device: string | null
  /** Nothing comes behind the password: it does not do for who must prove more. */
  passwordOnly?: boolean
}

/** Who has signed in, and how they proved it. */
export interface SignedIn {
  userId: number
  method: string
  /** What the browser is to keep, so that failures of others do not count for it. */
  device: string
  /** Joins the transaction that opens the session: the failures before are forgotten, the browser is remembered. */
  remember(tx: Queryable): Promise<void>
}

interface Candidate {
  id: number
  passwordHash: string | null
  archived: boolean
  loginDisabled: boolean
  loginValidFrom: string | null
  loginValidTo: string | null
  emailUnconfirmed: boolean
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
  /** Whether a user, from there, must prove more than a password. Asked for user 0 in the name of nobody. */
  mustPassFactor: (userId: number, remoteAddr: string) => Promise<boolean>
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
  mustPassFactor,
  clock = () => new Date(),
}: SignInDependencies) {
  let failures = 0

  async function recordFailure(
    credentials: Credentials,
    open: OpenAttempt,
    user: Candidate | null,
    error: string,
  ): Promise<void> {
    failures++
    const { clientId, remoteAddr } = credentials
    // Asked for nobody too: an unknown login takes as long.
    const actor = await sessions.actorOfUser(user?.id ?? 0, remoteAddr)
    await db.transaction(async (tx) => {
      const attempt = await throttle.failed(tx, open)
      // What was typed is kept for known users only: people type passwords into the wrong field.
      const info = { method, client: clientId, attempt, error, ...(user ? { login: credentials.login } : {}) }
      await events.append(tx, [
        { type: 'USER_LOGIN_FAILED', actor, info, ...(user ? { basetype: 'user', objectId: user.id } : {}) },
      ])
    })
  }

  return {
    /**
     * The user of these credentials; `null` when they are wrong or the user may not sign in. An unknown login costs as
     * much time as a wrong password.
     * @throws {AppError} `TooManyAttempts` while they are blocked from there.
     */
    async verify(credentials: Credentials): Promise<SignedIn | null> {
      const loginKey = identityKey(credentials.login)
      const user = await findCandidate(db, loginKey)
      const { remoteAddr, device } = credentials
      const attempt: Attempt = { loginKey, userId: user?.id ?? null, remoteAddr, device }
      // Before the password, and for everybody: the answer takes as long for whoever it concerns and whatever the password.
      const tooLittle = credentials.passwordOnly === true && (await mustPassFactor(user?.id ?? 0, remoteAddr))
      let open: OpenAttempt | undefined
      const fits = await passwords.verify(credentials.password, user?.passwordHash ?? null, {
        before: async () => {
          open = await throttle.open(db, attempt)
        },
        failed: async () => {
          if (open) await recordFailure(credentials, open, user, user ? 'wrong password' : 'unknown login')
        },
      })
      if (!user || !fits || !open) return null
      const obstacle = signInObstacle(user, clock()) ?? (tooLittle ? 'second factor required' : null)
      if (!obstacle) {
        await verified(user.id)
        return signedIn(user, open, attempt)
      }
      await recordFailure(credentials, open, user, obstacle)
      return null
    },

    /** How many sign-ins of this process have failed. */
    failures: (): number => failures,
  }

  function signedIn(user: Candidate, open: OpenAttempt, attempt: Attempt): SignedIn {
    // Never one that somebody else may have put there.
    const device = (open.knownDevice && attempt.device) || newToken()
    return { userId: user.id, method, device, remember: (tx) => throttle.succeeded(tx, open, { ...attempt, device }) }
  }
}

/** A login comes before an email: one user's email may be another's login. */
async function findCandidate(db: Queryable, loginKey: string): Promise<Candidate | null> {
  const { rows } = await db.query<Candidate>(
    `select id, password_hash as "passwordHash", archived_at is not null as archived,
       login_disabled as "loginDisabled", login_valid_from::text as "loginValidFrom",
       login_valid_to::text as "loginValidTo",
       confirm_email and email_confirmed_at is null as "emailUnconfirmed"
     from "user" where login_key = $1 or email_key = $1 order by (login_key = $1) desc nulls last limit 1`,
    [loginKey],
    'sign_in_candidate',
  )
  return rows[0] ?? null
}

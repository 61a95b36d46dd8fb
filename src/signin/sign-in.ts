import type { EventLog } from '../events/service.ts'
import { identityKey, passwordUserTypes } from '../people/model.ts'
import type { AccountUuids } from '../people/service.ts'
import { signInObstacle } from '../people/service.ts'
import { AppError } from '../platform/errors.ts'
import { siteOf } from '../platform/limits/callers.ts'
import { createLimiter } from '../platform/limits/limiter.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import type { AnonymousQuotas } from './anonymous-quotas.ts'
import type { RefusalReason } from './directories/model.ts'
import type { Directories, DirectoryAnswer } from './directories/service.ts'
import type { Passwords } from './passwords.ts'
import type { Sessions } from './sessions/service.ts'
import { newToken } from './sessions/token.ts'
import { type Attempt, countedTogether, type OpenAttempt, type Throttle } from './throttle.ts'

export interface Credentials {
  login: string
  password: string
  clientId: string
  remoteAddr: string
  /** The device token of the browser from an earlier sign-in; null: none. */
  device: string | null
  /** No second factor can follow the password: a user who needs one cannot sign in this way. */
  passwordOnly?: boolean
  /** The methods to check the password, the directory first where it is named first; undefined: all. */
  methods?: readonly PasswordMethod[]
}

/**
 * The standard order (CLIENT-016). `native`: passwords of this instance; `collection`: the secret of a link, with the UUID of its
 * collection; `email`: UUIDs of users without a password; `ldap`: the directory.
 */
export const passwordMethods = ['native', 'collection', 'email', 'ldap'] as const
export type PasswordMethod = (typeof passwordMethods)[number]

/** The password was right, but the directory's data of its owner cannot be used here. */
export interface Refused {
  refused: RefusalReason
}

/** The user of the link with this secret; null: there is none. */
export type FindShare = (
  secret: string,
) => Promise<{ readonly userId: number; isRight(password: string): boolean } | null>

/** The user who has signed in, and the method. */
export interface SignedIn {
  userId: number
  method: string
  /** The typed login, as far as it may be logged: the secret of a link may not. */
  login: string | null
  /** The token for the browser to keep, so that failures of other browsers do not count for it. */
  device: string
  /** Joins the transaction that opens the session: earlier failures are forgotten, the browser is remembered. */
  remember(tx: Queryable): Promise<void>
}

interface Candidate {
  id: number
  passwordHash: string | null
  accountUuid: Buffer | null
  archived: boolean
  loginDisabled: boolean
  loginValidFrom: string | null
  loginValidTo: string | null
  emailUnconfirmed: boolean
  shareEnded: boolean
}

export type SignIn = ReturnType<typeof createSignIn>

export interface SignInDependencies {
  db: Db
  events: EventLog
  passwords: Passwords
  throttle: Throttle
  accountUuids: Pick<AccountUuids, 'isRight'>
  sessions: Sessions
  /** Called with a user who has proved their identity, before they get a session. */
  verified?: (userId: number) => Promise<void>
  /** Whether a user, from there, needs a second factor. Also called for user 0, when there is no user. */
  mustPassFactor: (userId: number, remoteAddr: string) => Promise<boolean>
  directories: Pick<Directories, 'asksForPasswords' | 'verify'>
  findShare: FindShare
  strangers: Pick<AnonymousQuotas, 'admit'>
  clock?: () => Date
}

/** Limits of requests to a directory, running and waiting: it may be slow, and attempts are counted one after the other. */
const directorySizes = { concurrency: 4, maxWaiting: 200, maxWaitingOfShare: 100 }

/**
 * Checks logins and passwords against the users of this instance, and for other users against the directory. Login or email
 * identify the user.
 */
export function createSignIn({
  db,
  events,
  passwords,
  throttle,
  accountUuids,
  sessions,
  verified = async () => {},
  mustPassFactor,
  directories,
  findShare,
  strangers,
  clock = () => new Date(),
}: SignInDependencies) {
  const limiter = createLimiter(directorySizes)
  let failures = 0

  async function recordFailure(
    credentials: Credentials,
    open: OpenAttempt,
    user: Candidate | null,
    error: string,
    byLink = false,
  ): Promise<void> {
    failures++
    const { clientId, remoteAddr } = credentials
    const [first] = credentials.methods ?? passwordMethods
    const method = byLink ? 'collection' : first
    // Also done without a user: an unknown login takes as long.
    const actor = await sessions.actorOfUser(user?.id ?? 0, remoteAddr)
    await db.transaction(async (tx) => {
      const attempt = await throttle.failed(tx, open)
      // The typed login is kept for known users only: people type passwords into the wrong field.
      const info = {
        method,
        client: clientId,
        attempt,
        error,
        ...(user && !byLink ? { login: credentials.login } : {}),
      }
      await events.append(tx, [
        { type: 'USER_LOGIN_FAILED', actor, info, ...(user ? { basetype: 'user', objectId: user.id } : {}) },
      ])
    })
  }

  /**
   * The user of these credentials; `null` when they are wrong or the user may not sign in. An unknown login costs as
   * much time as a wrong password, with a directory too.
   * @throws {AppError} `TooManyAttempts` while they are blocked from there; `ServiceUnavailable` when they are wrong here and the
   * directory cannot be reached.
   */
  async function verify(credentials: Credentials): Promise<SignedIn | Refused | null> {
    const loginKey = identityKey(credentials.login)
    const { methods = passwordMethods } = credentials
    const named = await findCandidate(db, loginKey)
    // Always called: otherwise the time would reveal whether there is such a login.
    const found = methods.includes('collection') ? await findShare(credentials.login) : null
    const share = named ? null : found
    const user = named ?? (share && (await findCandidateById(db, share.userId)))
    const { remoteAddr, device } = credentials
    const account = user ? `user ${user.id}` : `name ${loginKey}`
    const attempt: Attempt = { account, userId: user?.id ?? null, remoteAddr, device }
    const site = siteOf(remoteAddr)
    const asksDirectory = methods.includes('ldap') && directories.asksForPasswords()
    const [first, ...others] = methods
    if (asksDirectory && first === 'ldap' && others.length > 0) {
      return limiter.run(() => directoryFirst({ ...credentials, methods: others }, attempt), site)
    }
    // Before the password, and for everybody: the answer takes the same time for every user and every password.
    const tooLittle = credentials.passwordOnly === true && (await mustPassFactor(user?.id ?? 0, remoteAddr))
    let open: OpenAttempt | undefined
    const wrong = user ? 'wrong password' : 'unknown login'
    const hash = methods.includes('native') ? (user?.passwordHash ?? null) : null
    const uuid = methods.includes('email') ? (user?.accountUuid ?? null) : null
    let method: PasswordMethod = 'native'
    // A UUID is checked in its turn, like a password, and after the same amount of work.
    const fitsUuid = async (): Promise<boolean> => {
      if (share) {
        method = 'collection'
        return share.isRight(credentials.password)
      }
      if (user === null || uuid === null) return false
      method = 'email'
      return accountUuids.isRight(user.id, uuid, credentials.password)
    }
    const fits = await passwords.verify(credentials.password, hash, {
      share: site,
      before: async () => {
        open = await throttle.open(db, attempt)
      },
      otherwise: fitsUuid,
      failed: async () => {
        if (open && (!asksDirectory || share)) await recordFailure(credentials, open, user, wrong, share !== null)
      },
    })
    const obstacle = !fits ? wrong : tooLittle ? 'second factor required' : user && signInObstacle(user, clock())
    if (user && open && obstacle === null) {
      // A link opens a session for everybody who has it, as often as it is opened.
      if (share) await strangers.admit(remoteAddr)
      await verified(user.id)
      return signedIn(user.id, method, open, { ...attempt, login: share ? null : credentials.login })
    }
    // The directory is asked even after a refusal here: otherwise the time would reveal that the password was right.
    if (asksDirectory && !share)
      return limiter.run(() => byDirectory(credentials, attempt, user, obstacle ?? wrong), site)
    if (open && fits) await recordFailure(credentials, open, user, obstacle ?? wrong, share !== null)
    return null
  }

  async function byDirectory(
    credentials: Credentials,
    attempt: Attempt,
    user: Candidate | null,
    error: string,
  ): Promise<SignedIn | Refused | null> {
    const { open, answer, found } = await askDirectory(credentials, attempt)
    if (found) return found
    const why = { user: 'second factor required', nobody: error, refused: 'refused', unavailable: error }[answer.kind]
    await recordFailure(credentials, open, user, why)
    return toldBy(answer)
  }

  /** The directory was named before other methods (CLIENT-020), which are tried when it refuses: they count the failure. */
  async function directoryFirst(credentials: Credentials, attempt: Attempt): Promise<SignedIn | Refused | null> {
    const { answer, found } = await askDirectory(credentials, attempt)
    return found ?? (await verify(credentials)) ?? toldBy(answer)
  }

  /** `found`: the user who may sign in according to the directory. */
  async function askDirectory({ login, password, remoteAddr, passwordOnly }: Credentials, attempt: Attempt) {
    // Other attempts may have failed while this one waited.
    let open = await throttle.open(db, attempt)
    // A directory finds one entry by many spellings: failures are counted for the entry, and a block is checked before its password
    // is tried.
    const answer = await directories.verify(login, password, async (entry) => {
      const ofEntry = await throttle.open(db, { ...attempt, account: `entry ${identityKey(entry)}` })
      open = countedTogether(ofEntry, open)
    })
    // Called whatever the answer was: otherwise the time would reveal the answer.
    const userId = 'userId' in answer ? answer.userId : (attempt.userId ?? 0)
    const tooLittle = passwordOnly === true && (await mustPassFactor(userId, remoteAddr))
    const isIn = answer.kind === 'user' && !tooLittle
    return { open, answer, found: isIn ? signedIn(userId, 'ldap', open, { ...attempt, userId, login }) : null }
  }

  /** The error for a person whom neither the directory nor this instance lets in. */
  function toldBy(answer: DirectoryAnswer): Refused | null {
    if (answer.kind === 'unavailable') {
      const message = 'The directory of users cannot be asked at the moment.'
      throw new AppError('ServiceUnavailable', { directory: true }, { message })
    }
    // A user who may not sign in gets the same answer as for a wrong password.
    return answer.kind === 'refused' && answer.reason !== 'locked' ? { refused: answer.reason } : null
  }

  function signedIn(
    userId: number,
    method: PasswordMethod,
    open: OpenAttempt,
    { login, ...attempt }: Attempt & { readonly login: string | null },
  ): SignedIn {
    // Never a token that another site may have set.
    const device = (open.knownDevice && attempt.device) || newToken()
    return { userId, method, login, device, remember: (tx) => throttle.succeeded(tx, open, { ...attempt, device }) }
  }

  return {
    verify,

    /** Number of failed sign-ins in this process. */
    failures: (): number => failures,
  }
}

// An old password of an account that now uses a directory is no longer valid.
const candidate = `id, case when type = any($2) then password_hash end as "passwordHash", account_uuid as "accountUuid",
  archived_at is not null as archived, login_disabled as "loginDisabled", login_valid_from::text as "loginValidFrom",
  login_valid_to::text as "loginValidTo", confirm_email and email_confirmed_at is null as "emailUnconfirmed",
  type = 'collection' and not collection_share_open(id) as "shareEnded"`

async function findCandidateById(db: Queryable, id: number): Promise<Candidate | null> {
  const { rows } = await db.query<Candidate>(
    `select ${candidate} from "user" where id = $1`,
    [id, passwordUserTypes],
    'sign_in_share',
  )
  return rows[0] ?? null
}

/** A login comes before an email: one user's email may be another's login. */
async function findCandidate(db: Queryable, loginKey: string): Promise<Candidate | null> {
  const { rows } = await db.query<Candidate>(
    `select ${candidate}
     from "user" where login_key = $1 or email_key = $1 order by (login_key = $1) desc nulls last limit 1`,
    [loginKey, passwordUserTypes],
    'sign_in_candidate',
  )
  return rows[0] ?? null
}

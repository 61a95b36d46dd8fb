import { hash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Queryable } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'

/**
 * Failed sign-ins. `attempts` failures within `minutes` block for `minutes`, and each failure after that for twice as
 * long as the one before, up to a day. What is blocked is the login *from this network*: strangers who try passwords
 * elsewhere do not lock the owner out. A network is blocked for all logins after ten times as many failures (many people
 * may share one), and a login for all networks after a hundred times as many, if so many networks try it; but a login is
 * never blocked for a network from which its user has signed in lately, and a browser in which the user has (it has a
 * cookie) is counted for itself alone.
 *
 * Counters are hashed into 2^20 buckets of each kind: two of one bucket share their fate for those minutes. An unknown
 * login counts like a known one, so blocking tells nobody which logins exist.
 */
const bucketBits = 20
const addressFactor = 10
const loginFactor = 100
/** Minutes. */
const longestBlock = 1440
/** Of each user; the ones seen last are kept. */
const knownSources = 20
const knownDays = 90

export interface ThrottleLimits {
  /** 0: never blocks. */
  attempts: number
  minutes: number
}

/** Somebody who claims to be somebody. */
export interface Attempt {
  loginKey: string
  /** Null: nobody has this login. */
  userId: number | null
  remoteAddr: string
  /** What the browser has from an earlier sign-in. */
  device: string | null
}

interface Counter {
  bucket: number
  /** Bucket of the login that is counted; null: whatever is tried. */
  login: number | null
  /** Failures that block. */
  most: number
  /** Whether further failures block for longer and longer. */
  grows: boolean
}

/** An attempt that may be made: what counts it. */
export interface OpenAttempt {
  /** The first is the one that a success clears. */
  readonly counters: readonly Counter[]
  /** The attempt comes from a browser in which the user has signed in before. */
  readonly knownDevice: boolean
}

export type Throttle = ReturnType<typeof createThrottle>

export function createThrottle({ limits }: { limits: () => ThrottleLimits }) {
  async function assertOpen(db: Queryable, counters: readonly Counter[]): Promise<void> {
    if (limits().attempts === 0) return
    const { rows } = await db.query<{ seconds: number | null }>(
      `select ceil(extract(epoch from max(blocked_until) - now()))::int as seconds from sign_in_failure
       where bucket = any($1::int[]) and blocked_until > now()`,
      [counters.map(({ bucket }) => bucket)],
      'sign_in_blocked',
    )
    const seconds = rows[0]?.seconds
    if (seconds) throw new AppError('TooManyAttempts', { retry_after: seconds })
  }

  return {
    /** @throws {AppError} `TooManyAttempts` (429) with `retry_after` in seconds while the attempt is blocked. */
    async open(db: Queryable, attempt: Attempt): Promise<OpenAttempt> {
      const known = await findKnown(db, attempt)
      const { attempts } = limits()
      const { loginKey, device } = attempt
      const from = network(attempt.remoteAddr)
      const login = bucketOf(2, loginKey)
      const own = known.device
        ? { bucket: bucketOf(0, `device:${device}:${loginKey}`), login, most: attempts, grows: true }
        : { bucket: bucketOf(0, `${from}:${loginKey}`), login, most: attempts, grows: true }
      const ofAddress = { bucket: bucketOf(1, from), login: null, most: attempts * addressFactor, grows: false }
      const ofLogin = { bucket: login, login, most: attempts * loginFactor, grows: false }
      const counters = known.device ? [own] : known.network ? [own, ofAddress] : [own, ofAddress, ofLogin]
      await assertOpen(db, counters)
      return { counters, knownDevice: known.device }
    },

    /** The same for a user who has signed in and proves it once more: nobody else's failures count. */
    async openForUser(db: Queryable, userId: number): Promise<OpenAttempt> {
      const bucket = bucketOf(0, `user:${userId}`)
      const counters = [{ bucket, login: null, most: limits().attempts, grows: true }]
      await assertOpen(db, counters)
      return { counters, knownDevice: false }
    },

    /** Something that any network may ask for a few times only; each time is counted with `failed`. */
    async openForNetwork(db: Queryable, what: string, remoteAddr: string): Promise<OpenAttempt> {
      const bucket = bucketOf(0, `${what}:${network(remoteAddr)}`)
      const counters = [{ bucket, login: null, most: limits().attempts, grows: true }]
      await assertOpen(db, counters)
      return { counters, knownDevice: false }
    },

    /**
     * The same for the second factor of a user. Whoever gets here knows the password, so the user is blocked wherever the
     * next attempt comes from: six digits would be guessed otherwise.
     */
    async openForFactor(db: Queryable, userId: number, remoteAddr: string): Promise<OpenAttempt> {
      const { attempts } = limits()
      const own = { bucket: bucketOf(0, factorKey(userId)), login: bucketOf(2, factorKey(userId)) }
      const ofAddress = { bucket: bucketOf(1, network(remoteAddr)), login: null, most: attempts * addressFactor }
      const counters = [
        { ...own, most: attempts, grows: true },
        { ...ofAddress, grows: false },
      ]
      await assertOpen(db, counters)
      return { counters, knownDevice: false }
    },

    /** Counts a failure; returns how many there have been of this login from there. */
    async failed(db: Queryable, { counters }: OpenAttempt): Promise<number> {
      const { attempts, minutes } = limits()
      if (attempts === 0) return 0
      await db.query(
        `delete from sign_in_failure where bucket in
           (select bucket from sign_in_failure where forget_at <= now() limit 20 for update skip locked)`,
      )
      const { rows } = await db.query<{ bucket: number; failures: number }>(
        `insert into sign_in_failure as f (bucket, login_bucket, failures, forget_at)
         select b, l, 1, now() + make_interval(mins => $3) from unnest($1::int[], $2::int[]) as c (b, l) order by b
         on conflict (bucket) do update set
           failures = case when f.forget_at <= now() then 1 else f.failures + 1 end,
           blocked_until = case when f.forget_at <= now() then null else f.blocked_until end,
           forget_at = case when f.forget_at <= now() then excluded.forget_at else f.forget_at end
         returning bucket, failures`,
        [counters.map(({ bucket }) => bucket), counters.map(({ login }) => login), minutes],
        'sign_in_failed',
      )
      const failures = new Map(rows.map((row) => [row.bucket, row.failures]))
      const blocked = counters.filter(({ bucket, most }) => (failures.get(bucket) ?? 0) >= most)
      await block(
        db,
        blocked.map((counter) => [counter.bucket, blockFor(counter, failures.get(counter.bucket) ?? 0, minutes)]),
      )
      return failures.get(counters[0]?.bucket ?? -1) ?? 0
    },

    /** Nothing that was tried before blocks these logins any more. */
    async forgive(db: Queryable, loginKeys: readonly string[]): Promise<void> {
      const logins = loginKeys.map((key) => bucketOf(2, key))
      await db.query('delete from sign_in_failure where login_bucket = any($1::int[])', [logins])
    },

    /** The same for the second factors of users. */
    async forgiveFactors(db: Queryable, userIds: readonly number[]): Promise<void> {
      const users = userIds.map((id) => bucketOf(2, factorKey(id)))
      await db.query('delete from sign_in_failure where login_bucket = any($1::int[])', [users])
    },

    /** A success of somebody who was known already: clears what counted for them. */
    async cleared(db: Queryable, { counters }: OpenAttempt): Promise<void> {
      await db.query('delete from sign_in_failure where bucket = $1', [counters[0]?.bucket], 'sign_in_clear')
    },

    /**
     * A success clears the login from there and remembers browser and network. The network keeps its count: it may be
     * trying other logins.
     */
    async succeeded(db: Queryable, { counters }: OpenAttempt, attempt: Attempt): Promise<void> {
      await db.query('delete from sign_in_failure where bucket = $1', [counters[0]?.bucket], 'sign_in_clear')
      if (attempt.userId === null) return
      const sources = [networkHash(attempt), ...(attempt.device === null ? [] : [deviceHash(attempt.device)])]
      await db.query(
        `with seen as (
           insert into known_source (user_id, hash, seen_at) select $1, h, now() from unnest($2::bytea[]) as h
           order by h on conflict (user_id, hash) do update set seen_at = now()
         )
         delete from known_source where user_id = $1 and not hash = any($2) and (seen_at < now() - make_interval(days => $4)
           or hash in (select hash from known_source where user_id = $1 and not hash = any($2)
             order by seen_at desc offset $3))`,
        [attempt.userId, sources, knownSources - sources.length, knownDays],
        'known_source_seen',
      )
    },
  }
}

/** Minutes. */
function blockFor({ most, grows }: Counter, failures: number, minutes: number): number {
  return grows ? Math.max(minutes, Math.min(longestBlock, minutes * 2 ** (failures - most))) : minutes
}

/** Counts go on for as long again, so that whoever only waits for the end of a block is blocked for longer. */
async function block(db: Queryable, blocks: readonly (readonly [bucket: number, minutes: number])[]): Promise<void> {
  if (blocks.length === 0) return
  await db.query(
    `update sign_in_failure f set blocked_until = now() + make_interval(mins => b.minutes),
       forget_at = greatest(f.forget_at, now() + make_interval(mins => 2 * b.minutes))
     from unnest($1::int[], $2::int[]) as b (bucket, minutes) where f.bucket = b.bucket`,
    [blocks.map(([bucket]) => bucket), blocks.map(([, minutes]) => minutes)],
    'sign_in_block',
  )
}

async function findKnown(db: Queryable, attempt: Attempt): Promise<{ device: boolean; network: boolean }> {
  // Asked for unknown logins too, so that they take as long.
  const ofNetwork = networkHash(attempt)
  const ofDevice = attempt.device === null ? null : deviceHash(attempt.device)
  const { rows } = await db.query<{ hash: Buffer }>(
    `select hash from known_source
     where user_id = $1 and hash = any($2::bytea[]) and seen_at > now() - make_interval(days => $3)`,
    [attempt.userId ?? 0, ofDevice ? [ofNetwork, ofDevice] : [ofNetwork], knownDays],
    'known_source',
  )
  return {
    device: ofDevice !== null && rows.some(({ hash }) => hash.equals(ofDevice)),
    network: rows.some(({ hash }) => hash.equals(ofNetwork)),
  }
}

const factorKey = (userId: number): string => `factor:${userId}`
const networkHash = ({ remoteAddr }: Attempt): Buffer => hash('sha256', `network:${network(remoteAddr)}`, 'buffer')
const deviceHash = (device: string): Buffer => hash('sha256', `device:${device}`, 'buffer')

function bucketOf(kind: number, key: string): number {
  return (kind << bucketBits) + (hash('sha256', `${kind}:${key}`, 'buffer').readUInt32BE(0) >>> (32 - bucketBits))
}

/** A subscriber usually has a whole /64 of IPv6 addresses. */
function network(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address.replace('::ffff:', '')
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after]
    .slice(0, 4)
    .map((part) => part.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')
}

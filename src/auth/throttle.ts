import { hash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Queryable } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'

/**
 * Failed sign-ins are counted per login and per address. `attempts` failures of a login within `minutes` block it for
 * `minutes`, whatever address they came from; an address is blocked after ten times as many, since many people may
 * share one. Both are hashed into 2^20 buckets (see the table): two logins in one bucket share their fate for those
 * minutes. An unknown login counts like a known one, so blocking tells nobody which logins exist.
 */
const bucketBits = 20
const addressFactor = 10

export interface ThrottleLimits {
  /** 0: never blocks. */
  attempts: number
  minutes: number
}

export interface Attempt {
  loginKey: string
  remoteAddr: string
}

export type Throttle = ReturnType<typeof createThrottle>

export function createThrottle({ limits }: { limits: () => ThrottleLimits }) {
  return {
    /** @throws {AppError} `TooManyAttempts` (429) with `retry_after` in seconds while login or address are blocked. */
    async assertOpen(db: Queryable, attempt: Attempt): Promise<void> {
      const { attempts } = limits()
      if (attempts === 0) return
      const { rows } = await db.query<{ seconds: number | null }>(
        `select ceil(extract(epoch from max(until) - now()))::int as seconds from login_failure
         where until > now() and ((bucket = $1 and failures >= $3) or (bucket = $2 and failures >= $4))`,
        [...buckets(attempt), attempts, attempts * addressFactor],
        'login_failure_check',
      )
      const seconds = rows[0]?.seconds
      if (seconds) throw new AppError('TooManyAttempts', { retry_after: seconds })
    },

    /** Counts a failure; returns how many the login has had since the minutes began. */
    async failed(db: Queryable, attempt: Attempt): Promise<number> {
      const { attempts, minutes } = limits()
      if (attempts === 0) return 0
      const [login, address] = buckets(attempt)
      await db.query(
        `delete from login_failure where bucket in
           (select bucket from login_failure where until <= now() limit 20 for update skip locked)`,
      )
      const { rows } = await db.query<{ bucket: number; failures: number }>(
        `insert into login_failure as f (bucket, failures, until)
         select b, 1, now() + make_interval(mins => $2) from unnest($1::int[]) as b order by b
         on conflict (bucket) do update set
           failures = case when f.until <= now() then 1 else f.failures + 1 end,
           until = case
             when f.until <= now() or f.failures + 1 >= case when f.bucket = $3 then $4 else $4 * ${addressFactor} end
             then excluded.until else f.until end
         returning bucket, failures`,
        [[login, address], minutes, login, attempts],
        'login_failure_count',
      )
      return rows.find((row) => row.bucket === login)?.failures ?? 0
    },

    /** A success clears the login. The address keeps its count: it may be trying other logins. */
    async succeeded(db: Queryable, attempt: Attempt): Promise<void> {
      await db.query('delete from login_failure where bucket = $1', [buckets(attempt)[0]], 'login_failure_clear')
    },
  }
}

function buckets({ loginKey, remoteAddr }: Attempt): [login: number, address: number] {
  return [bucketOf(`login:${loginKey}`), (1 << bucketBits) + bucketOf(`address:${network(remoteAddr)}`)]
}

function bucketOf(key: string): number {
  return hash('sha256', key, 'buffer').readUInt32BE(0) >>> (32 - bucketBits)
}

/** A subscriber usually has a whole /64 of IPv6 addresses. */
function network(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address.replace('::ffff:', '')
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}

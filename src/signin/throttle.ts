import { createHmac, hash } from 'node:crypto'
import { AppError } from '../platform/errors.ts'
import { networkOf } from '../platform/limits/callers.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { Seal } from '../platform/secrets/seal.ts'

/**
 * Failed sign-ins. `attempts` failures within `minutes` block for `minutes`, and each failure after that for twice as long as the
 * one before, up to a day. The block is for the account *from this network*: strangers who try passwords elsewhere do not lock the
 * owner out. A network is blocked for all accounts after ten times as many failures (many people may share one), and an account for
 * all networks after a hundred times as many, if so many networks try it; but an account is never blocked for a network from which
 * its user has signed in lately. A browser in which the user has signed in (it has a cookie) is counted separately.
 *
 * Failures are counted for the target of a name (a user, an entry of a directory, a client), so that another spelling gives no
 * further attempts. A name without a target counts in the same way, so blocking does not reveal which logins exist. The name of a
 * counter is an HMAC over its kind and its target, with a key that is not in the database: two counters never collide, and an
 * outsider cannot compute one.
 */
const addressFactor = 10
const loginFactor = 100
/** Minutes. */
const longestBlock = 1440
/** Number of networks that are remembered for each user, the latest ones. */
const knownSources = 20
const knownDays = 90

export interface ThrottleLimits {
  /** 0: never blocks. */
  attempts: number
  minutes: number
}

/** An attempt to sign in as an account. */
export interface Attempt {
  /** The counted account: the target of the name, else the name itself. */
  account: string
  /** Null: no user has this login. */
  userId: number | null
  remoteAddr: string
  /** The device token of the browser from an earlier sign-in. */
  device: string | null
}

interface Counter {
  readonly name: Buffer
  /** The user whose attempts it blocks, for resetting the counters of a user; null: not for a single user. */
  readonly about: string | null
  /** Number of failures that block. */
  readonly most: number
  /** Whether the block grows with further failures. */
  readonly grows: boolean
}

/** An attempt that is not blocked, with its counters. */
export interface OpenAttempt {
  readonly counters: readonly Counter[]
  /** Number of counters, from the first on, that a success clears. */
  readonly own: number
  /** The attempt comes from a browser in which the user has signed in before. */
  readonly knownDevice: boolean
}

type Kind = 'account' | 'device' | 'everywhere' | 'network' | 'user' | 'once' | 'factor' | 'client' | 'clientEverywhere'

export type Throttle = ReturnType<typeof createThrottle>

export interface ThrottleDependencies {
  keyFor: Seal['keyFor']
  limits: () => ThrottleLimits
}

export function createThrottle({ keyFor, limits }: ThrottleDependencies) {
  let key: Promise<Buffer> | undefined

  function counting(): Promise<Buffer> {
    key ??= keyFor('sign-in counters').catch((error: unknown) => {
      key = undefined
      throw error
    })
    return key
  }

  async function counters(
    wanted: readonly { of: readonly [kind: Kind, ...parts: unknown[]]; about?: string; factor?: number }[],
  ): Promise<Counter[]> {
    const secret = await counting()
    return wanted.map(({ of, about = null, factor = 1 }) => ({
      name: createHmac('sha256', secret).update(JSON.stringify(of)).digest(),
      about,
      most: limits().attempts * factor,
      grows: factor === 1,
    }))
  }

  async function assertOpen(db: Queryable, counted: readonly Counter[]): Promise<void> {
    if (limits().attempts === 0) return
    const { rows } = await db.query<{ seconds: number | null }>(
      `select ceil(extract(epoch from max(blocked_until) - now()))::int as seconds from sign_in_failure
       where counter = any($1::bytea[]) and blocked_until > now()`,
      [counted.map(({ name }) => name)],
      'sign_in_blocked',
    )
    const seconds = rows[0]?.seconds
    if (seconds) throw new AppError('TooManyAttempts', { retry_after: seconds })
  }

  async function opened(db: Queryable, counted: readonly Counter[], knownDevice = false): Promise<OpenAttempt> {
    await assertOpen(db, counted)
    return { counters: counted, own: 1, knownDevice }
  }

  return {
    /** @throws {AppError} `TooManyAttempts` (429) with `retry_after` in seconds while the attempt is blocked. */
    async open(db: Queryable, attempt: Attempt): Promise<OpenAttempt> {
      const known = await findKnown(db, attempt)
      const { account, device } = attempt
      const from = networkOf(attempt.remoteAddr)
      const about = attempt.userId === null ? {} : { about: userKey(attempt.userId) }
      const own = known.device ? (['device', device, account] as const) : (['account', from, account] as const)
      const ofAddress = { of: ['network', from], factor: addressFactor } as const
      const ofAccount = { of: ['everywhere', account], factor: loginFactor, ...about } as const
      const counted = await counters([
        { of: own, ...about },
        ...(known.device ? [] : [ofAddress]),
        ...(known.device || known.network ? [] : [ofAccount]),
      ])
      return opened(db, counted, known.device)
    },

    /** The same for a user who has signed in and proves it once more: failures of other callers do not count. */
    async openForUser(db: Queryable, userId: number): Promise<OpenAttempt> {
      return opened(db, await counters([{ of: ['user', userId] }]))
    },

    /** For something that any network may request only a few times; each time is counted with `failed`. */
    async openForNetwork(db: Queryable, what: string, remoteAddr: string): Promise<OpenAttempt> {
      return opened(db, await counters([{ of: ['once', what, networkOf(remoteAddr)] }]))
    },

    /**
     * The same for the second factor of a user. A caller at this point knows the password, so the user is blocked for all networks:
     * otherwise six digits could be guessed.
     */
    async openForFactor(db: Queryable, userId: number, remoteAddr: string): Promise<OpenAttempt> {
      const counted = await counters([
        { of: ['factor', userId], about: factorKey(userId) },
        { of: ['network', networkOf(remoteAddr)], factor: addressFactor },
      ])
      return opened(db, counted)
    },

    /**
     * The same for the secret of a client, from one network; sign-ins of people from there are not affected. For a network with a
     * recent success, failures from elsewhere do not count.
     */
    async openForClient(db: Queryable, clientId: string, remoteAddr: string): Promise<OpenAttempt> {
      const { rowCount: known } = await db.query(
        `select from known_client_source
         where client_id = $1 and hash = $2 and seen_at > now() - make_interval(days => $3)`,
        [clientId, networkHash({ remoteAddr }), knownDays],
        'known_client_source',
      )
      const counted = await counters([
        { of: ['client', networkOf(remoteAddr), clientId] },
        ...(known === 1 ? [] : [{ of: ['clientEverywhere', clientId], factor: loginFactor } as const]),
      ])
      return opened(db, counted)
    },

    /** The secret of a client was right from this network: its failures are deleted, the network is remembered. */
    async clientSucceeded(db: Queryable, open: OpenAttempt, clientId: string, remoteAddr: string): Promise<void> {
      await clear(db, open)
      await db.query(
        `with seen as (
           insert into known_client_source (client_id, hash) values ($1, $2)
           on conflict (client_id, hash) do update set seen_at = now()
         )
         delete from known_client_source where client_id = $1 and hash <> $2
           and (seen_at < now() - make_interval(days => $4) or hash in (
             select hash from known_client_source where client_id = $1 and hash <> $2 order by seen_at desc offset $3))`,
        [clientId, networkHash({ remoteAddr }), knownSources - 1, knownDays],
        'known_client_source_seen',
      )
    },

    /** Counts a failure; returns the number of failures for this account from there. */
    async failed(db: Queryable, { counters }: OpenAttempt): Promise<number> {
      const { attempts, minutes } = limits()
      if (attempts === 0) return 0
      await db.query(
        `delete from sign_in_failure where counter in
           (select counter from sign_in_failure where forget_at <= now() limit 20 for update skip locked)`,
      )
      const { rows } = await db.query<{ counter: Buffer; failures: number }>(
        `insert into sign_in_failure as f (counter, about, failures, forget_at)
         select c, a, 1, now() + make_interval(mins => $3) from unnest($1::bytea[], $2::text[]) as n (c, a) order by c
         on conflict (counter) do update set
           about = excluded.about,
           failures = case when f.forget_at <= now() then 1 else f.failures + 1 end,
           blocked_until = case when f.forget_at <= now() then null else f.blocked_until end,
           forget_at = case when f.forget_at <= now() then excluded.forget_at else f.forget_at end
         returning counter, failures`,
        [counters.map(({ name }) => name), counters.map(({ about }) => about), minutes],
        'sign_in_failed',
      )
      const failures = new Map(rows.map((row) => [row.counter.toString('hex'), row.failures]))
      const failuresOf = ({ name }: Counter): number => failures.get(name.toString('hex')) ?? 0
      const blocked = counters.filter((counter) => failuresOf(counter) >= counter.most)
      await block(
        db,
        blocked.map((counter) => [counter.name, blockFor(counter, failuresOf(counter), minutes)]),
      )
      const [first] = counters
      return first ? failuresOf(first) : 0
    },

    /** A success of a known user: clears the counters for it. */
    async cleared(db: Queryable, open: OpenAttempt): Promise<void> {
      await clear(db, open)
    },

    /**
     * A success clears the login from there and remembers browser and network. The network keeps its count: it may be
     * trying other logins.
     */
    async succeeded(db: Queryable, open: OpenAttempt, attempt: Attempt): Promise<void> {
      await clear(db, open)
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

/**
 * A block extends the life of the counters, so that a caller who only waits for the end of a block is blocked for longer next time.
 */
async function block(db: Queryable, blocks: readonly (readonly [counter: Buffer, minutes: number])[]): Promise<void> {
  if (blocks.length === 0) return
  await db.query(
    `update sign_in_failure f set blocked_until = now() + make_interval(mins => b.minutes),
       forget_at = greatest(f.forget_at, now() + make_interval(mins => 2 * b.minutes))
     from unnest($1::bytea[], $2::int[]) as b (counter, minutes) where f.counter = b.counter`,
    [blocks.map(([counter]) => counter), blocks.map(([, minutes]) => minutes)],
    'sign_in_block',
  )
}

async function findKnown(db: Queryable, attempt: Attempt): Promise<{ device: boolean; network: boolean }> {
  // Also read for unknown logins, so that they take the same time.
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

async function clear(db: Queryable, { counters, own }: OpenAttempt): Promise<void> {
  const names = counters.slice(0, own).map(({ name }) => name)
  await db.query('delete from sign_in_failure where counter = any($1::bytea[])', [names], 'sign_in_clear')
}

/** One attempt that counts for two names, such as the typed login and its target. */
export function countedTogether(first: OpenAttempt, second: OpenAttempt): OpenAttempt {
  const own = [...first.counters.slice(0, first.own), ...second.counters.slice(0, second.own)]
  const all = new Map([...own, ...first.counters, ...second.counters].map((one) => [one.name.toString('hex'), one]))
  return { counters: [...all.values()], own: own.length, knownDevice: first.knownDevice || second.knownDevice }
}

/** No earlier attempt blocks the sign-in of these users any more. */
export async function forgiveSignIns(db: Queryable, userIds: readonly number[]): Promise<void> {
  await db.query('delete from sign_in_failure where about = any($1::text[])', [userIds.map(userKey)])
}

/** The same for their second factors. */
export async function forgiveFactors(db: Queryable, userIds: readonly number[]): Promise<void> {
  await db.query('delete from sign_in_failure where about = any($1::text[])', [userIds.map(factorKey)])
}

const userKey = (userId: number): string => `user:${userId}`
const factorKey = (userId: number): string => `factor:${userId}`
const networkHash = ({ remoteAddr }: Pick<Attempt, 'remoteAddr'>): Buffer =>
  hash('sha256', `network:${networkOf(remoteAddr)}`, 'buffer')
const deviceHash = (device: string): Buffer => hash('sha256', `device:${device}`, 'buffer')

import { quotaExceeded } from '../limits/callers.ts'
import type { Queryable } from './db.ts'

/** The counts of one caller, and the limits within an hour. */
export interface HourlyShare {
  readonly caller: string
  readonly mostRows: number
  readonly mostBytes?: number
}

/** The names of the settings with the limits: for the text of a refusal. */
export interface HourlyQuota {
  readonly rows: string
  readonly bytes?: string
}

export interface Used {
  readonly rows: number
  readonly bytes?: number
}

/** The use of a caller so far, and the seconds until counting begins anew. */
export interface HourlyUse {
  readonly rows: number
  readonly bytes: number
  readonly seconds: number
}

interface Row extends HourlyUse {
  readonly caller: string
  readonly added: boolean
}

/**
 * Counts data that is about to be stored for callers, for all processes together. The hour of a caller begins with its first use.
 * It is one statement with a separate commit, so that no transaction waits for another one of the same caller.
 * @throws {AppError} `QuotaExceeded`
 */
export async function useHourly(
  db: Queryable,
  quota: HourlyQuota,
  shares: readonly HourlyShare[],
  { rows, bytes = 0 }: Used,
): Promise<ReadonlyMap<string, HourlyUse>> {
  const result = await db.query<Row>(
    `insert into quota_use as q (quota, caller, until, count, bytes)
     select $1, caller, now() + interval '1 hour', $3, $4 from unnest($2::text[]) as s (caller) order by caller
     on conflict (quota, caller) do update set
       until = case when q.until <= now() then excluded.until else q.until end,
       count = case when q.until <= now() then 0 else q.count end + excluded.count,
       bytes = case when q.until <= now() then 0 else q.bytes end + excluded.bytes
     returning caller, count as rows, bytes, ceil(extract(epoch from until - now()))::int as seconds, xmax = 0 as added`,
    [quota.rows, shares.map(({ caller }) => caller), rows, bytes],
    'quota_use',
  )
  // Each new row removes some old ones: so the table has no more rows than there are callers in about an hour.
  if (result.rows.some(({ added }) => added)) await forgetPast(db)
  const used = new Map(result.rows.map((row) => [row.caller, row]))
  for (const { caller, mostRows, mostBytes = Number.POSITIVE_INFINITY } of shares) {
    const row = used.get(caller)
    if (!row) continue
    if (row.rows > mostRows) throw quotaExceeded(quota.rows, mostRows, row.seconds)
    if (row.bytes > mostBytes) throw quotaExceeded(quota.bytes ?? quota.rows, mostBytes, row.seconds)
  }
  return used
}

/**
 * Counts so many for one caller where all of them fit, and else none: one statement with a commit of its own, before the
 * transaction that uses them. What is not used is given back by `refundHourly`.
 * @throws {AppError} `QuotaExceeded`
 */
export async function reserveHourly(
  db: Queryable,
  quota: HourlyQuota,
  { caller, mostRows }: Pick<HourlyShare, 'caller' | 'mostRows'>,
  rows: number,
): Promise<void> {
  if (rows > mostRows) throw quotaExceeded(quota.rows, mostRows, 3600)
  const counted = await db.query<{ added: boolean }>(
    `insert into quota_use as q (quota, caller, until, count, bytes) values ($1, $2, now() + interval '1 hour', $3, 0)
     on conflict (quota, caller) do update set
       until = case when q.until <= now() then excluded.until else q.until end,
       count = case when q.until <= now() then 0 else q.count end + excluded.count
     where case when q.until <= now() then 0 else q.count end + excluded.count <= $4
     returning xmax = 0 as added`,
    [quota.rows, caller, rows, mostRows],
    'quota_reserve',
  )
  if (counted.rows[0]?.added) await forgetPast(db)
  if (counted.rows.length > 0) return
  const { rows: found } = await db.query<{ seconds: number }>(
    `select ceil(extract(epoch from until - now()))::int as seconds from quota_use where quota = $1 and caller = $2`,
    [quota.rows, caller],
    'quota_seconds',
  )
  throw quotaExceeded(quota.rows, mostRows, found[0]?.seconds ?? 0)
}

/** Gives back so many each, where what was counted turns out not to count. */
export async function refundHourly(
  db: Queryable,
  quota: HourlyQuota,
  callers: readonly string[],
  rows = 1,
): Promise<void> {
  if (callers.length === 0) return
  await db.query(
    'update quota_use set count = greatest(0, count - $3::int) where quota = $1 and caller = any($2::text[])',
    [quota.rows, callers, rows],
    'quota_refund',
  )
}

async function forgetPast(db: Queryable): Promise<void> {
  await db.query(
    `delete from quota_use where (quota, caller) in
       (select quota, caller from quota_use where until <= now() order by until limit 20 for update skip locked)`,
    [],
    'quota_use_clean',
  )
}

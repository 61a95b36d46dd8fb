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

/** Returns one to each caller, for something that was counted but then did not happen. */
export async function refundHourly(db: Queryable, quota: HourlyQuota, callers: readonly string[]): Promise<void> {
  if (callers.length === 0) return
  await db.query(
    'update quota_use set count = greatest(0, count - 1) where quota = $1 and caller = any($2::text[])',
    [quota.rows, callers],
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

import type { MomentRange } from './plan/plan.ts'

/** What timestamps of PostgreSQL can hold, in seconds. */
const earliest = -200_000_000_000n
const latest = 9_000_000_000_000n

/** Whether a timestamp is within a range of whole seconds; `value` gives what stands for a parameter. */
export function momentSql(
  column: string,
  { from, to }: MomentRange,
  value: (value: string, type: string) => string,
): string {
  const clamp = (second: bigint): string => String(second < earliest ? earliest : second > latest ? latest : second)
  const parts: string[] = []
  if (from !== null) parts.push(`${column} >= to_timestamp(${value(clamp(from), 'float8')})`)
  // A moment is a whole second, and what is stored has parts of it.
  if (to !== null) parts.push(`${column} < to_timestamp(${value(clamp(to + 1n), 'float8')})`)
  return parts.length === 0 ? 'true' : `(${parts.join(' and ')})`
}

import type { MomentRange } from './plan/plan.ts'

/** The range of PostgreSQL timestamps, in seconds. */
const earliest = -200_000_000_000n
const latest = 9_000_000_000_000n

/** SQL condition: the timestamp is within a range of whole seconds. `value` adds a parameter and gives its placeholder. */
export function momentSql(
  column: string,
  { from, to }: MomentRange,
  value: (value: string, type: string) => string,
): string {
  const clamp = (second: bigint): string => String(second < earliest ? earliest : second > latest ? latest : second)
  const parts: string[] = []
  if (from !== null) parts.push(`${column} >= to_timestamp(${value(clamp(from), 'float8')})`)
  // A moment is a whole second, but stored timestamps have fractions of a second.
  if (to !== null) parts.push(`${column} < to_timestamp(${value(clamp(to + 1n), 'float8')})`)
  return parts.length === 0 ? 'true' : `(${parts.join(' and ')})`
}

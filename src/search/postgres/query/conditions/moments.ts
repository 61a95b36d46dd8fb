import type { ChangeClause, MomentRange } from '../../../plan/plan.ts'
import { type DocumentSql, documentSql } from '../sql/of-document.ts'
import type { Parameters } from '../sql/sql.ts'

/** What timestamps of PostgreSQL can hold, in seconds. */
const earliest = -200_000_000_000n
const latest = 9_000_000_000_000n

export function momentSql(column: string, { from, to }: MomentRange, parameters: Parameters): DocumentSql {
  const clamp = (value: bigint): string => String(value < earliest ? earliest : value > latest ? latest : value)
  const parts: string[] = []
  if (from !== null) parts.push(`${column} >= to_timestamp(${parameters.add(clamp(from), 'float8')})`)
  if (to !== null) parts.push(`${column} < to_timestamp(${parameters.add(clamp(to + 1n), 'float8')})`)
  return documentSql(parts.length === 0 ? 'true' : parts.join(' and '))
}

export function changedSql(
  { range, operations, comment, userId }: ChangeClause,
  alias: string,
  parameters: Parameters,
): string {
  const parts = [`v.system_object_id = ${alias}.id`, momentSql('v.at', range, parameters).text]
  if (operations) parts.push(`v.operation = any(${parameters.add(operations, '"char"[]')})`)
  if (userId !== null) parts.push(`v.by_user = ${parameters.add(userId, 'bigint')}`)
  if (comment !== null) {
    parts.push(`v.comment ilike ${parameters.add(`%${comment.replace(/[\\%_]/g, '\\$&')}%`, 'text')}`)
  }
  return `exists (select from object_version v where ${parts.join(' and ')})`
}

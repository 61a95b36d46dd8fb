import { momentSql } from '../../../moment-sql.ts'
import type { ChangeClause, MomentRange } from '../../../plan/plan.ts'
import { type DocumentSql, documentSql } from '../sql/of-document.ts'
import type { Parameters } from '../sql/sql.ts'

export function momentCondition(column: string, range: MomentRange, parameters: Parameters): DocumentSql {
  return documentSql(momentSql(column, range, (value, type) => parameters.add(value, type)))
}

export function changedSql(
  { range, operations, comment, userId }: ChangeClause,
  alias: string,
  parameters: Parameters,
): string {
  const parts = [`v.system_object_id = ${alias}.id`, momentCondition('v.at', range, parameters).text]
  if (operations) parts.push(`v.operation = any(${parameters.add(operations, '"char"[]')})`)
  if (userId !== null) parts.push(`v.by_user = ${parameters.add(userId, 'bigint')}`)
  if (comment !== null) {
    parts.push(`v.comment ilike ${parameters.add(`%${comment.replace(/[\\%_]/g, '\\$&')}%`, 'text')}`)
  }
  return `exists (select from object_version v where ${parts.join(' and ')})`
}

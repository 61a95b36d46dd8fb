import type { Queryable } from '../platform/postgres/db.ts'
import type { EventFilter, SortField, SortKey } from './filter.ts'

/** A filter with its look-ups done: the users of the requested groups and user types. */
export interface ResolvedFilter extends EventFilter {
  /** Users of the groups of `groupIds`. */
  groupUserIds?: readonly number[]
  /** Users of the types of `userTypes`. */
  typeUserIds?: readonly number[]
}

const sortColumns: Record<SortField, string> = {
  _id: 'id',
  type: 'type',
  schema: 'schema',
  object_id: 'object_id',
  system_object_id: 'system_object_id',
  object_version: 'object_version',
  timestamp: 'at',
  // In the order in which people sort names, not by code points.
  user_generated_displayname: 'user_displayname collate "und-x-icu"',
}

interface Condition {
  sql: string
  values: unknown[]
}

/** The filter as SQL; every value is a parameter. */
export function condition(filter: ResolvedFilter): Condition {
  const values: unknown[] = []
  const parts: string[] = []
  const bind = (value: unknown): string => `$${values.push(value)}`
  const any = (column: string, list: readonly unknown[] | undefined, type: string) => {
    if (list) parts.push(`${column} = any(${bind(list)}::${type}[])`)
  }
  if (filter.ids) {
    parts.push(`(${filter.ids.map(([from, to]) => `id between ${bind(from)} and ${bind(to)}`).join(' or ')})`)
  }
  any('pollable', filter.pollable, 'boolean')
  any('type', filter.types, 'text')
  any('basetype', filter.basetypes, 'text')
  any('objecttype', filter.objecttypes, 'text')
  any('user_id', filter.userIds, 'bigint')
  any('user_id', filter.typeUserIds, 'bigint')
  any('object_id', filter.objectIds, 'bigint')
  any('system_object_id', filter.systemObjectIds, 'bigint')
  if (filter.groupIds) {
    const about = `basetype = 'group' and object_id = any(${bind(filter.groupIds)}::bigint[])`
    parts.push(`(user_id = any(${bind(filter.groupUserIds ?? [])}::bigint[]) or ${about})`)
  }
  if (filter.from) parts.push(`at >= ${bind(filter.from.toISOString())}::timestamptz`)
  if (filter.to) parts.push(`at < ${bind(filter.to.toISOString())}::timestamptz`)
  return { sql: parts.length > 0 ? `where ${parts.join(' and ')}` : '', values }
}

export async function countEvents(db: Queryable, filter: ResolvedFilter): Promise<number> {
  const { sql, values } = condition(filter)
  const { rows } = await db.query<{ count: number }>(`select count(*) as count from event ${sql}`, values)
  return rows[0]?.count ?? 0
}

/**
 * The ids of one page in order, as comma-separated text: an unlimited list of millions of events then costs eight
 * bytes an event here, and no transaction stays open while a slow client reads. `limit` 0 is unlimited.
 */
export async function pageOfIds(
  db: Queryable,
  filter: ResolvedFilter,
  sort: readonly SortKey[],
  { offset, limit }: { offset: number; limit: number },
): Promise<string> {
  const { sql, values } = condition(filter)
  const keys = sort.map(({ field, descending }) => `${sortColumns[field]} ${descending ? 'desc' : 'asc'} nulls last`)
  if (!sort.some(({ field }) => field === '_id')) keys.push('id desc')
  const page = [`offset $${values.push(offset)}`, ...(limit > 0 ? [`limit $${values.push(limit)}`] : [])].join(' ')
  const { rows } = await db.query<{ ids: string | null }>(
    `select string_agg(id::text, ',') as ids from (select id from event ${sql} order by ${keys.join(', ')} ${page}) as page`,
    values,
  )
  return rows[0]?.ids ?? ''
}

/** Deletes matching events, at most `limit` (0: all), the oldest first. Returns the number deleted. */
export async function deleteMatching(tx: Queryable, filter: ResolvedFilter, limit: number): Promise<number> {
  const { sql, values } = condition(filter)
  if (limit === 0) return (await tx.query(`delete from event ${sql}`, values)).rowCount
  const oldest = `select id from event ${sql} order by id limit $${values.push(limit)}`
  return (await tx.query(`delete from event where id in (${oldest})`, values)).rowCount
}

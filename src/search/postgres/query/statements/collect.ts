/** Stores all matches of a search in their order, inside the database: none of them is sent to this process. */
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { HitCollection } from '../../../plan/plan.ts'
import { orderBy, orderColumns } from '../order/order.ts'
import type { Statement } from './statements.ts'

/** The number of matches; null: there are more than the limit, and none is stored. */
export async function collectHits(
  db: Queryable,
  { context, parameters, where }: Statement,
  { id, most, partLength }: HitCollection,
): Promise<number | null> {
  if (where === null) return 0
  const order = orderColumns(context)
  const names = order.map((_, index) => `s${index}`)
  const columns = order.map(({ sql }, index) => `${sql} as s${index}`)
  const length = parameters.add(partLength, 'int')
  const largest = parameters.add(most, 'int')
  // They are counted before they are sorted; the count stops when it exceeds the limit.
  const { rows } = await db.query<{ count: number }>(
    ...parameters.statement(`with m as materialized (
       select d.id, ${columns.join(', ')} from search_document d where ${where} limit ${largest}::bigint + 1
     ), size as materialized (
       select count(*)::int as count from m
     ), ordered as (
       select id, row_number() over (order by ${orderBy(order, names)}) - 1 as n from m
       where (select count from size) <= ${largest}
     ), stored as (
       insert into search_point_part (point_id, part, ids)
       select ${parameters.add(id, 'uuid')}, n / ${length}, array_agg(id order by n) from ordered group by n / ${length}
     )
     select count from size`),
  )
  const count = rows[0]?.count ?? 0
  return count > most ? null : count
}

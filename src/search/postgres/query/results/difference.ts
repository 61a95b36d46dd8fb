/**
 * The changes of a result since it was cached. A document that changed since then no longer counts with its old version
 * (`search_previous_document`), and counts with its new one; all others count as before. Examining the changed documents costs
 * little in comparison with all matches, which a search for a word like `the` would otherwise walk through after every save.
 */
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { Hit } from '../../../plan/plan.ts'
import { previousKeptFor } from '../../index/previous-documents.ts'
import type { CountedText } from '../facets/facet-sets.ts'
import type { FacetColumn } from '../facets/facets.ts'
import { afterSql, orderColumns } from '../order/order.ts'
import { conditionColumns, isOfDocument, longestCondition } from '../sql/of-document.ts'
import { atMicroseconds, microseconds } from '../sql/sql.ts'
import type { Statement } from '../statements/statements.ts'

export interface Difference {
  /** Moment of the last batch of the index that it has, in microseconds since 1970. */
  readonly asOf: number
  readonly count: number
  /** By column; counts may be negative. */
  readonly facets: readonly CountedText[]
  /** Whether none of the changed documents is, or was, before the end of the page. */
  readonly samePage: boolean
}

export interface Since {
  /** Moment of the last batch that the result has. */
  readonly asOf: number
  /** Number of changed documents from which on everything is computed again. */
  readonly most: number
  readonly columns: readonly FacetColumn[]
  /** The last hit of a full page; null: any change may affect the page. */
  readonly last: Hit | null
}

/** null: the changes are not known, or too many. */
export async function readDifference(
  db: Queryable,
  { context, parameters, where }: Statement,
  { asOf, most, columns: facets, last }: Since,
): Promise<Difference | null> {
  const order = orderColumns(context)
  const sorted = order.map(({ sql }) => sql)
  const asked = [where, ...facets.map(({ sql }) => sql)]
  if (!asked.every(isOfDocument)) return null
  if (parameters.length(longestCondition) === longestCondition) return null
  const moment = atMicroseconds(parameters.add(asOf, 'bigint'))
  const behind =
    last && sorted.every(isOfDocument)
      ? `coalesce(${afterSql(order, sorted.map(String), last.sort, parameters)}, false)`
      : 'false'
  const limit = parameters.add(most, 'int')
  const named = facets.map(({ sql }, index) => `, ${sql} as f${index}`)
  const counted = facets.map(
    (
      _,
      index,
    ) => `(select json_build_array(array_to_string(array_agg(value), ','), array_to_string(array_agg(count), ','))
      from (select f${index} as value, sum(sign) as count from m where f${index} is not null group by 1 having sum(sign) <> 0) c)`,
  )
  const { rows } = await db.query<Row>(
    ...parameters.statement(`with state as materialized (
       select changed_at, coalesce(previous_since <= ${moment}, true)
         and changed_at <= ${moment} + interval '${previousKeptFor} seconds' as known from search_state
     ), changed as materialized (
       (select -1 as sign, ${conditionColumns} from search_previous_document
        where changed_until > ${moment} and changed_at <= ${moment} and (select known from state) limit ${limit} + 1)
       union all
       (select 1, ${conditionColumns} from search_document
        where changed_at > ${moment} and (select known from state) limit ${limit} + 1)
     ), few as materialized (
       select known and (select count(*) from changed) <= ${limit} as few from state
     ), m as materialized (
       select sign, ${behind} as behind${named.join('')}
       from changed d where (select few from few) and ${where}
     )
     select ${microseconds('changed_at')} as "asOf", (select few from few) as few,
       (select coalesce(sum(sign), 0)::int from m) as count,
       (select coalesce(bool_and(behind), true) from m) as "samePage",
       json_build_array(${counted.join(', ')}) as facets
     from state`),
  )
  const row = rows[0]
  if (!row?.few) return null
  return {
    asOf: row.asOf,
    count: row.count,
    facets: row.facets.map(([values, counts]) => ({ values, counts })),
    samePage: row.samePage,
  }
}

interface Row {
  asOf: number
  few: boolean
  count: number
  samePage: boolean
  facets: [values: string | null, counts: string | null][]
}

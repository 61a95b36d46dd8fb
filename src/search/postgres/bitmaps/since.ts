/** The changes of the index since a table of columns was read: these documents are matched in PostgreSQL. */
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { CountedText } from '../query/facets/facet-sets.ts'
import type { FacetColumn } from '../query/facets/facets.ts'
import { conditionColumns } from '../query/sql/of-document.ts'
import { atMicroseconds, microseconds } from '../query/sql/sql.ts'
import type { Statement } from '../query/statements/statements.ts'

export interface Since {
  /** Moment of the last batch of the index that it has, in microseconds since 1970. */
  readonly asOf: number
  /** Objects that were changed or removed. */
  readonly changed: readonly number[]
  /** The changed objects that match. */
  readonly matches: readonly number[]
  /** Counts of the matches, by column. */
  readonly facets: readonly CountedText[]
}

/** null: more than `most` have changed, or the record of changes does not go back that far. */
export async function readSince(
  db: Queryable,
  { parameters, where }: Statement,
  { asOf, most, columns }: { asOf: number; most: number; columns: readonly FacetColumn[] },
): Promise<Since | null> {
  const moment = atMicroseconds(parameters.add(asOf, 'bigint'))
  const limit = parameters.add(most, 'int')
  const counted = columns.map(
    (
      _,
      index,
    ) => `(select json_build_array(array_to_string(array_agg(value), ','), array_to_string(array_agg(count), ','))
      from (select f${index} as value, count(*) as count from m where f${index} is not null group by 1) c)`,
  )
  const { rows } = await db.query<Row>(
    ...parameters.statement(`with state as materialized (
       select changed_at, coalesce(followed_since <= ${moment}, true) as known from search_state
     ), changed as materialized (
       select ${conditionColumns} from search_document
       where changed_at > ${moment} and (select known from state) limit ${limit} + 1
     ), gone as materialized (
       select id from search_tombstone where until > ${moment} and (select known from state) limit ${limit} + 1
     ), few as materialized (
       select known and (select count(*) from changed) <= ${limit} and (select count(*) from gone) <= ${limit} as few
       from state
     ), m as materialized (
       select d.id${columns.map(({ sql }, index) => `, ${sql} as f${index}`).join('')}
       from changed d where (select few from few) and ${where}
     )
     select ${microseconds('changed_at')} as "asOf", (select few from few) as few,
       (select json_agg(id) from (select id from changed union select id from gone) c) as changed,
       (select json_agg(id) from m) as matches, json_build_array(${counted.join(', ')}) as facets
     from state`),
  )
  const row = rows[0]
  if (!row?.few) return null
  return {
    asOf: row.asOf,
    changed: row.changed ?? [],
    matches: row.matches ?? [],
    facets: row.facets.map(([values, counts]) => ({ values, counts })),
  }
}

interface Row {
  asOf: number
  few: boolean
  changed: number[] | null
  matches: number[] | null
  facets: [values: string | null, counts: string | null][]
}

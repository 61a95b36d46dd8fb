/** Changes of objects at the other end of links, since their columns were read. */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { conditionColumns } from '../query/sql/of-document.ts'
import { microseconds } from '../query/sql/sql.ts'
import type { ObjectTable } from './column.ts'
import type { SideRequest } from './linking-needs.ts'

export interface ChangedSide {
  /** Moment of the last batch of the index that it has, in microseconds since 1970. */
  readonly asOf: number
  /** Objects of any type that were changed or removed. */
  readonly changed: readonly number[]
  /** The changed objects of the type that are readable: their sets of links and of values. */
  readonly rows: readonly { readonly id: number; readonly links: number | null; readonly values: number | null }[]
}

export const unchanged = (asOf: number): ChangedSide => ({ asOf, changed: [], rows: [] })

/** With more changed documents than this, PostgreSQL answers by itself. */
const mostChanged = 1500

/** null: more have changed, or the record of changes does not go back that far. */
export async function readChangedSide(
  db: Queryable,
  { type, asOf }: ObjectTable,
  { links, values, readable }: SideRequest['sql'],
): Promise<ChangedSide | null> {
  const moment = `(timestamptz '1970-01-01 00:00:00+00' + $1::bigint * interval '1 microsecond')`
  const { rows } = await db.query<Omit<ChangedSide, 'changed' | 'rows'> & Partial<ChangedSide> & { few: boolean }>(
    `with state as materialized (
       select changed_at, coalesce(followed_since <= ${moment}, true) as known from search_state
     ), changed as materialized (
       select ${conditionColumns} from search_document
       where changed_at > ${moment} and (select known from state) limit $2::int + 1
     ), gone as materialized (
       select id from search_tombstone where until > ${moment} and (select known from state) limit $2::int + 1
     )
     select ${microseconds('changed_at')} as "asOf",
       known and (select count(*) from changed) <= $2 and (select count(*) from gone) <= $2 as few,
       (select coalesce(json_agg(id), '[]') from (select id from changed union select id from gone) c) as changed,
       (select coalesce(json_agg(json_build_object('id', id, 'links', ${links}, 'values', ${values})), '[]') from changed d
        where d.objecttype = $3 and not d.deleted and ${readable}) as rows
     from state`,
    [asOf, mostChanged, type],
  )
  const [row] = rows
  return row?.few ? { asOf: row.asOf, changed: row.changed ?? [], rows: row.rows ?? [] } : null
}

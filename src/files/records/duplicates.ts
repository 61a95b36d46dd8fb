import type { Queryable } from '../../platform/postgres/db.ts'

/** The most duplicates of one file that are answered. */
const most = 100

/** Files with the same uploaded content, by file: equal bit by bit, whatever their names. */
export async function sameContents(from: Queryable, ids: readonly number[]): Promise<Map<number, number[]>> {
  const { rows } = await from.query<{ id: number; others: number[] }>(
    `select v.file_id as id, d.others from file_version v cross join lateral (
       select array_agg(o.file_id) as others from (
         select d.file_id from file_location l join file_version d on d.location_id = l.id and d.sha256 = v.sha256
         where d.name = 'original' and d.file_id <> v.file_id order by d.file_id limit ${most}
       ) o
     ) d
     where v.file_id = any($1::bigint[]) and v.name = 'original' and d.others is not null`,
    [ids],
    'same-contents',
  )
  return new Map(rows.map(({ id, others }) => [id, others.map(Number)]))
}

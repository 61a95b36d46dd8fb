import type { Queryable } from '../../platform/postgres/db.ts'
import type { Similar } from '../model.ts'

/** A band without changes, and with each single bit changed. */
const changes = [0, ...Array.from({ length: 16 }, (_, bit) => 1 << bit)]

/** Pictures similar to a file, by file, the most similar first, at most so many of each. */
export async function similarTo(
  from: Queryable,
  ids: readonly number[],
  { bits, most }: { readonly bits: number; readonly most: number },
): Promise<Map<number, readonly Similar[]>> {
  const { rows } = await from.query<{ id: number; others: readonly Similar[] }>(
    `with asked as materialized (
       select l.file_id, l.hash, l.made_of, k.keys from file_likeness l
         join file_version v on v.file_id = l.file_id and v.name = 'original' and v.sha256 = l.made_of
         cross join lateral (
           select array_agg(band # change) as keys from unnest(l.bands) band cross join unnest($2::int[]) change
         ) k
       where l.file_id = any($1::bigint[]) and l.hash is not null
     )
     select a.file_id as id, f.others from asked a cross join lateral (
       select json_agg(json_build_object('id', o.file_id, 'bits', o.bits, 'same', o.same) order by o.same desc, o.bits, o.file_id)
         as others
       from (
         select o.file_id, bit_count((o.hash # a.hash)::bit(64)) as bits, o.made_of = a.made_of as same
         from file_likeness o
           join file_version v on v.file_id = o.file_id and v.name = 'original' and v.sha256 = o.made_of
         where o.bands && a.keys and o.file_id <> a.file_id and bit_count((o.hash # a.hash)::bit(64)) <= $3
         order by 3 desc, 2, 1 limit $4
       ) o
     ) f where f.others is not null`,
    [ids, changes, bits, most],
    'similar-files',
  )
  return new Map(rows.map(({ id, others }) => [id, others]))
}

import type { Queryable } from '../platform/postgres/db.ts'

/** `count` new ids of grants, ascending. */
export async function newGrantIds(tx: Queryable, count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await tx.query<{ id: number }>(
    `select nextval('grant_id_seq') as id from generate_series(1, $1)`,
    [count],
    'rights-new-grant-ids',
  )
  return rows.map((row) => row.id)
}

import type { Queryable } from '../platform/postgres/db.ts'

/**
 * The latest event of some types, or null. `about`: only an event whose `info` has this text under one of the names, such as the
 * custom type that an updater has processed.
 */
export async function latestEventId(
  from: Queryable,
  types: readonly string[],
  about: { readonly names: readonly string[]; readonly value: string } | null = null,
): Promise<number | null> {
  const { rows } = await from.query<{ id: number }>(
    `select id from event where type = any($1) and ($3::text is null
       or exists (select from unnest($2::text[]) as n(name) where info ->> n.name = $3))
     order by id desc limit 1`,
    [types, about?.names ?? [], about?.value ?? null],
  )
  return rows[0]?.id ?? null
}

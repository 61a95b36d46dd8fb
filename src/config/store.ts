import type { Queryable, Tx } from '../platform/postgres/db.ts'

/** The stored values by section name. In the database their secrets are sealed (sealing.ts). */
export type StoredSections = ReadonlyMap<string, Record<string, unknown>>

export async function readRows(db: Queryable): Promise<StoredSections> {
  const { rows } = await db.query<{ section: string; value: Record<string, unknown> }>(
    'select section, value from base_config',
    [],
    'base_config_read',
  )
  return new Map(rows.map((row) => [row.section, row.value]))
}

/** Makes writers wait for each other; readers go on. */
export async function lockRows(tx: Tx): Promise<StoredSections> {
  await tx.query('lock table base_config in share row exclusive mode')
  return readRows(tx)
}

/**
 * Replaces whole sections; an empty section is back at its defaults and is deleted from the table. `userId` null: no user made the
 * change.
 */
export async function writeSections(tx: Tx, changed: StoredSections, userId: number | null): Promise<void> {
  const rows = [...changed].map(([section, value]) => ({ section, value, empty: Object.keys(value).length === 0 }))
  await tx.query(
    `merge into base_config as c
     using jsonb_to_recordset($1) as n (section text, value jsonb, empty boolean) on c.section = n.section
     when matched and n.empty then delete
     when matched and $2::bigint is null then update set value = n.value
     when matched then update set value = n.value, changed_at = now(), changed_by = $2
     when not matched and not n.empty then insert (section, value, changed_by) values (n.section, n.value, $2)`,
    [JSON.stringify(rows), userId],
  )
}

import type { Queryable, Tx } from '../../platform/postgres/db.ts'

export interface SectionRow {
  readonly plugin: string
  readonly section: string
  readonly value: Record<string, unknown>
}

export async function readSections(from: Queryable): Promise<SectionRow[]> {
  const { rows } = await from.query<SectionRow>(
    'select plugin, section, value from plugin_config order by plugin, section',
    [],
    'plugin-config-read',
  )
  return rows
}

/** Makes writers take turns; readers are not blocked. */
export async function lockSections(tx: Tx): Promise<SectionRow[]> {
  await tx.query('lock table plugin_config in share row exclusive mode')
  return readSections(tx)
}

/** An empty section has its defaults again, and is deleted. */
export async function writeSections(tx: Tx, rows: readonly SectionRow[]): Promise<void> {
  await tx.query(
    `merge into plugin_config as c
     using jsonb_to_recordset($1) as n (plugin text, section text, value jsonb)
       on c.plugin = n.plugin and c.section = n.section
     when matched and n.value = '{}' then delete
     when matched then update set value = n.value, updated_at = now()
     when not matched and n.value <> '{}' then insert (plugin, section, value) values (n.plugin, n.section, n.value)`,
    [JSON.stringify(rows)],
    'plugin-config-write',
  )
}

export async function removeSections(tx: Tx, plugin: string): Promise<void> {
  await tx.query('delete from plugin_config where plugin = $1', [plugin], 'plugin-config-remove')
}

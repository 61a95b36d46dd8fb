import type { Context } from './context.ts'

interface Snapshot {
  tables: object[]
}

/** Adds object types with their masks to the datamodel. */
export async function commitTypes(
  { client }: Context,
  tables: readonly object[],
  masks: readonly object[],
): Promise<void> {
  const head = await client.get<Snapshot>('/schema/user/HEAD')
  await client.post('/schema/user/HEAD', { ...head, tables: [...head.tables, ...tables] })
  const stored = await client.get<{ masks: object[] }>('/mask/HEAD')
  await client.post('/mask/HEAD', { ...stored, masks: [...stored.masks, ...masks] })
  await client.post('/schema/commit', undefined, { confirm: 'yes', reindex: 'skip' })
}

export const value = (name: string, type: string) => ({ kind: 'column', name, type })

/** A field of a mask that can be edited, shown and searched; `standard`: used as the title. */
export const field = (column_name_hint: string, standard = false) => ({
  kind: 'field',
  column_name_hint,
  edit: { mode: 'edit' },
  output: { detail: true, text: true, table: true, ...(standard ? { standard: { order: 1, format: 'comma' } } : {}) },
  search: { expert: true, fulltext: true, facet: false, nested: false },
})

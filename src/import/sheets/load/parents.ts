import type { ServiceClient } from '../../client.ts'
import type { Mapping } from '../plan/mapping.ts'
import { headingOf, type PlannedRow } from './convert.ts'
import type { Finder, FoundObject, Key } from './find.ts'
import { problemOf, type RowOutcome } from './rows.ts'
import { saveEach } from './save-each.ts'

export interface ParentOptions {
  readonly client: ServiceClient
  readonly mapping: Mapping
  readonly mask: string
  readonly find: Finder
}

/**
 * Sets the parents of objects, after all objects are stored: a row may name a later one as its parent. Returns the rows whose
 * parent is impossible. Rows that failed themselves are skipped.
 */
export function createParentStore({ client, mapping, mask, find }: ParentOptions) {
  const { type, key } = mapping
  const heading = mapping.columns.find((column) => column.type === 'parent')?.heading ?? ''
  const idOf = (object: FoundObject): unknown => (object[type] as { _id?: number })._id

  return async function place(rows: readonly PlannedRow[]): Promise<RowOutcome[]> {
    const told = rows.filter(({ parent, problems }) => parent !== undefined && problems.length === 0)
    const keys = new Set<Key>(told.flatMap((row) => [row.key, ...(row.parent ? [row.parent] : [])]))
    const found = await find.byKey(type, key.column, [...keys], 'long')
    const refused: RowOutcome[] = []
    const refuse = (row: PlannedRow, reason: string): void => {
      const problems = [{ heading, value: String(row.parent ?? ''), reason }]
      refused.push({ row, result: 'refused', problems, asked: true })
    }
    const changed: { row: PlannedRow; block: object }[] = []
    for (const row of told) {
      const object = found.get(row.key)
      if (!object) continue
      const parent = row.parent ? found.get(row.parent) : undefined
      if (row.parent && !parent) {
        refuse(row, `there is no object with this ${headingOf(mapping, key.column)}`)
        continue
      }
      const id = parent ? idOf(parent) : null
      const before = (object[type] as { _id_parent?: number | null })._id_parent ?? null
      if (id !== before) changed.push({ row, block: { _id: idOf(object), _id_parent: id } })
    }
    await saveEach(changed, {
      async send(items) {
        const objects = items.map(({ block }) => ({ _objecttype: type, _mask: mask, [type]: block }))
        await client.patch(`/db/${type}`, objects, { format: 'short', strict: true })
      },
      refuse: ({ row }, error) => refuse(row, problemOf(error, row, mapping).reason),
    })
    return refused
  }
}

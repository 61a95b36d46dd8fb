import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { Visibility } from '../../../plan/field-visibility.ts'
import type { SearchField } from '../../../plan/fields.ts'
import type { SearchPlan } from '../../../plan/plan.ts'
import { accessSql, visibilityNode } from '../access/visibility.ts'

/** By field, the objects for which the caller sees it: one statement for all fields, which share few visibilities. */
export async function readShown(
  db: Queryable,
  { fieldVisibility }: Pick<SearchPlan, 'fieldVisibility'>,
  ids: readonly number[],
  fields: readonly SearchField[],
): Promise<ReadonlyMap<SearchField, ReadonlySet<number>>> {
  const all = new Set(ids)
  const none = new Set<number>()
  const partial = new Map<Exclude<Visibility, string>, Set<number>>()
  const shown = new Map(
    fields.map((field) => {
      const visibility = fieldVisibility.column(field)
      if (typeof visibility === 'string') return [field, visibility === 'always' ? all : none]
      const known = partial.get(visibility) ?? new Set()
      partial.set(visibility, known)
      return [field, known]
    }),
  )
  if (partial.size === 0) return shown
  const conditions = [...partial.keys()].map((visibility) => {
    const node = visibilityNode(visibility)
    return node === null ? 'true' : accessSql(node, 'd')
  })
  const { rows } = await db.query<{ id: number; seen: boolean[] }>(
    `select d.id, array[${conditions.join(', ')}] as seen from search_document d where d.id = any($1::bigint[])`,
    [ids],
  )
  const sets = [...partial.values()]
  for (const { id, seen } of rows) for (const [n, set] of sets.entries()) if (seen[n]) set.add(id)
  return shown
}

import { AppError } from '../../../platform/errors.ts'
import type { SaveContext } from '../context.ts'
import type { Item } from '../item.ts'

/**
 * Refuses parents that would make an object its own ancestor. Looks at the hierarchy as it will be: stored parents, replaced by
 * those of the items. One statement, and only when parents change.
 */
export async function assertNoCycles({ tx }: SaveContext, items: readonly Item[]): Promise<void> {
  const moved = items.filter((item) => item.parents.length > 0 && parentsChanged(item))
  if (moved.length === 0) return
  const hierarchies = [...new Set(moved.map((item) => item.table.id))]
  // Two moves that are valid alone can make a cycle together: so moves within a hierarchy run one after the other.
  await tx.query(
    `select pg_advisory_xact_lock(hashtext('hierarchy'), t.id) from unnest($1::int[]) as t(id)`,
    [hierarchies.sort((a, b) => a - b)],
    'hierarchy-lock',
  )
  // The parents of all items, moved or not, so that the ancestors of an item are known on every path.
  const parentsOf = new Map(items.map((item) => [item.systemObjectId, item.parents]))
  const { rows } = await tx.query<{ id: number; parents: number[] }>(
    `with recursive up as (
       select system_object_id as id, parents from object where system_object_id = any($1::bigint[])
       union
       select o.system_object_id, o.parents from up join object o on o.system_object_id = any(up.parents)
     )
     select id, parents from up`,
    [[...new Set(items.flatMap((item) => item.parents))]],
    'hierarchy-ancestors',
  )
  for (const row of rows) if (!parentsOf.has(row.id)) parentsOf.set(row.id, row.parents)
  for (const item of moved) {
    if (reaches(item.parents, item.systemObjectId, parentsOf)) {
      throw new AppError(
        'HierarchyCycle',
        {
          name: `${item.place}.${item.table.name}._id_parent`,
          objecttype: item.table.name,
          ...(item.current ? { _id: item.id } : {}),
        },
        { message: `${item.place}: the parent would make the object its own ancestor` },
      )
    }
  }
}

function reaches(from: readonly number[], target: number, parentsOf: ReadonlyMap<number, readonly number[]>): boolean {
  const open = [...from]
  const seen = new Set<number>()
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === target) return true
    if (seen.has(id)) continue
    seen.add(id)
    open.push(...(parentsOf.get(id) ?? []))
  }
  return false
}

export function parentsChanged(item: Item): boolean {
  const before = item.current?.parents ?? []
  return before.length !== item.parents.length || before.some((id, index) => id !== item.parents[index])
}

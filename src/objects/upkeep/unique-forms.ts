import type { Model } from '../../datamodel/model.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { uniqueEntries } from '../save/rules/unique.ts'
import type { Content } from '../stored/content.ts'

/** A value that two objects have, in two forms of Unicode: the first object keeps it. */
export interface SharedValue {
  readonly objecttype: string
  readonly key: string
  readonly object: number
  readonly holder: number
}

/** Objects with each statement. */
const chunk = 1000

/**
 * Renews the unique values that were stored before texts were compared in one form (migration 0660). Returns the collisions: the
 * object with the lowest id then has the value, and the next save of the other object is refused unless it has another value.
 */
export async function renewUniqueForms(db: Db, model: () => Model): Promise<readonly SharedValue[]> {
  const shared: SharedValue[] = []
  while (await db.transaction((tx) => renewSome(tx, model(), shared)));
  return shared
}

interface DueRow {
  readonly id: number
  readonly objecttype: number
  readonly parents: readonly number[]
  readonly live: boolean
  readonly content: Content
}

/** Whether there may be more. */
async function renewSome(tx: Tx, model: Model, shared: SharedValue[]): Promise<boolean> {
  const { rows: due } = await tx.query<{ id: number }>(
    'select system_object_id as id from object_unique_due order by 1 limit $1 for update skip locked',
    [chunk],
  )
  if (due.length === 0) return false
  const ids = due.map(({ id }) => id)
  const { rows } = await tx.query<DueRow>(
    `select o.system_object_id as id, o.objecttype, o.parents, o.deleted_at is null as live, v.content
     from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     where o.system_object_id = any($1::bigint[]) order by 1 for update of o`,
    [ids],
  )
  const entries = rows.flatMap(({ id, objecttype, parents, live, content }) => {
    const table = model.tablesById.get(objecttype)
    if (!table || !live) return []
    const own = uniqueEntries(table, content, { systemObjectId: id, parents })
    return own.map(({ key, value }) => ({ id, type: table.name, name: key.name, key: key.key, value }))
  })
  await tx.query('delete from object_unique where system_object_id = any($1::bigint[])', [ids])
  const columns = [entries.map(({ key }) => key), entries.map(({ value }) => value), entries.map(({ id }) => id)]
  await tx.query(
    `insert into object_unique (key, value, system_object_id)
     select * from unnest($1::text[], $2::text[], $3::bigint[]) on conflict do nothing`,
    columns,
  )
  const { rows: others } = await tx.query<{ n: number; holder: number }>(
    `select x.n::int as n, u.system_object_id as holder
     from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as x(key, value, id, n)
     join object_unique u on u.key = x.key and u.value = x.value and u.system_object_id <> x.id`,
    columns,
  )
  for (const { n, holder } of others) {
    const entry = entries[n - 1]
    if (entry) shared.push({ objecttype: entry.type, key: entry.name, object: entry.id, holder })
  }
  await tx.query('delete from object_unique_due where system_object_id = any($1::bigint[])', [ids])
  return due.length === chunk
}

import type { Table } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { type Content, rowsOf } from '../stored/content.ts'

/** Objects read at a time when all of a type are walked through. */
const chunkSize = 2000

export interface ContentRowOf {
  readonly systemObjectId: number
  readonly version: number
  readonly deleted: boolean
  readonly parents: readonly number[]
  readonly content: Content
}

/**
 * Walks through the contents of object types in chunks, lowest system object id first: the latest versions without the trash, or
 * with it (`trash`), or (`allVersions`) all versions ever written. Memory holds one chunk.
 */
export async function* walkContents(
  tx: Queryable,
  table: Table,
  { allVersions = false, trash = false }: { allVersions?: boolean; trash?: boolean } = {},
): AsyncGenerator<ContentRowOf[]> {
  let after = { id: 0, version: 0 }
  for (;;) {
    const { rows } = await tx.query<ContentRowOf>(
      `select o.system_object_id as "systemObjectId", o.deleted_at is not null as deleted, v.version, v.parents, v.content
       from object o join object_version v on v.system_object_id = o.system_object_id
        and ($4 or (v.version = o.version and (o.deleted_at is null or $6)))
       where o.objecttype = $1 and (v.system_object_id, v.version) > ($2, $3)
       order by v.system_object_id, v.version limit $5`,
      [table.id, after.id, after.version, allVersions, chunkSize, trash],
      'walk-contents',
    )
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || rows.length < chunkSize) return
    after = { id: last.systemObjectId, version: last.version }
  }
}

/** Calls `visit` for the content or the rows of a content that belong to `table`. */
export function forEachRowOf(root: Table, content: Content, table: Table, visit: (row: Content) => void): void {
  if (root === table) visit(content)
  for (const nested of root.nested) {
    for (const row of rowsOf(content, nested)) forEachRowOf(nested, row, table, visit)
  }
}

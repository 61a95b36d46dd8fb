import type { Model } from '../../datamodel/model.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { CallerRights, StoredGrant } from '../../rights/service.ts'
import type { MaskDeps } from '../masks/preference.ts'
import { exists, showsColumn } from '../save/disclosure.ts'
import { isBulk } from '../stored/index-lane.ts'
import { type HeadRow, headColumns, heads } from '../stored/rows.ts'

/** An object with a file, and the column. */
export interface SeenUse {
  readonly object: { readonly systemObjectId: number } & ReturnType<typeof heads>[number]['guard']
  readonly columnId: number
  readonly deleted: boolean
}

/**
 * Maximum number of objects per file that are looked at: a caller without a right on a thousand of them will hardly have it on the
 * next.
 */
const mostPerFile = 1000

/**
 * Objects that have the files, in their latest version or an old one, as far as the caller may read the object and one of its masks
 * there shows the column: a file in a hidden column cannot be reached by guessing numbers.
 */
export async function visibleUses(
  context: { readonly deps: MaskDeps; readonly model: Model; readonly rights: CallerRights },
  from: Queryable,
  fileIds: readonly number[],
): Promise<ReadonlyMap<number, readonly SeenUse[]>> {
  const { rows } = await from.query<{ fileId: number; columnId: number; head: HeadRow }>(
    `select u.file_id as "fileId", u.column_id as "columnId", json_build_array(${headColumns}) as head
     from unnest($1::bigint[]) as f(id) cross join lateral (
       select * from file_use where file_id = f.id order by system_object_id limit ${mostPerFile}
     ) u join object o on o.system_object_id = u.system_object_id`,
    [fileIds],
    'file-uses',
  )
  const found = new Map<number, SeenUse[]>()
  for (const { fileId, columnId, head: row } of rows) {
    const [head] = heads(context.model, [row])
    const column = context.model.columnsById.get(columnId)
    if (!head || !column) continue
    const deleted = head.deletedAt !== null
    const guard = { ...head.guard, acl: head.guard.acl as readonly StoredGrant[] | null }
    if (!exists(context.rights, { ...guard, deleted })) continue
    if (!showsColumn(context, head.table, guard, column)) continue
    const uses = found.get(fileId) ?? []
    found.set(fileId, uses)
    uses.push({ object: guard, columnId, deleted })
  }
  return found
}

/**
 * Whether the object of that uuid has the file, in its latest version or an old one, in the order of the pairs. The object is found
 * first: a file may be that of a hundred thousand objects.
 */
export async function filesWithin(
  from: Queryable,
  pairs: readonly { readonly fileId: number; readonly uuid: string }[],
): Promise<readonly boolean[]> {
  if (pairs.length === 0) return []
  const { rows } = await from.query<{ place: number }>(
    `select x.place::int from unnest($1::bigint[], $2::text[]) with ordinality as x(file, uuid, place)
     cross join lateral (select system_object_id as id from object where uuid = x.uuid offset 0) o
     cross join lateral (select from file_use where file_id = x.file and system_object_id = o.id limit 1) u`,
    [pairs.map(({ fileId }) => fileId), pairs.map(({ uuid }) => uuid)],
    'files-of-objects',
  )
  const found = new Set(rows.map(({ place }) => place))
  return pairs.map((_, index) => found.has(index + 1))
}

/** Queues the objects that have the files now for the index: the files have more metadata, or another name. */
export async function requeueUsers(tx: Tx, fileIds: readonly number[], wakeIndex: () => void): Promise<void> {
  const { rowCount } = await tx.query(
    `insert into index_queue (system_object_id, priority, bulk)
     select system_object_id, 1, ${isBulk} from (
       select distinct system_object_id from file_use where file_id = any($1::bigint[]) and latest
     ) users order by 1`,
    [fileIds],
    'requeue-file-users',
  )
  if (rowCount !== 0) tx.afterCommit(wakeIndex)
}

/** The objects, of those given, that have a file in their latest version. */
export async function objectsWithFiles(from: Queryable, systemObjectIds: readonly number[]): Promise<number[]> {
  const { rows } = await from.query<{ id: number }>(
    'select distinct system_object_id as id from file_use where system_object_id = any($1::bigint[]) and latest',
    [systemObjectIds],
    'objects-with-files',
  )
  return rows.map(({ id }) => id)
}

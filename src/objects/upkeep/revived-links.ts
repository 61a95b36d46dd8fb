import type { Column, Table } from '../../datamodel/model.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { LinkTriple } from '../content/links.ts'
import { linkTriples, withoutLinks } from '../content/links.ts'
import { walkContents } from '../content/rows.ts'
import { addLinks } from '../save/write/store.ts'

/**
 * Restores the links of objects through columns that are in the datamodel again. While a column was missing, deletions did not
 * check its links: a live object loses its link to a target that was deleted meanwhile, as it would have then.
 */
export async function reviveLinks(tx: Tx, columns: readonly Column[]): Promise<void> {
  const ids = new Set(columns.map(({ id }) => id))
  await tx.query('delete from object_link where column_id = any($1::int[])', [[...ids]])
  for (const root of new Set(columns.map(({ table }) => table.root))) await reviveIn(tx, root, ids)
}

async function reviveIn(tx: Tx, root: Table, columns: ReadonlySet<number>): Promise<void> {
  for await (const chunk of walkContents(tx, root, { trash: true })) {
    const rows = chunk.map((row) => ({
      row,
      links: linkTriples(root, row.content, row.systemObjectId).filter(({ column }) => columns.has(column)),
    }))
    const live = await liveOf(tx, [...new Set(rows.flatMap(({ links }) => links.map(({ to }) => to)))])
    const kept: LinkTriple[] = []
    const emptied: { s: number; v: number; c: unknown }[] = []
    for (const { row, links } of rows) {
      const stays = ({ to }: LinkTriple): boolean => row.deleted || live.has(to)
      kept.push(...links.filter(stays))
      if (links.every(stays)) continue
      const gone = (column: number, to: number): boolean => columns.has(column) && !live.has(to)
      emptied.push({ s: row.systemObjectId, v: row.version, c: withoutLinks(root, row.content, gone) })
    }
    await addLinks(tx, kept)
    if (emptied.length === 0) continue
    await tx.query(
      `update object_version v set content = x.c
       from json_to_recordset($1::json) as x(s bigint, v int, c jsonb)
       where v.system_object_id = x.s and v.version = x.v`,
      [JSON.stringify(emptied)],
    )
  }
}

/** Targets that links may keep: live objects, and promised ones. */
async function liveOf(tx: Tx, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await tx.query<{ id: number }>(
    `select system_object_id as id from object where system_object_id = any($1::bigint[]) and deleted_at is null
     union all select id from object_promise where id = any($1::bigint[]) and kept_at is null`,
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}

import type { Model } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { Content, Standard } from '../stored/content.ts'
import { computeStandard, linkedForStandard, sameStandard } from './compute.ts'

/**
 * Updates the stored `_standard` of objects by the current standards of linked objects and the current masks: the indexer does this
 * before it indexes them, since the save of a linked object does not update the objects that link to it.
 * @returns ids of the objects that another transaction is saving, or has saved meanwhile: they are left as they are, and
 *   must be requested again. Waiting for them would block other saves of objects that this statement has locked; and a
 *   standard that their save has computed may be older than the change.
 */
export async function refreshStandards(
  tx: Queryable,
  model: Model,
  languages: readonly string[],
  systemObjectIds: readonly number[],
): Promise<number[]> {
  const { rows } = await tx.query<{
    id: number
    version: number
    objecttype: number
    standard: Standard
    content: Content
  }>(
    `select o.system_object_id as id, o.version, o.objecttype, o.standard, v.content
     from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     where o.system_object_id = any($1::bigint[])`,
    [systemObjectIds],
    'refresh-standards-read',
  )
  const known = rows.flatMap((row) => {
    const table = model.tablesById.get(row.objecttype)
    return table ? [{ ...row, mask: table.preferredMask }] : []
  })
  const wanted = new Set(known.flatMap((row) => linkedForStandard(row.mask, row.content)))
  const linked = new Map(known.map((row) => [row.id, row.standard]))
  const missing = [...wanted].filter((id) => !linked.has(id))
  if (missing.length > 0) {
    const { rows: others } = await tx.query<{ id: number; standard: Standard }>(
      'select system_object_id as id, standard from object where system_object_id = any($1::bigint[])',
      [missing],
      'linked-standards',
    )
    for (const other of others) linked.set(other.id, other.standard)
  }
  const changed = known.flatMap((row) => {
    const standard = computeStandard(row.mask, row.content, (id) => linked.get(id), languages)
    return sameStandard(standard, row.standard) ? [] : [{ s: row.id, v: row.version, d: standard }]
  })
  if (changed.length === 0) return []
  const { rows: written } = await tx.query<{ id: number }>(
    `with free as (
       select x.s, x.d from json_to_recordset($1::json) as x(s bigint, v int, d jsonb)
       join object o on o.system_object_id = x.s and o.version = x.v
       for no key update of o skip locked
     )
     update object o set standard = free.d from free where o.system_object_id = free.s
     returning o.system_object_id as id`,
    [JSON.stringify(changed)],
    'refresh-standards-write',
  )
  const done = new Set(written.map((row) => row.id))
  return changed.flatMap((row) => (done.has(row.s) ? [] : [row.s]))
}

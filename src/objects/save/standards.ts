import { computeStandard, linkedForStandard } from '../standard/compute.ts'
import type { Standard } from '../stored/content.ts'
import type { SaveContext } from './context.ts'
import type { Item } from './item.ts'

/**
 * Computes `_standard` of all written items, each after the items to which it links. Standards of other linked objects come from
 * the database in one statement, unless the save has found them already.
 */
export async function applyStandards(
  { deps, tx, yielder, targets }: SaveContext,
  items: readonly Item[],
): Promise<void> {
  const pending = new Map(items.filter((item) => item.changed).map((item) => [item.systemObjectId, item]))
  const wanted = new Set<number>()
  for (const item of pending.values()) {
    if (yielder.due()) await yielder.yield()
    for (const id of linkedForStandard(item.table.preferredMask, item.content)) {
      if (!pending.has(id) && !targets.has(id)) wanted.add(id)
    }
  }
  const stored = new Map<number, Standard>()
  if (wanted.size > 0) {
    const { rows } = await tx.query<{ id: number; standard: Standard }>(
      'select system_object_id as id, standard from object where system_object_id = any($1::bigint[])',
      [[...wanted]],
      'linked-standards',
    )
    for (const row of rows) stored.set(row.id, row.standard)
  }
  const languages = deps.languages()
  const done = new Set<number>()
  const standardOf = (id: number): Standard | undefined => {
    const item = pending.get(id)
    if (!item) return targets.get(id)?.standard ?? stored.get(id)
    // Objects that link to each other in a circle: for one of them the previous standard is used.
    if (!done.has(id)) {
      done.add(id)
      item.standard = computeStandard(item.table.preferredMask, item.content, standardOf, languages)
    }
    return item.standard
  }
  for (const id of pending.keys()) {
    if (yielder.due()) await yielder.yield()
    standardOf(id)
  }
}

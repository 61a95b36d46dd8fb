import { eachYielding, yieldIfDue } from '../../../platform/process/cooperative-yield.ts'
import { forEachLink } from '../../content/links.ts'
import { isProvisional } from '../../stored/provisional-ids.ts'
import type { SaveContext } from '../context.ts'
import type { Item } from '../item.ts'
import { drawIds, type UniqueChange } from './store.ts'

/**
 * Draws the ids of the new objects and replaces the provisional ones by them; returns whether there are any. No ids are drawn when
 * another object has a unique value of the save.
 */
export async function giveIds(
  { tx, yielder }: SaveContext,
  items: readonly Item[],
  wanted: readonly UniqueChange[],
): Promise<boolean> {
  const fresh = items.filter(({ systemObjectId, id }) => isProvisional(systemObjectId) || isProvisional(id))
  if (fresh.length === 0) return false
  const drawn = await drawIds(
    tx,
    fresh.map((item) => ({
      objecttype: item.table.id,
      system: isProvisional(item.systemObjectId),
      own: isProvisional(item.id),
    })),
    wanted,
  )
  await yieldIfDue(yielder)
  const given = new Map<number, number>()
  for (const [index, item] of fresh.entries()) {
    const { systemObjectId, id } = drawn[index] as { systemObjectId: number | null; id: number | null }
    if (systemObjectId !== null) {
      given.set(item.systemObjectId, systemObjectId)
      item.systemObjectId = systemObjectId
    }
    if (id !== null) item.id = id
  }
  await eachYielding(items, (item) => relink(item, given), yielder)
  return true
}

function relink(item: Item, given: ReadonlyMap<number, number>): void {
  forEachLink(item.table, item.content, ({ key }, to, _row, holder) => {
    if (isProvisional(to)) holder[key] = given.get(to)
  })
  if (item.parents.some(isProvisional)) item.parents = item.parents.map((id) => given.get(id) ?? id)
}

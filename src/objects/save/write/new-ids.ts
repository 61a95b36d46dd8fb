import { eachYielding, yieldIfDue } from '../../../platform/process/cooperative-yield.ts'
import { forEachLink } from '../../content/links.ts'
import { isProvisional } from '../../stored/provisional-ids.ts'
import type { SaveContext } from '../context.ts'
import type { Item } from '../item.ts'
import { reservedIds } from '../promises/keep.ts'
import type { GivenIds } from '../promises/model.ts'
import { drawIds, type UniqueChange } from './store.ts'

/**
 * Draws the ids of the new objects and promises, and replaces the provisional ones by them. No ids are drawn when another object has
 * a unique value of the save.
 */
export async function giveIds(
  context: SaveContext,
  items: readonly Item[],
  wanted: readonly UniqueChange[],
): Promise<GivenIds> {
  const { tx, yielder } = context
  const fresh = items.filter(({ systemObjectId, id }) => isProvisional(systemObjectId) || isProvisional(id))
  const promises = [...context.promises.made.values()]
  const given = new Map<number, number>()
  if (fresh.length + promises.length === 0) return { final: given, kept: [] }
  const reserved = await reservedIds(context, fresh)
  const drawn = await drawIds(
    tx,
    [
      ...fresh.map((item) => ({
        objecttype: item.table.id,
        system: isProvisional(item.systemObjectId) && !reserved.has(item),
        own: isProvisional(item.id),
      })),
      ...promises.map(({ table }) => ({ objecttype: table.id, system: true, own: false })),
    ],
    wanted,
  )
  await yieldIfDue(yielder)
  for (const [index, { id }] of promises.entries()) {
    given.set(id, drawn[fresh.length + index]?.systemObjectId as number)
  }
  for (const [index, item] of fresh.entries()) {
    const { systemObjectId: own, id } = drawn[index] as { systemObjectId: number | null; id: number | null }
    const systemObjectId = own ?? reserved.get(item) ?? null
    if (systemObjectId !== null) {
      given.set(item.systemObjectId, systemObjectId)
      item.systemObjectId = systemObjectId
    }
    if (id !== null) item.id = id
  }
  await eachYielding(items, (item) => relink(item, given), yielder)
  return { final: given, kept: [...reserved.values()] }
}

function relink(item: Item, given: ReadonlyMap<number, number>): void {
  forEachLink(item.table, item.content, ({ key }, to, _row, holder) => {
    if (isProvisional(to)) holder[key] = given.get(to)
  })
  if (item.parents.some(isProvisional)) item.parents = item.parents.map((id) => given.get(id) ?? id)
}

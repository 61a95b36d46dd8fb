import type { Actor } from '../platform/actor.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { type Person, parseWho, type RightsService, type WhoDraft } from '../rights/service.ts'
import type { Item } from './identify.ts'

/** Owner and contact of the pools of a batch, found with one call. */
export interface People {
  /** null: absent in the request. */
  owner(item: Item): Person | null
  contact(item: Item): Person | null
}

export async function resolvePeople(
  { tx, actor, grants }: { tx: Tx; actor: Actor; grants: Pick<RightsService, 'resolveWho'> },
  items: readonly Item[],
): Promise<People> {
  const drafts: WhoDraft[] = []
  const slots = new Map<Item, { owner?: number; contact?: number }>()
  for (const item of items) {
    const { input, place } = item
    const slot: { owner?: number; contact?: number } = {}
    if (input._owner) slot.owner = drafts.push(parseWho(input._owner, `${place}._owner`)) - 1
    if (input.pool.contact) slot.contact = drafts.push(parseWho(input.pool.contact, `${place}.pool.contact`)) - 1
    slots.set(item, slot)
  }
  // A caller who sees a pool is shown both.
  const shown = items.flatMap(({ current }) => (current ? [current.owner, current.contact] : []))
  const found = await grants.resolveWho(tx, drafts, { actor, shown })
  const at = (index: number | undefined) => (index === undefined ? null : (found[index] as Person))
  return {
    owner: (item) => at(slots.get(item)?.owner),
    contact: (item) =>
      item.input.pool.contact === undefined ? (item.current?.contact ?? null) : at(slots.get(item)?.contact),
  }
}

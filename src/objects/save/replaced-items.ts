/** Stored objects that the client did not send, but that callbacks change: those of a transition that a user runs. */
import { mapYielding } from '../../platform/process/cooperative-yield.ts'
import { invalidValue } from '../content/values.ts'
import { type CallbackReplacements, withReplacements } from './callbacks/replace.ts'
import { checkResult, completeItems } from './complete.ts'
import type { SaveContext } from './context.ts'
import type { Item } from './item.ts'
import { prepareItems } from './prepare.ts'
import { type Draft, parseObject } from './request/payload.ts'
import { checkConstraints } from './rules/constraints.ts'
import { differs } from './rules/reverse.ts'
import { type Shares, settleShares, sharesOf } from './shares.ts'
import { applySystemFields } from './system-fields.ts'

export interface ReplacedItems {
  /** The checks of a save after the transitions; items that change because of them are added to `all`. */
  check(all: Item[]): Promise<void>
  /** After the write: collections do not share more than their owners may pass on. */
  settle(): Promise<void>
}

/**
 * Replaces items by the versions that callbacks made of them. Items that callbacks see get an empty draft, which they can replace.
 */
export async function replaceItems(
  context: SaveContext,
  items: readonly Item[],
  said: CallbackReplacements,
): Promise<{ readonly items: Item[]; readonly replaced: ReplacedItems | null }> {
  const withDraft = (item: Item): Item => ({ ...item, draft: emptyDraft(context, item) })
  const open = context.locks ? [...items] : await mapYielding(items, withDraft, context.yielder)
  const drafts = items.flatMap((item) => (said.replaced.has(item.place) ? emptyDraft(context, item) : []))
  if (drafts.length === 0) return { items: open, replaced: null }
  const replacing = withReplacements(payloadOf(context), drafts, said)
  const { items: own, linkers } = await prepareItems(context, replacing, { below: true })
  await applySystemFields(context, own, { skipConstraints: false })
  const { kept } = await completeItems(context, own, linkers, { skipReverseNested: false })
  let shares: Shares = { items: [], changes: [], found: [] }
  const byPlace = new Map(own.map((item) => [item.place, item]))
  const untouched = new Set<Item>()
  const all = open.map((item) => {
    const replaced = byPlace.get(item.place)
    if (!replaced) untouched.add(item)
    return replaced ?? item
  })
  return {
    items: all,
    replaced: {
      async check(all) {
        for (const item of own) item.changed ||= item.current !== null && differs(item, item.current)
        const content = (): Promise<void> =>
          checkConstraints(
            all.filter((item) => !untouched.has(item)),
            context.yielder,
          )
        const [undecided] = await checkResult(context, all, { ...asUsual, kept, content, replaced: said.replaced })
        if (undecided) throw cannotAsk(undecided.item)
        shares = await sharesOf(context, all, [], { collection: undefined })
      },
      async settle() {
        await settleShares(context, shares, { collectionPolicy: 'setinvalid', dryRun: false })
      },
    },
  }
}

const asUsual = { skipBidirectionalUpdate: false, reversePoolChangedMode: undefined } as const

function payloadOf({ model, deps }: SaveContext) {
  return { model, databaseName: deps.config.databaseName, partial: true }
}

function emptyDraft(context: SaveContext, { table, mask, place, systemObjectId }: Item): Draft {
  const wire = { _objecttype: table.name, _mask: mask.name, _system_object_id: systemObjectId }
  const parts = { wire, block: {}, at: `${place}.${table.name}` }
  return { ...parseObject(payloadOf(context), table, mask, parts, place), unsent: true }
}

function cannotAsk({ place, table, poolId }: Item) {
  return invalidValue(
    `${place}.${table.name}._pool`,
    poolId,
    'the pool that it has, as the mask would ask about others',
  )
}

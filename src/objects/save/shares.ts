/** The effects of a save on collections that share the objects (`collection_policy`). */
import { cancelButton, type Task } from '../../platform/values/tasks.ts'
import type { ReviewedChange, SaveContext, TooWideShare } from './context.ts'
import { guarded } from './disclosure.ts'
import { guardAfter, guardBefore, hasMoved, type Item } from './item.ts'

/** The options of a save that concern collections. */
export interface ShareChoice {
  readonly collection: number | undefined
  readonly collectionPolicy: 'setinvalid' | 'remove' | undefined
  readonly dryRun: boolean
}

/** The items whose sharing by collections changes, and the cases where it is too much. */
export interface Shares {
  readonly items: readonly Item[]
  readonly changes: readonly ReviewedChange[]
  readonly found: readonly TooWideShare[]
}

/** Only changes matter that affect who may see an object, and new objects that are added to a collection. */
export async function sharesOf(
  { deps, tx }: SaveContext,
  items: readonly Item[],
  sent: readonly Item[],
  { collection }: Pick<ShareChoice, 'collection'>,
): Promise<Shares> {
  const added = collection === undefined ? [] : sent.filter(({ mode }) => mode === 'create')
  const changed = [...items.filter(hasMoved), ...added]
  const changes = changed.map((item) => ({
    before: item.current ? guarded(guardBefore(item)) : null,
    after: guarded(guardAfter(item)),
  }))
  return { items: changed, changes, found: await deps.collections.review.find(tx, changes, collection ?? null) }
}

/** Returns the new objects that are not added to the collection after all. */
export async function settleShares(
  { deps, tx, actor }: SaveContext,
  { items, changes, found }: Shares,
  { collectionPolicy: policy, dryRun }: Pick<ShareChoice, 'collectionPolicy' | 'dryRun'>,
): Promise<ReadonlySet<Item>> {
  if (policy === undefined) return new Set()
  const isNew = (index: number): boolean => changes[index]?.before === null
  const without = policy === 'setinvalid' ? [] : found.flatMap(({ changes: all }) => all.filter(isNew))
  const settled = found.flatMap((one): TooWideShare[] => {
    const stored = policy === 'setinvalid' ? one.changes : one.changes.filter((index) => !isNew(index))
    return stored.length === 0 ? [] : [{ ...one, changes: stored }]
  })
  if (!dryRun) await deps.collections.review.settle(tx, actor, settled, changes, policy)
  return new Set(without.map((index) => items[index] as Item))
}

export function sharesTask({ found }: Shares): Task {
  const objects = new Set(found.flatMap(({ changes }) => changes)).size
  const name = 'collection_policy'
  return {
    title: 'Shared collections',
    message:
      `Collections share ${objects} of the objects with others, by rights that their owners may not pass on then. ` +
      'In these collections the objects can stay, without such rights, or be taken out.',
    buttons: [
      { text: 'Leave them there', name, value: 'setinvalid' },
      { text: 'Take them out', name, value: 'remove' },
      cancelButton,
    ],
  }
}

/**
 * The steps after drafts are merged with the stored objects: checks, and further changes that follow. The same for a save and for a
 * transition that a user runs.
 */
import type { StoredObject } from '../stored/content.ts'
import type { SaveContext } from './context.ts'
import { adoptCustomData } from './custom-data.ts'
import type { Item } from './item.ts'
import { syncBidirectional } from './rules/bidirectional.ts'
import type { Linker } from './rules/deletion.ts'
import { checkFiles } from './rules/files.ts'
import { assertNoCycles } from './rules/hierarchy.ts'
import {
  type Attached,
  attachedObjects,
  markUnchanged,
  movePools,
  type PoolMove,
  poolMoves,
  reconcileReverse,
} from './rules/reverse.ts'
import { assertIntroducedLinks, assertSaveRights } from './rules/rights.ts'

export interface Completed {
  /** Reverse objects that stay where they are, by the object that they are attached to. */
  readonly kept: ReadonlyMap<Item, readonly StoredObject[]>
  /** The objects that were attached before; null: not needed. */
  readonly attached: readonly Attached[] | null
}

/** Checks links, files, values of plugin types and the objects below the items, once their drafts are merged. */
export async function completeItems(
  context: SaveContext,
  items: Item[],
  linkers: readonly Linker[],
  { skipReverseNested }: { readonly skipReverseNested: boolean },
): Promise<Completed> {
  await assertIntroducedLinks(context, items)
  await checkFiles(context, items)
  await adoptCustomData(context, items)
  const attached = skipReverseNested ? null : await attachedObjects(context, linkers)
  const kept = attached ? await reconcileReverse(context, items, attached) : new Map()
  await markUnchanged(items, context.yielder)
  return { kept, attached }
}

type PoolMode = 'reverse_pool_changed_always' | 'reverse_pool_changed_never' | undefined

export interface ResultChecks extends Pick<Completed, 'kept'> {
  readonly skipBidirectionalUpdate: boolean
  readonly reversePoolChangedMode: PoolMode
  /** Drafts that callbacks have replaced, by their places. */
  readonly replaced: Pick<ReadonlyMap<string, unknown>, 'has'>
  /** Checks the values. */
  readonly content: () => Promise<void>
}

/** The checks after the transitions, in their order; returns the pool changes that the caller has to decide about. */
export async function checkResult(
  context: SaveContext,
  items: Item[],
  { kept, skipBidirectionalUpdate, reversePoolChangedMode, replaced, content }: ResultChecks,
): Promise<readonly PoolMove[]> {
  const { move, ask } = followers(await poolMoves(items, kept, context.yielder), { reversePoolChangedMode })
  if (!skipBidirectionalUpdate) await syncBidirectional(context, items)
  await content()
  await assertNoCycles(context, items)
  movePools(items, move)
  await assertSaveRights(context, items, replaced)
  return ask
}

/** The reverse objects that follow their master into its new pool, by the parameter or by the mode of the mask. */
export function followers(
  moves: readonly PoolMove[],
  { reversePoolChangedMode }: { readonly reversePoolChangedMode: PoolMode },
): { readonly move: PoolMove[]; readonly ask: PoolMove[] } {
  const mode = (move: PoolMove) => reversePoolChangedMode ?? `reverse_pool_changed_${move.item.mask.reversePoolChanged}`
  return {
    move: moves.filter((move) => mode(move) === 'reverse_pool_changed_always'),
    ask: moves.filter((move) => mode(move) === 'reverse_pool_changed_ask'),
  }
}

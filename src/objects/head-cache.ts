import type { Model } from '../datamodel/model.ts'
import type { Queryable } from '../platform/db.ts'
import { loadStampedHeads } from './load.ts'
import type { Head } from './stored-rows.ts'

/** Heads in memory at most; one takes about a kilobyte. */
const maxHeads = 20_000

/**
 * Heads of objects that others link to. The same artists and terms stand behind most links, and bringing them is most
 * of the work of a read, so they stay in memory. Nothing is ever out of date: whoever asks has just read the stamps of
 * the rows, and a head is only taken when its row still has the stamp that it came with.
 */
export function createHeadCache() {
  let ofModel: Model | null = null
  let known = new Map<number, { readonly stamp: string; readonly head: Head }>()

  return {
    /**
     * The heads of these rows; those of other stamps are loaded with one statement. Stamps must come from `db` itself,
     * not from a transaction: within one, a row can change again without a new stamp.
     */
    async all(
      db: Queryable,
      model: Model,
      rows: readonly { readonly id: number; readonly stamp: string }[],
    ): Promise<Head[]> {
      // Heads refer to the tables of the datamodel that they were read with.
      if (ofModel !== model) {
        ofModel = model
        known = new Map()
      }
      const found: Head[] = []
      const missing: number[] = []
      for (const { id, stamp } of rows) {
        const entry = known.get(id)
        if (entry?.stamp === stamp) found.push(entry.head)
        else missing.push(id)
      }
      if (missing.length === 0) return found
      for (const entry of await loadStampedHeads(db, model, missing)) {
        found.push(entry.head)
        if (ofModel === model) remember(entry)
      }
      return found
    },
  }

  /** The oldest entry goes first: a head that is asked for often is back with the next read. */
  function remember(entry: { readonly stamp: string; readonly head: Head }): void {
    const id = entry.head.systemObjectId
    known.delete(id)
    if (known.size >= maxHeads) known.delete(known.keys().next().value as number)
    known.set(id, entry)
  }
}

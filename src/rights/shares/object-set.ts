import type { Guarded, IdBits, ObjectSet } from '../model.ts'
import type { SharedCollection } from './model.ts'

/** Up to this number of objects, statements list them. */
export const mostListed = 200

/** Bytes of the longest list of bits. */
const mostBitBytes = 128 * 1024

/** The objects of some collections. The lists are not copied or merged: all callers share them. */
export function objectsOf(collections: readonly SharedCollection[]): ObjectSet {
  const lists = collections.map(({ list }) => list.ids).filter((ids) => ids.length > 0)
  const size = lists.reduce((sum, ids) => sum + ids.length, 0)
  const first = lists.reduce((least, ids) => Math.min(least, ids[0] as number), Number.POSITIVE_INFINITY)
  const last = lists.reduce((most, ids) => Math.max(most, ids.at(-1) as number), 0)
  const length = size > mostListed ? Math.ceil((last - first + 1) / 8) : 0
  const bitBytes = length <= Math.min(mostBitBytes, 8 * size) ? length : 0
  let made: IdBits | null = null
  const bits = (): IdBits | null => {
    if (bitBytes > 0) made ??= makeBits(lists, first, bitBytes)
    return made
  }
  return {
    has(id) {
      // With 500 lists, to look each hit of a page up in all of them takes longer than the rest of its rights.
      const known = bits()
      return known ? hasBit(known, id) : lists.some((ids) => isAmong(ids, id))
    },
    size,
    lists,
    bitBytes,
    bits,
    toJSON: () => collections.map(({ id, list }) => `${id}.${list.version}`).join(),
  }
}

function makeBits(lists: readonly Float64Array[], first: number, length: number): IdBits {
  const bytes = Buffer.alloc(length)
  for (const list of lists) {
    for (const id of list) {
      const at = id - first
      bytes[at >>> 3] = (bytes[at >>> 3] as number) | (1 << (at & 7))
    }
  }
  return { first, bytes }
}

function hasBit({ first, bytes }: IdBits, id: number): boolean {
  const at = id - first
  return at >= 0 && at < 8 * bytes.length && ((bytes[at >>> 3] as number) & (1 << (at & 7))) !== 0
}

function isAmong(ids: Float64Array, id: number): boolean {
  let [start, end] = [0, ids.length]
  while (start < end) {
    const middle = (start + end) >>> 1
    if ((ids[middle] as number) < id) start = middle + 1
    else end = middle
  }
  return ids[start] === id
}

export const isListed = (ids: Float64Array, { systemObjectId }: Pick<Guarded, 'systemObjectId'>): boolean =>
  isAmong(ids, systemObjectId)

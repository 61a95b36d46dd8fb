import type { Guarded, ObjectSet } from '../model.ts'
import type { SharedCollection } from './model.ts'

/** The objects of some collections. The lists are not copied or merged: all callers share them. */
export function objectsOf(collections: readonly SharedCollection[]): ObjectSet {
  const lists = collections.map(({ list }) => list.ids).filter((ids) => ids.length > 0)
  return {
    has: (id) => lists.some((ids) => isAmong(ids, id)),
    size: lists.reduce((sum, ids) => sum + ids.length, 0),
    lists,
    toJSON: () => collections.map(({ id, list }) => `${id}.${list.version}`).join(),
  }
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

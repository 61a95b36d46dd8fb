import type { IndexTarget } from '../../../src/search/queue/target.ts'
import type { Former } from './changes.ts'
import { documentOf, type MemoryDocument } from './documents.ts'

/** What an index in memory is. */
export interface Held {
  readonly documents: Map<number, MemoryDocument>
  readonly former: Former[]
  generation: number
  /** Microseconds since 1970. */
  changedAt: number
  followedSince: number | null
}

export function createMemoryTarget(held: Held): IndexTarget {
  function next(): void {
    held.generation++
    held.changedAt = Math.max(Date.now() * 1000, held.changedAt + 1)
  }

  /** Takes out what is gone; notes who could see it, where that is somebody else now. */
  function leave(id: number, now: Omit<MemoryDocument, 'changedAt'> | null): void {
    const before = held.documents.get(id)
    if (!before || (now && placeOf(now) === placeOf(before))) return
    if (!before.source.deleted) held.former.push({ before, until: held.changedAt })
    if (!now) held.documents.delete(id)
  }

  return {
    builder: '1 1',
    warm: async () => {},
    generation: async () => held.generation,
    async make(_, batch) {
      const history = await batch.history()
      const made = new Map(
        batch.sources.flatMap((source) => {
          const document = documentOf(source, batch, history.get(source.id) ?? [])
          return document ? [[source.id, document]] : []
        }),
      )
      const changed = [...made.values()].filter((document) => {
        const before = held.documents.get(document.id)
        // Not indexed before: only what was changed since it was made can be shown by others as it was.
        if (!before) return document.source.createdAt !== document.source.modifiedAt
        return shownOf(before) !== shownOf(document)
      })
      const rehung = changed.filter(
        ({ id, source }) => String(held.documents.get(id)?.source.parents) !== String(source.parents),
      )
      return {
        changed: changed.map(({ id }) => id),
        rehung: rehung.map(({ id }) => id),
        // It is in the memory of its process, where nobody else changes it.
        compare: async () => ({ missing: [], different: [] }),
        async apply() {
          next()
          for (const id of batch.ids) {
            const document = made.get(id) ?? null
            leave(id, document)
            const before = held.documents.get(id)
            if (!document) continue
            const same = before && textOf(before) === textOf(document)
            held.documents.set(id, { ...document, changedAt: same ? before.changedAt : held.changedAt })
          }
          return held.generation
        },
      }
    },
    async forget(_, ids) {
      next()
      for (const id of ids) leave(id, null)
      return held.generation
    },
    expired: async (_, now) =>
      [...held.documents.values()].flatMap(({ id, validUntil }) =>
        validUntil !== null && validUntil <= now.getTime() ? id : [],
      ),
    surplus: async () => [],
    distrust: async () => {},
    async leftovers(db, objecttypes) {
      const { rows } = await db.query<{ id: number }>('select system_object_id as id from object')
      const there = new Set(rows.map(({ id }) => id))
      return [...held.documents.values()].flatMap(({ id, source: { objecttype } }) =>
        there.has(id) || !(objecttypes?.includes(objecttype) ?? true) ? [] : { id, objecttype },
      )
    },
    async forgetTombstones(_, before) {
      const old = held.former.filter(({ until }) => until < before.getTime() * 1000)
      if (old.length === 0) return
      held.followedSince = Math.max(held.followedSince ?? 0, ...old.map(({ until }) => until))
      const kept = held.former.filter((one) => !old.includes(one))
      held.former.splice(0, held.former.length, ...kept)
    },
    followedSince: async () => held.followedSince,
    count: async () =>
      new Map(
        [
          ...Map.groupBy(
            [...held.documents.values()].filter(({ source }) => !source.deleted),
            ({ source }) => source.objecttype,
          ),
        ].map(([type, documents]) => [type, documents.length]),
      ),
    size: async () => 0,
    openBacklog: async () => ({ before: async () => {}, awaits: async () => false, end: async () => {} }),
    isRebuilding: async () => false,
    settle: async () => {},
  }
}

type Made = Omit<MemoryDocument, 'changedAt'>

const shownOf = ({ source }: Made): string => JSON.stringify([source.standard['1']?.text, source.parents])

/** Who may see it. */
const placeOf = ({ source, principals, owner }: Made): string =>
  JSON.stringify([source.objecttype, source.poolId, source.tags, source.deleted, owner, principals])

/** All of it: what did not change keeps its moment. */
const textOf = ({ source, links, ancestors, poolPath, principals, validUntil }: Made): string =>
  JSON.stringify([{ ...source, modifiedAt: null }, [...links], ancestors, poolPath, principals, validUntil])

/** Objects that are about to change, in collections whose grants would then give too much on them (`collection_policy`). */
import type { EventLog } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import { type Guarded, holds, type RightsService } from '../../rights/service.ts'
import { accessTo } from '../access.ts'
import { count, removeFrom } from '../entries/store.ts'
import { collectionEvent } from '../events.ts'
import { findChains, findCollections, lockCollections } from '../store.ts'
import { sharedBy } from './check.ts'
import type { KeptShares } from './snapshot.ts'
import { ownerRows } from './store.ts'

/** An object before and after the change. */
export interface Changing {
  /** null: the object is new. */
  readonly before: Guarded | null
  readonly after: Guarded
}

/** A collection, and the indexes of the changes after which its grants give too much. */
export interface TooWide {
  readonly collectionId: number
  readonly changes: readonly number[]
}

export type CollectionPolicy = 'setinvalid' | 'remove'

export interface ReviewDeps {
  readonly rights: Pick<RightsService, 'beyond'>
  readonly events: EventLog
  readonly sharing: Pick<KeptShares, 'get' | 'changed'>
  readonly clock: () => Date
}

/** These conditions on objects do not depend on a user. */
const nothing = { granted: () => [], files: () => [] }

export function createReview({ rights, events, sharing, clock }: ReviewDeps) {
  return {
    /** `into`: the collection for new objects. */
    async find(tx: Queryable, changes: readonly Changing[], into: number | null): Promise<TooWide[]> {
      if (sharing.get().collections.length === 0 || changes.length === 0) return []
      const places = await placesOf(tx, changes, into)
      const collections = await findCollections(tx, [...places.keys()])
      const chains = await findChains(tx, [...places.keys()], null)
      const owners = new Map(
        (await ownerRows(tx, [...new Set(collections.map(({ ownerId }) => ownerId))])).map((one) => [one.userId, one]),
      )
      const given = collections.flatMap((one) => {
        const holder = owners.get(one.ownerId)
        const grants = sharedBy(one, chains)
        return holder && grants.length > 0 ? [{ id: one.id, grants, holder }] : []
      })
      return rights.beyond(given).flatMap(({ when, ids }) =>
        ids.flatMap((collectionId): TooWide[] => {
          const found = (places.get(collectionId) ?? []).filter((index) => {
            const { before, after } = changes[index] as Changing
            return holds(when, after, nothing) && !(before && holds(when, before, nothing))
          })
          return found.length === 0 ? [] : [{ collectionId, changes: found }]
        }),
      )
    },

    /**
     * Applies the policy; a caller needs the right to remove the objects.
     * @throws {AppError} `CollectionObjectInsufficientRights`
     */
    async settle(
      tx: Tx,
      actor: Actor,
      found: readonly TooWide[],
      changes: readonly Changing[],
      policy: CollectionPolicy,
    ): Promise<void> {
      if (found.length === 0) return
      const collections = await lockCollections(
        tx,
        found.map(({ collectionId }) => collectionId),
      )
      if (policy === 'setinvalid') {
        await tx.query(
          'update collection set invalid_acl = true where id = any($1::bigint[]) and not invalid_acl',
          [numbersText(collections.map(({ id }) => id))],
          'collections-set-invalid',
        )
        return
      }
      const chains = await findChains(
        tx,
        collections.map(({ id }) => id),
        null,
      )
      const byId = new Map(collections.map((one) => [one.id, one]))
      const leaving = found.map(({ collectionId, changes: indexes }) => {
        const guards = indexes.map((index) => (changes[index] as Changing).after)
        const collection = byId.get(collectionId)
        const access = collection && accessTo(actor, collection, chains, clock().getTime())
        // The error reveals nothing about a collection that the caller may not see.
        if (!access || guards.some((guard) => !access.mayList('unlink', guard)))
          throw new AppError('CollectionObjectInsufficientRights', { right: 'unlink' })
        return { collectionId, objectIds: guards.map(({ systemObjectId }) => systemObjectId) }
      })
      await removeFrom(tx, leaving)
      await count(
        tx,
        leaving.map(({ collectionId, objectIds }) => ({ collectionId, objects: -objectIds.length, remote: 0 })),
      )
      await events.append(
        tx,
        collections.map((one) => collectionEvent('COLLECTION_UPDATE', actor, one)),
      )
      await sharing.changed(tx)
    },
  }
}

/** The indexes of the changes, by the shared collections that they concern. */
async function placesOf(
  q: Queryable,
  changes: readonly Changing[],
  into: number | null,
): Promise<Map<number, number[]>> {
  const stored = changes.flatMap(({ before }) => (before ? before.systemObjectId : []))
  const { rows } = await q.query<{ id: number; objectId: number }>(
    `select e.collection_id as id, e.object_id as "objectId" from unnest($1::bigint[]) as n (id)
     cross join lateral (select collection_id, object_id from collection_object where object_id = n.id offset 0) e`,
    [numbersText(stored)],
    'collections-review',
  )
  const indexes = new Map(changes.flatMap(({ before }, index) => (before ? [[before.systemObjectId, index]] : [])))
  const places = new Map<number, number[]>()
  const put = (id: number, index: number) => places.set(id, [...(places.get(id) ?? []), index])
  for (const { id, objectId } of rows) put(id, indexes.get(objectId) as number)
  if (into !== null) for (const [index, { before }] of changes.entries()) if (!before) put(into, index)
  return places
}

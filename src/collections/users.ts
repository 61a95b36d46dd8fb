/** Collections of a deleted owner (decision 46), and users and groups named by grants. */
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import { badRequest } from '../platform/errors.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText } from '../platform/postgres/literals.ts'
import { collectionEvent } from './events.ts'
import type { KeptShares } from './sharing/snapshot.ts'
import type { Written } from './store.ts'
import * as store from './store.ts'

/** The collections and shares of a user that would be lost; an empty top collection does not count. */
export interface HeldCollections {
  readonly collections: number
  readonly shares: number
}

export function collectionsOfUsers({
  events,
  sharing,
}: {
  readonly events: EventLog
  readonly sharing: Pick<KeptShares, 'changed'>
}) {
  return {
    async heldBy(tx: Queryable, userId: number): Promise<HeldCollections> {
      const { rows } = await tx.query<HeldCollections>(
        `select count(*)::int as collections, coalesce(sum(jsonb_array_length(acl)), 0)::int as shares from collection
         where owner_user = $1 and (user_id is null or object_count > 0 or acl <> '[]')`,
        [userId],
        'collections-held',
      )
      return rows[0] ?? { collections: 0, shares: 0 }
    },

    /**
     * Before a user is deleted: the collections are deleted as well, or the top collection becomes one of the actor's,
     * with all below it.
     */
    async ownerGoes(
      tx: Tx,
      actor: Actor,
      { userId, name, transfer }: { readonly userId: number; readonly name: string; readonly transfer: boolean },
    ): Promise<void> {
      await store.lockTree(tx, 'alone')
      const top = await store.topOfUser(tx, userId)
      if (top === null) return
      const below = await store.findSubtree(tx, top)
      const [own] = below
      if (!own) return
      const ids = below.map(({ id }) => id)
      await sharing.changed(tx)
      await store.lockCollections(tx, ids)
      const empty = below.length === 1 && own.objectCount === 0
      if (!transfer || empty) {
        await store.deleteCollections(tx, ids)
        const logged = below.filter(({ isSystem }) => !isSystem)
        await events.append(
          tx,
          logged.map((one) => collectionEvent('COLLECTION_DELETE', actor, one)),
        )
        return
      }
      const target = await store.topOfUser(tx, actor.userId)
      if (target === null)
        throw badRequest('You have no collections of your own that could hold those of the user.', {
          param: '_transfer_collections',
        })
      const [parent] = await store.findCollections(tx, [target])
      const displayname = Object.keys(own.displayname).length > 0 ? own.displayname : { 'en-US': name }
      const moved: Written = {
        ...own,
        displayname,
        pinHash: null,
        reference: null,
        userId: null,
        parentId: target,
        version: own.version + 1,
        previousPath: own.path,
        path: [...(parent?.path ?? []), own.id],
        ownerId: actor.userId,
      }
      await store.releaseTop(tx, own.id)
      await store.updateCollections(tx, [moved])
      await store.moveCollections(tx, [moved])
      await events.append(tx, [collectionEvent('COLLECTION_UPDATE', actor, moved)])
    },
  }
}

/** Grants and upload settings with conditions on a tag would change their meaning without it: they keep it. */
export const collectionTagUses = [
  use(
    'collection_right',
    `select tag::bigint as id, count(*)::int as count
     from collection, jsonb_array_elements(acl) as entry, jsonb_path_query(entry, '$.tagfilter.*[*]') as tag
     where acl <> '[]' and tag::bigint = any($1::bigint[]) group by 1`,
  ),
  use(
    'collection_upload',
    `select tag::bigint as id, count(*)::int as count
     from collection, jsonb_path_query(create_object, '$.tags[*]._id') as tag
     where create_object is not null and tag::bigint = any($1::bigint[]) group by 1`,
  ),
]

function use(context: string, sql: string) {
  return {
    context,
    async count(tx: Tx, tagIds: readonly number[]): Promise<Map<number, number>> {
      const { rows } = await tx.query<{ id: number; count: number }>(sql, [numbersText(tagIds)])
      return new Map(rows.map(({ id, count }) => [id, count]))
    },
  }
}

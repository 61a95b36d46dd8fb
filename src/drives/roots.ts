/** Finds the collection of an upload address, and the user for it. */
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { UploadKeys } from './keys.ts'
import * as store from './store.ts'

export interface RootDeps {
  readonly db: Db
  readonly keys: UploadKeys
  /** Actors for those users that are not archived. */
  readonly actorsOf: (from: Db, ids: readonly number[]) => Promise<ReadonlyMap<number, Actor>>
}

/** The collection of an address with its owner, whose rights all actions use; null: there is none. */
export async function openRoot(
  { db, keys, actorsOf }: RootDeps,
  key: string,
  remoteAddr: string,
): Promise<{ readonly root: store.DriveRoot; readonly actor: Actor } | null> {
  const root = await rootOf(db, keys, key)
  const actor = root && (await actorsOf(db, [root.ownerId])).get(root.ownerId)
  return root && actor ? { root, actor: { ...actor, remoteAddr } } : null
}

/** The uuid of a collection opens it only as long as no other user than the owner can see it. */
async function rootOf(db: Db, keys: UploadKeys, key: string): Promise<store.DriveRoot | null> {
  const address = await keys.read(key)
  const byKey = address && (await store.findRoot(db, { id: address.collectionId }))
  if (byKey) return byKey.generation === address.generation ? byKey : null
  const byUuid = await store.findRoot(db, { uuid: key.toLowerCase() })
  return byUuid && !(await store.isShared(db, byUuid)) ? byUuid : null
}

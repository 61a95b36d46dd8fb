import type { Queryable } from '../platform/postgres/db.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import { createSnapshot } from './model.ts'
import { existingIds, loadGroups } from './store.ts'

/** Messages of this topic mean that tags changed and must be read again. */
export const tagTopic = 'tags'

export type KeptTags = Awaited<ReturnType<typeof openTags>>

/** All tags in memory, renewed when a process on the same database has changed them. */
export async function openTags({ snapshots }: { readonly snapshots: Pick<Snapshots, 'open'> }) {
  const document = await snapshots.open({
    name: 'tags',
    topics: [tagTopic],
    read: loadGroups,
    build: (groups) => createSnapshot(groups),
  })
  return {
    /** All tags by id, with their groups: the committed state. */
    snapshot: document.get,
    /** Reads the tags again, for a caller that has just committed a change and returns it. */
    renewed: document.renewed,
    existing: existingTags,
  }
}

/** The existing tags of these ids, as the caller's transaction sees them; they cannot be deleted until it ends. */
export const existingTags = (from: Queryable, ids: readonly number[]): Promise<ReadonlySet<number>> =>
  existingIds(from, ids)

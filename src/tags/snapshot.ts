import type { Queryable } from '../platform/postgres/db.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import { createSnapshot } from './model.ts'
import { existingIds, loadGroups } from './store.ts'

/** Messages of this topic mean: tags changed, read them again. */
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
    /** Reads once more, for who has just committed a change and answers with it. */
    renewed: document.renewed,
    existing: existingTags,
  }
}

/** Those of the ids that are tags, as the caller's transaction sees it; they cannot be deleted until it ends. */
export const existingTags = (from: Queryable, ids: readonly number[]): Promise<ReadonlySet<number>> =>
  existingIds(from, ids)

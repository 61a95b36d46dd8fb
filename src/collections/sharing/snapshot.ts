import { isDeepStrictEqual } from 'node:util'
import { principalsTopic } from '../../people/service.ts'
import type { Bus } from '../../platform/postgres/bus.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Snapshots } from '../../platform/postgres/snapshot.ts'
import type { SharedCollection, SharedCollections } from '../../rights/service.ts'
import { listsOf, ownerRows, pinHolders, sharedRows } from './store.ts'

/** Messages of this topic mean: lists, grants or places of collections changed. */
export const collectionsTopic = 'collections'

export type KeptShares = Awaited<ReturnType<typeof openShares>>

/** The shares of collections, in memory: 8 bytes for each entry of their lists. */
export async function openShares({ snapshots, bus }: { snapshots: Pick<Snapshots, 'open'>; bus: Bus }) {
  let owners: SharedCollections['owners'] = new Map()
  let ownersChanged = (): void => {}
  const kept = await snapshots.open<SharedCollections, SharedCollections>({
    name: 'shared collections',
    topics: [collectionsTopic, principalsTopic],
    read: readShares,
    build: (stored) => stored,
    onChange(value) {
      if (isDeepStrictEqual(value.owners, owners)) return
      owners = value.owners
      ownersChanged()
    },
  })
  owners = kept.get().owners
  return {
    get: kept.get,
    /** `listener` is called when the users who share something change, or their groups do. */
    onOwners(listener: () => void): void {
      ownersChanged = listener
    },
    /** All processes read again after the commit what has changed. */
    changed: (tx: Tx): Promise<void> => bus.publish(tx, collectionsTopic),
  }
}

/** Lists of the same version are not read again. */
async function readShares(q: Queryable, before: SharedCollections | null): Promise<SharedCollections> {
  const rows = await sharedRows(q)
  if (rows.length === 0) return { collections: [], owners: new Map() }
  const known = new Map(before?.collections.map(({ id, list }) => [id, list]))
  const read = await listsOf(
    q,
    rows.filter(({ id, version }) => known.get(id)?.version !== version),
  )
  const holders = await pinHolders(
    q,
    rows.flatMap(({ id, pinId }) => (pinId === null ? [] : id)),
  )
  const collections = rows.map(({ version, count: _, pinId: __, ...row }): SharedCollection => {
    const list = known.get(row.id)
    const pin = holders.get(row.id)
    return {
      ...row,
      ...(pin ? { pin } : {}),
      list: list?.version === version ? list : { version, ids: read.get(row.id) ?? none },
    }
  })
  const owners = await ownerRows(q, [...new Set(rows.map(({ ownerId }) => ownerId))])
  return { collections, owners: new Map(owners.map((owner) => [owner.userId, owner])) }
}

const none = new Float64Array(0)

import type { ServiceClient } from '../client.ts'
import { untilIndexed } from '../searchable.ts'
import type { Ledger, Trashed } from './ledger.ts'
import { isUuid, isWire, type Wire } from './model.ts'

/** Maximum number of objects in one request. */
const atATime = 500
const attempts = 5

/** Moves the objects to the trash that were sent according to the ledger, the last types first. */
export async function takeBack(client: ServiceClient, ledger: Ledger): Promise<void> {
  const { sent } = await ledger.state()
  for (const [type, uuids] of [...sent].reverse()) {
    for (const some of inParts([...uuids])) {
      await toTrash(client, { ledger, type, uuids: some })
    }
  }
  const { trashed } = await ledger.state()
  if ([...trashed.values()].every(({ length }) => length === 0)) await ledger.remove()
}

interface Sent {
  readonly ledger: Ledger
  readonly type: string
  readonly uuids: readonly string[]
}

/** Records the versions with which they are deleted first: a process that ends right after the deletion can still find them. */
async function toTrash(client: ServiceClient, { ledger, type, uuids }: Sent): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await untilIndexed(client, [type])
    const found = await foundBy(client, type, uuids)
    if (found.length === 0) return
    await ledger.addTrashed(type, found)
    try {
      const named = found.map(({ id, version }) => [id, version, null])
      return void (await client.delete(`/db/${type}`, named, { delete_policy: 'setnull' }))
    } catch (error) {
      // The versions come from the index: an outdated version is refused, and looked up again.
      if (attempt === attempts) throw error
    }
  }
}

/** Restores the objects from the trash that an earlier attempt has deleted. @returns the objects that are then in the service */
export async function takeUp(client: ServiceClient, ledger: Ledger): Promise<Set<string>> {
  const { sent, trashed } = await ledger.state()
  const there = new Set<string>()
  for (const [type, objects] of trashed) {
    await untilIndexed(client, [type])
    for (const some of inParts(objects)) {
      const uuids = some.map(({ uuid }) => uuid)
      // The earlier attempt ended before it deleted them, or after it restored them.
      const live = await liveAmong(client, type, await foundBy(client, type, uuids))
      const named = some.filter(({ uuid }) => !live.has(uuid)).map(({ id, version }) => [id, version + 1, null])
      if (named.length > 0) await client.delete(`/db/${type}`, named, { delete_policy: 'undelete' })
      await ledger.addSent(type, uuids)
      for (const uuid of uuids) there.add(uuid)
    }
  }
  for (const [type, uuids] of sent) {
    await untilIndexed(client, [type])
    for (const some of inParts([...uuids])) {
      for (const { uuid } of await foundBy(client, type, some)) there.add(uuid)
    }
  }
  return there
}

/** Uuids of the objects that are not in the trash. The index may still have an object that was just deleted, so each is read. */
async function liveAmong(client: ServiceClient, type: string, found: readonly Trashed[]): Promise<ReadonlySet<string>> {
  const live = new Set<string>()
  for (const { id, uuid } of found) {
    const [object] = await client.get<Wire[]>(`/db/${type}/_all_fields/${id}`, { format: 'standard' })
    if (object && object._latest_version_deleted_at === undefined) live.add(uuid)
  }
  return live
}

async function foundBy(client: ServiceClient, type: string, uuids: readonly string[]): Promise<readonly Trashed[]> {
  const request = {
    objecttypes: [type],
    search: [{ type: 'in', fields: ['_uuid'], in: uuids }],
    limit: uuids.length,
    format: 'short',
  }
  const { objects } = await client.post<{ objects: Wire[] }>('/search', request)
  return objects.flatMap((object): Trashed[] => {
    const { [type]: block, _uuid: uuid } = object
    if (!isWire(block) || !isUuid(uuid)) return []
    return [{ uuid, id: Number(block._id), version: Number(block._version) }]
  })
}

/** Number of these objects that the service has. */
export async function countThere(client: ServiceClient, uuids: readonly string[]): Promise<number> {
  let count = 0
  for (const some of inParts(uuids)) {
    const request = { search: [{ type: 'in', fields: ['_uuid'], in: some }], limit: 0, format: 'short' }
    count += (await client.post<{ count: number }>('/search', request)).count
  }
  return count
}

function* inParts<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += atATime) yield list.slice(from, from + atATime)
}

import type { Progress } from '../../platform/process/progress.ts'
import { inBatches, shareOut } from '../batches.ts'
import { type ServiceClient, ServiceError } from '../client.ts'
import type { WireObject } from './mapping.ts'

interface StoredObject {
  _system_object_id: number
  [block: string]: unknown
}

export interface CreateOptions<T> {
  client: ServiceClient
  objecttype: string
  /** A mask that shows the key, for listing the existing objects. */
  listMask: string
  key: (record: T) => string | number
  /** The key of an object in answers of the service: a column of the block. */
  keyColumn: string
  /** `ids` has the ids of all existing objects, by key: parents of a hierarchy are found there. */
  toObject: (record: T, ids: ReadonlyMap<string | number, number>) => WireObject
  /** Objects per request. */
  batch: number
  /** Requests at the same time. */
  connections: number
  progress: Progress
  signal: AbortSignal
}

const pageSize = 1000

/**
 * Creates the objects of one type that do not exist yet. Lists the existing objects once. When some were created meanwhile, by
 * another import or by a request whose answer was lost, the unique key refuses the batch, and its missing objects are sent again.
 */
export async function createMissing<T>(options: CreateOptions<T>) {
  const { client, objecttype, key, toObject, batch, connections, progress, signal } = options
  const ids = await existing(options)
  let created = 0

  async function send(records: readonly T[]): Promise<void> {
    let fruitless = 0
    for (;;) {
      const missing = records.filter((record) => !ids.has(key(record)))
      if (missing.length === 0) return
      try {
        const stored = await client.post<StoredObject[]>(
          `/db/${objecttype}`,
          missing.map((record) => toObject(record, ids)),
          { format: 'short' },
        )
        for (const [index, record] of missing.entries()) ids.set(key(record), stored[index]?._system_object_id ?? 0)
        created += missing.length
        progress.advance(missing.length)
        return
      } catch (error) {
        // Another import may be running: then there are more and more of these objects. If there are no new ones, the error has
        // another cause.
        if (!(error instanceof ServiceError) || error.code !== 'DatabaseUniqueKeyViolation' || fruitless > 2)
          throw error
        const before = ids.size
        for (const [found, id] of await existing(options)) ids.set(found, id)
        progress.advance(ids.size - before)
        if (ids.size === before) fruitless++
      }
    }
  }

  function add(records: AsyncIterable<T> | Iterable<T>): Promise<void> {
    return shareOut(
      inBatches(records, { size: batch, wanted: (record) => !ids.has(key(record)) }),
      { workers: connections, signal },
      send,
    )
  }

  return { ids, add, created: () => created }
}

/** Key and system object id of all objects of the type, searchable or not. */
async function existing<T>({
  client,
  objecttype,
  listMask,
  keyColumn,
}: CreateOptions<T>): Promise<Map<string | number, number>> {
  const ids = new Map<string | number, number>()
  for (let offset = 0; ; offset += pageSize) {
    const page = await client.get<StoredObject[]>(`/db/${objecttype}/${listMask}/list`, {
      limit: pageSize,
      offset,
      format: 'standard',
      skip_reverse_nested: true,
    })
    for (const object of page) {
      const block = object[objecttype] as Record<string, string | number> | undefined
      const value = block?.[keyColumn]
      if (value !== undefined) ids.set(value, object._system_object_id)
    }
    if (page.length < pageSize) return ids
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceClient, ServiceError } from '../../client.ts'

export interface FoundObject {
  readonly _system_object_id: number
  readonly [block: string]: unknown
}

export type Key = string | number

export interface Finder {
  /** Objects of a type by the values of a unique column, if they are in the index. */
  byKey(type: string, column: string, keys: readonly Key[], format: Format): Promise<Map<Key, FoundObject>>
  /** The same for objects that are certainly stored: waits until the index has them, half a minute at most. */
  untilThere(type: string, column: string, keys: readonly Key[], format: Format): Promise<Map<Key, FoundObject>>
}

type Format = 'short' | 'long'

/** Number of keys in one search; the index may find more objects for one key, when letters differ only in case. */
const together = 250
const most = 1000
const patience = 30_000

export function createFinder(client: ServiceClient): Finder {
  async function byKey(type: string, column: string, keys: readonly Key[], format: Format) {
    const found = new Map<Key, FoundObject>()
    for (let start = 0; start < keys.length; start += together) {
      const some = keys.slice(start, start + together)
      const { objects } = await client.post<{ objects: FoundObject[] }>('/search', {
        objecttypes: [type],
        search: [{ type: 'in', fields: [`${type}.${column}`], in: some }],
        // The short form has no columns, but the key of each object is needed.
        format: format === 'short' ? 'standard' : format,
        limit: most,
      })
      const wanted = new Set(some)
      for (const object of objects) {
        const key = (object[type] as Record<string, Key> | undefined)?.[column]
        if (key !== undefined && wanted.has(key)) found.set(key, object)
      }
    }
    return found
  }

  return {
    byKey,
    async untilThere(type, column, keys, format) {
      const deadline = Date.now() + patience
      for (let pause = 100; ; pause = Math.min(pause * 2, 2000)) {
        const found = await byKey(type, column, keys, format)
        if (found.size === keys.length || Date.now() + pause > deadline) return found
        await sleep(pause)
      }
    },
  }
}

/** Whether the service reports that the value of this column, and of no other, is in use. */
export function isKeyTaken({ code, parameters }: ServiceError, column: string): boolean {
  if (code !== 'DatabaseUniqueKeyViolation') return false
  const { values } = parameters
  if (typeof values !== 'object' || values === null) return false
  const columns = Object.keys(values)
  return columns.length === 1 && columns[0] === column
}

import { LRUCache } from 'lru-cache'
import type { ServiceClient } from '../../client.ts'
import { type Finder, type FoundObject, isKeyTaken } from './find.ts'
import { saveEach } from './save-each.ts'

/** Values of lists in one request. */
const together = 200

export interface Terms {
  /** System object ids of values of a list; missing values are created. Refused values have a reason instead. */
  idsOf(list: TermList, values: ReadonlySet<string>): Promise<Map<string, number | string>>
  created(): number
}

export interface TermList {
  readonly type: string
  readonly column: string
  readonly mask: string
}

/** Keeps the ids of the most recently requested values, and creates each value once, however many batches request it. */
export function createTerms(client: ServiceClient, find: Finder): Terms {
  const known = new LRUCache<string, number>({ max: 200_000 })
  let created = 0
  // One after the other: two batches that request the same new value would both create it.
  let turn: Promise<unknown> = Promise.resolve()

  async function make(
    { type, column, mask }: TermList,
    values: readonly string[],
    found: Map<string, number | string>,
  ) {
    const taken: string[] = []
    await saveEach(values, {
      async send(some) {
        const objects = some.map((value) => ({ _objecttype: type, _mask: mask, [type]: { [column]: value } }))
        const stored = await client.post<FoundObject[]>(`/db/${type}`, objects, { format: 'short', strict: true })
        for (const [index, value] of some.entries()) found.set(value, stored[index]?._system_object_id ?? 0)
        created += some.length
      },
      refuse(value, error) {
        if (isKeyTaken(error, column)) taken.push(value)
        else found.set(value, error.detail)
      },
    })
    if (taken.length === 0) return
    // Stored, but not in the index yet.
    const there = await find.untilThere(type, column, taken, 'short')
    for (const value of taken) {
      const id = there.get(value)?._system_object_id
      found.set(value, id ?? `there is a "${value}" in ${type} that this login may not see`)
    }
  }

  async function ask(list: TermList, values: ReadonlySet<string>): Promise<Map<string, number | string>> {
    const found = new Map<string, number | string>()
    const keyOf = (value: string): string => `${list.type}\n${value}`
    const unknown: string[] = []
    for (const value of values) {
      const id = known.get(keyOf(value))
      if (id === undefined) unknown.push(value)
      else found.set(value, id)
    }
    for (let start = 0; start < unknown.length; start += together) {
      const some = unknown.slice(start, start + together)
      const there = await find.byKey(list.type, list.column, some, 'short')
      for (const [value, object] of there) found.set(String(value), object._system_object_id)
      const missing = some.filter((value) => !there.has(value))
      if (missing.length > 0) await make(list, missing, found)
    }
    for (const [value, id] of found) if (typeof id === 'number') known.set(keyOf(value), id)
    return found
  }

  return {
    idsOf(list, values) {
      const answer = turn.then(() => ask(list, values))
      turn = answer.catch(() => {})
      return answer
    },
    created: () => created,
  }
}

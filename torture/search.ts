import type { Client, Json } from '../test/support/client.ts'
import { difference } from './compare.ts'
import { type Book, current, isLive, type Thing } from './record.ts'
import type { Scene } from './scene.ts'

const pageSize = 1000
/** Requests at the same time. */
const lanes = 8

/**
 * Compares hits, counts and shown values of searches with the record: every object by a common word, facets, and single
 * marks.
 */
export async function compareSearch(client: Client, book: Book, scene: Scene): Promise<string[]> {
  const live = book.things.filter(isLive)
  const faults = await compareHits(client, live, scene)
  faults.push(...(await compareFacets(client, live)))
  const touched = [...book.touched].filter((thing) => thing.versions.length > 0)
  const marks = touched.map((thing) => {
    const before = thing.versions.at(-2)?.mark
    return { thing, mark: current(thing).mark, former: before === current(thing).mark ? undefined : before }
  })
  // Books are also found by the names of their authors.
  const booksOf = Map.groupBy(live, (thing) => current(thing).author)
  const next = marks.values()
  const lane = async (): Promise<void> => {
    for (const { thing, mark, former } of next) {
      const linking = thing.objecttype === 'author' ? (booksOf.get(thing.systemObjectId) ?? []) : []
      const expected = isLive(thing) ? [thing, ...linking].map((one) => one.systemObjectId) : []
      faults.push(...(await compareWord(client, thing, mark, expected)))
      if (former !== undefined) faults.push(...(await compareWord(client, thing, former, [])))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return faults
}

async function compareWord(client: Client, thing: Thing, word: string, expected: number[]): Promise<string[]> {
  const { objects } = await search(client, {
    search: [{ type: 'match', string: word }],
    format: 'short',
    limit: pageSize,
  })
  const found = objects.map((object: Json) => String(object._system_object_id))
  return difference(`${thing.code}: hit of ${word}`, found, expected.slice(0, pageSize).map(String))
}

async function search(client: Client, request: object): Promise<Json> {
  const answer = await client.post('search', request)
  if (answer.status !== 200) throw new Error(`search: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** All objects as hits, each with its shown values. */
async function compareHits(client: Client, live: Book['things'], scene: Scene): Promise<string[]> {
  const shown: string[] = []
  for (let offset = 0; ; offset += pageSize) {
    const { objects, count } = await search(client, {
      search: [{ type: 'match', string: 'torture' }],
      sort: [{ field: '_system_object_id' }],
      format: 'full',
      limit: pageSize,
      offset,
    })
    if (offset === 0 && count !== live.length) shown.push(`a count of ${count}`)
    for (const object of objects) {
      const block = object[object._objecttype]
      const tags = (object._tags ?? [])
        .map((tag: Json) => tag._id)
        .filter((id: number) => Object.values(scene.tags).includes(id))
      const author = block.author?._system_object_id ?? null
      shown.push(line(object._system_object_id, block._version, block.mark.replace('torture ', ''), author, tags))
    }
    if (objects.length < pageSize) break
  }
  return difference(
    'hit',
    shown,
    live.map((thing) => {
      const { mark, author, tags } = current(thing)
      return line(thing.systemObjectId, thing.versions.length, mark, author, tags)
    }),
  )
}

function line(id: number, version: number, mark: string, author: number | null, tags: readonly number[]): string {
  return JSON.stringify([id, version, mark, author, [...tags].sort((a, b) => a - b)])
}

async function compareFacets(client: Client, live: Book['things']): Promise<string[]> {
  const { aggregations } = await search(client, {
    objecttypes: ['book'],
    limit: 0,
    aggregations: {
      authors: { type: 'linked_object', field: 'book.author', limit: 10_000 },
      tags: { type: 'linked_object', field: '_tags', limit: 10_000 },
    },
  })
  const counts = (name: string, key: string): string[] =>
    aggregations[name].linked_objects.map((entry: Json) => `${name} ${entry[key]}: ${entry.count}`)
  const books = live.filter((thing) => thing.objecttype === 'book')
  const expected = (name: string, values: number[]): string[] =>
    [...Map.groupBy(values, (value) => value)].map(([value, all]) => `${name} ${value}: ${all.length}`)
  return [
    ...difference(
      'facet',
      counts('authors', '_system_object_id'),
      expected(
        'authors',
        books.flatMap((thing) => current(thing).author ?? []),
      ),
    ),
    ...difference(
      'facet',
      counts('tags', '_id'),
      expected(
        'tags',
        books.flatMap((thing) => current(thing).tags),
      ),
    ),
  ]
}

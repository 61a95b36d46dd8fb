import { isDeepStrictEqual } from 'node:util'
import { apply, type Book, current, isLive, type Open, type State, type Thing } from './record.ts'
import type { Stored, StoredThing } from './stored.ts'

/** Decides whether unanswered requests were done completely, or not at all. Anything else is a fault. */
export function resolveOpen(book: Book, stored: Stored): string[] {
  const byCode = new Map([...stored.things].map(([so, thing]) => [thing.versions[0]?.code, [so, thing] as const]))
  const faults: string[] = []
  for (const open of book.open) {
    const done = open.things.map((thing, index) => isDone(thing, open.next[index] ?? null, stored, byCode))
    if (done.some((one) => one !== done[0])) faults.push(`done in part: ${open.things.map((thing) => thing.code)}`)
    if (done[0]) adopt(open, byCode)
  }
  book.open = []
  // Objects that were never made are removed from the book.
  book.things.splice(0, Infinity, ...book.things.filter((thing) => thing.versions.length > 0))
  return faults
}

type ByCode = ReadonlyMap<string | undefined, readonly [number, StoredThing]>

function isDone(thing: Thing, next: State | null, stored: Stored, byCode: ByCode): boolean {
  if (thing.versions.length === 0) return byCode.has(thing.code)
  const there = stored.things.get(thing.systemObjectId)
  return next === null ? there === undefined : (there?.version ?? 0) > thing.versions.length
}

function adopt(open: Open, byCode: ByCode): void {
  apply(open)
  for (const thing of open.things) {
    const found = byCode.get(thing.code)
    if (thing.systemObjectId !== 0 || !found) continue
    thing.systemObjectId = found[0]
    thing.id = found[1].id
  }
}

const eventOf = { i: 'OBJECT_INSERT', u: 'OBJECT_UPDATE', d: 'OBJECT_DELETE', r: 'OBJECT_UNDELETE' } as const

/** Compares every object, version, link, unique value and event of the record with the stored ones, in both directions. */
export function compareStored(book: Book, stored: Stored): string[] {
  const faults: string[] = []
  const check = (what: string, got: unknown, expected: unknown): void => {
    if (isDeepStrictEqual(got, expected)) return
    faults.push(`${what}: ${JSON.stringify(got)} in place of ${JSON.stringify(expected)}`)
  }
  const known = new Set<number>()
  for (const thing of book.things) {
    const { systemObjectId: id, versions, code } = thing
    if (known.has(id)) faults.push(`${code}: the id ${id} is used twice`)
    known.add(id)
    const there = stored.things.get(id)
    if (thing.purged) {
      check(`${code} is purged`, [there?.version, stored.tombstones.has(id)], [undefined, true])
      continue
    }
    check(`${code} ${id}`, there && { id: there.id, version: there.version, deleted: there.deleted }, {
      id: thing.id,
      version: versions.length,
      deleted: !isLive(thing),
    })
    check(
      `${code} ${id} versions`,
      there?.versions,
      versions.map((state, index) => ({ version: index + 1, ...state, code })).map(inOrder),
    )
    const { author } = current(thing)
    if (isLive(thing)) check(`${code} ${id} links`, there?.links, author === null ? [] : [author])
    check(`${code} ${id} unique values`, there?.uniques.length, isLive(thing) ? 1 : 0)
    check(`${code} ${id} index`, there?.indexed, isLive(thing))
  }
  for (const id of stored.things.keys()) if (!known.has(id)) faults.push(`object ${id} is of nobody`)
  const expected = book.things.flatMap(({ systemObjectId, versions, purged }) => [
    ...versions.map(({ operation }, index) => `${eventOf[operation]} ${systemObjectId} ${index + 1}`),
    ...(purged ? [`OBJECT_PURGE ${systemObjectId} ${versions.length}`] : []),
  ])
  faults.push(...difference('event', stored.events, expected))
  return faults
}

/** In the form of `readStored`. */
function inOrder({ version, operation, mark, code, author, tags }: State & { version: number; code: string }) {
  return { version, operation, mark, code, author, tags }
}

export function difference(what: string, got: readonly string[], expected: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const each of got) counts.set(each, (counts.get(each) ?? 0) + 1)
  for (const each of expected) counts.set(each, (counts.get(each) ?? 0) - 1)
  return [...counts].flatMap(([each, count]) =>
    count === 0 ? [] : [`${what} ${each} is ${count > 0 ? `there ${count} times too often` : 'missing'}`],
  )
}

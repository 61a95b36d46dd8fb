import type { Admission } from '../../platform/memory/admission.ts'
import { createByteCache, oldestOf } from '../../platform/memory/byte-cache.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { World } from '../../platform/postgres/snapshot.ts'
import type { Head } from '../stored/rows.ts'

/** Bytes of the longest answer that is kept. */
const longest = 200_000
/**
 * Usual maximum size of an object from which an answer was made. It is counted, since the cache may be the only one that still
 * holds it.
 */
const sourceBytes = 600

/**
 * The sources of an answer: the world in which it was rendered, and objects, each of which is replaced, never changed. As long as
 * all of these are the same, so is the answer.
 */
export interface Sources {
  readonly world: World
  readonly own: readonly unknown[]
}

interface Kept {
  readonly id: number
  readonly own: readonly unknown[]
  readonly body: Buffer
}

/**
 * Answers to reads of one object, as bytes. Rendering an object and writing it as JSON is most of the work of a read
 * (bench/read.ts), and the same few objects are read repeatedly: `admission` detects them. `maxBytes`: the total of all answers.
 */
export function createResponseCache(admission: Admission, maxBytes: number) {
  const kept = createByteCache<string, Kept>({
    name: 'answers',
    maxBytes,
    maxEntryBytes: longest,
    sizeOf: ({ body, own }) => 200 + body.length + sourceBytes * own.length,
  })
  let ofWorld: World | null = null

  /** All answers belong to one world; false: the given world is outdated. */
  function begin(world: World): boolean {
    if (ofWorld === world) return true
    if (ofWorld && ofWorld.number > world.number) return false
    ofWorld = world
    kept.clear()
    return true
  }

  return {
    /** The answer to this question, if it was made from the same sources. */
    find(question: string, { world, own }: Sources): Buffer | undefined {
      const known = begin(world) ? kept.get(question) : undefined
      return known && areEqual(known.own, own) ? known.body : undefined
    },

    /** Keeps the answer, made from the object `id`, if it is worth it. */
    keep(question: string, id: number, { world, own }: Sources, body: () => Buffer): void {
      if (!begin(world)) return
      if (!kept.has(question) && !admission.admits(id, oldestOf(kept)?.id)) return
      kept.set(question, { id, own, body: body() })
    },
  }
}

function areEqual(some: readonly unknown[], others: readonly unknown[]): boolean {
  if (some.length !== others.length) return false
  for (let index = 0; index < some.length; index++) if (some[index] !== others[index]) return false
  return true
}

/** Whether the rights of a caller on the object depend on the current time. */
export function hasDatedGrants({ guard }: Pick<Head, 'guard'>): boolean {
  return guard.acl?.some(({ from, to }) => from !== undefined || to !== undefined) ?? false
}

/** Records whether the database was asked at all: such an answer has sources that the cache cannot check. */
export class Watched implements Queryable {
  asked = false
  readonly #q: Queryable

  constructor(q: Queryable) {
    this.#q = q
  }

  query<T extends object>(text: string, values?: readonly unknown[], name?: string) {
    this.asked = true
    return this.#q.query<T>(text, values, name)
  }
}

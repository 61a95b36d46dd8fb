/**
 * The displayed data of link targets, kept in memory between batches. All changes of objects pass through the indexer, which
 * updates this data. So it is current unless another process has indexed in between.
 */
import type { Queryable } from '../../platform/postgres/db.ts'
import type { IndexSource, LinkTarget } from '../document/source.ts'

/**
 * Beyond this number all are dropped, at the beginning of a batch. The batch then reads the needed ones with a statement that it
 * sends anyway.
 */
const mostTargets = 50_000
/** A hierarchy is a tree or nearly so. If users manage to build a circle, it is cut here. */
const mostAncestors = 1000

export interface Targets {
  /** Forgets everything, because another process has indexed. */
  clear(): void
  /** Takes over the data that a batch has read. */
  renew(sources: readonly IndexSource[], gone: readonly number[]): void
  /** Reads the unknown ones of these objects and of all objects above them, with one statement. */
  load(db: Queryable, ids: ReadonlySet<number>): Promise<void>
  get(id: number): LinkTarget | undefined
  ancestors(id: number): readonly number[]
}

export function createTargets(): Targets {
  const known = new Map<number, LinkTarget | null>()
  let lines = new Map<number, readonly number[]>()

  function ancestors(id: number): readonly number[] {
    const line = lines.get(id)
    if (line) return line
    const found = new Set<number>()
    const open = [...(known.get(id)?.parents ?? [])]
    for (let next = open.pop(); next !== undefined && found.size < mostAncestors; next = open.pop()) {
      if (found.has(next) || next === id) continue
      found.add(next)
      open.push(...(known.get(next)?.parents ?? []))
    }
    const result = found.size === 0 ? nobody : [...found]
    lines.set(id, result)
    return result
  }

  return {
    clear() {
      known.clear()
      lines = new Map()
    },
    renew(sources, gone) {
      lines = new Map()
      for (const id of gone) known.delete(id)
      for (const { id, parents, standard } of sources) {
        if (known.has(id)) known.set(id, { parents, texts: standard['1']?.text ?? {} })
      }
    },
    async load(db, ids) {
      if (known.size > mostTargets) known.clear()
      const missing = [...ids].filter((id) => !known.has(id))
      if (missing.length === 0) return
      lines = new Map()
      // The limits keep the planner from joining by a hash of all objects, since it expects a recursion to find many:
      // that took 52 ms a batch with 89,520 objects, this takes less than 1 ms.
      const { rows } = await db.query<{ id: number; parents: number[]; texts: Record<string, string> | null }>(
        `with recursive wanted(id) as (
           select unnest($1::bigint[])
           union
           select parent from wanted cross join lateral (
             select parents from object where system_object_id = wanted.id limit 1
           ) o, unnest(o.parents) parent
         )
         select wanted.id, o.parents, o.texts
         from wanted cross join lateral (
           select parents, standard -> '1' -> 'text' as texts from object where system_object_id = wanted.id limit 1
         ) o`,
        [missing],
        'search-link-targets',
      )
      for (const id of missing) known.set(id, null)
      for (const { id, parents, texts } of rows) known.set(id, { parents, texts: texts ?? {} })
    },
    get: (id) => known.get(id) ?? undefined,
    ancestors,
  }
}

const nobody: readonly number[] = []

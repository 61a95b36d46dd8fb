import {
  columns,
  filteredMask,
  type Grant,
  masks,
  type Row,
  type Scene,
  type TagFilter,
  type Thing,
  titles,
} from './scene.ts'

/**
 * What a caller may know of a scene, by the rules of docs/rights-and-pools.md read one by one. Nothing of the service is
 * used here.
 */
export interface Knowledge {
  mayRead(index: number): boolean
  /** Whether a mask (`standard` or one of the scene) may be used to read the object. */
  mayUse(index: number, mask: string): boolean
  /** A column of an object, `part.<column>` in rows. */
  mayKnow(index: number, column: string): boolean
  /** Whether a mask shows the title; `_standard` does so anyway. */
  isTitleMasked(index: number): boolean
  /** Where an object stands in its hierarchy. */
  mayKnowPlace(index: number): boolean
}

export function knowledgeOf({ pools, types, things }: Scene, caller: number): Knowledge {
  const masksOf = things.map((thing) => usableMasks(thing))

  function grantsOn(thing: Thing): Grant[] {
    const found = [...thing.grants]
    if (thing.pool === null) found.push(...(types[thing.type] ?? []))
    for (let pool = thing.pool; pool !== null; pool = pools[pool]?.parent ?? null)
      found.push(...(pools[pool]?.grants ?? []))
    return found.filter((grant) => grant.who === caller && tagsFit(grant.tags, thing.tags))
  }

  /** null: the caller may not read the object. */
  function usableMasks(thing: Thing): Set<string> | null {
    const all = ['standard', ...Object.keys(masks[thing.type])]
    const grants = grantsOn(thing)
    if (grants.length === 0 && thing.owner !== caller) return null
    const usable = new Set<string>(thing.owner === caller ? all : [])
    for (const grant of grants) {
      for (const mask of grant.masks[thing.type] ?? all) usable.add(mask === 'standard mask' ? standardOf(thing) : mask)
    }
    // Its tag filter asks for the second tag.
    if (!thing.tags.includes(1)) usable.delete(filteredMask)
    return usable
  }

  function standardOf({ type, pool }: Thing): string {
    if (type !== 'work') return 'standard'
    for (let at = pool; at !== null; at = pools[at]?.parent ?? null) {
      const standard = pools[at]?.standard
      if (standard) return standard
    }
    return 'standard'
  }

  return {
    mayRead: (index) => masksOf[index] !== null,
    mayUse: (index, mask) => masksOf[index]?.has(mask) === true,
    mayKnow(index, column) {
      const { type } = things[index] as Thing
      const usable = masksOf[index]
      if (!usable) return false
      if (column === titles[type]) return true
      return [...usable].some((mask) => mask === 'standard' || masks[type][mask]?.includes(column))
    },
    isTitleMasked: (index) => masksOf[index]?.size === 0,
    mayKnowPlace: (index) => masksOf[index] !== null,
  }
}

function tagsFit(filter: TagFilter | null, tags: readonly number[]): boolean {
  if (!filter) return true
  const has = (tag: number): boolean => tags.includes(tag)
  return filter.all.every(has) && (filter.any.length === 0 || filter.any.some(has)) && !filter.not.some(has)
}

const partColumns = Object.keys(columns.work).filter((name) => name.startsWith('part.'))

/**
 * The same objects with other values where the caller knows none (`undefined` clears a value), other rows where the
 * caller sees none, and other places in the hierarchy where the caller may not read the object.
 */
export function withOthers(
  { things }: Scene,
  knowledge: Knowledge,
  other: (column: string, type: string, before: unknown) => unknown,
  otherRows: (rows: readonly Row[]) => readonly Row[],
): Thing[] {
  return things.map((thing, index) => {
    const change = (row: Row, prefix: string): Row => {
      const entries = Object.entries<string>(columns[thing.type]).flatMap(([name, type]) => {
        if (name.startsWith('part.') !== (prefix !== '')) return []
        const key = name.slice(prefix.length)
        return [[key, knowledge.mayKnow(index, name) ? row[key] : other(name, type, row[key])] as const]
      })
      return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
    }
    const knowsRows = partColumns.some((name) => knowledge.mayKnow(index, name))
    const rows = knowsRows || thing.type !== 'work' ? thing.rows : otherRows(thing.rows)
    const parent = knowledge.mayKnowPlace(index)
      ? thing.parent
      : (other('_parent', 'parent', thing.parent) as number | null)
    return { ...thing, values: change(thing.values, ''), rows: rows.map((row) => change(row, 'part.')), parent }
  })
}

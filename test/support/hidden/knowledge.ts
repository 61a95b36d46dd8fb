import { columns, filteredMask, masks, nestedOf, type TypeName, titles, unchanging } from './model.ts'
import { crew, type Grant, members, type Row, type Scene, type TagFilter, type Thing } from './scene.ts'

/**
 * What a caller may know of a scene, by the rules of docs/rights-and-pools.md read one by one. Nothing of the service is
 * used here.
 */
export interface Knowledge {
  mayRead(index: number): boolean
  /** Whether a mask (`standard` or one of the scene) may be used to read the object. */
  mayUse(index: number, mask: string): boolean
  /** A column of an object, `<nested table>.<column>` in rows. */
  mayKnow(index: number, column: string): boolean
  /** Whether nothing of the object is hidden. */
  mayKnowAll(index: number): boolean
  /** Whether the object may be saved with the mask, or deleted with any. */
  mayWrite(index: number, mask?: string): boolean
  /** Whether a mask shows the title; `_standard` does so anyway. */
  isTitleMasked(index: number): boolean
  /** Where an object stands in its hierarchy: paths of what is below it lead through it. */
  mayKnowPlace(index: number): boolean
  /** Names of pools. */
  mayKnowPool(pool: number): boolean
  /** Whether objects of the type could be read of which nothing gives more than the type itself. */
  mayReadAny(type: TypeName): boolean
}

const isOf = (who: number | null, caller: number): boolean =>
  who === caller || (who === crew && members.includes(caller))

const allMasks = (type: TypeName) => ['standard', ...Object.keys(masks[type])]

/** Whether a grant is in force for the caller. */
export const concerns = ({ who, when, active }: Grant, caller: number): boolean =>
  isOf(who, caller) && active && when !== 'past' && when !== 'future'

export function knowledgeOf({ pools, types, things }: Scene, caller: number): Knowledge {
  const masksOf = things.map((thing) => usableMasks(thing))
  const writable = things.map((thing) => writableMasks(thing))

  const placed = new Set<number>()
  const climb = (index: number): void => {
    if (placed.has(index)) return
    placed.add(index)
    for (const above of things[index]?.parents ?? []) climb(above)
  }
  for (const [index, usable] of masksOf.entries()) if (usable) climb(index)

  /** The grants on a pool, and those that come down from the pools above it. */
  function grantsIn(start: number): Grant[] {
    const found: Grant[] = []
    let cut = false
    for (let pool: number | null = start; pool !== null; pool = pools[pool]?.parent ?? null) {
      const grants = pools[pool]?.grants ?? []
      found.push(...grants.filter((grant) => concerns(grant, caller) && (!cut || grant.sticky)))
      cut ||= pools[pool]?.private === true
    }
    return found
  }

  function grantsOn(thing: Thing): Grant[] {
    const container = thing.pool === null ? (types[thing.type] ?? []) : grantsIn(thing.pool)
    const coming = container.filter(({ sticky }) => !thing.private || sticky)
    return [...thing.grants, ...coming].filter((grant) => concerns(grant, caller) && tagsFit(grant.tags, thing.tags))
  }

  function withMasks(thing: Thing, grants: readonly Grant[]): Set<string> {
    const all = allMasks(thing.type)
    const usable = new Set<string>(isOf(thing.owner, caller) ? all : [])
    for (const grant of grants) {
      for (const mask of grant.masks[thing.type] ?? all) usable.add(mask === 'standard mask' ? standardOf(thing) : mask)
    }
    return usable
  }

  /** null: the caller may not read the object. */
  function usableMasks(thing: Thing): Set<string> | null {
    const grants = grantsOn(thing).filter(({ reach }) => reach !== 'create')
    if (grants.length === 0 && !isOf(thing.owner, caller)) return null
    const usable = withMasks(thing, grants)
    // Its tag filter asks for the second tag.
    if (!thing.tags.includes(1)) usable.delete(filteredMask)
    return usable
  }

  function writableMasks(thing: Thing): Set<string> | null {
    const grants = grantsOn(thing).filter(({ reach }) => reach === 'all')
    return grants.length === 0 && !isOf(thing.owner, caller) ? null : withMasks(thing, grants)
  }

  function standardOf({ type, pool }: Thing): string {
    if (type !== 'work') return 'standard'
    for (let at = pool; at !== null; at = pools[at]?.parent ?? null) {
      const standard = pools[at]?.standard
      if (standard) return standard
    }
    return 'standard'
  }

  function mayKnow(index: number, column: string): boolean {
    const { type } = things[index] as Thing
    const usable = masksOf[index]
    if (!usable) return false
    if (column === titles[type]) return true
    return [...usable].some((mask) => mask === 'standard' || masks[type][mask]?.includes(column))
  }

  return {
    mayRead: (index) => masksOf[index] !== null,
    mayKnow,
    mayKnowAll: (index) => Object.keys(columns[things[index]?.type as TypeName]).every((name) => mayKnow(index, name)),
    mayUse: (index, mask) => masksOf[index]?.has(mask) === true,
    mayWrite: (index, mask) => (mask === undefined ? Boolean(writable[index]) : writable[index]?.has(mask) === true),
    isTitleMasked: (index) => masksOf[index]?.size === 0,
    mayKnowPlace: (index) => placed.has(index),
    mayKnowPool: (pool) => grantsIn(pool).some(({ reach, tags }) => reach === 'all' && tags === null),
    mayReadAny: (type) => (types[type] ?? []).some((grant) => concerns(grant, caller) && grant.reach !== 'create'),
  }
}

function tagsFit(filter: TagFilter | null, tags: readonly number[]): boolean {
  if (!filter) return true
  const has = (tag: number): boolean => tags.includes(tag)
  return filter.all.every(has) && (filter.any.length === 0 || filter.any.some(has)) && !filter.not.some(has)
}

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
    const { type } = thing
    const prefix = `${nestedOf[type]}.`
    const change = (row: Row, nested: boolean): Row => {
      const entries = Object.entries<string>(columns[type]).flatMap(([name, kind]) => {
        if (name.includes('.') !== nested) return []
        const key = nested ? name.slice(prefix.length) : name
        const kept = knowledge.mayKnow(index, name)
        return [[key, kept ? row[key] : other(name, kind, row[key])] as const]
      })
      return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
    }
    const inRows = Object.keys(columns[type]).filter((name) => name.startsWith(prefix))
    const sameRows = inRows.some((name) => knowledge.mayKnow(index, name) || unchanging(name))
    return {
      ...thing,
      values: change(thing.values, false),
      rows: (sameRows ? thing.rows : otherRows(thing.rows)).map((row) => change(row, true)),
      parents: knowledge.mayKnowPlace(index) ? thing.parents : [],
    }
  })
}

/**
 * Whether something links to the object, or to what goes with it, in a way that the caller does not know: such a link
 * decides what a deletion comes to, and cannot be kept secret.
 */
export function isEntangled(scenes: readonly Scene[], knowledge: Knowledge, index: number): boolean {
  const seen = new Set<number>()
  const look = (at: number): boolean => {
    if (seen.has(at)) return false
    seen.add(at)
    return scenes.some(({ things }) =>
      things.some((thing, from) => {
        const by = linksOf(thing).filter(({ to }) => to === at)
        if (by.length === 0) return false
        const known = knowledge.mayRead(from) && by.every(({ column }) => !column || knowledge.mayKnow(from, column))
        return !known || look(from)
      }),
    )
  }
  return look(index)
}

/** Where a thing links to, by column; parents by none. */
function linksOf({ type, values, rows, parents }: Thing): { readonly to: unknown; readonly column: string | null }[] {
  const found = Object.entries<string>(columns[type]).filter(([, kind]) => kind.startsWith('link:'))
  const inRows = (key: string) => rows.map((row) => ({ to: row[key], column: `${nestedOf[type]}.${key}` }))
  return [
    ...parents.map((to) => ({ to, column: null })),
    ...found.flatMap(([name]) =>
      name.includes('.') ? inRows(name.slice(name.indexOf('.') + 1)) : [{ to: values[name], column: name }],
    ),
  ]
}

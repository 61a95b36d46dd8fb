import type { Knowledge } from './knowledge.ts'
import type { Column, Field, Mask, NestedField, ObjectType } from './model.ts'
import type { Localized, titlesOf } from './titles.ts'
import type { Names } from './wire.ts'
import type { Row, Thing, World } from './world.ts'

/**
 * What a caller is shown of an object, by docs/objects-reading.md: the expected side of every comparison with an answer
 * (`seen.ts` has the other one).
 */

/** An object in an answer, as far as it is compared. */
export interface Shown {
  readonly id: number
  readonly as: 'hidden' | 'short' | 'whole'
  readonly titles?: readonly (Localized | null)[]
  readonly mask?: string
  readonly tags?: readonly number[] | undefined
  readonly pool?: { readonly id: number; readonly name: string | null } | undefined
  readonly owner?: number | undefined
  readonly parents?: readonly Shown[] | number | null | undefined
  readonly level?: number
  readonly hasChildren?: boolean
  readonly path?: readonly Shown[]
  readonly paths?: readonly (readonly Shown[])[] | undefined
  readonly grants?: number | undefined
  readonly private?: boolean | undefined
  readonly rights?: readonly string[]
  readonly inherited?: Readonly<Record<string, number>>
  readonly fields?: Fields
}

export type Fields = Readonly<Record<string, unknown>>

export type FormatName =
  | 'short'
  | 'standard'
  | 'standard_extended'
  | 'long'
  | 'full'
  | 'long_inheritance'
  | 'full_inheritance'

interface Format {
  readonly whole: boolean
  readonly extended: boolean
  readonly long: boolean
  readonly full: boolean
  readonly inherits: boolean
  readonly linked: FormatName
}

const base = { whole: true, extended: false, long: false, full: false, inherits: false, linked: 'short' } as const
const long = { ...base, extended: true, long: true, linked: 'standard_extended' } as const
const formats: Readonly<Record<FormatName, Format>> = {
  short: { ...base, whole: false },
  standard: base,
  standard_extended: { ...base, extended: true },
  long,
  full: { ...long, full: true },
  long_inheritance: { ...long, inherits: true },
  full_inheritance: { ...long, full: true, inherits: true },
}
export const formatNames = Object.keys(formats) as FormatName[]

export type Merge = 'none' | 'all' | 'in_main_search' | 'not_in_main_search' | 'not_in_main_search_unless_reverse'
export const merges: readonly Merge[] = [
  'none',
  'all',
  'in_main_search',
  'not_in_main_search',
  'not_in_main_search_unless_reverse',
]

export interface ShowOptions {
  readonly format: FormatName
  readonly merge: Merge
  readonly depth: number
  readonly skipBelow: boolean
}

interface Place {
  readonly format: FormatName
  readonly mergeLeft: number
  readonly top: boolean
  /** Itself asked for, or below what is. */
  readonly owned: boolean
  readonly below: boolean
  readonly chain: readonly number[]
  /** The outermost mask around. */
  readonly outer: Mask
}

export interface Showing {
  readonly world: World
  readonly names: Names
  readonly knowledge: Knowledge
  readonly titleOf: ReturnType<typeof titlesOf>
}

export function createShow({ world, names, knowledge, titleOf }: Showing) {
  const { things } = world
  const thingOf = (index: number): Thing => things[index] as Thing
  const id = (index: number): number => names.ids[index] as number

  const titles = (index: number) => ([1, 2] as const).map((slot) => titleOf(index, slot))
  const short = (index: number): Shown =>
    knowledge.sees(index) ? { id: id(index), as: 'short', titles: titles(index) } : { id: id(index), as: 'hidden' }

  /** @param mask null: the short form, which needs none. */
  function show(index: number, mask: Mask | null, options: ShowOptions): Shown {
    const { format, merge, depth } = options
    if (!formats[format].whole || !mask) return short(index)
    const place: Place = {
      format,
      mergeLeft: merge === 'none' ? 0 : depth,
      top: true,
      owned: true,
      below: false,
      chain: [index],
      outer: mask,
    }
    return whole(index, mask.name, mask.fields, mask.without, place, options)
  }

  function whole(
    index: number,
    maskName: string,
    fields: readonly Field[],
    without: Mask['without'],
    place: Place,
    options: ShowOptions,
  ): Shown {
    const thing = thingOf(index)
    const format = formats[place.format]
    const { type } = thing
    const inTree = type.hierarchy !== 'none' && !without.has('parent')
    const inherited: Record<string, number> = {}
    const read = format.inherits ? inheriting(thing, fields, inherited) : thing
    return {
      id: id(index),
      as: 'whole',
      titles: titles(index),
      mask: maskName,
      tags:
        type.tags && !without.has('tags')
          ? thing.tags.map((tag) => names.tags[tag] as number).sort((a, b) => a - b)
          : undefined,
      pool: type.pool && !without.has('pool') ? poolOf(thing) : undefined,
      owner: without.has('owner') ? undefined : ownerOf(thing),
      parents: inTree ? parentsOf(thing) : undefined,
      ...(inTree && format.extended ? hierarchyOf(thing) : {}),
      ...(format.long && type.acl && knowledge.may('acl', index)
        ? { grants: thing.grants.length, private: thing.private }
        : {}),
      ...(format.full && place.top
        ? { rights: (['delete', 'read', 'write'] as const).filter((right) => knowledge.may(right, index)) }
        : {}),
      ...(format.inherits ? { inherited } : {}),
      fields: fieldsOf(index, read, fields, place, options),
    }
  }

  function poolOf({ pool }: Thing): Shown['pool'] {
    if (pool === null) return undefined
    return { id: names.pools[pool] as number, name: knowledge.knowsPool(pool) ? nameOfPool(pool) : null }
  }
  const nameOfPool = (pool: number): string => `pq${world.types[0]?.name ?? ''}${'abcdefgh'[pool]}qp`

  function ownerOf({ owner }: Thing): number {
    if (owner === null) return 1
    const n = Number(owner.slice(1))
    return (owner.startsWith('u') ? names.users[n] : names.groups[n]) as number
  }

  function parentsOf({ type, parents }: Thing): Shown['parents'] {
    if (type.hierarchy === 'many') return parents.map(short)
    return parents[0] === undefined ? null : (names.objectIds[parents[0]] as number)
  }

  function hierarchyOf({ index, type }: Thing): Pick<Shown, 'level' | 'hasChildren' | 'path' | 'paths'> {
    const ways = waysTo(index)
    const [first = []] = ways
    const children = things.some(
      (other) => other.parents.includes(index) && !other.trashed && knowledge.sees(other.index),
    )
    return {
      level: first.length - 1,
      hasChildren: children,
      path: first.map(short),
      paths: type.hierarchy === 'many' ? ways.map((way) => way.map(short)) : undefined,
    }
  }

  /** From the top down to the object, in the order of its parents. */
  function waysTo(index: number): number[][] {
    const { parents } = thingOf(index)
    if (parents.length === 0) return [[index]]
    return parents.flatMap((parent) => waysTo(parent).map((way) => [...way, index]))
  }

  /** Empty fields that inherit have what the nearest object above has, if the caller may know it there. */
  function inheriting(thing: Thing, fields: readonly Field[], sources: Record<string, number>): Row {
    const values = new Map(thing.values)
    const rows = new Map(thing.rows)
    for (const field of fields) {
      if (!field.inherit || field.mode === 'off' || field.is === 'below') continue
      const key = field.is === 'column' ? field.column.name : `_nested:${field.table.name}`
      const has = (at: number): boolean =>
        field.is === 'column'
          ? thingOf(at).values.has(field.column)
          : (thingOf(at).rows.get(field.table) ?? []).length > 0
      if (has(thing.index)) continue
      const columns = field.is === 'column' ? [field.column] : columnsIn(field)
      const known = (at: number): boolean =>
        columns.every((column) => knowledge.knows(at, column)) && knowledge.sees(at)
      const source = sourceAbove(thing, (at) => has(at) && known(at))
      if (source === null) continue
      sources[key] = id(source)
      if (field.is === 'column') values.set(field.column, thingOf(source).values.get(field.column))
      else rows.set(field.table, thingOf(source).rows.get(field.table) ?? [])
    }
    return { values, rows }
  }

  function sourceAbove({ parents }: Thing, gives: (at: number) => boolean): number | null {
    for (const parent of parents) {
      const found = gives(parent) ? parent : sourceAbove(thingOf(parent), gives)
      if (found !== null) return found
    }
    return null
  }

  function fieldsOf(index: number, row: Row, fields: readonly Field[], place: Place, options: ShowOptions): Fields {
    const shown: Record<string, unknown> = {}
    const { full } = formats[place.format]
    for (const field of fields) {
      if (field.mode === 'off') continue
      if (field.is === 'column') {
        const { name, kind } = field.column
        const value = row.values.get(field.column)
        // A boolean without value is false, but where it may come from above.
        if (value === undefined && kind === 'boolean' && !inherits(index, field)) shown[name] = false
        else if (value === undefined && full) shown[name] = kind === 'text_l10n_oneline' ? {} : null
        if (value !== undefined) shown[name] = kind === 'link' ? linked(value as number, field, place, options) : value
      } else if (field.is === 'nested') {
        const rows = row.rows.get(field.table) ?? []
        if (rows.length > 0 || full)
          shown[`_nested:${field.table.name}`] = rows.map((each) => fieldsOf(index, each, field.fields, place, options))
      } else if (place.owned && !options.skipBelow) {
        const key = `_reverse_nested:${world.types[field.type]?.name}:${field.column?.name ?? '_id_parent'}`
        shown[key] = below(index, field, place, options)
      }
    }
    return shown
  }

  const inherits = (index: number, { column, inherit }: Extract<Field, { is: 'column' }>): boolean =>
    inherit ||
    thingOf(index).type.masks.some(({ fields }) =>
      fields.some((each) => each.is === 'column' && each.column === column && each.inherit),
    )

  function linked(to: number, field: Extract<Field, { is: 'column' }>, place: Place, options: ShowOptions): Shown {
    if (!knowledge.sees(to) || place.chain.includes(to)) return short(to)
    const { type } = thingOf(to)
    const merged = place.mergeLeft > 0 && isMerged(type, place, options)
    const format = merged ? place.format : formats[place.format].linked
    const named =
      field.linkMask === null
        ? null
        : field.linkMask === 'same'
          ? [...type.masks, type.allFields].includes(place.outer)
            ? place.outer
            : null
          : (type.masks[field.linkMask] ?? null)
    const mask = named ?? knowledge.standardMask(to)
    if (!formats[format].whole || !knowledge.mayUse(to, mask)) return short(to)
    const inside: Place = {
      format,
      mergeLeft: merged ? place.mergeLeft - 1 : 0,
      top: false,
      owned: false,
      below: place.below,
      chain: [to, ...place.chain],
      outer: mask,
    }
    return whole(to, mask.name, mask.fields, mask.without, inside, options)
  }

  function isMerged({ main }: ObjectType, { below: isBelow }: Place, { merge }: ShowOptions): boolean {
    if (merge === 'in_main_search') return main
    if (merge === 'not_in_main_search') return !main
    return merge === 'all' || (merge === 'not_in_main_search_unless_reverse' && !main && !isBelow)
  }

  /** Part of the object above them: shown with the mask of the field, in the format of the whole. */
  function below(index: number, field: Extract<Field, { is: 'below' }>, place: Place, options: ShowOptions): Shown[] {
    const type = world.types[field.type] as ObjectType
    const isBelow = (other: Thing): boolean =>
      field.column === null ? other.parents.includes(index) : other.values.get(field.column) === index
    const named = typeof field.shows === 'number' ? (type.masks[field.shows] as Mask) : null
    return things
      .filter((other) => other.type === type && isBelow(other) && !other.trashed)
      .filter((other) => knowledge.sees(other.index) && !place.chain.includes(other.index))
      .map((other) => {
        const inside = { ...place, top: false, below: true, chain: [other.index, ...place.chain] }
        const outer = named ?? place.outer
        const fields = named?.fields ?? (field.shows as readonly Field[])
        return whole(other.index, outer.name, fields, named?.without ?? new Set(), { ...inside, outer }, options)
      })
      .sort((a, b) => a.id - b.id)
  }

  return { show, short }
}

export function columnsIn({ fields }: NestedField): Column[] {
  return fields.flatMap((field) => {
    if (field.mode === 'off' || field.is === 'below') return []
    return field.is === 'column' ? [field.column] : columnsIn(field)
  })
}

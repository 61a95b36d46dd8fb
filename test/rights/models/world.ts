import { type Column, type Ids, type ObjectType, readerOf, type Table, typesOf } from './model.ts'
import type { Choices, RawFilter, RawGrant, RawThing, RawTransition, RawWorld } from './raw.ts'

/** Pools, callers, grants and objects over a datamodel: what a raw draw comes to. */

export const callers = ['ann', 'ben', 'cleo', 'dan'] as const
/** Who is in which group. */
export const groups: readonly (readonly number[])[] = [
  [0, 2],
  [1, 2],
]
export const tagCount = 3

/** Who applies a tag and who takes it off, by tag; null: everybody who may write. The same in all worlds. */
export interface TagRule {
  readonly add: readonly Who[]
  readonly remove: readonly Who[]
}
export const tagRules: readonly (TagRule | null)[] = [
  null,
  { add: ['u0', 'g1'], remove: ['all'] },
  { add: ['all'], remove: ['g0'] },
]

/** Users and groups by number; `all` is the group of everybody, `contact` that of the pool of the object. */
export type Who = `u${number}` | `g${number}` | 'all' | 'owner' | 'contact'
export type Right = 'read' | 'write' | 'delete' | 'create' | 'link' | 'unlink' | 'acl'
export type MaskRef = number | 'standard'

export interface Grant {
  readonly who: Who
  readonly rights: readonly Right[]
  readonly bagRead: boolean
  /** By object type: with which masks; null: with all. */
  readonly masks: readonly (readonly MaskRef[] | null)[]
  /** Those of the right `mask`, which hold together with the others; null: the grant does not have that right. */
  readonly moreMasks: readonly (readonly MaskRef[] | null)[] | null
  readonly types: readonly number[] | null
  readonly filter: RawFilter | null
  readonly when: RawGrant['when']
  readonly active: boolean
  readonly sticky: boolean
  /** On objects: made from a preset that says what it gives. */
  readonly preset: boolean
  /** On pools and object types: whoever has it may pass it on. */
  readonly grantable: boolean
}

/** A collection: what is below it belongs to the same owner, and inherits its grants. */
export interface Share {
  readonly parent: number | null
  /** null: root. */
  readonly owner: Who | null
  readonly private: boolean
  readonly grants: readonly Grant[]
  /** Indexes of things. */
  readonly things: readonly number[]
}

export interface Pool {
  /** null: the root pool. */
  readonly parent: number | null
  readonly private: boolean
  readonly grants: readonly Grant[]
  /** By object type: indexes of masks; null: none of its own. */
  readonly standards: readonly (readonly number[] | null)[]
  readonly contact: Who | null
}

export interface Row {
  /** By column. */
  readonly values: ReadonlyMap<Column, unknown>
  readonly rows: ReadonlyMap<Table, readonly Row[]>
}

export interface Thing extends Row {
  readonly index: number
  readonly type: ObjectType
  readonly pool: number | null
  readonly tags: readonly number[]
  /** null: root. */
  readonly owner: Who | null
  readonly grants: readonly Grant[]
  /** Of the grants on pools only sticky ones reach it, of those on its type none. */
  readonly private: boolean
  /** Indexes of things. */
  readonly parents: readonly number[]
  readonly trashed: boolean
}

export interface Transition extends Omit<RawTransition, 'who'> {
  readonly who: readonly Who[]
}

export interface World {
  readonly types: readonly ObjectType[]
  readonly pools: readonly Pool[]
  readonly rootGrants: readonly Grant[]
  /** On object types, for objects without pool. */
  readonly typeGrants: readonly (readonly Grant[])[]
  readonly things: readonly Thing[]
  readonly transitions: readonly Transition[]
  readonly shares: readonly Share[]
  readonly questions: number
}

const principals = [
  'u0',
  'u1',
  'u2',
  'u3',
  'g0',
  'g1',
  'owner',
  'all',
  'contact',
  'u0',
  'u1',
  'g0',
  'u2',
  'u3',
  'g1',
  'g0',
] as const satisfies readonly Who[]
const owners: readonly (Who | null)[] = [
  null,
  null,
  null,
  null,
  null,
  null,
  null,
  null,
  null,
  null,
  null,
  'u0',
  'u1',
  'u2',
  'g0',
  'g1',
]
const persons = ['u0', 'u1', 'u2', 'u3', 'g0', 'g1'] as const satisfies readonly Who[]

export function worldOf(raw: RawWorld, prefix: string, ids: Ids): World {
  const types = typesOf(raw.types, prefix, ids)
  const grant = (each: RawGrant): Grant => grantOf(each, types)
  const pools = raw.pools.map((each, index): Pool => {
    const read = readerOf(each.standards)
    return {
      parent: index === 0 || each.parent % (index + 1) === index ? null : each.parent % (index + 1),
      private: each.private,
      grants: each.grants.map(grant),
      standards: types.map(({ masks }) => {
        const chosen = read(2)
        return masks.length === 0 || chosen > 0 ? null : [read(masks.length)]
      }),
      contact: each.contact === null ? null : (persons[each.contact] ?? null),
    }
  })
  const drafts = raw.things.map((each, index) => thingOf(each, index, types, pools.length, grant))
  return {
    types,
    pools,
    rootGrants: raw.rootGrants.map(grant),
    // Without pools there are no contacts, and nothing is inherited.
    typeGrants: raw.types.map((each, index) =>
      types[index]?.pool
        ? []
        : each.grants
            .map(grant)
            .map((one) => ({ ...one, sticky: false, who: one.who === 'contact' ? 'owner' : one.who })),
    ),
    things: filled(raw.things, drafts),
    transitions: raw.transitions.map((each) => ({
      ...each,
      who: [...new Set(each.who.map((n) => persons[n % persons.length] as Who))],
      types: [...new Set(each.types.filter((n) => n < types.length))],
    })),
    shares: sharesOf(raw, grant),
    questions: raw.questions,
  }
}

const sharers: readonly (Who | null)[] = [null, null, null, 'u0', 'u1', 'u2', 'u3', 'u0']

/** Without the contact of a pool, whom collections do not know. */
function sharesOf(raw: RawWorld, grant: (raw: RawGrant) => Grant): Share[] {
  const made: Share[] = []
  for (const [index, each] of raw.shares.entries()) {
    const parent = each.parent % (index + 1) === index ? null : each.parent % (index + 1)
    made.push({
      parent,
      owner: parent === null ? (sharers[each.owner] ?? null) : (made[parent]?.owner ?? null),
      private: each.private,
      grants: each.grants.map(grant).map((one) => ({ ...one, who: one.who === 'contact' ? 'all' : one.who })),
      things: [...new Set(each.things.map((n) => n % raw.things.length))],
    })
  }
  return made
}

function grantOf(raw: RawGrant, types: readonly ObjectType[]): Grant {
  const refs = (list: readonly (Choices | null)[]) =>
    types.map(({ masks, index }) => {
      const chosen = list[index] ?? null
      if (chosen === null) return null
      const named = chosen.map((n): MaskRef => (masks.length === 0 || n % 3 === 2 ? 'standard' : n % masks.length))
      return [...new Set(named)]
    })
  const rights: Right[] =
    raw.rights < 9
      ? ['read']
      : raw.rights < 13
        ? ['read', 'write', 'delete', 'create', 'link', 'unlink']
        : raw.rights === 13
          ? ['write']
          : raw.rights === 14
            ? ['create', 'delete']
            : ['read', 'acl']
  return {
    who: principals[raw.who] ?? 'u0',
    rights,
    bagRead: raw.rights % 3 === 0,
    masks: refs(raw.masks),
    moreMasks: raw.moreMasks && refs(raw.moreMasks),
    types: raw.types && [...new Set(raw.types.map((n) => n % types.length))],
    filter: raw.filter,
    when: raw.when,
    active: raw.active,
    sticky: raw.sticky,
    preset: (raw.who + raw.rights) % 3 === 0,
    grantable: raw.grantable,
  }
}

type Draft = Omit<Thing, 'values' | 'rows' | 'parents' | 'trashed'>

function thingOf(
  raw: RawThing,
  index: number,
  types: readonly ObjectType[],
  pools: number,
  grant: (raw: RawGrant) => Grant,
): Draft {
  const type = types[raw.type % types.length] as ObjectType
  return {
    index,
    type,
    pool: type.pool ? raw.pool % pools : null,
    tags: type.tags ? raw.tags : [],
    owner: owners[raw.owner] ?? null,
    grants: type.acl ? raw.grants.map(grant).map((each) => ({ ...each, sticky: false })) : [],
    private: type.acl && raw.private,
  }
}

/** Values, rows and parents: they need to know which other things there are. */
function filled(raw: readonly RawThing[], drafts: readonly Draft[]): Thing[] {
  const ofType = (type: number) => drafts.filter((draft) => draft.type.index === type).map(({ index }) => index)
  const pairs = new Map<Table, Set<string>>()
  const made = drafts.map((draft, index) => {
    const { cells, parents } = raw[index] as RawThing
    const read = readerOf(cells)
    const others = (type: number) => ofType(type).filter((other) => other !== index)
    const values = (table: Table, at: string): Map<Column, unknown> => {
      const found = new Map<Column, unknown>()
      for (const column of table.columns) {
        const value = someValue(column, `${index}${at}`, read, others)
        if (value !== undefined) found.set(column, value)
      }
      return found
    }
    const rows = (table: Table, at: string): Map<Table, Row[]> => {
      const found = new Map<Table, Row[]>()
      for (const nested of table.nested) {
        const count = read(3)
        if (nested.pairs) {
          const partners = others(draft.type.index)
          const chosen = pairs.get(nested) ?? new Set<string>()
          pairs.set(nested, chosen)
          const partner = partners[read(97) % Math.max(1, partners.length)]
          if (count > 0 && partner !== undefined) chosen.add([index, partner].sort((a, b) => a - b).join())
          continue
        }
        const made = Array.from({ length: count }, (_, n) => {
          const place = `${at}n${nested.id}r${n}`
          return { values: values(nested, place), rows: rows(nested, place) }
        })
        found.set(nested, made)
      }
      return found
    }
    const own = values(draft.type.table, '')
    const earlier = ofType(draft.type.index).filter((other) => other < index)
    const most = { none: 0, one: 1, many: 2 }[draft.type.hierarchy]
    const above = parents
      .slice(0, most)
      .flatMap((n) => (earlier.length === 0 || n % 4 === 0 ? [] : [earlier[n % earlier.length] as number]))
    return { ...draft, values: own, rows: rows(draft.type.table, ''), parents: [...new Set(above)] }
  })
  // A link in both directions stands on both sides.
  for (const [table, chosen] of pairs) {
    for (const pair of chosen) {
      const [one = 0, two = 0] = pair.split(',').map(Number)
      for (const [from, to] of [
        [one, two],
        [two, one],
      ] as const) {
        const rows = made[from]?.rows as Map<Table, Row[]>
        const values = new Map<Column, unknown>([[table.columns[0] as Column, to]])
        rows.set(table, [...(rows.get(table) ?? []), { values, rows: new Map() }])
      }
    }
  }
  const linked = new Set(made.flatMap((thing) => [...linksOf(thing).map(({ to }) => to), ...thing.parents]))
  return made.map((thing, index) => ({ ...thing, trashed: raw[index]?.trashed === true && !linked.has(index) }))
}

export const words = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'birches', 'cobalt'] as const
export const numbers = [7, -3, 0, 12, 100] as const
export const dates = ['1801', '1845-06', '1900', '1950-03-12'] as const
const ranges = [{ from: '1700', to: '1850' }, { from: '1840-02', to: '1901' }, { from: '1900' }] as const

/** A word that stands in one place only, of letters alone. */
export function markOf(place: string): string {
  return `zq${[...place].map((c) => (c >= '0' && c <= '9' ? 'abcdefghij'[Number(c)] : c)).join('')}qz`
}

function someValue(
  column: Column,
  thing: string,
  read: (most: number) => number,
  others: (type: number) => readonly number[],
): unknown {
  const chosen = read(239)
  if (column.unique) return `key${thing}`
  if (chosen % 5 === 0) return undefined
  const text = () => {
    const list = [words[chosen % 8], ...(chosen % 3 === 0 ? [words[(chosen >> 3) % 8]] : [])]
    return chosen % 2 === 0 ? [...list, markOf(`${thing}c${column.id}`)].join(' ') : list.join(' ')
  }
  switch (column.kind) {
    case 'text':
    case 'text_oneline':
      return text()
    case 'text_l10n_oneline':
      return chosen % 4 === 3 ? { 'en-US': text(), 'de-DE': words[(chosen >> 2) % 8] } : { 'en-US': text() }
    case 'string':
      return words[chosen % 8]
    case 'number':
    case 'integer.2':
      return numbers[chosen % numbers.length]
    case 'boolean':
      return chosen % 2 === 0
    case 'date':
      return { value: dates[chosen % dates.length] }
    case 'daterange':
      return ranges[chosen % ranges.length]
    case 'link': {
      const targets = others(column.target ?? 0)
      return targets.length === 0 ? undefined : targets[chosen % targets.length]
    }
  }
}

/** Where an object links to by its columns, nested ones too. */
export function linksOf(row: Row): { readonly column: Column; readonly to: number }[] {
  const own = [...row.values].flatMap(([column, value]) =>
    column.kind === 'link' ? [{ column, to: value as number }] : [],
  )
  return [...own, ...[...row.rows.values()].flat().flatMap(linksOf)]
}

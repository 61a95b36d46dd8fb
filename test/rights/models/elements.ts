import type { Column, ObjectType, Table } from './model.ts'
import {
  aboveOf,
  columnsOf,
  firstDay,
  fulltextOf,
  type Known,
  lastDay,
  poolsAbove,
  rowsIn,
  textsOf,
  valuesOf,
  wordsOf,
} from './values.ts'
import { dates, markOf, numbers, type Row, type Thing, words } from './world.ts'

/** Elements of searches, each with what it means for a caller. */

export interface Element {
  readonly wire: Readonly<Record<string, unknown>>
  readonly matches: (thing: Thing) => boolean
  /** What `must_not` finds, where that is not all else. */
  readonly misses?: (thing: Thing) => boolean
}

export type Pick = <T>(list: readonly T[]) => T

export interface Drawing extends Known {
  readonly pick: Pick
  /** The object types that the search is about. */
  readonly types: readonly ObjectType[]
}

export function drawElement(drawing: Drawing, depth = 0): Element {
  const kinds = [
    text,
    text,
    phrase,
    parent,
    withBelow,
    wildcard,
    values,
    values,
    range,
    links,
    system,
    inRow,
    nothing,
    ...(depth < 1 ? [group, subsearch] : []),
  ]
  for (;;) {
    const made = drawing.pick(kinds)(drawing, depth)
    if (made) return made
  }
}

type Draw = (drawing: Drawing, depth: number) => Element | null

const columnsWith = ({ types }: Drawing, fits: (column: Column) => boolean): Column[] =>
  types.flatMap(columnsOf).filter(fits)

const isText = ({ kind }: Column): boolean => /^text|^string|^link/.test(kind)

/** Words of the vocabulary, and such as stand in one place. */
function someWord({ pick, world }: Drawing): string {
  const thing = pick(world.things)
  const column = pick(columnsOf(thing.type))
  return pick([...words.slice(0, 6), markOf(`${thing.index}c${column.id}`)])
}

const text: Draw = (drawing) => {
  const { pick, knowledge } = drawing
  const columns = columnsWith(drawing, isText)
  const chosen = [...new Set([pick([null, ...columns]), pick([null, null, ...columns])])]
  // A text that is never split is found by the whole of it.
  const whole = chosen.some((column) => column?.kind === 'string')
  const list = [someWord(drawing), ...(whole || pick([true, false]) ? [] : [someWord(drawing)])]
  const has = (thing: Thing, column: Column | null, word: string): boolean =>
    column === null
      ? [...fulltextOf(thing.type)].some((each) => hasWord(drawing, thing, each, word))
      : hasWord(drawing, thing, column, word)
  return {
    wire: { type: 'text', fields: chosen.map((column) => column?.fullName ?? '_fulltext'), string: list.join(' ') },
    matches: (thing) =>
      knowledge.sees(thing.index) && list.every((word) => chosen.some((column) => has(thing, column, word))),
  }
}

const hasWord = (known: Known, thing: Thing, column: Column, word: string): boolean =>
  valuesOf(known, thing, column).some((value) =>
    textsOf(known, column, value).some((each) => wordsOf(each).includes(word)),
  )

/** Words side by side, in one text. */
const phrase: Draw = (drawing) => {
  const { pick } = drawing
  const columns = columnsWith(drawing, (column) => isText(column) && column.kind !== 'string')
  if (columns.length === 0) return null
  const column = pick(columns)
  const list = [someWord(drawing), someWord(drawing)].join(' ')
  return {
    wire: { type: 'text', fields: [column.fullName], string: list, phrase: true },
    matches: (thing) =>
      valuesOf(drawing, thing, column).some((value) =>
        textsOf(drawing, column, value).some((each) => ` ${wordsOf(each).join(' ')} `.includes(` ${list} `)),
      ),
  }
}

/** What stands right below an object; in a polyhierarchy the parents have their ids for those who may read them. */
const parent: Draw = (drawing) => {
  const { pick, world, names, knowledge } = drawing
  const trees = drawing.types.filter(({ hierarchy }) => hierarchy !== 'none')
  const above = world.things.filter(({ type }) => trees.includes(type))
  if (above.length === 0) return null
  const { index, type } = pick(above)
  const many = type.hierarchy === 'many'
  const path = pick([true, false])
  return {
    wire: {
      type: 'in',
      fields: [many ? `${type.name}._parents.${type.name}._id` : `${type.name}._id_parent`],
      in: [names.objectIds[index]],
      ...(path ? { include_path: true } : {}),
    },
    matches: (thing) =>
      (path ? isBelow(drawing, thing, index) : thing.parents.includes(index)) &&
      knowledge.knowsSystem(thing.index, 'parent') &&
      (!many || knowledge.sees(index)),
  }
}

const isBelow = ({ world }: Known, { index }: Thing, above: number): boolean => aboveOf(world, index).has(above)

/** An object by its id, with what stands below it. */
const withBelow: Draw = (drawing) => {
  const { pick, world, names, knowledge } = drawing
  const { index, type } = pick(world.things)
  return {
    wire: { type: 'in', fields: ['_system_object_id'], in: [names.ids[index]], include_path: true },
    matches: (thing) =>
      thing.index === index ||
      (isBelow(drawing, thing, index) &&
        knowledge.knowsSystem(thing.index, 'parent') &&
        (type.hierarchy !== 'many' || knowledge.sees(index))),
  }
}

/** Links to what another search finds. */
const subsearch: Draw = (drawing, depth) => {
  const { pick, world, knowledge } = drawing
  const columns = columnsWith(drawing, ({ kind }) => kind === 'link')
  if (columns.length === 0) return null
  const column = pick(columns)
  const type = world.types[column.target ?? 0] as ObjectType
  const members = drawMembers({ ...drawing, types: [type] }, [1, 2], depth + 1)
  const isFound = (to: Thing): boolean => knowledge.sees(to.index) && !to.trashed && combined(members, to)
  return {
    wire: {
      type: 'in',
      fields: [column.fullName],
      subsearch: { objecttypes: [type.name], search: members.map(wireOf) },
    },
    matches: (thing) => (valuesOf(drawing, thing, column) as number[]).some((to) => isFound(world.things[to] as Thing)),
  }
}

const wildcard: Draw = (drawing) => {
  const { pick } = drawing
  const columns = columnsWith(drawing, isText)
  const column = pick(columns)
  const word = someWord(drawing)
  const [string, pattern] = pick([
    [`${word.slice(0, 3)}*`, new RegExp(`^${word.slice(0, 3)}`)],
    [`*${word.slice(2)}`, new RegExp(`${word.slice(2)}$`)],
    [`${word.slice(0, 1)}?${word.slice(2)}`, new RegExp(`^${word.slice(0, 1)}.${word.slice(2)}$`)],
  ] as const)
  return {
    wire: { type: 'text', mode: 'wildcard', fields: [column.fullName], string },
    matches: (thing) =>
      valuesOf(drawing, thing, column).some((value) =>
        textsOf(drawing, column, value).some((each) => wordsOf(each).some((found) => pattern.test(found))),
      ),
  }
}

/** What `in` calls a value. */
function namesOf(column: Column, value: unknown): unknown[] {
  if (column.kind === 'text_l10n_oneline') return Object.values(value as object)
  return column.kind === 'date' ? [(value as { value: string }).value] : [value]
}

const values: Draw = (drawing) => {
  const { pick, world } = drawing
  const columns = columnsWith(drawing, ({ kind }) => kind !== 'link' && kind !== 'daterange')
  if (columns.length === 0) return null
  const column = pick(columns)
  const stored = world.things.flatMap((thing) =>
    rowsIn(thing, column.table).flatMap((row) => {
      const value = row.values.get(column)
      return thing.type.table !== rootOf(column.table) || value === undefined ? [] : namesOf(column, value)
    }),
  )
  const list = [...new Set([pick(stored.length > 0 ? stored : [null]), ...(pick([true, false]) ? [null] : [])])]
  if (stored.length === 0) return null
  const some = column.kind === 'boolean' ? list.map((value) => value ?? true) : list
  return {
    wire: { type: 'in', fields: [column.fullName], in: [...new Set(some)] },
    matches: (thing) => {
      const own = thing.type.table === rootOf(column.table)
      const found = valuesOf(drawing, thing, column).flatMap((value) => namesOf(column, value))
      // A boolean without value is false.
      const isEmpty =
        column.kind === 'boolean' && own && drawing.knowledge.knows(thing.index, column) && found.length === 0
      const all = isEmpty ? [false] : found
      return some.some((wanted) => (wanted === null ? own && all.length === 0 : all.includes(wanted)))
    },
  }
}

export const rootOf = (table: Table): Table => (table.owner ? rootOf(table.owner) : table)

const range: Draw = (drawing) => {
  const { pick } = drawing
  const columns = columnsWith(drawing, ({ kind }) => /number|integer|date/.test(kind))
  if (columns.length === 0) return null
  return rangeOf(drawing, pick(columns))
}

function rangeOf(drawing: Drawing, column: Column): Element & { fits: (row: Row) => boolean } {
  const { pick } = drawing
  const isDate = /date/.test(column.kind)
  const from = pick<string | number | undefined>([undefined, ...(isDate ? dates : numbers)])
  const to = pick<string | number | undefined>([undefined, ...(isDate ? dates : numbers)])
  const meets = (value: unknown): boolean => {
    if (!isDate) {
      return (
        (from === undefined || (value as number) >= (from as number)) &&
        (to === undefined || (value as number) <= (to as number))
      )
    }
    const {
      value: single,
      from: start = single,
      to: end = single,
    } = value as { value?: string; from?: string; to?: string }
    return (
      (from === undefined || end === undefined || lastDay(end) >= firstDay(from as string)) &&
      (to === undefined || start === undefined || firstDay(start) <= lastDay(to as string))
    )
  }
  return {
    wire: {
      type: 'range',
      field: column.fullName,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    },
    matches: (thing) => valuesOf(drawing, thing, column).some(meets),
    fits: (row) => row.values.has(column) && meets(row.values.get(column)),
  }
}

const links: Draw = (drawing) => {
  const { pick, world, names, knowledge } = drawing
  const columns = columnsWith(drawing, ({ kind }) => kind === 'link')
  if (columns.length === 0) return null
  const column = pick(columns)
  const targets = world.things.filter(({ type }) => type.index === column.target)
  if (targets.length === 0) return null
  const target = pick(targets).index
  const path = pick([true, false])
  const empty = pick([false, false, true])
  return {
    wire: {
      type: 'in',
      fields: [column.fullName],
      in: [names.ids[target], ...(empty ? [null] : [])],
      ...(path ? { include_path: true } : {}),
    },
    matches: (thing) => {
      const found = valuesOf(drawing, thing, column) as number[]
      // What stands above is known to whoever may read what stands below.
      const isBelow = (to: number): boolean => knowledge.sees(to) && aboveOf(world, to).has(target)
      const isEmpty = thing.type.table === rootOf(column.table) && found.length === 0
      return (empty && isEmpty) || found.some((to) => to === target || (path && isBelow(to)))
    },
  }
}

const system: Draw = (drawing) => {
  const { pick, world, names, knowledge } = drawing
  const kind = pick(['ids', 'pool', 'pool', 'pool', 'tags', 'owner', 'type'] as const)
  const element = (field: string, list: readonly unknown[], matches: Element['matches'], more = {}): Element => ({
    wire: { type: 'in', fields: [field], in: list, ...more },
    matches: (thing) => knowledge.sees(thing.index) && matches(thing),
  })
  if (kind === 'ids') {
    const chosen = [pick(world.things).index, pick(world.things).index]
    const ids = [...new Set(chosen)].map((index) => names.ids[index])
    return element('_system_object_id', ids, ({ index }) => chosen.includes(index))
  }
  if (kind === 'type') {
    const type = pick(world.types)
    return element('_objecttype', [type.name], (thing) => thing.type === type)
  }
  if (kind === 'tags') {
    const tag = pick([0, 1, 2])
    return element(
      '_tags',
      [names.tags[tag]],
      ({ index, tags }) => knowledge.knowsSystem(index, 'tags') && tags.includes(tag),
    )
  }
  if (kind === 'owner') {
    const user = pick([0, 1, 2])
    return element('_owner.user._id', [names.users[user]], ({ index, owner }) => {
      return knowledge.knowsSystem(index, 'owner') && owner === `u${user}`
    })
  }
  const pool = pick([...world.pools.keys()])
  const path = pick([true, true, false])
  return element(
    '_pool',
    [names.pools[pool]],
    ({ index, pool: own }) => {
      if (own === null || !knowledge.knowsSystem(index, 'pool')) return false
      return own === pool || (path && knowledge.knowsPool(own) && poolsAbove(world, own).includes(pool))
    },
    path ? { include_path: true } : {},
  )
}

/** Several conditions on one row of a nested table. */
const inRow: Draw = (drawing) => {
  const { pick, types, knowledge } = drawing
  const all = types.flatMap(({ table }) => [...table.nested, ...table.nested.flatMap(({ nested }) => nested)])
  // Of one column alone there is nothing to ask of one row, and no mask asks for it.
  const tables = all.filter(({ columns }) => columns.length > 1)
  if (tables.length === 0) return null
  const table = pick(tables)
  const one = (): { wire: Record<string, unknown>; fits: (thing: Thing, row: Row) => boolean } => {
    const column = pick(table.columns)
    const knows = (thing: Thing): boolean => knowledge.knows(thing.index, column)
    if (/number|integer|date/.test(column.kind)) {
      const made = rangeOf(drawing, column)
      return { wire: made.wire, fits: (thing, row) => knows(thing) && made.fits(row) }
    }
    const word = someWord(drawing)
    return {
      wire: { type: 'text', fields: [column.fullName], string: word },
      fits: (thing, row) =>
        knows(thing) &&
        row.values.has(column) &&
        textsOf(drawing, column, row.values.get(column)).some((each) => wordsOf(each).includes(word)),
    }
  }
  const parts = (pick([true, false]) ? [one()] : [one(), one()]).map((part) => ({
    ...part,
    not: pick([false, false, true]),
  }))
  return {
    wire: {
      type: 'nested',
      path: table.fullName,
      search: parts.map(({ wire, not }) => ({ ...wire, bool: not ? 'must_not' : 'must' })),
    },
    matches: (thing) =>
      thing.type.table === rootOf(table) &&
      knowledge.knowsRows(thing.index, table) &&
      rowsIn(thing, table).some((row) => parts.every(({ fits, not }) => fits(thing, row) !== not)),
  }
}

/** Objects without a value that the caller knows. */
const nothing: Draw = (drawing) => {
  const columns = columnsWith(drawing, ({ kind }) => kind !== 'boolean')
  const column = drawing.pick(columns)
  return {
    wire: { type: 'in', fields: [column.fullName], in: [null] },
    matches: (thing) => thing.type.table === rootOf(column.table) && valuesOf(drawing, thing, column).length === 0,
    misses: (thing) => valuesOf(drawing, thing, column).length > 0,
  }
}

export interface Member extends Element {
  readonly bool: 'must' | 'should' | 'must_not'
}

export function drawMembers(drawing: Drawing, counts: readonly number[], depth = 0): Member[] {
  const { pick } = drawing
  return Array.from({ length: pick(counts) }, () => ({
    ...drawElement(drawing, depth),
    bool: pick(['must', 'must', 'should', 'must_not'] as const),
  }))
}

export const wireOf = ({ wire, bool }: Member): object => ({ ...wire, bool })

export function combined(members: readonly Member[], thing: Thing): boolean {
  const of = (bool: string) => members.filter((member) => member.bool === bool)
  const should = of('should')
  return (
    of('must').every((member) => member.matches(thing)) &&
    (should.length === 0 || should.some((member) => member.matches(thing))) &&
    of('must_not').every(({ matches, misses }) => (misses ? misses(thing) : !matches(thing)))
  )
}

const group: Draw = (drawing, depth) => {
  const members = drawMembers(drawing, [1, 2], depth + 1)
  const [only] = members
  return {
    wire: { type: 'complex', search: members.map(wireOf) },
    matches: (thing) => combined(members, thing),
    ...(members.length === 1 && only?.misses && only.bool !== 'must_not' ? { misses: only.misses } : {}),
  }
}

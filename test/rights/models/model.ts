import type { Choices, RawMask, RawType } from './raw.ts'

/** The datamodel of a world: what its raw draw comes to. */

export type Kind =
  | 'text'
  | 'text_oneline'
  | 'text_l10n_oneline'
  | 'string'
  | 'number'
  | 'integer.2'
  | 'boolean'
  | 'date'
  | 'daterange'
  | 'link'

export interface Column {
  readonly name: string
  readonly kind: Kind
  readonly id: number
  /** Index of the object type that a link leads to. */
  readonly target: number | null
  /** Its objects stand below what they link to. */
  readonly reverse: boolean
  readonly onDelete: 'restrict' | 'setnull' | 'cascade'
  readonly unique: boolean
  readonly table: Table
  /** As searches name it. */
  readonly fullName: string
}

export interface Table {
  readonly name: string
  readonly id: number
  readonly owner: Table | null
  readonly columns: Column[]
  readonly nested: Table[]
  /** A nested table whose first column links in both directions. */
  readonly pairs: boolean
  /** As searches name it. */
  readonly fullName: string
}

export type Slot = 1 | 2
export const formats = ['comma', 'space', 'colon', 'brackets', 'dash', 'round-parentheses'] as const
export type StandardFormat = (typeof formats)[number]

interface FieldSettings {
  readonly mode: 'edit' | 'show' | 'off'
  readonly fulltext: boolean
  readonly facet: boolean
  readonly inherit: boolean
}

export interface ColumnField extends FieldSettings {
  readonly is: 'column'
  readonly column: Column
  readonly standard: { readonly slot: Slot; readonly format: StandardFormat; readonly stop: boolean } | null
  /** Of a link: the index of a mask of its target, or the mask that it stands in. */
  readonly linkMask: number | 'same' | null
}

export interface NestedField extends FieldSettings {
  readonly is: 'nested'
  readonly table: Table
  readonly fields: readonly Field[]
  readonly format: StandardFormat
  readonly formatInner: StandardFormat
  readonly firstOnly: boolean
}

/** Objects below: those that link here by the column, or the children of a hierarchy (null). */
export interface BelowField extends FieldSettings {
  readonly is: 'below'
  readonly column: Column | null
  readonly type: number
  /** Its own fields, or a mask of the type by index. */
  readonly shows: readonly Field[] | number
}

export type Field = ColumnField | NestedField | BelowField
export type SystemField = 'tags' | 'pool' | 'owner' | 'parent'

export interface Mask {
  readonly name: string
  /** null: `_all_fields`. */
  readonly id: number | null
  readonly fields: readonly Field[]
  /** What it does not show. */
  readonly without: ReadonlySet<SystemField>
  readonly filter: RawMask['filter']
}

export interface ObjectType {
  readonly index: number
  readonly name: string
  readonly table: Table
  readonly hierarchy: 'none' | 'one' | 'many'
  readonly pool: boolean
  readonly tags: boolean
  readonly acl: boolean
  readonly main: boolean
  /** Its own, in order; none: `_all_fields` is its only one. */
  readonly masks: readonly Mask[]
  readonly allFields: Mask
  readonly preferred: Mask
  /** `_standard_masks`: indexes. */
  readonly standards: readonly number[] | null
}

/** Ids that the next table, column and mask get. */
export interface Ids {
  table: number
  column: number
  mask: number
}

/** Reads choices one after the other. */
export function readerOf(choices: Choices): (most: number) => number {
  let at = 0
  return (most) => (choices[at++ % choices.length] ?? 0) % most
}
type Read = ReturnType<typeof readerOf>

const kinds = [
  'text_oneline',
  'link',
  'number',
  'text_oneline',
  'date',
  'string',
  'link',
  'text_l10n_oneline',
  'boolean',
  'text',
  'integer.2',
  'daterange',
] as const satisfies readonly Kind[]
const titleKinds = ['text_oneline', 'text_l10n_oneline', 'string'] as const
const rowKinds = ['text_oneline', 'link', 'number', 'date', 'string', 'text_l10n_oneline'] as const
/** What titles are made from: how other kinds are written there is nowhere said. */
const titled: ReadonlySet<Kind> = new Set([
  'text',
  'text_oneline',
  'text_l10n_oneline',
  'string',
  'number',
  'integer.2',
  'date',
  'link',
])
export const texts: ReadonlySet<Kind> = new Set(['text', 'text_oneline', 'text_l10n_oneline', 'string'])

export function typesOf(raw: readonly RawType[], prefix: string, ids: Ids): ObjectType[] {
  const tables = raw.map((each, index) => tableOf(each, index, raw.length, `${prefix}${'abcd'[index]}`, ids))
  const drafts = raw.map((each, index) => ({ each, index, table: tables[index] as Table }))
  const maskCounts = raw.map(({ masks }) => masks.length)
  const masks = drafts.map(({ each, index, table }) =>
    each.masks.map((mask, at) => {
      return maskOf(mask, each, index, tables, maskCounts, `${table.name}__m${at}`, ids.mask++)
    }),
  )
  return drafts.map(({ each, index, table }) => {
    const own = masks[index] as Mask[]
    const allFields = allFieldsOf(index, tables)
    const [preferred = 0, listed = 0, second = 0] = each.standards
    return {
      index,
      name: table.name,
      table,
      hierarchy: (['none', 'one', 'many'] as const)[each.hierarchy] ?? 'none',
      pool: each.pool,
      tags: each.tags,
      acl: each.acl && each.hierarchy !== 2,
      main: each.main,
      masks: own,
      allFields,
      preferred: own[preferred % Math.max(1, own.length)] ?? allFields,
      standards: own.length === 0 || listed % 2 > 0 ? null : [second % own.length],
    }
  })
}

function tableOf(raw: RawType, index: number, types: number, name: string, ids: Ids): Table {
  const table = emptyTable(name, null, false, ids)
  const read = readerOf(raw.columns)
  const count = 2 + read(6)
  for (let at = 0; at < count; at++) {
    const kind = at === 0 ? (titleKinds[read(3)] as Kind) : (kinds[read(kinds.length)] as Kind)
    addColumn(table, kind, { index, types, read, ids, mayBeUnique: raw.unique })
  }
  for (const [at, each] of raw.nested.entries()) {
    const nested = emptyTable(`${name}__n${at}`, table, each.pairs, ids)
    table.nested.push(nested)
    const rowRead = readerOf(each.columns)
    const inRows = { index, types, read: rowRead, ids, mayBeUnique: false }
    const rows = 1 + rowRead(3)
    if (each.pairs) addColumn(nested, 'link', { ...inRows, target: index })
    for (let n = 0; n < rows; n++) addColumn(nested, rowKinds[rowRead(rowKinds.length)] as Kind, inRows)
    const innerRead = readerOf(each.inner)
    if (innerRead(4) > 0) continue
    const inner = emptyTable(`${nested.name}__i`, nested, false, ids)
    nested.nested.push(inner)
    for (let n = innerRead(2); n >= 0; n--)
      addColumn(inner, rowKinds[innerRead(rowKinds.length)] as Kind, { ...inRows, read: innerRead })
  }
  return table
}

function emptyTable(name: string, owner: Table | null, pairs: boolean, ids: Ids): Table {
  const fullName = owner ? `${owner.fullName}._nested:${name}` : name
  return { name, id: ids.table++, owner, columns: [], nested: [], pairs, fullName }
}

interface Adding {
  readonly index: number
  readonly types: number
  readonly read: Read
  readonly ids: Ids
  readonly mayBeUnique: boolean
  readonly target?: number
}

function addColumn(table: Table, kind: Kind, { index, types, read, ids, mayBeUnique, target }: Adding): void {
  const name = `c${table.columns.length}`
  const to = kind === 'link' ? (target ?? read(types)) : null
  const onDelete = kind === 'link' ? (['restrict', 'setnull', 'cascade'] as const)[read(3)] : undefined
  const unique = mayBeUnique && kind === 'string' && !table.columns.some((column) => column.unique)
  // Masters stand before what is below them, so that they stand in no circle.
  const reverse = to !== null && to < index && table.owner === null && read(2) === 0
  const base = { name, kind, id: ids.column++, target: to, reverse, onDelete: onDelete ?? 'restrict', unique }
  table.columns.push({ ...base, table, fullName: `${table.fullName}.${name}` })
}

const modes = ['edit', 'edit', 'show', 'off', 'edit', 'absent'] as const
const searches = [
  { fulltext: true, facet: false },
  { fulltext: true, facet: true },
  { fulltext: false, facet: true },
  { fulltext: false, facet: false },
] as const

function maskOf(
  raw: RawMask,
  { hierarchy, pool, tags }: RawType,
  index: number,
  tables: readonly Table[],
  maskCounts: readonly number[],
  name: string,
  id: number,
): Mask {
  const table = tables[index] as Table
  const read = readerOf(raw.fields)
  const settings = (inherits: boolean): FieldSettings | null => {
    const mode = modes[read(modes.length)] as (typeof modes)[number]
    const search = searches[read(4)] as (typeof searches)[number]
    const inherit = inherits && hierarchy > 0 && read(2) === 0
    return mode === 'absent' ? null : { mode, ...search, inherit }
  }
  function columnField(column: Column, named: boolean, inherits: boolean): ColumnField | null {
    const common = settings(inherits)
    // Titles come from what stands before, so that they are made from each other in one direction.
    const mayName = named && titled.has(column.kind) && (column.target === null || column.target < index)
    const slot = ([1, 2, 0, 0, 1] as const)[read(5)] as Slot | 0
    const format = formats[read(formats.length)] as StandardFormat
    const stop = read(4) === 3
    const masks = column.target === null ? 0 : (maskCounts[column.target] ?? 0)
    const link = read(4)
    const linkMask = column.kind !== 'link' || link < 2 ? null : link === 2 || masks === 0 ? 'same' : read(masks)
    if (!common) return null
    return { is: 'column', column, ...common, standard: slot && mayName ? { slot, format, stop } : null, linkMask }
  }
  function fieldsOf(of: Table, named: boolean, inherits: boolean): Field[] {
    const columns = of.columns.flatMap((column) => columnField(column, named, inherits) ?? [])
    const nested = of.nested.flatMap((each): NestedField[] => {
      const common = settings(inherits)
      const fields = fieldsOf(each, named, false)
      const format = formats[read(formats.length)] as StandardFormat
      const formatInner = formats[read(formats.length)] as StandardFormat
      const firstOnly = read(3) === 2
      return common ? [{ is: 'nested', table: each, fields, ...common, format, formatInner, firstOnly }] : []
    })
    return [...columns, ...nested]
  }
  const fields: Field[] = fieldsOf(table, true, true)
  for (const column of reversesOf(tables, index)) {
    const common = settings(false)
    const other = tables.indexOf(column.table)
    const masks = maskCounts[other] ?? 0
    const shows = masks > 0 && read(2) === 0 ? read(masks) : fieldsOf(column.table, false, false)
    if (common) fields.push({ is: 'below', column, type: other, shows, ...common })
  }
  if (hierarchy > 0 && read(3) === 0) {
    const common = settings(false)
    const shows = fieldsOf(table, false, false)
    if (common) fields.push({ is: 'below', column: null, type: index, shows, ...common })
  }
  const off = (field: SystemField, at: number, has: boolean) => (has && (raw.system[at] ?? 0) % 6 === 5 ? [field] : [])
  const without = [
    ...off('tags', 0, tags),
    ...off('pool', 1, pool),
    ...off('owner', 2, true),
    ...off('parent', 3, hierarchy > 0),
  ]
  return { name, id, fields, without: new Set(without), filter: raw.filter }
}

/** Columns through which objects of other types stand below those of this one. */
export function reversesOf(tables: readonly Table[], index: number): Column[] {
  return tables.flatMap((table) => table.columns.filter((column) => column.reverse && column.target === index))
}

const whole: FieldSettings = { mode: 'edit', fulltext: true, facet: false, inherit: false }

/** Every field; what is below too, as long as that does not lead back. */
function allFieldsOf(index: number, tables: readonly Table[]): Mask {
  const fieldsOf = (table: Table, title: Column | undefined, behind: Column | null): Field[] => [
    ...table.columns.flatMap((column): Field[] => {
      if (column === behind) return []
      const standard = column === title ? ({ slot: 1, format: 'comma', stop: false } as const) : null
      const facet = column.kind === 'link' || column.kind === 'boolean'
      return [{ is: 'column', column, ...whole, facet, standard, linkMask: null }]
    }),
    ...table.nested.map((each): Field => {
      const format = { format: 'comma', formatInner: 'comma', firstOnly: false } as const
      return { is: 'nested', table: each, fields: fieldsOf(each, undefined, null), ...whole, ...format }
    }),
  ]
  const withBelow = (at: number, path: readonly number[], behind: Column | null): Field[] => {
    const table = tables[at] as Table
    const title = table.columns.find(({ kind }) => texts.has(kind))
    const below = reversesOf(tables, at).flatMap((column): Field[] => {
      const other = tables.indexOf(column.table)
      if (path.includes(other)) return []
      return [{ is: 'below', column, type: other, shows: withBelow(other, [...path, other], column), ...whole }]
    })
    return [...fieldsOf(table, title, behind), ...below]
  }
  return { name: '_all_fields', id: null, fields: withBelow(index, [index], null), without: new Set(), filter: null }
}

import type { ColumnField, Mask, MaskField, NestedField, ReverseField, Table } from '../../../datamodel/model.ts'
import { eachYielding } from '../../../platform/process/cooperative-yield.ts'
import { nearestName } from '../../../platform/values/nearest.ts'
import { isRecord } from '../../content/values.ts'
import { wireKeyOf } from '../../masks/reader.ts'
import { type Content, type ContentRow, rowsOf } from '../../stored/content.ts'
import type { SaveContext } from '../context.ts'
import { knowsStored } from '../disclosure.ts'
import type { Item } from '../item.ts'
import { sameAsStored } from '../write/same-as-stored.ts'
import { blockKeys, editsKey, linkKeys, objectKeys, systemKeys, valueKeys } from './known-keys.ts'

/** The parts of a payload without effect: the first paths, and the number of further ones. */
export interface Ignored {
  readonly paths: readonly string[]
  readonly more: number
  /** The name that was probably intended at the first place. */
  readonly nearest: string | null
}

type Fields = Readonly<Record<string, unknown>>

const mostPaths = 20

/** Collects places; a payload in which everything is wrong must not fill the memory with them. */
class IgnoredPaths {
  readonly paths: string[] = []
  more = 0
  nearest: string | null = null

  #seen = new Set<string>()

  add(place: string, key: string, known: () => Iterable<string> = () => []): void {
    // Objects that are edited together have one payload.
    if (this.#seen.has(`${place}.${key}`)) return
    if (this.paths.length === 0) this.nearest = nearestName(key, known())
    if (this.paths.length < mostPaths) {
      this.paths.push(`${place}.${key}`)
      this.#seen.add(`${place}.${key}`)
    } else this.more++
  }
}

/**
 * The parts of a save's payload that have no effect (decision 26): unknown keys, fields that the mask does not have, and fields
 * that it only shows, unless they are sent back as they are stored. Keys that are computed for an answer are known. A field outside
 * the mask, or of an object that the caller may not read in it, is never compared with the stored value: that would reveal the
 * value.
 */
export async function ignoredParts(context: SaveContext, items: readonly Item[]): Promise<Ignored> {
  const paths = new IgnoredPaths()
  await eachYielding(items, (item) => readItem(context, item, paths), context.yielder)
  return paths
}

function readItem(context: SaveContext, item: Item, paths: IgnoredPaths): void {
  const { draft } = item
  if (!draft) return
  const stored = item.current && knowsStored(context, item) ? item.current : null
  const { wire, block, at, place } = draft.sent
  const fields = fieldsOf(item.mask)
  const up = item.up?.field.column?.name
  const known = (key: string): boolean => blockKeys.has(key) || key === up
  if (wire === block) {
    readFields(block, stored?.content ?? null, at, fields, (key) => known(key) || objectKeys.has(key), paths)
  } else {
    for (const key in wire) {
      if (!objectKeys.has(key) && key !== item.table.name && key !== editsKey) {
        paths.add(place, key, () => [...objectKeys, item.table.name, editsKey])
      }
    }
    readFields(block, stored?.content ?? null, at, fields, known, paths)
  }
  readSystem(item, stored, paths)
}

type FieldMap = ReadonlyMap<string, MaskField>

const maps = new WeakMap<readonly MaskField[], FieldMap>()

/** Fields that a mask has, by their key on the wire. */
function fieldsOf({ fields }: Pick<Mask | NestedField, 'fields'>): FieldMap {
  let map = maps.get(fields)
  if (!map) {
    map = new Map(fields.filter((field) => field.mode !== 'off').map((field) => [wireKeyOf(field), field]))
    maps.set(fields, map)
  }
  return map
}

function readFields(
  sent: Fields,
  stored: Content | null,
  place: string,
  fields: FieldMap,
  known: (key: string) => boolean,
  paths: IgnoredPaths,
): void {
  const inherited = isRecord(sent._inherited) ? sent._inherited : {}
  for (const key in sent) {
    const field = fields.get(key)
    const value = sent[key]
    if (!field) {
      if (!known(key)) paths.add(place, key, () => fields.keys())
    } else if (field.mode === 'edit') readWritable(field, value, stored, `${place}.${key}`, paths)
    else if (!(key in inherited) && !unchanged(field, value, stored)) paths.add(place, key)
  }
}

/** Reads the inside of a field that is written. Reverse-nested objects are separate drafts. */
function readWritable(
  field: MaskField,
  value: unknown,
  stored: Content | null,
  place: string,
  paths: IgnoredPaths,
): void {
  if (field.kind === 'reverse') return
  if (field.kind === 'column') {
    if (isRecord(value)) readValue(field, value, place, paths)
    return
  }
  if (!Array.isArray(value)) return
  const byUuid = new Map(rowsOf(stored ?? {}, field.table).map((row) => [row._u, row]))
  const fields = fieldsOf(field)
  for (const [index, row] of value.entries()) {
    if (!isRecord(row)) continue
    const before = typeof row._uuid === 'string' ? (byUuid.get(row._uuid) ?? null) : null
    readFields(row, before, `${place}.${index}`, fields, (key) => key === '_uuid', paths)
  }
}

function readValue({ column }: ColumnField, value: Fields, place: string, paths: IgnoredPaths): void {
  if (column.type === 'link' && column.target) {
    readLink(column.target, value, place, paths)
    return
  }
  const known = valueKeys[column.type]
  if (known) for (const key in value) if (!known.has(key)) paths.add(place, key, () => known)
}

/** Objects are linked in the form of answers, with some of their fields; only keys that no such answer has are reported. */
function readLink(target: Table, value: Fields, place: string, paths: IgnoredPaths): void {
  for (const key in value) {
    if (!objectKeys.has(key) && !linkKeys.has(key) && key !== target.name) {
      paths.add(place, key, () => [...objectKeys, target.name])
    }
  }
  const block = value[target.name]
  if (!isRecord(block)) return
  const reverse = new Set(target.linkedFrom.map((column) => `_reverse_nested:${column.table.name}:${column.name}`))
  for (const key in block) {
    const known =
      blockKeys.has(key) ||
      target.columnByName.has(key) ||
      target.nested.some((nested) => nested.wireKey === key) ||
      reverse.has(key) ||
      key === `_reverse_nested:${target.name}:_id_parent`
    if (!known) paths.add(`${place}.${target.name}`, key, () => [...blockKeys, ...target.columnByName.keys()])
  }
}

/** Whether a read-only field of the mask was sent as it is stored. */
function unchanged(field: MaskField, value: unknown, stored: Content | null): boolean {
  if (value === undefined) return true
  if (field.kind === 'column') return sameAsStored(field.column, value, stored?.[field.column.key])
  if (field.kind === 'reverse') return sameReverse(field, value)
  const before = rowsOf(stored ?? {}, field.table)
  if (value === null) return before.length === 0
  return Array.isArray(value) && value.length === before.length && value.every((row) => sameRow(field, row, before))
}

function sameRow(field: NestedField, row: unknown, stored: readonly ContentRow[]): boolean {
  if (!isRecord(row)) return false
  const before = stored.find((candidate) => candidate._u === row._uuid)
  if (!before) return false
  const fields = fieldsOf(field)
  return Object.keys(row).every((key) => {
    const inner = fields.get(key)
    return key === '_uuid' || (inner !== undefined && unchanged(inner, row[key], before))
  })
}

/** The objects of a read-only reverse field are not loaded: a new object is recognized by having no identity. */
function sameReverse(field: ReverseField, value: unknown): boolean {
  if (value === null) return true
  return (
    Array.isArray(value) &&
    value.every((row) => {
      if (!isRecord(row)) return false
      const block = isRecord(row[field.table.name]) ? (row[field.table.name] as Fields) : row
      return row._system_object_id !== undefined || block._id !== undefined
    })
  )
}

/** Tags, pool, owner, grants and parents that the type does not have or the mask does not allow to write. */
function readSystem(item: Item, stored: Item['current'], paths: IgnoredPaths): void {
  const { draft, table, mask } = item
  if (!draft) return
  for (const { name, keys, has, same } of systemKeys) {
    if (has(table) && mask.system[name].edit === 'edit') continue
    for (const { key, inBlock } of keys) {
      const from = inBlock ? draft.sent.block : draft.sent.wire
      const value = from[key]
      if (value === false && !stored) continue
      if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue
      const shown = has(table) && mask.system[name].output !== 'off'
      if (!shown || !stored || !same(value, stored)) paths.add(inBlock ? draft.sent.at : draft.sent.place, key)
    }
  }
  const { wire, place } = draft.sent
  const creator = wire._create_user
  if (isRecord(creator) && !(item.current ? isCreator(mask, stored, creator) : draft.creator))
    paths.add(place, '_create_user')
}

/** Whether it was sent back as it is shown: the creator of an object cannot be changed. */
function isCreator(mask: Mask, stored: Item['current'], { user }: Fields): boolean {
  return stored !== null && mask.system.owner.output !== 'off' && isRecord(user) && user._id === stored.createdBy
}

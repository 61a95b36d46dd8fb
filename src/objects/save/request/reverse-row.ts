import type { ReverseField, Table } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import { nearestName } from '../../../platform/values/nearest.ts'
import { invalidValue, isRecord, printable } from '../../content/values.ts'
import type { Content } from '../../stored/content.ts'

/** The result of reading a row: enough to tell whether it identifies an object, and whether it writes anything. */
interface ReadRow {
  readonly id: number | undefined
  readonly systemObjectId: number | undefined
  readonly uuid: string | undefined
  readonly lookup: object | undefined
  readonly written: Content
  readonly reverse: ReadonlyMap<unknown, unknown>
}

/** The two layers of an object in a payload: its system fields, and the block with its fields. */
export interface RowParts {
  readonly wire: Record<string, unknown>
  readonly block: Record<string, unknown>
  /** Place of the block in the request. */
  readonly at: string
  /** Place of the whole object, when errors name it differently (group-edit.ts). */
  readonly place?: string
}

/**
 * A reverse-nested row as clients send it (decisions.md, 28): wrapped like a separate object, as in answers, or flat, with the
 * fields beside `_id`, `_version` and `_pool`, as importers do. A row of neither form would become an empty object, so it is
 * refused.
 */
export function readRow(field: ReverseField, row: Record<string, unknown>, place: string): RowParts {
  const { table } = field
  const keys = namesOf(table).keys
  const inside = row[table.name]
  // A link column of the same name as its table is a field of a flat row, unless the row has `_objecttype`.
  const wraps = isRecord(inside) && (!keys.has(table.name) || isSaid(row._objecttype))
  if (!wraps) {
    if (!Object.keys(row).some((key) => keys.has(key) || identities.has(key))) {
      throw invalidValue(place, row, `an object with a block ${table.name}, or the fields of ${table.name} themselves`)
    }
    assertKnown(table, row, place)
    return { wire: row, block: row, at: place }
  }
  const beside = Object.keys(row).find(
    (key) => keys.has(key) && key !== table.name && key !== '_pool' && isSaid(row[key]),
  )
  if (beside !== undefined) {
    throw invalidValue(`${place}.${beside}`, row[beside], `the field inside the block ${table.name}, or no block`)
  }
  const at = `${place}.${table.name}`
  assertKnown(table, inside, at)
  return { wire: row, block: inside, at }
}

/** A row with only unknown values would become an empty object, or clear the stored one. */
function assertKnown(table: Table, block: Record<string, unknown>, place: string): void {
  const carried = Object.keys(block).filter((key) => isField(key) && hasValue(block[key]))
  const keys = namesOf(table).keys
  if (carried.length === 0 || carried.some((key) => keys.has(key))) return
  throw new AppError(
    'InvalidValue',
    { name: place, value: carried.slice(0, 10).join(', ').slice(0, 100), expected: `fields of ${table.name}` },
    { message: `${place}: ${table.name} has no field ${carried[0]}` },
  )
}

/**
 * An object without its block, but with its fields beside the system fields, would become an empty object.
 * @throws {AppError} `InvalidValue` naming the field.
 */
export function assertWrapped(table: Table, wire: Record<string, unknown>, place: string): void {
  if (isSaid(wire[table.name])) return
  const keys = namesOf(table).keys
  const beside = Object.keys(wire).find((key) => keys.has(key) && key !== '_pool' && hasValue(wire[key]))
  if (beside !== undefined) {
    throw invalidValue(`${place}.${beside}`, wire[beside], `the field inside the block ${table.name}`)
  }
}

/**
 * Rows under a key that is not a list of the object type would be lost: `_nested:` and `_reverse_nested:` with an unknown name, the
 * bare name of a nested table, or that of the reverse objects' type or link.
 * @throws {AppError} `UnknownField` naming the key and, where it is known, the correct one.
 */
export function assertListsKnown(table: Table, block: Record<string, unknown>, place: string): void {
  const { keys, meant } = namesOf(table)
  for (const key in block) {
    if (keys.has(key)) continue
    const prefixed = /^_(reverse_)?nested:/.test(key)
    if (!(prefixed || meant.has(key)) || !hasRows(block[key])) continue
    const right = meant.get(key) ?? nearestName(key, keys)
    throw new AppError(
      'UnknownField',
      { name: `${place}.${key}`, field: key, objecttype: table.root.name },
      { message: `${place}: ${table.name} has no list ${printable(key)}${right ? `; rows of ${right}?` : ''}` },
    )
  }
  for (const nested of table.nested) {
    const rows = block[nested.wireKey]
    if (!Array.isArray(rows)) continue
    for (const [index, row] of rows.entries()) {
      if (isRecord(row)) assertListsKnown(nested, row, `${place}.${nested.wireKey}.${index}`)
    }
  }
}

function hasRows(value: unknown): boolean {
  return Array.isArray(value) && value.some(isRecord)
}

/** A new row with values of which none is writable in its mask would become an empty object. */
export function assertWritten(field: ReverseField, row: ReadRow, { block, at }: RowParts): void {
  const empty = Object.keys(row.written).length === 0 && row.reverse.size === 0
  const named = row.id !== undefined || row.systemObjectId !== undefined || row.uuid !== undefined || row.lookup
  if (!empty || named || field.mask.fields.length === 0) return
  const back = field.column?.name
  const carried = Object.keys(block).filter((key) => key !== back && isField(key) && hasValue(block[key]))
  if (carried.length === 0) return
  throw invalidValue(
    `${at}.${carried[0]}`,
    block[carried[0] as string],
    'a field that the mask of the reverse-nested objects lets be written',
  )
}

/** Keys of a row that identify an object, whatever else the row contains. */
const identities = new Set(['_system_object_id', '_global_object_id', '_uuid'])

const systemKeys = [
  '_id',
  '_version',
  '_version:auto_increment',
  '_pool',
  'lookup:_id',
  '_id_parent',
  'lookup:_id_parent',
  '_parents',
]

interface Names {
  /** The keys that are allowed in the block of an object of this type, independent of its mask. */
  readonly keys: ReadonlySet<string>
  /** Other names of its lists that a client could confuse with the key, with the key itself. */
  readonly meant: ReadonlyMap<string, string>
}

const names = new WeakMap<Table, Names>()

function namesOf(table: Table): Names {
  let entry = names.get(table)
  if (!entry) {
    entry = collectNames(table)
    names.set(table, entry)
  }
  return entry
}

function collectNames(table: Table): Names {
  const meant = new Map<string, string>()
  for (const nested of table.nested) {
    meant.set(nested.name, nested.wireKey)
    meant.set(nested.name.slice(table.name.length + 2), nested.wireKey)
  }
  const reverses = table.reverses.map((column) => `_reverse_nested:${column.table.name}:${column.name}`)
  for (const [index, column] of table.reverses.entries()) {
    meant.set(column.table.name, reverses[index] as string)
    meant.set(column.name, reverses[index] as string)
    meant.set(`_reverse_nested:${column.table.name}`, reverses[index] as string)
  }
  const keys = new Set([
    ...systemKeys,
    ...table.columnByName.keys(),
    ...table.nested.map((nested) => nested.wireKey),
    ...reverses,
    `_reverse_nested:${table.name}:_id_parent`,
  ])
  return { keys, meant }
}

/** Fields of the datamodel; all other keys with an underscore, and lookups, belong to the system. */
function isField(key: string): boolean {
  return !/^_|^lookup:/.test(key) || key.startsWith('_nested:') || key.startsWith('_reverse_nested:')
}

function hasValue(value: unknown): boolean {
  return isSaid(value) && !(Array.isArray(value) && value.length === 0)
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null
}

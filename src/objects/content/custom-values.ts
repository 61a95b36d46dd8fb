/** Values of plugins' types in a content. */
import { createHash } from 'node:crypto'
import type { Table } from '../../datamodel/model.ts'
import { type CustomTypes, customTypeName } from '../../datamodel/service.ts'
import { keepExact, readExact } from '../../platform/values/exact-json.ts'
import { type Content, rowsOf } from '../stored/content.ts'
import { isRecord } from './values.ts'

export type CustomData = Readonly<Record<string, unknown>>

/** Whether objects of the table, or their rows, can have values of such a type. */
export function holdsCustomData(table: Table, types: CustomTypes): boolean {
  if (types.size === 0) return false
  const own = table.columns.some(({ type, typeName }) => type === 'custom' && types.has(customTypeName(typeName)))
  return own || table.nested.some((nested) => holdsCustomData(nested, types))
}

/** The content with each value replaced by the result of `map`. Returns the same content when no value has changed. */
export function mapCustomData<C extends Content>(
  table: Table,
  content: C,
  types: CustomTypes,
  map: (type: string, data: CustomData) => CustomData,
): C {
  const changed: Content = {}
  for (const column of table.columns) {
    const value = column.type === 'custom' ? content[column.key] : undefined
    const type = customTypeName(column.typeName)
    if (!isRecord(value) || !types.has(type)) continue
    const mapped = map(type, value)
    if (mapped !== value) changed[column.key] = mapped
  }
  for (const nested of table.nested) {
    const rows = rowsOf(content, nested)
    const mapped = rows.map((row) => mapCustomData(nested, row, types, map))
    if (mapped.some((row, index) => row !== rows[index])) changed[nested.key] = mapped
  }
  return Object.keys(changed).length === 0 ? content : { ...content, ...changed }
}

const longestUuid = 200

/** The uuid of a value, if it has one. */
export function uuidOf({ _uuid: uuid }: CustomData): string | null {
  return typeof uuid === 'string' && uuid !== '' && uuid.length <= longestUuid ? uuid : null
}

/** The value with a uuid. A value without one gets a uuid that depends on its data alone, so equal values get the same uuid. */
export function identified(data: CustomData): CustomData {
  if (uuidOf(data) !== null) return data
  const { _uuid: _unusable, ...rest } = data
  const hash = createHash('sha256')
    .update(JSON.stringify(inOrder(rest)))
    .digest('hex')
  const parts = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ]
  return keepExact({ ...(readExact(data) as CustomData), _uuid: parts.join('-') })
}

/** Values that differ only in the order of members are equal. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, inOrder(value[key])]),
  )
}

/** In milliseconds since 1970: the year 2300. */
const latest = 10_413_792_000_000

/** The time at which the plugin wants to be asked for it again; null: none. */
export function expiryOf({ _expires_at: at }: CustomData): Date | null {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return Number.isNaN(time) || Math.abs(time) > latest ? null : new Date(time)
}

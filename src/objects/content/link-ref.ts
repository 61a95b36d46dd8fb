import type { Column, Table } from '../../datamodel/model.ts'
import { invalidValue, isRecord, isUuid } from './values.ts'

/**
 * A link as a payload writes it: the form of the reference to its target, which is not resolved yet. `database` is the part of a
 * `_global_object_id`; an object of another database does not exist here. `deferred`: the client promises to create the target
 * later.
 */
export type LinkRef = { readonly table: Table; readonly place: string; readonly deferred?: boolean } & (
  | { readonly by: 'system'; readonly id: number; readonly database?: string }
  | { readonly by: 'id'; readonly id: number }
  /** `made`: the object itself, which is created if it is not stored yet. */
  | { readonly by: 'uuid'; readonly uuid: string; readonly made?: Record<string, unknown> }
  | { readonly by: 'lookup'; readonly column: Column; readonly value: unknown }
)

/**
 * Reads a link: an object that names its target by `_system_object_id`, `_global_object_id`, `_uuid`, by `_id` in the
 * block of its object type, or by `lookup:_id` there; the first of these that is given counts.
 */
export function parseLink(table: Table, value: unknown, place: string): LinkRef {
  if (!isRecord(value)) throw invalidValue(place, value, 'an object that names its target')
  if (value._objecttype !== undefined && value._objecttype !== null && value._objecttype !== table.name) {
    throw invalidValue(`${place}._objecttype`, value._objecttype, table.name)
  }
  const direct = directRef(table, value, place)
  if (direct)
    return direct.by === 'uuid' && value._mapped_metadata_created === true ? { ...direct, made: value } : direct
  const block = value[table.name]
  if (isRecord(block)) {
    const at = `${place}.${table.name}`
    if (isSaid(block._id)) return { by: 'id', table, id: id(block._id, `${at}._id`), place }
    if (isSaid(block['lookup:_id'])) return parseLookup(table, block['lookup:_id'], `${at}.lookup:_id`)
  }
  throw invalidValue(
    place,
    value,
    `a target named by _system_object_id, _uuid, ${table.name}._id or ${table.name}.lookup:_id`,
  )
}

/** Reads the object under `lookup:_id`: one column of the target, or one of its system ids. */
export function parseLookup(table: Table, value: unknown, place: string): LinkRef {
  if (!isRecord(value)) throw invalidValue(place, value, 'an object with one column')
  const deferred = deferral(value, place)
  const direct = directRef(table, value, place)
  if (direct) return { ...direct, ...deferred }
  if (isSaid(value._id)) return { by: 'id', table, id: id(value._id, `${place}._id`), place, ...deferred }
  const names = Object.keys(value).filter((name) => name !== '_allow_defer')
  const name = names[0]
  const column = name === undefined ? undefined : table.columnByName.get(name)
  if (names.length !== 1 || !column) throw invalidValue(place, value, `one column of ${table.name}`)
  const found = value[name as string]
  const fits = lookupTypes.has(column.type)
  if (!fits || (typeof found !== 'string' && typeof found !== 'number') || found === '') {
    throw invalidValue(`${place}.${name}`, found, 'text or an integer, in a column of such a type')
  }
  if (typeof found === 'string' && (found.includes('\0') || !found.isWellFormed()))
    throw invalidValue(place, found, 'storable text')
  if (typeof found === 'number' && !Number.isSafeInteger(found))
    throw invalidValue(place, found, 'an integer below 2^53')
  return { by: 'lookup', table, column, value: found, place, ...deferred }
}

/** `_allow_defer` changes nothing for a target that already exists: the link is set at once. Others: `save/promises`. */
function deferral({ _allow_defer: said }: Record<string, unknown>, place: string): { readonly deferred?: true } {
  if (said === undefined || said === null || said === false) return {}
  if (said === true) return { deferred: true }
  throw invalidValue(`${place}._allow_defer`, said, 'true or false')
}

const lookupTypes = new Set<Column['type']>(['text', 'text_oneline', 'string', 'number', 'integer.2'])

function directRef(table: Table, value: Record<string, unknown>, place: string): LinkRef | undefined {
  const global = isSaid(value._global_object_id)
    ? parseGlobalId(value._global_object_id, `${place}._global_object_id`)
    : undefined
  if (isSaid(value._system_object_id)) {
    const at = `${place}._system_object_id`
    const systemObjectId = id(value._system_object_id, at)
    if (global && global.id !== systemObjectId) throw invalidValue(at, systemObjectId, 'the id of _global_object_id')
    return { by: 'system', table, ...global, id: systemObjectId, place }
  }
  if (global) return { by: 'system', table, ...global, place }
  if (isSaid(value._uuid)) {
    const uuid = value._uuid
    if (!isUuid(uuid)) {
      throw invalidValue(`${place}._uuid`, uuid, 'a unique identifier')
    }
    return { by: 'uuid', table, uuid, place }
  }
  return undefined
}

/** The parts of `<system object id>@<database>`. */
export function parseGlobalId(value: unknown, place: string): { readonly id: number; readonly database: string } {
  const match = typeof value === 'string' ? /^([1-9]\d{0,15})@(.+)$/s.exec(value) : null
  if (!match) throw invalidValue(place, value, '<system object id>@<database>')
  return { id: id(Number(match[1]), place), database: match[2] as string }
}

function id(value: unknown, place: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    throw invalidValue(place, value, 'a positive integer below 2^53')
  }
  return value
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null
}

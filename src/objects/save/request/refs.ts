import type { Table } from '../../../datamodel/model.ts'
import { type LinkRef, parseLink, parseLookup } from '../../content/link-ref.ts'
import { invalidValue, isRecord } from '../../content/values.ts'

/** Pool, owner, tags and parents as payloads name them. */

/** By id or by `lookup:_id` with a reference. */
export interface NamedRef {
  readonly id?: number
  readonly reference?: string
  readonly place: string
}

export interface OwnerRef extends NamedRef {
  readonly kind: 'user' | 'group'
}

export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** A positive integer or absent. */
export function positive(value: unknown, place: string): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    throw invalidValue(place, value, 'a positive integer below 2^53')
  }
  return value
}

export function tagsOf(value: unknown, place: string): NamedRef[] | undefined {
  if (value === undefined) return undefined
  if (value === null) return []
  if (!Array.isArray(value)) throw invalidValue(place, value, 'a list of tags')
  return tagRefs(value, place)
}

export function tagRefs(values: readonly unknown[], place: string): NamedRef[] {
  return values.map((entry, index) => namedRef(entry, `${place}.${index}`))
}

/** `{_id}`, or `lookup:_id` with a `reference`. */
function namedRef(value: unknown, place: string): NamedRef {
  if (!isRecord(value)) throw invalidValue(place, value, 'an object with _id or lookup:_id')
  const id = positive(value._id, `${place}._id`)
  if (id !== undefined) return { id, place }
  const lookup = value['lookup:_id']
  const reference = isRecord(lookup) ? lookup.reference : undefined
  if (typeof reference !== 'string' || reference === '')
    throw invalidValue(place, value, 'an object with _id or lookup:_id')
  return { reference, place }
}

/** The specification lists `_pool` beside the block, stored objects show it inside; both are read, inside first. */
export function poolOf(
  wire: Record<string, unknown>,
  block: Record<string, unknown>,
  place: string,
  at: string,
): NamedRef | null | undefined {
  const inside = block._pool !== undefined
  const value = inside ? block._pool : wire._pool
  if (value === undefined || value === null) return value
  const where = inside ? `${at}._pool` : `${place}._pool`
  if (!isRecord(value) || !isRecord(value.pool)) throw invalidValue(where, value, 'an object {"pool": {"_id"}}')
  return namedRef(value.pool, `${where}.pool`)
}

export function ownerOf(value: unknown, place: string): OwnerRef | undefined {
  if (value === undefined || value === null) return undefined
  if (!isRecord(value)) throw invalidValue(place, value, 'an owner')
  const [kind, second] = (['user', 'group'] as const).filter((one) => isRecord(value[one]))
  if (kind === undefined || second) throw invalidValue(place, value, 'an owner with user or group')
  const { _basetype } = value
  if (_basetype !== undefined && _basetype !== kind) throw invalidValue(`${place}._basetype`, _basetype, `"${kind}"`)
  return { kind, ...namedRef(value[kind] as Record<string, unknown>, `${place}.${kind}`) }
}

export function creatorOf(value: unknown, place: string): OwnerRef | undefined {
  const creator = ownerOf(value, place)
  if (creator?.kind === 'group') throw invalidValue(place, value, 'a user')
  return creator
}

/**
 * Parents as written: `_id_parent` (the `_id` of the parent), `lookup:_id_parent`, and for polyhierarchies `_parents`.
 * Null takes the object to the top level.
 */
export function parentsOf(table: Table, block: Record<string, unknown>, at: string): LinkRef[] | undefined {
  if (!table.hierarchical && !table.polyhierarchical) return undefined
  if (table.polyhierarchical && block._parents !== undefined) return parentList(table, block._parents, `${at}._parents`)
  const lookup = block['lookup:_id_parent']
  if (isPresent(lookup)) return [parseLookup(table, lookup, `${at}.lookup:_id_parent`)]
  const id = block._id_parent
  if (id === undefined) return undefined
  if (id === null) return []
  return [{ by: 'id', table, id: positive(id, `${at}._id_parent`) as number, place: `${at}._id_parent` }]
}

function parentList(table: Table, value: unknown, place: string): LinkRef[] {
  if (value === null) return []
  if (!Array.isArray(value)) throw invalidValue(place, value, 'a list of parents')
  const result: LinkRef[] = []
  for (const [index, entry] of value.entries()) {
    if (entry === null) continue
    const at = `${place}.${index}`
    if (typeof entry === 'number') result.push({ by: 'id', table, id: positive(entry, at) as number, place: at })
    else result.push(parseLink(table, entry, at))
  }
  return result
}

/** Checks what uploads into a collection are to make of files. What names plugins is kept as it was sent. */
import type { Model, Table } from '../datamodel/model.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { PoolSnapshot } from '../pools/model.ts'
import type { CallerRights } from '../rights/service.ts'
import { linkNamed, namedPool } from './linked-pools.ts'
import type { CreateObject } from './model.ts'
import type { CreateObjectInput } from './schema.ts'
import { fileColumnNamed, textColumnNamed } from './upload-fields.ts'

export interface CreateObjectDeps {
  readonly model: Model
  readonly pools: PoolSnapshot
  readonly rights: Pick<CallerRights, 'knowsPool' | 'mayCreate' | 'root'>
  /** The existing tags among those of the request. */
  readonly tags: ReadonlySet<number>
  /** The stored settings: unchanged members need no right. */
  readonly stored: CreateObject | null
}

/**
 * The settings in stored form: without absent members, and with pools by their ids. An object type, mask, pool, field or
 * tag that is named must exist.
 * @throws {AppError} naming the place
 */
export function readCreateObject(sent: CreateObjectInput, path: string, deps: CreateObjectDeps): CreateObject {
  const { pool, linked_pool: linked, ...rest } = sent
  const table = objecttype(sent, path, deps.model)
  const said: Record<string, unknown> = { ...rest }
  if (pool) said.pool_id = poolId(pool, `${path}.pool`, deps, rest.pool_id)
  if (linked) said.linked_pool_id = poolId(linked, `${path}.linked_pool`, deps, rest.linked_pool_id)
  for (const name of ['pool_id', 'linked_pool_id'] as const) requirePool(said[name], `${path}.${name}`, deps)
  if (sent.mask_id && deps.model.masksById.get(sent.mask_id)?.table !== table) {
    throw badRequest(`${path}.mask_id: the object type has no such mask`, {
      path: `${path}.mask_id`,
      mask: sent.mask_id,
    })
  }
  if (table) requireFields(sent, table, path)
  if (table && sent.linked_object_pools) said.linked_object_pools = linkedPools(sent, table, path, deps)
  requireTags(sent, path, deps)
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null && value !== undefined))
}

/**
 * Pools by the links to the objects in them. Uploads act as the owner of the collection, so the caller who names a pool must be able to
 * create such objects there.
 */
function linkedPools(
  sent: CreateObjectInput,
  table: Table,
  place: string,
  deps: CreateObjectDeps,
): Record<string, { readonly pool: { readonly _id: number } }> {
  const same = deps.stored?.objecttype === sent.objecttype
  const stored = ((same ? deps.stored?.linked_object_pools : null) ?? {}) as Readonly<Record<string, unknown>>
  const found: Record<string, { pool: { _id: number } }> = {}
  for (const [name, entry] of Object.entries(sent.linked_object_pools ?? {})) {
    if (entry === null) continue
    const path = `${place}.linked_object_pools.${name}`
    const target = linkNamed(table, name)?.target
    if (!target) throw new AppError('UnknownField', { path, field: name, objecttype: table.name })
    if (!target.poolLink)
      throw badRequest(`${path}: ${target.name} has no pools`, { path, field: name, objecttype: target.name })
    const named = namedPool(entry)
    if (!named) throw badRequest(`${path} must name a pool by its _id or its reference`, { path })
    const id = named.id ?? deps.pools.byReference.get(named.reference ?? '')?.id
    if (id === undefined || !isKnown(id, deps)) throw new AppError('PoolNotFound', { path, ...named })
    if (namedPool(stored[name])?.id !== id && !deps.rights.root && !deps.rights.mayCreate(target.id, id))
      throw new AppError('RightRequired', { right: 'create', path, pool: id, objecttype: target.name })
    found[name] = { pool: { _id: id } }
  }
  return found
}

function objecttype({ objecttype: name }: CreateObjectInput, path: string, model: Model) {
  if (!name) return undefined
  const table = model.objecttypes.get(name)
  if (!table) throw new AppError('UnknownObjecttype', { path: `${path}.objecttype`, objecttype: name })
  return table
}

type SentPool = NonNullable<CreateObjectInput['pool']>

function poolId({ pool }: SentPool, path: string, deps: CreateObjectDeps, beside: number | null | undefined): number {
  const lookup = pool['lookup:_id']
  const id = pool._id ?? (lookup ? deps.pools.byReference.get(lookup.reference)?.id : undefined)
  if (id === undefined || !isKnown(id, deps))
    throw new AppError('PoolNotFound', { path, ...(pool._id ? { _id: pool._id } : lookup) })
  if (beside && beside !== id) throw badRequest(`${path} and ${path}_id name two pools`, { path })
  return id
}

/** A pool that the caller may not know does not exist for it, by whatever it is named. */
function isKnown(id: number, { pools, rights }: CreateObjectDeps): boolean {
  return pools.has(id) && (rights.root || rights.knowsPool(id))
}

function requirePool(id: unknown, path: string, deps: CreateObjectDeps): void {
  if (typeof id === 'number' && !isKnown(id, deps)) throw new AppError('PoolNotFound', { path, _id: id })
}

/** A misspelled field would be told at each upload only. */
function requireFields({ eas_field: file, update_search_field: text }: CreateObjectInput, table: Table, place: string) {
  const unknown =
    file && !fileColumnNamed(table, file)
      ? (['eas_field', file] as const)
      : text && !textColumnNamed(table, text)
        ? (['update_search_field', text] as const)
        : null
  if (unknown === null) return
  const [setting, field] = unknown
  throw new AppError('UnknownField', { path: `${place}.${setting}`, field, objecttype: table.name })
}

function requireTags({ tags }: CreateObjectInput, path: string, deps: CreateObjectDeps): void {
  for (const [index, { _id }] of (tags ?? []).entries()) {
    if (!deps.tags.has(_id)) throw new AppError('TagNotFound', { path: `${path}.tags[${index}]._id`, id: _id })
  }
}

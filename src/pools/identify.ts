import { assertVersion, type VersionConvention } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Pool } from './model.ts'
import type { PoolInput } from './schema.ts'

/** One pool of a request; `current` is null for one that is created. */
export interface Item {
  readonly input: PoolInput
  /** The path in the request, for errors. */
  readonly place: string
  readonly current: Pool | null
}

export interface Batch {
  readonly items: readonly Item[]
}

/** Pools that the caller may know: others are not found, neither by id nor by reference. */
export interface KnownPools {
  get(id: number): Pool | undefined
  readonly byReference: { get(reference: string): Pool | undefined }
}

/**
 * Resolves each pool of the request: a new one or a change of a stored one.
 * @throws {AppError} `VersionMismatch`, `PoolNotFound`, `LookupNotFound`, `UnableToSetIsSystemPool`
 */
export function identify(inputs: readonly PoolInput[], known: KnownPools, convention: VersionConvention): Batch {
  const seen = new Set<number>()
  const items = inputs.map((input, index) => {
    const place = `pool[${index}]`
    const current = currentOf(input, known, place, convention)
    if (current && seen.has(current.id))
      throw badRequest(`${place}: the pool is in the request twice`, { path: place, _id: current.id })
    if (current) seen.add(current.id)
    const marker = input.pool.is_system_pool ?? null
    if (marker !== null && marker !== (current?.isSystem ?? false)) {
      throw new AppError('UnableToSetIsSystemPool', { path: `${place}.pool.is_system_pool`, value: marker })
    }
    return { input, place, current }
  })
  return { items }
}

function currentOf(input: PoolInput, known: KnownPools, place: string, convention: VersionConvention): Pool | null {
  const named = namedPool(input, known, place)
  const got = input.pool._version ?? null
  if (!named) {
    if (got === null || got === 1) return null
    throw badRequest(`${place}: an update needs pool._id`, { path: `${place}.pool._id`, _version: got })
  }
  if (got === null) {
    throw badRequest(`${place}: a new pool has no _id, an update needs pool._version`, {
      path: `${place}.pool._version`,
    })
  }
  assertVersion(got, named.version, convention, { path: `${place}.pool._version`, pool: named.id })
  return named
}

function namedPool({ pool }: PoolInput, known: KnownPools, place: string): Pool | null {
  if (pool._id) {
    const found = known.get(pool._id)
    if (found) return found
    throw new AppError('PoolNotFound', { path: `${place}.pool._id`, _id: pool._id })
  }
  const lookup = pool['lookup:_id']
  if (!lookup) return null
  const found = known.byReference.get(lookup.reference)
  if (found) return found
  throw new AppError('LookupNotFound', { path: `${place}.pool.lookup:_id`, basetype: 'pool', ...lookup })
}

import { assertVersion, type VersionConvention } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { composed } from '../platform/values/text.ts'

import type { CollectionInput } from './schema.ts'
import { findByReference, topOfUser } from './store.ts'

/** One collection of a request, with the objects and parents that it names. */
export interface Draft {
  readonly input: CollectionInput
  /** Its place in the request, for errors. */
  readonly place: string
  /** The stored collection that it changes; null for a new one. */
  readonly id: number | null
  /** The requested parent: a stored collection or another one of the request; null: the request names none. */
  readonly parent: { readonly id: number } | { readonly draft: number } | null
}

/**
 * Identifies each collection of a request. Whether the caller may know it is checked later.
 * @throws {AppError} `LookupNotFound`, or naming the place
 */
export async function identify(
  q: Queryable,
  inputs: readonly CollectionInput[],
  placeOf: (index: number) => string,
): Promise<Draft[]> {
  const found = await findByReference(q, [...new Set(inputs.flatMap(referencesOf))])
  const added = new Map<string, number>()
  for (const [index, { collection }] of inputs.entries()) {
    if (collection.reference) added.set(composed(collection.reference), index)
  }
  const seen = new Set<number>()
  return inputs.map((input, index) => {
    const place = placeOf(index)
    const id = ownId(input, place, found)
    if (id !== null && seen.has(id))
      throw badRequest(`${place}: the collection is in the request twice`, { path: place, _id: id })
    if (id !== null) seen.add(id)
    return { input, place, id, parent: parentOf(input, place, found, added) }
  })
}

function referencesOf({ collection }: CollectionInput): string[] {
  return [collection['lookup:_id'], collection['lookup:_id_parent']].flatMap((one) =>
    one ? [composed(one.reference)] : [],
  )
}

function ownId({ collection }: CollectionInput, place: string, found: ReadonlyMap<string, number>): number | null {
  const { _id: id, 'lookup:_id': lookup, _version: version = null } = collection
  const named = id ?? (lookup ? (found.get(composed(lookup.reference)) ?? null) : null)
  if (lookup && named === null) throw lookupNotFound(`${place}.collection.lookup:_id`, lookup)
  if (named === null && version !== null && version !== 1)
    throw badRequest(`${place}: an update needs collection._id`, { path: `${place}.collection._id`, _version: version })
  if (named !== null && version === null) {
    throw badRequest(`${place}: a new collection has no _id, an update needs collection._version`, {
      path: `${place}.collection._version`,
    })
  }
  return named
}

function parentOf(
  { collection }: CollectionInput,
  place: string,
  found: ReadonlyMap<string, number>,
  added: ReadonlyMap<string, number>,
): Draft['parent'] {
  const { _id_parent: id, 'lookup:_id_parent': lookup } = collection
  if (id) return { id }
  if (!lookup) return null
  const reference = composed(lookup.reference)
  const stored = found.get(reference)
  if (stored !== undefined) return { id: stored }
  const draft = added.get(reference)
  if (draft === undefined) throw lookupNotFound(`${place}.collection.lookup:_id_parent`, lookup)
  return { draft }
}

function lookupNotFound(path: string, lookup: { readonly reference: string }): AppError {
  return new AppError('LookupNotFound', { path, basetype: 'collection', reference: lookup.reference })
}

/** @throws {AppError} `VersionMismatch` */
export function assertStoredVersion(
  { input, place, id }: Draft,
  stored: { readonly version: number },
  convention: VersionConvention,
): void {
  const path = `${place}.collection._version`
  assertVersion(input.collection._version, stored.version, convention, { path, collection: id })
}

/** The default parent of a new collection. @throws {AppError} `LookupNotFound` */
export async function ownTop(q: Queryable, userId: number, path: string): Promise<number> {
  const top = await topOfUser(q, userId)
  if (top !== null) return top
  throw badRequest(`${path}: say where the collection is put: this user has no collections of its own`, { path })
}

import type { FoundObject } from '../../objects/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { CallerRights } from '../../rights/service.ts'
import type { Access, ListRight } from '../access.ts'

/** @throws {AppError} `RightRequired` when the caller may not change the list in this way for any object. */
export function requireList(access: Access, right: ListRight, collectionId: number): void {
  if (!access.mayListSome(right)) throw new AppError('RightRequired', { right, collection: collectionId })
}

/**
 * Checks new objects of a list: the caller must have the right to add them there, and to add them to collections at all.
 * @throws {AppError} `CollectionObjectInsufficientRights`
 */
export function requireLink(
  access: Access,
  rights: CallerRights,
  collectionId: number,
  objects: readonly (FoundObject | null)[],
): void {
  for (const object of objects) {
    const guard = object?.guard ?? null
    const allowed = access.mayList('link', guard) && (guard === null || rights.may('link', guard))
    if (!allowed) throw missing('link', collectionId, object)
  }
}

/** Checks the removal of objects from a list: the list's own grants decide it. */
export function requireUnlink(access: Access, collectionId: number, objects: readonly (FoundObject | null)[]): void {
  for (const object of objects) {
    if (!access.mayList('unlink', object?.guard ?? null)) throw missing('unlink', collectionId, object)
  }
}

/** If the caller may not read the object, the error does not name it. */
function missing(right: ListRight, collection: number, object: FoundObject | null): AppError {
  return new AppError('CollectionObjectInsufficientRights', {
    right,
    collection,
    ...(object?.readable ? { system_object_id: object.systemObjectId } : {}),
  })
}

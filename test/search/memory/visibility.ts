/** What the caller sees, document by document. */
import { type DeleteCondition, type Expression, holds, readPrincipals } from '../../../src/rights/service.ts'
import type { FieldVisibility, Visibility } from '../../../src/search/plan/field-visibility.ts'
import type { MemoryDocument } from './documents.ts'

export function isSeen(visibility: Visibility, document: MemoryDocument): boolean {
  return typeof visibility === 'string' ? visibility === 'always' : isReadable(visibility.place, document)
}

/** By the index, and unless it has moved out of sight since. */
export const mayRead = ({ rights, without }: FieldVisibility, document: MemoryDocument): boolean =>
  !without.includes(document.id) && isReadable(rights, document)

export function mayDelete({ right, when }: DeleteCondition, { guarded, grants }: MemoryDocument): boolean {
  return holds(when, guarded, {
    granted: () => (grants ? readPrincipals(guarded, Date.now(), right).principals : []),
    files: () => [],
  })
}

export function isReadable(rights: Expression, { guarded, principals, fileMarks }: MemoryDocument): boolean {
  return holds(rights, guarded, {
    granted: () => principals,
    files: (columnId, by) => fileMarks.get(`${columnId} ${by}`) ?? [],
  })
}

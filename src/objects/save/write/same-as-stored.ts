import type { Column } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import { isRecord, storedValue } from '../../content/values.ts'
import { sameContent } from '../../masks/writer.ts'

/**
 * Whether a value of a payload is equal to the stored one. For texts in several languages only the sent languages count: a client
 * can request an answer in some languages only.
 */
export function sameAsStored(column: Column, value: unknown, stored: unknown): boolean {
  if (column.type === 'link') return sameTarget(value, stored)
  if ((column.type === 'text_l10n' || column.type === 'text_l10n_oneline') && isRecord(value) && isRecord(stored)) {
    return Object.entries(value).every(([language, text]) => (text || undefined) === stored[language])
  }
  try {
    return sameContent(storedValue(column, value, ''), stored)
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** Links are answered with the ids that are compared here; a target with another kind of reference was not sent back. */
function sameTarget(value: unknown, stored: unknown): boolean {
  if (value === null) return stored === undefined
  if (!isRecord(value) || stored === undefined) return false
  if (value._system_object_id !== undefined) return value._system_object_id === stored
  return typeof value._global_object_id === 'string' && value._global_object_id.startsWith(`${stored}@`)
}

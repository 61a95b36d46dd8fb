import type { ErrorCode } from '../../platform/catalogue.ts'
import { AppError } from '../../platform/errors.ts'

/** The place of an error in the posted document: the path, and the names that belong to it. */
export interface DocumentPath {
  readonly path: string
  readonly table?: string
  readonly column?: string
  readonly mask?: string
}

/** The error for an invalid value: `parameters.path` is its place in the document (`tables[3].columns[2].type`). */
export function wrongPlace(
  code: ErrorCode,
  place: DocumentPath,
  message: string,
  parameters: Record<string, unknown> = {},
): AppError {
  const names = [place.mask, place.table, place.column].filter((name) => name !== undefined && name !== '')
  const where = names.length > 0 ? `${place.path} (${names.join('.')})` : place.path
  return new AppError(code, { ...place, ...parameters }, { message: `${where}: ${message}` })
}

export function inconsistent(place: DocumentPath, message: string, parameters: Record<string, unknown> = {}): AppError {
  return wrongPlace('SchemaInconsistent', place, message, parameters)
}

/** Names of object types, columns and masks; names with a leading underscore are reserved for the system. */
const identifier = /^[a-z][a-z0-9_]*$/

export function checkIdentifier(name: string | undefined, place: DocumentPath, maxLength: number): void {
  if (name !== undefined && name.length <= maxLength && identifier.test(name)) return
  throw wrongPlace(
    'InvalidIdentifier',
    place,
    `"${name ?? ''}" is no valid name: lower case letters, digits and underscores, a letter first, at most ${maxLength} characters`,
    { name: name ?? null },
  )
}

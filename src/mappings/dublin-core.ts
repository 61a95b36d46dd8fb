import { badRequest } from '../platform/errors.ts'
import type { ExportTag } from './model.ts'

/** The elements of simple Dublin Core, in their order in documents. @see DCMES 1.1 */
export const dcElements = [
  'title',
  'creator',
  'subject',
  'description',
  'publisher',
  'contributor',
  'date',
  'type',
  'format',
  'identifier',
  'source',
  'language',
  'relation',
  'coverage',
  'rights',
] as const
export type DcElement = (typeof dcElements)[number]

/** The element for a field of a profile for Dublin Core: `dc:title`. @throws {AppError} `ServerGeneric` */
export function readDcElement({ path }: ExportTag, place: string): ExportTag {
  if (elementOf(path) !== null) return { path }
  throw badRequest(`${place}: ${path.slice(0, 100)} is no element of Dublin Core such as dc:title`, {
    path: place,
    value: path.slice(0, 200),
    expected: dcElements.map((name) => `dc:${name}`),
  })
}

/** Null: it is not an element. */
export function elementOf(path: string): DcElement | null {
  return dcElements.find((name) => path === `dc:${name}`) ?? null
}

import type { ObjectTree } from '../objects/service.ts'
import { badRequest } from '../platform/errors.ts'
import type { Text } from './export/values.ts'
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

export interface DcValue {
  readonly element: DcElement
  readonly text: Text
}

/** The mappings of a moment. */
export interface DublinCore {
  /** One of them names values of linked objects. */
  readonly readsLinked: boolean
  /** The values of an object for its reader: in the order of the elements, each value once. */
  valuesOf(tree: ObjectTree): readonly DcValue[]
}

/** The element of a field of a profile for Dublin Core: `dc:title`. @throws {AppError} `ServerGeneric` */
export function readDcElement({ path, list, l10n }: ExportTag, place: string): ExportTag {
  const said = list ? 'list' : l10n ? 'l10n' : null
  if (said !== null) {
    const message = `${place}: ${said} says nothing here: each text is an element of Dublin Core, and so it is in each language`
    throw badRequest(message, { path: place, value: true })
  }
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

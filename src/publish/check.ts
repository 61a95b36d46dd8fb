/** Checks a sent publication; answers it in stored form. */
import { AppError } from '../platform/errors.ts'
import type { PublishInput } from './schema.ts'
import type { PublicationRow } from './store.ts'

/** An object for which a record may be made. */
export interface PublishableObject {
  readonly uuid: string
  readonly version: number
  readonly deleted: boolean
}

export interface CheckContext {
  /** Objects that the caller may read. */
  readonly objects: ReadonlyMap<number, PublishableObject>
  /** Records that the caller may see, with the objects that they are about now. */
  readonly stored: ReadonlyMap<number, number>
  readonly collectors: ReadonlySet<string>
  /** Words allowed in place of `svc` in `svc_uri`. */
  readonly words: readonly string[]
  /** The deep link of an object. */
  readonly linkOf: (uuid: string) => string
}

/** @throws {AppError} `PublishInvalidData`, `PublishUnknownCollector`, `ObjectNotFound`, `PublishDeletedObject` */
export function checkPublications(sent: readonly PublishInput[], context: CheckContext): PublicationRow[] {
  const ids = new Set<number>()
  return sent.map(({ publish }, index) => {
    const { _id: id = 0, version = 0, system_object_id: systemObjectId, collector, publish_uri: publishUri } = publish
    const place = `[${index}].publish`
    if (id !== 0) {
      if (!context.stored.has(id)) throw invalid(`${place}._id`, 'the _id of a record, or 0')
      if (ids.has(id)) throw invalid(`${place}._id`, 'an _id that stands once in the request')
      ids.add(id)
    }
    if (!context.collectors.has(collector))
      throw new AppError('PublishUnknownCollector', { name: `${place}.collector`, collector })
    const object = context.objects.get(systemObjectId)
    if (!object)
      throw new AppError('ObjectNotFound', { name: `${place}.system_object_id`, system_object_id: systemObjectId })
    if (object.deleted) throw new AppError('PublishDeletedObject', { system_object_id: systemObjectId })
    if (version > object.version) throw invalid(`${place}.version`, `0, or a version up to ${object.version}`)
    if (publishUri === '') throw invalid(`${place}.publish_uri`, 'an address')
    const svcUri = linkBack(publish, context.words, place) ?? context.linkOf(object.uuid)
    return { id: id === 0 ? null : id, systemObjectId, version, collector, publishUri, svcUri }
  })
}

/** `svc_uri`, or the member in which older clients send it; null: none is sent. */
function linkBack(publish: PublishInput['publish'], words: readonly string[], place: string): string | null {
  const sent = publish as Readonly<Record<string, unknown>>
  const found = ['svc', ...words].map((word) => `${word}_uri`).filter((name) => sent[name] !== undefined)
  const [name = ''] = found
  if (found.length === 0) return null
  if (found.length > 1) throw invalid(`${place}.${found[1]}`, `absent beside ${name}`)
  const uri = sent[name]
  if (typeof uri !== 'string' || uri === '' || uri.length > 10_000) throw invalid(`${place}.${name}`, 'an address')
  return uri
}

export function invalid(name: string, expected: string): AppError {
  return new AppError('PublishInvalidData', { name, expected }, { message: `${name} must be ${expected}.` })
}

import type { NewEvent } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { CollectionFields } from './model.ts'

type Told = Pick<CollectionFields, 'displayname' | 'shortname' | 'reference'> & {
  readonly id: number
  readonly version: number
}

export function collectionEvent(
  type: 'COLLECTION_INSERT' | 'COLLECTION_UPDATE' | 'COLLECTION_DELETE',
  actor: Actor,
  { id, version, displayname, shortname, reference }: Told,
): NewEvent {
  return {
    type,
    actor,
    basetype: 'collection',
    schema: 'BASE',
    objectId: id,
    objectVersion: version,
    info: { displayname, shortname, reference },
  }
}

import type { Publication } from './model.ts'
import type { PublishOutput } from './schema.ts'

export function renderPublication(publication: Publication): PublishOutput {
  return {
    _basetype: 'publish',
    publish: fieldsOf(publication),
    _timestamp_created: publication.createdAt.toISOString(),
  }
}

/** A record in `_published` of its object. */
export function renderInObject(publication: Publication) {
  return { ...fieldsOf(publication), timestamp_created: publication.createdAt.toISOString() }
}

function fieldsOf({ id, version, systemObjectId, collector, publishUri, svcUri }: Publication) {
  return {
    _id: id,
    version,
    system_object_id: systemObjectId,
    collector,
    publish_uri: publishUri,
    svc_uri: svcUri,
  }
}

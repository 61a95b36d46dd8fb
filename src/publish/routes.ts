import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { Acknowledged, PublishBatch, PublishId, PublishOfId, PublishOutput, PublishQuery } from './schema.ts'
import { deletePublications, type PublishService, readPublications, writePublications } from './service.ts'

const tags = ['publish']

export function registerPublishRoutes(http: HttpApp, { publish }: { publish: PublishService }): void {
  http.get(
    '/api/v1/publish',
    {
      schema: {
        tags,
        operationId: 'listPublishRecords',
        summary: 'Publish records',
        description: 'Those of objects that the caller may read, by id.',
        querystring: PublishQuery,
        response: { 200: Type.Array(PublishOutput) },
      },
      config: { access: 'user', writes: false, systemRight: readPublications },
    },
    (request) => publish.list(actorOf(request), request.query),
  )

  http.post(
    '/api/v1/publish',
    {
      schema: {
        tags,
        operationId: 'savePublishRecords',
        summary: 'Record publications of objects',
        description:
          'A record with the `_id` of a stored one replaces it, one without `_id` or with 0 is new. All are stored or none.',
        body: PublishBatch,
        response: { 200: Type.Array(PublishOutput) },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        systemRight: writePublications,
        errors: ['ObjectNotFound', 'PublishDeletedObject', 'PublishInvalidData', 'PublishUnknownCollector'],
      },
    },
    (request) => publish.save(actorOf(request), request.body),
  )

  http.get(
    '/api/v1/publish/:systemObjectId',
    {
      schema: {
        tags,
        operationId: 'getPublishRecord',
        summary: 'One publish record',
        description: 'By its own `_id`. An empty list when there is none.',
        params: PublishOfId,
        response: { 200: Type.Array(PublishOutput) },
      },
      config: { access: 'user', writes: false, systemRight: readPublications },
    },
    (request) => publish.find(actorOf(request), request.params.systemObjectId),
  )

  http.delete(
    '/api/v1/publish/:publishId',
    {
      schema: {
        tags,
        operationId: 'deletePublishRecord',
        summary: 'Delete a publish record',
        description: 'The publication itself stays where it is. An unknown `_id` is no error.',
        params: PublishId,
        response: { 200: Acknowledged },
      },
      config: { access: 'user', writes: true, systemRight: deletePublications },
    },
    async (request) => {
      await publish.remove(actorOf(request), request.params.publishId)
      return { status: { acknowledged: 'ok' as const } }
    },
  )
}

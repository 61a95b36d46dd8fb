import { Type } from 'typebox'
import type { HttpApp } from '../platform/http/http.ts'
import { sendDocument } from './send-document.ts'
import type { DeepLinkService } from './service.ts'

const Params = Type.Object({
  collectionId: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the collection.' }),
})

const Query = Type.Object({
  part: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Which part of a long list, as its items name them.' }),
  ),
})

/** Collections for viewers of IIIF. */
export function registerCollectionLinks(
  http: HttpApp,
  { deepLinks }: { deepLinks: Pick<DeepLinkService, 'collection'> },
): void {
  http.route({
    method: ['GET', 'HEAD'],
    url: '/api/v1/collection/iiif/:collectionId',
    schema: {
      operationId: 'getIiifCollection',
      summary: 'A collection for viewers: IIIF Presentation 3',
      description:
        'The collections below it, and manifests of the objects in its list that have something to be shown. Callers without a ' +
        'token are the system user `deep_link`. Answers conditional requests.',
      tags: ['deep links'],
      params: Params,
      querystring: Query,
      response: {
        200: {
          description: 'The collection.',
          content: { 'application/ld+json': { schema: Type.Unsafe<unknown>({}) } },
        },
        304: Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' }),
      },
    },
    config: {
      access: 'optional',
      writes: false,
      errors: [
        'DeepLinkAccessDisabled',
        'ObjectInsufficientRights',
        'ObjectNotFound',
        'QuotaExceeded',
        'ResourceNotFound',
        'RightRequired',
        'TooManyHeavyRequests',
      ],
    },
    compress: false,
    handler: async (request, reply) => {
      const { actor, ip: address, deadline, params, query } = request
      const asked = { actor, address, deadline, id: params.collectionId, part: query.part ?? null }
      return sendDocument(request, reply, await deepLinks.collection(asked), null)
    },
  })
}

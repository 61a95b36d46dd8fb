import { Type } from 'typebox'
import type { ErrorCode } from '../../platform/catalogue.ts'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { collectionListQuery } from '../../platform/http/query.ts'
import { TaskList } from '../../platform/values/tasks.ts'
import { ListChanged, ListInput, ListOutput, RemoveInput } from '../schema.ts'
import { shareOptions } from '../sharing/options.ts'
import type { ListService } from './service.ts'

const Params = Type.Object({
  collectionId: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Id of the collection.',
  }),
})
const ListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, default: 100, description: 'Most entries.' })),
  offset: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, description: 'How many to leave out.' }),
  ),
})

const ChangeQuery = Type.Object(collectionListQuery, { additionalProperties: true })

const reading = ['ObjectNotFound', 'RightRequired'] as const satisfies readonly ErrorCode[]
const changing = [
  ...reading,
  'InvalidValue',
  'LookupNotFound',
  'LookupFoundTooMany',
  'CollectionObjectInsufficientRights',
  'DatabaseLockError',
] as const satisfies readonly ErrorCode[]

const changes = [
  {
    path: 'objects',
    operationId: 'replaceCollectionObjects',
    summary: 'Replace the list of a collection',
    description: 'Exactly the objects of the body are in it then, in their order.',
    run: (lists: ListService) => lists.replace,
  },
  {
    path: 'push',
    operationId: 'pushCollectionObjects',
    summary: 'Append objects to a collection',
    description: 'Objects that are in it already move to its end.',
    run: (lists: ListService) => lists.push,
  },
  {
    path: 'splice',
    operationId: 'spliceCollectionObjects',
    summary: 'Take entries out at a position and put objects there',
    description: 'Objects that are in it already move there.',
    run: (lists: ListService) => lists.splice,
  },
] as const

/** The list of a collection. A change of the list does not change the `_version` of the collection. */
export function registerListRoutes(http: HttpApp, { lists }: { lists: ListService }): void {
  http.get(
    '/api/v1/collection/objects/:collectionId',
    {
      schema: {
        operationId: 'getCollectionObjects',
        summary: 'A page of the list of a collection',
        description: 'An object that the caller may not read is an entry with its id and `_not_allowed`.',
        tags: ['collection'],
        params: Params,
        querystring: ListQuery,
        response: { 200: ListOutput },
      },
      config: { access: 'user', writes: false, errors: reading },
    },
    (request) => {
      const { limit = 100, offset = 0 } = request.query
      return lists.page(actorOf(request), request.params.collectionId, { limit, offset })
    },
  )

  for (const { path, operationId, summary, description, run } of changes) {
    http.post(
      `/api/v1/collection/${path}/:collectionId`,
      {
        schema: {
          operationId,
          summary,
          description,
          tags: ['collection'],
          params: Params,
          querystring: ChangeQuery,
          body: ListInput,
          response: { 200: ListChanged, 202: TaskList },
        },
        config: { access: 'user', writes: true, body: 'many', errors: [...changing, 'UrlParameterNotSupported'] },
      },
      async (request, reply) => {
        const options = shareOptions(request.query)
        const done = await run(lists)(actorOf(request), request.params.collectionId, request.body, options)
        return done.kind === 'confirm' ? reply.status(202).send({ tasks: [...done.tasks] }) : done.value
      },
    )
  }

  http.post(
    '/api/v1/collection/remove/:collectionId',
    {
      schema: {
        operationId: 'removeCollectionObjects',
        summary: 'Take objects out of a collection',
        description: 'All of them must be in it.',
        tags: ['collection'],
        params: Params,
        querystring: ChangeQuery,
        body: RemoveInput,
        response: { 200: ListChanged },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        errors: [...changing, 'CollectionRemoveNotAllObjectsFound'],
      },
    },
    (request) => lists.remove(actorOf(request), request.params.collectionId, request.body),
  )
}

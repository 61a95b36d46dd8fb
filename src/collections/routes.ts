import { Type } from 'typebox'
import type { ErrorCode } from '../platform/catalogue.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { collectionQuery } from '../platform/http/query.ts'
import { Acknowledged, TaskList } from '../platform/values/tasks.ts'
import { registerListRoutes } from './entries/routes.ts'
import { CollectionInput, CollectionInputs, CollectionOutput } from './schema.ts'
import type { CollectionService } from './service.ts'
import { shareOptions } from './sharing/options.ts'

const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the collection.' })
export const CollectionParams = Type.Object({ collectionId: Id })
const Parent = Type.Object({
  parentId: Type.String({
    pattern: '^(null|[1-9]\\d{0,14})$',
    description: 'Id of the collection above, or `null`: those without one.',
  }),
})
const Page = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, default: 1000, description: 'Most collections.' }),
    ),
    offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: 'How many to leave out at the beginning.',
      }),
    ),
  },
  { additionalProperties: true },
)
const Collections = Type.Array(CollectionOutput)
const SaveQuery = Type.Object(collectionQuery, { additionalProperties: true })

const reading = ['ObjectNotFound', 'RightRequired'] as const satisfies readonly ErrorCode[]
const saving = [
  ...reading,
  'VersionMismatch',
  'InvalidValue',
  'LookupNotFound',
  'LookupFoundTooMany',
  'UnknownObjecttype',
  'PoolNotFound',
  'TagNotFound',
  'DatabaseUniqueKeyViolation',
  'UnknownRight',
  'UnknownRightParam',
  'UnknownRightValue',
  'CollectionObjectInsufficientRights',
  'UrlParameterNotSupported',
  'DatabaseLockError',
] as const satisfies readonly ErrorCode[]

const page = ({ limit = 1000, offset = 0 }: { limit?: number; offset?: number }) => ({ limit, offset })
const described =
  'Without `_version`, or with 1 and no `_id`, it is created, below the own top collection unless a parent is named; ' +
  'otherwise `_version` is the stored one. Absent members stay as they are. `objects` replaces the list. A parent that is ' +
  'another one than before moves it, and gives all below it the owner of that parent.'

export function registerCollectionRoutes(http: HttpApp, { collections }: { collections: CollectionService }): void {
  http.get(
    '/api/v1/collection/list',
    {
      schema: {
        operationId: 'listCollections',
        summary: 'All collections that the caller may see, parents before their children',
        description: 'Each with its path, and with what the caller may do with it.',
        tags: ['collection'],
        querystring: Page,
        response: { 200: Collections },
      },
      config: { access: 'user', writes: false },
    },
    (request) => collections.list(actorOf(request), page(request.query)),
  )

  http.get(
    '/api/v1/collection/list/:parentId',
    {
      schema: {
        operationId: 'listChildCollections',
        summary: 'The collections right below one',
        description: 'The collections that the caller may see.',
        tags: ['collection'],
        params: Parent,
        querystring: Page,
        response: { 200: Collections },
      },
      config: { access: 'user', writes: false, errors: reading },
    },
    (request) => {
      const { parentId } = request.params
      return collections.listBelow(actorOf(request), parentId === 'null' ? null : Number(parentId), page(request.query))
    },
  )

  http.put(
    '/api/v1/collection/list',
    {
      schema: {
        operationId: 'saveCollections',
        summary: 'Create and change collections, all or none',
        description: described,
        tags: ['collection'],
        querystring: SaveQuery,
        body: CollectionInputs,
        response: { 200: Collections, 202: TaskList },
      },
      config: { access: 'user', writes: true, body: 'many', errors: saving },
    },
    async (request, reply) => {
      const saved = await collections.saveAll(actorOf(request), request.body, shareOptions(request.query))
      return saved.kind === 'confirm' ? reply.status(202).send({ tasks: [...saved.tasks] }) : saved.value
    },
  )

  for (const method of ['POST', 'PUT'] as const) {
    http.route({
      method,
      url: '/api/v1/collection',
      schema: {
        operationId: method === 'POST' ? 'saveCollection' : 'putCollection',
        summary: method === 'POST' ? 'Create or change a collection' : 'Create or change a collection (as POST)',
        description: described,
        tags: ['collection'],
        querystring: SaveQuery,
        body: CollectionInput,
        response: { 200: CollectionOutput, 202: TaskList },
      },
      config: { access: 'user', writes: true, body: 'many', errors: saving },
      handler: async (request, reply) => {
        const saved = await collections.save(actorOf(request), request.body, shareOptions(request.query))
        return saved.kind === 'confirm' ? reply.status(202).send({ tasks: [...saved.tasks] }) : saved.value
      },
    })
  }

  http.get(
    '/api/v1/collection/:collectionId',
    {
      schema: {
        operationId: 'getCollection',
        summary: 'One collection',
        description: 'With its path, and with what the caller may do with it. The list is read apart.',
        tags: ['collection'],
        params: CollectionParams,
        response: { 200: CollectionOutput },
      },
      config: { access: 'user', writes: false, errors: reading },
    },
    (request) => collections.read(actorOf(request), request.params.collectionId),
  )

  http.post(
    '/api/v1/collection/:collectionId',
    {
      schema: {
        operationId: 'updateCollection',
        summary: 'Change a collection',
        description: 'As POST to `/collection`; the address says which one.',
        tags: ['collection'],
        params: CollectionParams,
        querystring: SaveQuery,
        body: CollectionInput,
        response: { 200: CollectionOutput, 202: TaskList },
      },
      config: { access: 'user', writes: true, body: 'many', errors: saving },
    },
    async (request, reply) => {
      const { body, query, params } = request
      const saved = await collections.save(actorOf(request), body, shareOptions(query), params.collectionId)
      return saved.kind === 'confirm' ? reply.status(202).send({ tasks: [...saved.tasks] }) : saved.value
    },
  )

  http.delete(
    '/api/v1/collection/:collectionId',
    {
      schema: {
        operationId: 'deleteCollection',
        summary: 'Delete a collection and all below it',
        description: 'Needs the right `bag_delete` on all of them. The objects in them stay.',
        tags: ['collection'],
        params: CollectionParams,
        response: { 200: Acknowledged },
      },
      config: { access: 'user', writes: true, errors: [...reading, 'DatabaseLockError'] },
    },
    async (request) => {
      await collections.remove(actorOf(request), request.params.collectionId)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  registerListRoutes(http, { lists: collections.lists })
}

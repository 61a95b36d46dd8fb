import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { dependentsQuery, sharesIn } from '../platform/http/query.ts'
import { Acknowledged, TaskList } from '../platform/values/tasks.ts'
import { PoolInputs, PoolOutput, PoolStats } from './schema.ts'
import { managePools, type PoolService } from './service.ts'

const PoolId = Type.Object({
  poolID: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the pool.' }),
})
const Pools = Type.Array(PoolOutput)

const SaveQuery = Type.Object(dependentsQuery, { additionalProperties: true })

export function registerPoolRoutes(http: HttpApp, { pools }: { pools: PoolService }): void {
  http.get(
    '/api/v1/pool',
    {
      schema: {
        operationId: 'listPools',
        summary: 'All pools that the caller may see, parents before their children',
        description: 'Each with its path, and with what the caller may do in it.',
        tags: ['pool'],
        querystring: Type.Object(
          {
            limit: Type.Optional(
              Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1000, description: 'Most pools.' }),
            ),
            offset: Type.Optional(
              Type.Integer({
                minimum: 0,
                maximum: Number.MAX_SAFE_INTEGER,
                description: 'How many to leave out at the beginning.',
              }),
            ),
          },
          { additionalProperties: true },
        ),
        response: { 200: Pools },
      },
      config: { access: 'user', writes: false },
    },
    async (request) => pools.list(actorOf(request), request.query),
  )

  for (const method of ['POST', 'PUT'] as const) {
    http.route({
      method,
      url: '/api/v1/pool',
      schema: {
        operationId: method === 'POST' ? 'savePools' : 'putPools',
        summary: method === 'POST' ? 'Create and change pools' : 'Create and change pools (as POST)',
        description:
          'Without `_version`, or with 1 and no `_id`, a pool is created; otherwise `_version` is the stored one. ' +
          'Absent members stay as they are. All pools are saved or none.',
        tags: ['pool'],
        querystring: SaveQuery,
        body: PoolInputs,
        response: { 200: Pools, 202: TaskList },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        systemRight: managePools,
        errors: [
          'RightRequired',
          'SystemRightRequired',
          'VersionMismatch',
          'IllegalPathForPool',
          'LookupNotFound',
          'PoolNeedsParent',
          'PoolNotFound',
          'TagNotFound',
          'TagNotEnabled',
          'UnableToSetIsSystemPool',
          'ObjecttypeNeedsStandardMask',
          'DatabaseUniqueKeyViolation',
          'ResourceNotFound',
          'UnknownRight',
          'UnknownRightParam',
          'UnknownRightValue',
          'WebhookUnknown',
          'WebhookNotSelected',
          'WebhookCallbackUnknown',
          'ChangeOwnerNotSelected',
          'TransitionNotFound',
          'EventTypeNotAllowed',
          'UserNotFound',
        ],
      },
      handler: async (request, reply) => {
        const { query, body } = request
        const saved = await pools.save(actorOf(request), body, query.confirm, sharesIn(query))
        return saved.kind === 'confirm' ? reply.status(202).send({ tasks: [...saved.tasks] }) : saved.pools
      },
    })
  }

  http.get(
    '/api/v1/pool/:poolID',
    {
      schema: {
        operationId: 'getPool',
        summary: 'One pool, as an array of one',
        description: 'With its path, and with what the caller may do in it.',
        tags: ['pool'],
        params: PoolId,
        response: { 200: Pools },
      },
      config: { access: 'user', writes: false, errors: ['PoolNotFound', 'ResourceNotFound', 'RightRequired'] },
    },
    async (request) => [await pools.read(actorOf(request), request.params.poolID)],
  )

  http.get(
    '/api/v1/pool/:poolID/stats',
    {
      schema: {
        operationId: 'getPoolStats',
        summary: 'Number and size of the files of a pool',
        description:
          'By class and extension, of latest, former and deleted versions. Needs the right `bag_read` on the pool.',
        tags: ['pool'],
        params: PoolId,
        querystring: Type.Object({
          include_subpools: Type.Optional(
            Type.Boolean({ description: 'With those of the pools below it that the caller may read.' }),
          ),
        }),
        response: { 200: PoolStats },
      },
      config: {
        access: 'user',
        writes: false,
        systemRight: managePools,
        errors: ['PoolNotFound', 'ResourceNotFound', 'RightRequired'],
      },
    },
    (request) =>
      pools.stats(actorOf(request), request.params.poolID, { below: request.query.include_subpools === true }),
  )

  http.delete(
    '/api/v1/pool/:poolID',
    {
      schema: {
        operationId: 'deletePool',
        summary: 'Delete a pool and those below it',
        description:
          'Needs the right `bag_delete` on all of them. They must hold no object; objects in the trash count.',
        tags: ['pool'],
        params: PoolId,
        response: { 200: Acknowledged },
      },
      config: {
        access: 'user',
        writes: true,
        systemRight: managePools,
        errors: ['PoolNotFound', 'ResourceNotFound', 'RightRequired', 'PoolNotEmpty'],
      },
    },
    async (request) => {
      await pools.remove(actorOf(request), request.params.poolID)
      return { status: { acknowledged: 'ok' as const } }
    },
  )
}

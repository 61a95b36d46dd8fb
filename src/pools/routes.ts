import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http.ts'
import { TaskList } from '../platform/tasks.ts'
import { PoolInputs, PoolOutput } from './schema.ts'
import type { PoolService } from './service.ts'

const PoolId = Type.Object({ poolID: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })
const Pools = Type.Array(PoolOutput)

/** Nothing depends on them yet: there are no files to render again and no collections whose grants to check. */
const SaveQuery = Type.Object(
  {
    confirm: Type.Optional(Type.Union([Type.Literal('resync'), Type.Literal('skip')])),
    allow_invalid_acl: Type.Optional(Type.Boolean()),
    background_invalid_acl: Type.Optional(Type.Boolean()),
    background_invalid_acl_timelimit: Type.Optional(Type.String()),
  },
  { additionalProperties: true },
)

export function registerPoolRoutes(http: HttpApp, { pools }: { pools: PoolService }): void {
  http.get(
    '/api/v1/pool',
    {
      schema: {
        summary: 'All pools that the caller may see, parents before their children',
        tags: ['pool'],
        querystring: Type.Object(
          {
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
            offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
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
        summary: method === 'POST' ? 'Creates and changes pools' : 'Creates and changes pools (as POST)',
        description:
          'Without `_version`, or with 1 and no `_id`, a pool is created; otherwise `_version` is the stored one. ' +
          'What is absent stays as it is. All pools are saved or none.',
        tags: ['pool'],
        querystring: SaveQuery,
        body: PoolInputs,
        response: { 200: Pools, 202: TaskList },
      },
      config: { access: 'user', writes: true },
      handler: async (request) => pools.save(actorOf(request), request.body),
    })
  }

  http.get(
    '/api/v1/pool/:poolID',
    {
      schema: { summary: 'One pool, as an array of one', tags: ['pool'], params: PoolId, response: { 200: Pools } },
      config: { access: 'user', writes: false },
    },
    async (request) => [await pools.read(actorOf(request), request.params.poolID)],
  )

  http.delete(
    '/api/v1/pool/:poolID',
    {
      schema: {
        summary: 'Deletes a pool and those below it, when they hold no object',
        tags: ['pool'],
        params: PoolId,
        response: { 200: Type.Object({ status: Type.Object({ acknowledged: Type.Literal('ok') }) }) },
      },
      config: { access: 'user', writes: true },
    },
    async (request) => {
      await pools.remove(actorOf(request), request.params.poolID)
      return { status: { acknowledged: 'ok' as const } }
    },
  )
}

import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { badRequest } from '../platform/errors.ts'
import { actorOf, type HttpApp, statusHeader } from '../platform/http/http.ts'
import { Ok } from '../platform/values/tasks.ts'
import type { OpenApi } from './openapi/document.ts'
import { pageSecurityPolicy } from './openapi/page.ts'
import { type PurgeService, purgeRight } from './purge/service.ts'
import { PurgeQuery, Settings, SystemStats } from './schema.ts'
import { readStatus, type SystemService } from './service.ts'

const tags = ['system']

export function registerSystemRoutes(
  app: HttpApp,
  { system, openApi, purge }: { system: SystemService; openApi: OpenApi; purge: PurgeService },
): void {
  app.get(
    '/api/v1/settings',
    {
      schema: {
        operationId: 'getSettings',
        summary: 'What anybody may know of the instance',
        description:
          'Needs no token: name, version, address and what the instance can do. The header `X-Svc-Status` is `ready`, or ' +
          '`reindex` while searches wait until objects are indexed anew; `purge` comes with 503, here as everywhere.',
        tags,
        response: { 200: Settings },
      },
      config: { access: 'public', writes: false },
    },
    async (_, reply) => {
      reply.header(statusHeader, await system.lifecycle())
      return system.settings()
    },
  )

  app.get(
    '/api/v1/system/status',
    {
      schema: {
        operationId: 'getSystemStatus',
        summary: 'How much is stored and how far the index is',
        description: 'Counts by object type, and how many objects wait to be indexed.',
        tags,
        response: { 200: SystemStats },
      },
      config: { access: 'user', writes: false, systemRight: readStatus },
    },
    async (request, reply) => {
      const status = await system.status(actorOf(request))
      reply.header(statusHeader, await system.lifecycle())
      return status
    },
  )

  app.get(
    '/api/v1/system/errortest',
    {
      schema: {
        operationId: 'getErrorTest',
        summary: 'Always answers an error, to test how a client shows one',
        description: 'The error is the usual envelope with the code `ServerGeneric`.',
        tags,
      },
      config: { access: 'user', writes: false, errors: ['ServerGeneric'], neverKept: 'an error is kept by nobody' },
    },
    async () => {
      throw badRequest('This is a test error.')
    },
  )

  app.post(
    '/api/v1/system/purgeall',
    {
      schema: {
        operationId: 'purgeAll',
        summary: 'Bring the whole instance to its first state',
        description:
          'Only the user root, and only where `svc.allowPurgeAll` and `purge.allow_purge` of the base configuration allow it. ' +
          'All that is stored goes, and all sessions end; see the documentation of operations. Meanwhile every request is ' +
          'answered 503 with `X-Svc-Status: purge`.',
        tags,
        querystring: PurgeQuery,
        response: { 200: Ok, 302: Type.Null({ description: 'It has begun, and `redirect` was given.' }) },
      },
      config: {
        access: 'user',
        writes: true,
        systemRight: purgeRight,
        alone: true,
        outlivesClient: true,
        errors: ['DatabaseLockError', 'FreshSignInRequired', 'NoPassword', 'PurgeNotAllowed', 'PurgeSystemRootOnly'],
      },
    },
    async (request, reply) => {
      const address = await purge.purge(actorOf(request), request.query)
      return address === null ? { status: 'ok' as const } : (reply as FastifyReply).redirect(address, 302)
    },
  )

  openApiRoutes(app, system, openApi)
}

function openApiRoutes(app: HttpApp, system: SystemService, openApi: OpenApi): void {
  const config = { access: 'optional', writes: false, errors: ['InsufficientRights'] } as const
  app.get(
    '/api/v1/system/openapi/spec.json',
    {
      schema: {
        operationId: 'getOpenApi',
        summary: 'This description of the interface, as OpenAPI 3.1',
        description: 'The base configuration says whether callers without a user may read it.',
        tags,
        response: {
          200: {
            content: {
              'application/json': {
                schema: Type.Object({}, { additionalProperties: true, description: 'An OpenAPI document.' }),
              },
            },
          },
        },
      },
      config,
    },
    async (request, reply) => {
      system.requireOpenApiAccess(request.actor)
      return (reply as FastifyReply).type('application/json; charset=utf-8').send(await openApi.json())
    },
  )

  const page = {
    schema: {
      operationId: 'getOpenApiPage',
      summary: 'This description of the interface, as a page',
      description: 'For people, with requests that can be tried.',
      tags,
      response: { 200: { content: { 'text/html': { schema: Type.String() } } } },
    },
    config,
  }
  app.get('/api/v1/system/openapi/', page, async (request, reply) => {
    system.requireOpenApiAccess(request.actor)
    reply.header('Content-Security-Policy', pageSecurityPolicy)
    return reply.type('text/html; charset=utf-8').send(await openApi.page())
  })
}

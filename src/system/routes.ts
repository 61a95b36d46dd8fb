import { Type } from 'typebox'
import { badRequest } from '../platform/errors.ts'
import { actorOf, type HttpApp } from '../platform/http.ts'
import { openApiDocument } from './openapi.ts'
import { renderOpenApiPage } from './openapi-page.ts'
import { Settings, SystemStats } from './schema.ts'
import type { SystemService } from './service.ts'

const tags = ['system']

export function registerSystemRoutes(app: HttpApp, { system }: { system: SystemService }): void {
  app.get(
    '/api/v1/settings',
    {
      schema: { summary: 'What anybody may know of the instance', tags, response: { 200: Settings } },
      config: { access: 'public', writes: false },
    },
    async () => system.settings(),
  )

  app.get(
    '/api/v1/system/status',
    {
      schema: { summary: 'How much is stored and how far the index is', tags, response: { 200: SystemStats } },
      config: { access: 'user', writes: false },
    },
    async (request) => system.status(actorOf(request)),
  )

  app.get(
    '/api/v1/system/errortest',
    {
      schema: { summary: 'Always answers an error, to test how a client shows one', tags },
      config: { access: 'user', writes: false },
    },
    async () => {
      throw badRequest('This is a test error.')
    },
  )

  openApiRoutes(app, system)
}

function openApiRoutes(app: HttpApp, system: SystemService): void {
  const config = { access: 'optional', writes: false } as const
  app.get(
    '/api/v1/system/openapi/spec.json',
    {
      schema: {
        summary: 'This description of the interface, as OpenAPI 3.1',
        tags,
        response: {
          200: { content: { 'application/json': { schema: Type.Object({}, { additionalProperties: true }) } } },
        },
      },
      config,
    },
    async (request) => {
      system.requireOpenApiAccess(request.actor)
      return openApiDocument(app)
    },
  )

  const page = { schema: { summary: 'This description of the interface, as a page', tags }, config }
  app.get('/api/v1/system/openapi/', page, async (request, reply) => {
    system.requireOpenApiAccess(request.actor)
    return reply.type('text/html; charset=utf-8').send(renderOpenApiPage(openApiDocument(app)))
  })
}

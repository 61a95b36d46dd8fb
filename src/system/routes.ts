import { Type } from 'typebox'
import { badRequest } from '../platform/errors.ts'
import { actorOf, type HttpApp } from '../platform/http.ts'
import { renderHomePage } from './home-page.ts'
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
  homeRoute(app, system)
}

/** Not part of the interface: what answers a person who opens the address of the service. */
function homeRoute(app: HttpApp, system: SystemService): void {
  const config = { access: 'optional', writes: false } as const
  app.get('/', { schema: { hide: true }, config }, async (request, reply) => {
    const state = await system.home(request.actor)
    reply.header('Vary', 'Accept')
    if (wantsHtml(request.headers.accept)) return reply.type('text/html; charset=utf-8').send(renderHomePage(state))
    const { name, version } = state.settings
    return {
      name,
      version,
      ready: state.ready,
      settings: '/api/v1/settings',
      openapi: '/api/v1/system/openapi/spec.json',
    }
  })
}

function wantsHtml(accept = ''): boolean {
  return accept.split(',').some((type) => type.trim().startsWith('text/html'))
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

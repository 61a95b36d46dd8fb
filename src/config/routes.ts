import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http.ts'
import type { BaseConfigService } from './service.ts'

const anything = Type.Unknown({ description: 'The value at the path: shape and kinds are those of GET /config/list.' })

const Document = Type.Object(
  {
    system: Type.Optional(
      Type.Object(
        { config: Type.Optional(Type.Record(Type.String(), Type.Unknown())) },
        { additionalProperties: true },
      ),
    ),
    plugin: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { description: 'Section name to members; secrets are shown as true (set) or false.', additionalProperties: true },
)

const Definitions = Type.Object(
  { system: Type.Object({ defs: Type.Array(Type.Unknown()) }), plugin: Type.Record(Type.String(), Type.Unknown()) },
  { additionalProperties: true },
)

const Path = Type.Object({ '*': Type.String({ maxLength: 2000, description: 'system/config/<section>/<member>' }) })

/** `system/config/languages` as its steps; empty steps (a slash at the end) do not count. */
function steps(path: string): string[] {
  return path.split('/').filter((step) => step !== '')
}

/** A value that may be a text or a number alone: Fastify would send those as they are, not as JSON. */
function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(value))
}

export function registerBaseConfigRoutes(app: HttpApp, { baseConfig }: { baseConfig: BaseConfigService }): void {
  const tags = ['config']

  app.get(
    '/api/v1/config/list',
    {
      schema: { tags, summary: 'Definitions of the base configuration', response: { 200: Definitions } },
      config: { access: 'user', writes: false },
    },
    async (request) => baseConfig.list(actorOf(request)),
  )

  app.get(
    '/api/v1/config',
    {
      schema: { tags, summary: 'The base configuration that the caller may see', response: { 200: Document } },
      config: { access: 'user', writes: false },
    },
    async (request) => baseConfig.document(actorOf(request)),
  )

  app.post(
    '/api/v1/config',
    {
      schema: {
        tags,
        summary: 'Replace sections of the base configuration',
        body: Document,
        response: { 200: Document },
      },
      config: { access: 'user', writes: true },
    },
    async (request) => baseConfig.replace(actorOf(request), request.body),
  )

  app.get(
    '/api/v1/config/*',
    {
      schema: { tags, summary: 'One value of the base configuration', params: Path, response: { 200: anything } },
      config: { access: 'user', writes: false },
    },
    async (request, reply) => sendJson(reply, baseConfig.read(actorOf(request), steps(request.params['*']))),
  )

  app.post(
    '/api/v1/config/*',
    {
      schema: {
        tags,
        summary: 'Set one value of the base configuration',
        params: Path,
        body: anything,
        response: { 200: anything },
      },
      config: { access: 'user', writes: true },
    },
    async (request, reply) =>
      sendJson(reply, await baseConfig.patch(actorOf(request), steps(request.params['*']), request.body)),
  )

  app.delete(
    '/api/v1/config/*',
    {
      schema: { tags, summary: 'Put a value back to its default', params: Path, response: { 200: anything } },
      config: { access: 'user', writes: true },
    },
    async (request, reply) => sendJson(reply, await baseConfig.reset(actorOf(request), steps(request.params['*']))),
  )
}

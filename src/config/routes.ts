import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../platform/errors.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { noteIgnored } from '../platform/http/ignored.ts'
import { unasked } from '../platform/http/query.ts'
import { isStrict } from '../platform/http/query-names.ts'
import { type BaseConfigAdministration, manageConfig } from './administration.ts'

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
  {
    title: 'BaseConfig',
    description:
      'Section name to members; a secret that is set is shown as `***`, which keeps it when it is sent back.',
    additionalProperties: true,
  },
)

const Definitions = Type.Object(
  { system: Type.Object({ defs: Type.Array(Type.Unknown()) }), plugin: Type.Record(Type.String(), Type.Unknown()) },
  { additionalProperties: true, title: 'ConfigDefinitions' },
)

const ReplaceQuery = Type.Object({
  save: Type.Optional(
    Type.Literal('ignore_errors', {
      description:
        'Of a configuration from elsewhere the fitting parts are stored; `X-Svc-Ignored` has the paths of the rest, whose stored values stay.',
    }),
  ),
  confirm: Type.Optional(Type.Literal('yes', unasked('a save of the configuration asks nothing'))),
  reindex: Type.Optional(
    Type.Enum(['skip', 'reindex', 'reindex_block'], {
      description:
        'When the data languages change, all objects are indexed anew in the background, so `reindex` says what happens ' +
        'anyway. `skip` and `reindex_block` are refused.',
    }),
  ),
})

const Path = Type.Object({
  '*': Type.String({ maxLength: 2000, description: 'For example `system/config/languages/database`.' }),
})

/** `system/config/languages` as its steps; empty steps (a slash at the end) do not count. */
function steps(path: string): string[] {
  return path.split('/').filter((step) => step !== '')
}

/** A value that may be a text or a number alone: Fastify would send those as they are, not as JSON. */
function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(value))
}

export function registerBaseConfigRoutes(app: HttpApp, { baseConfig }: { baseConfig: BaseConfigAdministration }): void {
  const tags = ['config']

  app.get(
    '/api/v1/config/list',
    {
      schema: {
        tags,
        operationId: 'listConfigDefinitions',
        summary: 'Definitions of the base configuration',
        description: 'The sections and members of the base configuration with their kinds, for a form that edits them.',
        response: { 200: Definitions },
      },
      config: { access: 'user', writes: false, systemRight: manageConfig },
    },
    async (request) => baseConfig.list(actorOf(request)),
  )

  app.get(
    '/api/v1/config',
    {
      schema: {
        tags,
        operationId: 'getConfig',
        summary: 'The base configuration that the caller may see',
        description: 'Sections that need a system right the caller lacks are absent.',
        response: { 200: Document },
      },
      config: { access: 'user', writes: false },
    },
    async (request) => baseConfig.document(actorOf(request)),
  )

  app.post(
    '/api/v1/config',
    {
      schema: {
        tags,
        operationId: 'replaceConfig',
        summary: 'Replace sections of the base configuration',
        description: 'Each section that is sent is replaced as a whole; sections that are absent stay as they are.',
        querystring: ReplaceQuery,
        body: Document,
        response: { 200: Document },
      },
      config: {
        access: 'user',
        writes: true,
        endsReadOnly: true,
        body: 'many',
        systemRight: manageConfig,
        errors: ['ResourceNotFound', 'UrlParameterNotSupported'],
      },
    },
    async (request, reply) => {
      const { reindex, save } = request.query
      if (reindex === 'skip' || reindex === 'reindex_block') {
        throw new AppError(
          'UrlParameterNotSupported',
          { param: 'reindex', value: reindex },
          { message: 'The index follows the data languages by itself, in the background.' },
        )
      }
      if (save === undefined || isStrict(request)) return baseConfig.replace(actorOf(request), request.body)
      const { document, ignored } = await baseConfig.takeOver(actorOf(request), request.body)
      noteIgnored(reply, ignored)
      return document
    },
  )

  app.get(
    '/api/v1/config/*',
    {
      schema: {
        tags,
        operationId: 'getConfigValue',
        summary: 'One value of the base configuration',
        description: 'A section, a member or a value inside, by its path.',
        params: Path,
        response: { 200: anything },
      },
      config: { access: 'user', writes: false, errors: ['ResourceNotFound'] },
    },
    async (request, reply) => sendJson(reply, baseConfig.read(actorOf(request), steps(request.params['*']))),
  )

  app.post(
    '/api/v1/config/*',
    {
      schema: {
        tags,
        operationId: 'setConfigValue',
        summary: 'Set one value of the base configuration',
        description: 'The body is the new value at the path; everything else stays.',
        params: Path,
        body: anything,
        response: { 200: anything },
      },
      config: {
        access: 'user',
        writes: true,
        endsReadOnly: true,
        body: 'many',
        systemRight: manageConfig,
        errors: ['ResourceNotFound'],
      },
    },
    async (request, reply) =>
      sendJson(reply, await baseConfig.patch(actorOf(request), steps(request.params['*']), request.body)),
  )

  app.delete(
    '/api/v1/config/*',
    {
      schema: {
        tags,
        operationId: 'resetConfigValue',
        summary: 'Put a value back to its default',
        description: 'The value at the path becomes what it is on a new instance.',
        params: Path,
        response: { 200: anything },
      },
      config: {
        access: 'user',
        writes: true,
        endsReadOnly: true,
        systemRight: manageConfig,
        errors: ['ResourceNotFound'],
      },
    },
    async (request, reply) => sendJson(reply, await baseConfig.reset(actorOf(request), steps(request.params['*']))),
  )
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { badRequest } from '../platform/errors.ts'
import { JsonReader } from '../platform/http/body/json-reader.ts'
import { bodyLimits } from '../platform/http/body/limits.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { noteIgnored } from '../platform/http/ignored.ts'
import { sendJson } from '../platform/http/json-answer.ts'
import { isOn } from '../platform/http/query.ts'
import { isStrict } from '../platform/http/query-names.ts'
import { Acknowledged, Ok } from '../platform/values/tasks.ts'
import { lenientRequest } from './request/lenient.ts'
import { EndedPoints, ReindexQuery, SearchQuery, SearchRequest, SearchResponse } from './schema.ts'
import { type SearchService, startReindex } from './service.ts'

const tags = ['search']

const errors = [
  'AnswerTooLarge',
  'DateWrongSyntax',
  'InsufficientRights',
  'InvalidValue',
  'MaskNotFound',
  'NestedQueryIn',
  'QuotaExceeded',
  'ReindexInProgress',
  'SearchFieldNotAllowed',
  'SearchFieldUnknown',
  'SearchTooCostly',
  'SystemRightRequired',
  'TooManyHeavyRequests',
  'UnknownObjecttype',
  'UnknownTimezone',
  'UnsupportedInAggregation',
  'WildcardExpandedToTooManyTerms',
  'WildcardOnlyNotAllowed',
] as const

export function registerSearchRoutes(app: HttpApp, { search }: { search: SearchService }): void {
  async function answer(request: FastifyRequest, reply: FastifyReply, body: SearchRequest): Promise<FastifyReply> {
    const { deadline } = request
    const found = await search.search(actorOf(request), body, { deadline, strict: isStrict(request) })
    noteIgnored(reply, found.ignored)
    return sendJson(reply, found)
  }

  app.post(
    '/api/v1/search',
    {
      schema: {
        operationId: 'search',
        summary: 'Search for objects',
        description:
          'Answers only what the caller may read. docs/search.md has the elements, sorting and aggregations.',
        tags,
        body: SearchRequest,
        response: { 200: SearchResponse },
      },
      config: {
        access: 'user',
        writes: false,
        errors,
      },
      preValidation: async (request) => {
        request.body = lenientRequest(request.body) as SearchRequest
      },
    },
    async (request, reply) => answer(request, reply as FastifyReply, request.body),
  )

  app.get(
    '/api/v1/search',
    {
      schema: {
        operationId: 'searchCacheable',
        summary: 'Search for objects, with an answer that caches may keep',
        description:
          'The same request as `POST /search`, as JSON in `BODY`; `cache_seconds` says how long the answer may be kept.',
        tags,
        querystring: SearchQuery,
        response: { 200: SearchResponse },
      },
      config: {
        access: 'user',
        writes: false,
        errors,
      },
    },
    async (request, reply) => {
      const validate = request.compileValidationSchema(SearchRequest, 'body')
      return answer(request, reply as FastifyReply, parseBody(request.query.BODY, validate))
    },
  )

  app.delete(
    '/api/v1/search/point_in_time',
    {
      schema: {
        operationId: 'endPointsInTime',
        summary: 'End points in time',
        description: 'Those of the caller; others are ignored. Allowed in read-only mode.',
        tags,
        body: EndedPoints,
        response: { 200: Acknowledged },
      },
      // Allowed in read-only mode (decision 3), so not declared as a write.
      config: { access: 'user', writes: false, unknownQuery: 'refuse' },
    },
    async (request) => {
      await search.endPoints(actorOf(request), request.body.pit_id)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  app.post(
    '/api/v1/system/reindex',
    {
      schema: {
        operationId: 'reindex',
        summary: 'Index all objects anew',
        description: 'In the background; searches go on with the index that is there.',
        tags: ['system'],
        querystring: ReindexQuery,
        response: { 200: Ok },
      },
      config: { access: 'user', writes: true, systemRight: startReindex },
    },
    async (request) => {
      await search.reindex(actorOf(request), { block: isOn(request.query.blockFrontend) })
      return { status: 'ok' as const }
    },
  )
}

type Validate = (value: unknown) => boolean | PromiseLike<unknown>

/** The request of `BODY`, held to the same rules as a body. */
function parseBody(text: string, validate: Validate & { errors?: unknown }): SearchRequest {
  // Bounded as a body is.
  const reader = new JsonReader(bodyLimits.one)
  reader.write(Buffer.from(text))
  const value = lenientRequest(reader.end())
  if (validate(value) === true) return value as SearchRequest
  const [error] = (validate.errors ?? []) as { instancePath?: string; message?: string; params?: object }[]
  const place = `BODY${error?.instancePath ?? ''}`
  throw badRequest(`${place} ${error?.message ?? 'is wrong'}`, { name: place, ...error?.params })
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { noteIgnored } from '../platform/http/ignored.ts'
import { sendJson } from '../platform/http/json-answer.ts'
import { isOn } from '../platform/http/query.ts'
import { isStrict } from '../platform/http/query-names.ts'
import { Acknowledged, Ok } from '../platform/values/tasks.ts'
import { notKnown } from './request/known.ts'
import { lenientRequest, parseBody } from './request/lenient.ts'
import {
  EndedPoints,
  IndexCheck,
  ReindexQuery,
  SearchElements,
  SearchParseOptions,
  SearchParseQuery,
  SearchParseResponse,
  SearchQuery,
  SearchQueryText,
  SearchRequest,
  SearchResponse,
} from './schema.ts'
import { type QueryLanguage, type SearchService, startReindex } from './service.ts'

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

interface Services {
  readonly search: SearchService
  readonly language: QueryLanguage
}

export function registerSearchRoutes(app: HttpApp, { search, language }: Services): void {
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
      return answer(request, reply as FastifyReply, parseBody(request.query.BODY, lenientRequest, validate))
    },
  )

  async function parsed(
    request: FastifyRequest,
    reply: FastifyReply,
    { search: run, ...options }: SearchParseOptions & { readonly search?: boolean },
  ): Promise<FastifyReply> {
    ignore(request, reply, options, SearchParseOptions.properties)
    const { request: found, notes } = await language.parse(actorOf(request), options)
    if (notes.length > 0) reply.header('X-Svc-Query-Notes', notesHeader(notes))
    if (run) return answer(request, reply, found)
    return sendJson(reply, { body: [Buffer.from(JSON.stringify(found))], short: 0 })
  }

  const parse = {
    summary: 'Turn a query into a search request, or run it',
    description:
      'The query language, and what people type in a search bar, are in docs/search.md. How the latter was read, where ' +
      'that may surprise, stands in `X-Svc-Query-Notes`.',
    tags,
    response: { 200: SearchParseResponse },
  }
  const parseErrors = [...errors, 'QueryParse'] as const

  app.get(
    '/api/v1/search/parse',
    {
      schema: { operationId: 'parseQueryCacheable', ...parse, querystring: SearchParseQuery },
      config: { access: 'user', writes: false, errors: parseErrors },
    },
    async (request, reply) => {
      const { query, objecttypes, limit, offset, format, timezone, syntax, search: run } = request.query
      const options = { query, objecttypes, limit, offset, format, timezone, syntax }
      return parsed(request, reply as FastifyReply, { ...(options as SearchParseOptions), search: isOn(run) })
    },
  )

  app.post(
    '/api/v1/search/parse',
    {
      schema: { operationId: 'parseQuery', ...parse, body: SearchParseOptions },
      config: { access: 'user', writes: false, errors: parseErrors },
      preValidation: async (request) => {
        request.body = lenientRequest(request.body) as typeof request.body
      },
    },
    async (request, reply) => parsed(request, reply as FastifyReply, request.body),
  )

  app.post(
    '/api/v1/search/query',
    {
      schema: {
        operationId: 'writeQuery',
        summary: 'Write the elements of a search request as a query',
        description:
          'The way back from `/search/parse` (an extension). A part without a form in the query language is refused with its place.',
        tags,
        body: SearchElements,
        response: { 200: SearchQueryText },
      },
      config: { access: 'user', writes: false, errors: ['SearchFieldUnknown'] },
    },
    async (request, reply) => {
      ignore(request, reply as FastifyReply, request.body, SearchElements.properties)
      return { query: language.write(request.body.search) }
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

  registerIndexCheckRoutes(app, search)

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

/** The check of the index against the objects. */
function registerIndexCheckRoutes(app: HttpApp, search: SearchService): void {
  app.get(
    '/api/v1/system/index/check',
    {
      schema: {
        operationId: 'getIndexCheck',
        summary: 'What the check of the search index has found',
        description:
          'An extension. The index compares itself with the objects in the background, and indexes anew what differs.',
        tags: ['system'],
        response: { 200: IndexCheck },
      },
      config: { access: 'user', writes: false, systemRight: startReindex },
    },
    async (request) => search.indexCheck(actorOf(request)),
  )

  app.post(
    '/api/v1/system/index/check',
    {
      schema: {
        operationId: 'beginIndexCheck',
        summary: 'Check the search index from its beginning',
        description: 'An extension. In the background; refused where the check is switched off.',
        tags: ['system'],
        response: { 200: Ok },
      },
      config: { access: 'user', writes: true, systemRight: startReindex },
    },
    async (request) => {
      await search.beginIndexCheck(actorOf(request))
      return { status: 'ok' as const }
    },
  )
}

/** Reports unknown names to the caller in the answer. A strict caller gets an error instead. */
function ignore(request: FastifyRequest, reply: FastifyReply, body: object, known: object): void {
  const ignored = Object.keys(body).filter((name) => !Object.hasOwn(known, name))
  if (isStrict(request) && ignored[0] !== undefined) throw notKnown(ignored[0])
  noteIgnored(reply, ignored)
}

/** The highest number of notes in one header: it must pass every proxy. */
const mostNotes = 10

/** JSON with only ASCII characters. */
function notesHeader(notes: readonly object[]): string {
  return JSON.stringify(notes.slice(0, mostNotes)).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

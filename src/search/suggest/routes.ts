import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpApp } from '../../platform/http/http.ts'
import { noteIgnored } from '../../platform/http/ignored.ts'
import { sendJson } from '../../platform/http/json-answer.ts'
import { isStrict } from '../../platform/http/query-names.ts'
import { lenient, parseBody } from '../request/lenient.ts'
import type { SearchService } from '../service.ts'
import { SuggestQuery, SuggestRequest, SuggestResponse } from './schema.ts'

const errors = [
  'AnswerTooLarge',
  'InsufficientRights',
  'InvalidValue',
  'ReindexInProgress',
  'SearchFieldNotAllowed',
  'SearchFieldUnknown',
  'SearchTooCostly',
  'TooManyHeavyRequests',
  'UnknownObjecttype',
  'UserRequired',
  'WildcardOnlyNotAllowed',
] as const

const tags = ['search']

/** The request as clients send it: a member that is null counts as missing, numbers may come as text. */
const lenientRequest = (body: unknown): SuggestRequest =>
  lenient(body, { integers: ['limit', 'timeout'] }) as SuggestRequest

export function registerSuggestRoutes(
  app: HttpApp,
  { search }: { readonly search: Pick<SearchService, 'suggest'> },
): void {
  async function answer(request: FastifyRequest, reply: FastifyReply, body: SuggestRequest): Promise<FastifyReply> {
    const { actor, deadline } = request
    const found = await search.suggest(actor, body, { deadline, strict: isStrict(request) })
    noteIgnored(reply, found.ignored)
    return sendJson(reply, found)
  }

  const config = { access: 'optional', writes: false, errors } as const

  app.post(
    '/api/v1/suggest',
    {
      schema: {
        operationId: 'suggest',
        summary: 'Suggest words, values and objects while somebody types',
        description:
          'Of what searches of the caller find. Without a token as a guest, where guests are allowed. docs/search.md has more.',
        tags,
        body: SuggestRequest,
        response: { 200: SuggestResponse },
      },
      config,
      preValidation: async (request) => {
        request.body = lenientRequest(request.body)
      },
    },
    async (request, reply) => answer(request, reply as FastifyReply, request.body),
  )

  app.get(
    '/api/v1/suggest',
    {
      schema: {
        operationId: 'suggestCacheable',
        summary: 'Suggest words, values and objects, with an answer that caches may keep',
        description: 'The same request as `POST /suggest`, as JSON in `BODY`.',
        tags,
        querystring: SuggestQuery,
        response: { 200: SuggestResponse },
      },
      config,
    },
    async (request, reply) => {
      const validate = request.compileValidationSchema(SuggestRequest, 'body')
      return answer(request, reply as FastifyReply, parseBody(request.query.BODY, lenientRequest, validate))
    },
  )
}

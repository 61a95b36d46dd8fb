import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { HttpApp } from '../platform/http/http.ts'
import { onSurface } from '../platform/http/surface.ts'
import { mostRecords, type Sent, verbNames } from './request.ts'
import type { HarvestService } from './service.ts'
import { harvestSurface, xmlType } from './surface.ts'

export interface HarvestRouteDeps {
  readonly harvest: HarvestService
  readonly externalUrl: string
}

const argument = (description: string) => Type.Optional(Type.Unknown({ description }))

/** Arguments by name; request.ts parses them, since the protocol has its own errors. */
const Arguments = Type.Object(
  {
    verb: argument(`\`${verbNames.join('`, `')}\`; without it \`Identify\`.`),
    identifier: argument('Of a record: `oai:<namespace>:<uuid>`, without a namespace `oai:<uuid>`.'),
    metadataPrefix: argument(
      'A metadata format: `oai_dc`, `native`, `xslt-<name>`; `ListMetadataFormats` has them all.',
    ),
    set: argument('Only records of this set; `ListSets` has them all.'),
    from: argument('Only what has changed since: `2026-05-17` or `2026-05-17T10:00:00Z`.'),
    until: argument('Only what has changed up to then, in the granularity of `from`.'),
    resumptionToken: argument('Continues a list; no other argument goes with it.'),
    limit: argument(`Records of an answer, ${mostRecords} at most; not of the protocol.`),
    offset: argument('Records that are left out at the beginning; not of the protocol.'),
    'event.info': argument(
      'A JSON object that the `OBJECT_DOWNLOAD` events of the records have in their `info`; not of the protocol.',
    ),
  },
  { additionalProperties: true },
)

const Answer = Type.Unsafe<unknown>(Type.String({ description: 'A document of OAI-PMH 2.0.' }))
const schema = {
  tags: ['harvesting'],
  response: {
    200: {
      description: 'What was asked for, or that there is nothing of that kind.',
      content: { 'text/xml': { schema: Answer } },
    },
  },
}

const config = {
  access: 'public',
  writes: false,
  errors: ['OAIpmhNotEnabled', 'QuotaExceeded', 'ServiceUnavailable', 'TooManyHeavyRequests'],
} as const

/** Answers contain values of objects, and run no code in a browser. */
const headers = {
  'Content-Type': xmlType,
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'",
}

/** Harvesting by OAI-PMH 2.0. */
export async function registerHarvestRoutes(app: HttpApp, { harvest, externalUrl }: HarvestRouteDeps): Promise<void> {
  const baseUrl = `${externalUrl}/api/v1/oai`
  await onSurface(app, harvestSurface(app.surface, baseUrl), (http) => {
    http.route({
      method: ['GET', 'HEAD'],
      url: '/api/v1/oai',
      schema: {
        ...schema,
        operationId: 'harvest',
        summary: 'Harvest records by OAI-PMH 2.0',
        description:
          'What the system user `oai_pmh` may read, as records with their changes and deletions. Protocol errors are XML: 400, for an ' +
          'unknown identifier 404, and 200 where there is nothing of that kind.',
        querystring: Arguments,
      },
      config,
      handler: (request, reply) => answer(request, reply, request.query as Sent),
    })

    http.post(
      '/api/v1/oai',
      {
        schema: {
          ...schema,
          operationId: 'harvestByForm',
          summary: 'The same with the arguments in a form',
          description: 'As the protocol has it for requests that are too long for an address.',
          consumes: ['application/x-www-form-urlencoded'],
          // A body without a form counts as a request without a verb.
          body: Type.Unsafe<Sent | null>({ ...Arguments, type: ['object', 'null'] }),
        },
        config: { ...config, body: 'none', bodyOptional: true },
      },
      (request, reply) => {
        // Arguments in the address do not belong to the protocol.
        const elsewhere = Object.entries(request.query as Sent).map(([name, value]) => [`?${name}`, value])
        return answer(request, reply, { ...request.body, ...Object.fromEntries(elsewhere) })
      },
    )
  })

  async function answer(request: FastifyRequest, reply: FastifyReply, sent: Sent): Promise<FastifyReply> {
    const { deadline, ip: address } = request
    const { status, pieces } = await harvest.answer({ sent, address, url: request.url, deadline })
    reply.status(status).headers(headers)
    if (Array.isArray(pieces)) return reply.send(pieces.join(''))
    return reply.send(Readable.from(pieces, { objectMode: false }))
  }
}

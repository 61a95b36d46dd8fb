import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { HttpApp } from '../../platform/http/http.ts'
import { isKnown } from '../conditional.ts'
import { cacheControl } from '../send-document.ts'
import { sitemapPath } from './documents.ts'
import type { Sitemap, SitemapService } from './service.ts'

const Query = Type.Object({
  part: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Which part, as the list of parts names them.' }),
  ),
})

const tags = ['deep links']

/** `robots.txt` and sitemaps, at the addresses that search engines know. */
export function registerSitemaps(http: HttpApp, { sitemaps }: { sitemaps: SitemapService }): void {
  http.route({
    method: ['GET', 'HEAD'],
    url: '/robots.txt',
    schema: {
      operationId: 'getRobots',
      summary: 'What robots may read',
      description: 'The pages of objects and the sitemap, where sitemaps are switched on; else nothing.',
      tags,
      response: {
        200: { description: 'Rules by RFC 9309.', content: { 'text/plain': { schema: Type.String() } } },
      },
    },
    config: { access: 'public', writes: false },
    handler: async (_request, reply) => reply.type('text/plain; charset=utf-8').send(sitemaps.robots()),
  })

  http.route({
    method: ['GET', 'HEAD'],
    url: sitemapPath,
    schema: {
      operationId: 'getSitemap',
      summary: 'Addresses of the pages of objects, for search engines',
      description:
        'The list of the parts, or one part: the pages of the objects that callers without a token can open, with their last ' +
        'changes. The token of a caller does not matter. Answers conditional requests.',
      tags,
      querystring: Query,
      response: {
        200: {
          description: 'A sitemap index or a sitemap.',
          content: { 'application/xml': { schema: Type.String() } },
        },
        304: Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' }),
      },
    },
    config: {
      access: 'public',
      writes: false,
      errors: ['QuotaExceeded', 'ResourceNotFound', 'ServiceUnavailable', 'TooManyHeavyRequests'],
    },
    handler: async (request, reply) => {
      const { ip: address, deadline, query } = request
      return send(request, reply, await sitemaps.sitemap({ address, deadline, part: query.part ?? null }))
    },
  })
}

function send(request: FastifyRequest, reply: FastifyReply, { tag, pieces }: Sitemap): FastifyReply {
  reply.headers({ ETag: tag, 'Cache-Control': cacheControl })
  if (isKnown(request.headers['if-none-match'], tag)) return reply.status(304).send()
  reply.header('Content-Type', 'application/xml; charset=utf-8')
  return request.method === 'HEAD' ? reply.send() : reply.send(Readable.from(pieces(), { objectMode: false }))
}

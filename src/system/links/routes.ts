import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { onSurface } from '../../platform/http/surface.ts'
import { Acknowledged } from '../../platform/values/tasks.ts'
import { type Pages, pageSurface } from '../../signin/service.ts'
import { ShareLinkInput, ShareLinkOutput, ShareLinkPage, ShareLinkParams } from './schema.ts'
import type { ShareLinks } from './service.ts'

const tags = ['system']
const place = '/api/v1/system/share_link'

export async function registerShareLinkRoutes(
  app: HttpApp,
  { links, pages }: { readonly links: ShareLinks; readonly pages: Pages },
): Promise<void> {
  /** No data of the request is passed on, and caches must not keep the answer: the link may be deleted. */
  async function lead(reply: FastifyReply, id: string): Promise<FastifyReply> {
    const target = await links.target(id)
    return reply.header('Cache-Control', 'no-store').header('Referrer-Policy', 'no-referrer').redirect(target, 301)
  }

  app.post(
    place,
    {
      schema: {
        operationId: 'createShareLink',
        summary: 'Make a short address for an address of this service',
        description:
          'It leads there by `/share/{share_id}`, or by its alias, until its end. One user has as many as ' +
          '`svc.quotas.shareLinks` allows; a further one is answered 429 `QuotaExceeded`. Guests make none.',
        tags,
        body: ShareLinkInput,
        response: { 200: ShareLinkOutput },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'one',
        errors: [
          'ShareLinkPathInvalid',
          'ShareLinkAliasInvalid',
          'ShareLinkExpirationDateInPast',
          'ShareLinkAlreadyExists',
          'InsufficientRights',
        ],
      },
    },
    (request) => links.create(actorOf(request), request.body),
  )

  app.get(
    place,
    {
      schema: {
        operationId: 'listShareLinks',
        summary: 'The own short addresses',
        description: 'Oldest first (own extension).',
        tags,
        querystring: ShareLinkPage,
        response: { 200: Type.Array(ShareLinkOutput) },
      },
      config: { access: 'user', writes: false },
    },
    (request) => links.list(actorOf(request), request.query),
  )

  app.get(
    `${place}/:id`,
    {
      schema: {
        operationId: 'followShareLink',
        summary: 'Be led to the address that a short one stands for',
        description: 'As `/share/{id}` does. Needs no token.',
        tags,
        params: ShareLinkParams,
        response: { 301: Type.Unknown({ description: 'The address is in `Location`.' }) },
      },
      config: { access: 'public', writes: false, errors: ['ShareLinkInvalid'], neverKept: 'a link may be taken away' },
    },
    (request, reply) => lead(reply, request.params.id),
  )

  app.delete(
    `${place}/:id`,
    {
      schema: {
        operationId: 'deleteShareLink',
        summary: 'Take an own short address away',
        description: 'Root takes away any (own extension).',
        tags,
        params: ShareLinkParams,
        response: { 200: Acknowledged },
      },
      config: { access: 'user', writes: true, errors: ['ShareLinkInvalid'] },
    },
    async (request) => {
      await links.remove(actorOf(request), request.params.id)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  await onSurface(app, pageSurface(pages, app.surface), (scope) => {
    scope.get(
      '/share/:id',
      { schema: { params: ShareLinkParams }, config: { access: 'public', writes: false } },
      (request, reply) => lead(reply, request.params.id),
    )
  })
}

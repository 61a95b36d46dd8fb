import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type AppError, badRequest } from '../../platform/errors.ts'
import { type Form, readForm, readParameters } from '../../platform/http/form.ts'
import { type HttpApp, toAppError } from '../../platform/http/http.ts'
import { OAuthError } from '../../platform/http/oauth-error.ts'
import { type Pages, type Visit, wantsPage } from './service.ts'

/** A page of its own, `/api/page/<name>`. What its functions throw becomes the error page. */
export interface PageDefinition {
  readonly name: string
  /** Its form changes accounts, so it is refused in read-only mode; those of a sign-in in progress go on. */
  readonly writes?: boolean
  /** Parameters of its address. */
  readonly query?: readonly string[]
  show(visit: Visit, query: Form): Promise<FastifyReply>
  /** Takes its form, which is known to be ours. Answers a page, or 303 to the next address. */
  submit?(visit: Visit, form: Form): Promise<FastifyReply>
}

/** Serves pages; they stand beside the interface, not in its description. */
export async function registerPages(app: HttpApp, pages: Pages, definitions: readonly PageDefinition[]): Promise<void> {
  if (definitions.length === 0) return
  await app.register(async (scope: HttpApp) => {
    scope.setErrorHandler(pageErrors(pages))
    for (const { name, writes = false, query = [], show, submit } of definitions) {
      const url = `/api/page/${name}`
      const parameters = Object.fromEntries(query.map((one) => [one, Type.Optional(Type.Unknown())]))
      // A wrong answer counts, whether its client waits for the page or not.
      const config = { access: 'public', writes: false, body: 'none', outlivesClient: true } as const
      const schema = { hide: true, querystring: Type.Object(parameters) }
      scope.get(url, { schema, config }, (request, reply) =>
        show(pages.visit(request, reply), readParameters(request.query)),
      )
      if (!submit) continue
      scope.post(url, { schema, config: { ...config, writes } }, (request, reply) => {
        const form = readForm(request.headers['content-type'], request.body)
        const visit = pages.visit(request, reply)
        visit.assertOwnForm(form.get('csrf'))
        return submit(visit, form)
      })
    }
  })
}

/** Errors of pages: for people as a page, for programs as everywhere. */
export function pageErrors(pages: Pages) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = asAppError(error)
    if (!wantsPage(request)) throw known
    if (known.status >= 500) request.log.error({ request_id: request.id, err: error }, 'request failed')
    return pages.sendError(request, reply, known)
  }
}

function asAppError(error: unknown): AppError {
  return error instanceof OAuthError ? badRequest(error.message, { error: error.code }) : toAppError(error)
}

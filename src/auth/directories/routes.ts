import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { HttpApp } from '../../platform/http.ts'
import type { Form } from '../oauth/form.ts'
import { readParameters } from '../oauth/form.ts'
import { pageErrors } from '../pages/routes.ts'
import type { Pages, Visit } from '../pages/service.ts'
import { openidCallback } from './single-sign-on.ts'

export interface DirectoryRoutes {
  pages: Pages
  /** Somebody comes back from a provider, with this query. */
  comeBack: (visit: Visit, query: Form, search: string) => Promise<FastifyReply>
}

/** Where other servers send browsers back to; they stand beside the interface, not in its description. */
export async function registerDirectoryRoutes(app: HttpApp, { pages, comeBack }: DirectoryRoutes): Promise<void> {
  await app.register(async (scope: HttpApp) => {
    scope.setErrorHandler(pageErrors(pages))
    const parameter = Type.Optional(Type.Unknown())
    scope.get(
      openidCallback,
      {
        // Providers may add parameters of their own.
        schema: { hide: true, querystring: Type.Object({ state: parameter, code: parameter, error: parameter }) },
        config: { access: 'public', writes: false, body: 'none', outlivesClient: true, unknownQuery: 'name' },
      },
      async (request, reply) => {
        const query = readParameters(request.query)
        await comeBack(pages.visit(request, reply), query, request.url.split('?').slice(1).join('?'))
        return reply
      },
    )
  })
}

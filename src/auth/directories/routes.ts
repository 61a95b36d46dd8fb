import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../../platform/errors.ts'
import type { HttpApp } from '../../platform/http.ts'
import { type Form, readForm, readParameters } from '../oauth/form.ts'
import { pageErrors } from '../pages/routes.ts'
import type { Pages, Visit } from '../pages/service.ts'
import { openidCallback, samlContinue } from './single-sign-on.ts'

export interface DirectoryRoutes {
  pages: Pages
  /** Somebody comes back from a provider, with this query. */
  comeBack: (visit: Visit, query: Form, search: string) => Promise<FastifyReply>
  saml: {
    metadata: () => Promise<string | null>
    take: (visit: Visit, form: Form) => Promise<FastifyReply>
    goOn: (visit: Visit, query: Form) => Promise<FastifyReply>
  }
}

const parameter = Type.Optional(Type.Unknown())
const config = { access: 'public', writes: false, body: 'none', outlivesClient: true } as const

/** Where other servers send browsers back to; they stand beside the interface, not in its description. */
export async function registerDirectoryRoutes(app: HttpApp, { pages, comeBack, saml }: DirectoryRoutes): Promise<void> {
  await app.register(async (scope: HttpApp) => {
    scope.setErrorHandler(pageErrors(pages))
    scope.get(
      openidCallback,
      {
        // Providers may add parameters of their own.
        schema: { hide: true, querystring: Type.Object({ state: parameter, code: parameter, error: parameter }) },
        config: { ...config, unknownQuery: 'name' },
      },
      async (request, reply) => {
        const query = readParameters(request.query)
        await comeBack(pages.visit(request, reply), query, request.url.split('?').slice(1).join('?'))
        return reply
      },
    )
    // A response with an encrypted assertion and many attributes is larger than other forms.
    scope.post('/api/saml/acs', { schema: { hide: true }, config: { ...config, body: 'one' } }, (request, reply) =>
      saml.take(pages.visit(request, reply), readForm(request.headers['content-type'], request.body)),
    )
    const shown = Type.Object({ flow: parameter, proof: parameter })
    scope.get(samlContinue, { schema: { hide: true, querystring: shown }, config }, (request, reply) =>
      saml.goOn(pages.visit(request, reply), readParameters(request.query)),
    )
    scope.get('/api/saml/metadata', { schema: { hide: true }, config }, async (_, reply) => {
      const metadata = await saml.metadata()
      if (metadata === null) throw new AppError('ResourceNotFound', {}, { message: 'SAML is not configured.' })
      return reply.type('application/samlmetadata+xml').send(metadata)
    })
  })
}

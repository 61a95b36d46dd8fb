import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../../platform/errors.ts'
import { type Form, readForm, readParameters } from '../../platform/http/form.ts'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { onSurface } from '../../platform/http/surface.ts'
import type { Pages, Visit } from '../pages/service.ts'
import { pageSurface } from '../pages/surface.ts'
import { checkDirectories, type createDirectoryCheck } from './check.ts'
import { openidCallback, samlContinue } from './single-sign-on.ts'

export interface DirectoryRoutes {
  pages: Pages
  /** A person comes back from a provider, with this query. */
  comeBack: (visit: Visit, query: Form, search: string) => Promise<FastifyReply>
  saml: {
    metadata: () => Promise<string | null>
    take: (visit: Visit, form: Form) => Promise<FastifyReply>
    goOn: (visit: Visit, query: Form) => Promise<FastifyReply>
    signOut: (visit: Visit, search: string) => Promise<FastifyReply>
  }
}

const parameter = Type.Optional(Type.Unknown())
const config = { access: 'public', writes: false, body: 'none', outlivesClient: true } as const

/** The addresses to which other servers send browsers back; they are not part of the interface and its description. */
export async function registerDirectoryRoutes(app: HttpApp, { pages, comeBack, saml }: DirectoryRoutes): Promise<void> {
  await onSurface(app, pageSurface(pages, app.surface), (scope) => {
    scope.get(
      openidCallback,
      {
        // Providers may add other parameters.
        schema: { querystring: Type.Object({ state: parameter, code: parameter, error: parameter }) },
        config,
      },
      async (request, reply) => {
        const query = readParameters(request.query)
        await comeBack(pages.visit(request, reply), query, request.url.split('?').slice(1).join('?'))
        return reply
      },
    )
    // A response with an encrypted assertion and many attributes is larger than other forms.
    scope.post('/api/saml/acs', { config: { ...config, body: 'one' } }, (request, reply) =>
      saml.take(pages.visit(request, reply), readForm(request.headers['content-type'], request.body)),
    )
    const shown = Type.Object({ flow: parameter, proof: parameter })
    scope.get(samlContinue, { schema: { querystring: shown }, config }, (request, reply) =>
      saml.goOn(pages.visit(request, reply), readParameters(request.query)),
    )
    const message = Type.Object({
      SAMLRequest: parameter,
      SAMLResponse: parameter,
      RelayState: parameter,
      SigAlg: parameter,
      Signature: parameter,
    })
    scope.get('/api/saml/logout', { schema: { querystring: message }, config }, (request, reply) =>
      saml.signOut(pages.visit(request, reply), request.url.split('?').slice(1).join('?')),
    )
    scope.get('/api/saml/metadata', { config }, async (_, reply) => {
      const metadata = await saml.metadata()
      if (metadata === null) throw new AppError('ResourceNotFound', {}, { message: 'SAML is not configured.' })
      return reply.type('application/samlmetadata+xml').send(metadata)
    })
  })
}

const CheckInput = Type.Object(
  {
    kind: Type.Enum(['ldap', 'openid', 'saml']),
    provider: Type.Optional(
      Type.String({ maxLength: 100, description: 'Name of an OpenID Connect or SAML provider; else the first one.' }),
    ),
    login: Type.Optional(
      Type.String({ minLength: 1, maxLength: 500, description: 'LDAP: whose entry is looked for.' }),
    ),
    password: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1000, description: 'LDAP: checked for the login, and kept nowhere.' }),
    ),
  },
  { title: 'DirectoryCheckInput', additionalProperties: true },
)

const CheckOutput = Type.Object(
  {
    ok: Type.Boolean({ description: 'A sign-in would get as far as this goes.' }),
    steps: Type.Array(Type.String(), { description: 'What happened, with milliseconds since the beginning.' }),
    user: Type.Optional(
      Type.Object(
        {
          _id: Type.Optional(Type.Integer({ description: 'The user that the person is already.' })),
          fields: Type.Record(Type.String(), Type.String(), {
            description: 'What the mapping makes of the attributes.',
          }),
          group_names: Type.Array(Type.String(), { description: 'What rules of groups are compared with.' }),
          groups: Type.Array(Type.Object({ _id: Type.Integer(), name: Type.Optional(Type.String()) })),
        },
        { description: 'What would become of the person.' },
      ),
    ),
  },
  { title: 'DirectoryCheck' },
)

/** The administrator's test of a directory. */
export function registerDirectoryCheck(
  app: HttpApp,
  { checkDirectory }: { checkDirectory: ReturnType<typeof createDirectoryCheck> },
): void {
  app.post(
    '/api/v1/system/directory/test',
    {
      schema: {
        tags: ['system'],
        operationId: 'testDirectory',
        summary: 'Try a directory as it is configured',
        description:
          'LDAP: connects, searches, and checks a password where one is sent. OpenID Connect and SAML: asks the provider ' +
          'what a sign-in needs of it. Says step by step what happened, without secrets, and changes nothing.',
        body: CheckInput,
        response: { 200: CheckOutput },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'one',
        // Wrong passwords are counted, even if the client disconnects.
        outlivesClient: true,
        systemRight: checkDirectories,
        errors: ['TooManyAttempts'],
      },
    },
    async (request) => checkDirectory(actorOf(request), request.body),
  )
}

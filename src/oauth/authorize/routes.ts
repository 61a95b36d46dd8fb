import { Type } from 'typebox'
import { type Form, readForm, readParameters } from '../../platform/http/form.ts'
import type { HttpApp } from '../../platform/http/http.ts'
import { onSurface } from '../../platform/http/surface.ts'
import { forPeople, type Pages } from '../../signin/service.ts'
import { oauthSurface } from '../surface.ts'
import type { Authorize } from './service.ts'

const parameter = (description: string) => Type.Optional(Type.Unknown({ description }))

const ofClient = {
  client_id: parameter('The client. Required.'),
  response_type: parameter('`code`. Required.'),
  state: parameter('What the client knows its request by, 8 characters or more; comes back with the code. Required.'),
  redirect_uri: parameter(
    'Where the browser goes with the code: one that the client has registered, by the letter. Required unless it has exactly one.',
  ),
  scope: parameter('Scopes separated by spaces: `offline`, `read`, `write`.'),
  code_challenge: parameter('RFC 7636: base64url of the SHA-256 of the verifier. Required of public clients.'),
  code_challenge_method: parameter('`S256`.'),
  auth_method: parameter(
    'How to sign in, or several ways separated by commas, tried in order: `native`, `ldap` (a directory, where one is configured), `anonymous` (a guest, where the base configuration allows it), `auto` (as a guest where no login is given, else `native`, then `ldap`), `passkey` (where the base configuration allows it), `openid` and `saml` (another server, where one is configured), `action_code`. Unknown ones count as `native`, the default is `auto`.',
  ),
  action: parameter(
    '`security`: the user signs in anew, and comes to the page for passkeys, authenticator app and recovery codes before going on. Own extension.',
  ),
  provider: parameter('Methods `openid` and `saml`: the name of the provider; may be left out where there is one.'),
  login: parameter('Login or e-mail of the user.'),
  password: parameter('Password of the user.'),
  action_code: parameter('Method `action_code`: the way back from a page of the sign-in, used once.'),
  secret: parameter('Method `action_code`: its secret.'),
}

const AuthorizeForm = Type.Object(
  {
    ...ofClient,
    keep_login: parameter('`1`: the browser is to stay signed in, where the base configuration allows it.'),
    csrf: parameter('Proves that the form is one of this service; on its own pages.'),
  },
  { additionalProperties: true },
)
const AuthorizeQuery = Type.Object({
  ...ofClient,
  again: parameter('The sign-in page says that the one before has failed.'),
})

const Html = Type.Unsafe<string>({ type: 'string', description: 'A page.' })
const answers = {
  200: { description: 'The sign-in page.', content: { 'text/html': { schema: Html } } },
  302: Type.Unsafe<undefined>({ description: 'Back to the client, with the code.' }),
  303: Type.Unsafe<undefined>({ description: 'Back to the client, with the code, or to a page that comes before.' }),
}

/** The sign-in page. Errors of a request are answered here, as a page or in the form of RFC 6749. */
export async function registerAuthorizeRoutes(
  app: HttpApp,
  { authorize, pages }: { authorize: Authorize; pages: Pages },
): Promise<void> {
  const surface = { ...forPeople(pages, oauthSurface(app.surface)), name: 'sign-in' }
  await onSurface(app, surface, (scope) => {
    const tags = ['oauth2']
    // A failed sign-in counts, even if the client disconnects.
    const config = { access: 'public', writes: false, body: 'none', outlivesClient: true } as const
    const text =
      'RFC 6749, authorization code grant: answers the sign-in page until somebody has signed in; then redirects to `redirect_uri` with `code`, `state` and `iss` (RFC 9207), or with 303 to a page that has to be passed before (`/api/page/…`). A request that is wrong is answered 400 and leads nowhere.'

    scope.get(
      '/api/oauth2/auth',
      {
        schema: {
          tags,
          operationId: 'authorize',
          summary: 'Sign in on the page of the service',
          description: text,
          querystring: AuthorizeQuery,
          response: answers,
        },
        config: { ...config, neverKept: 'a sign-in is of one browser and one moment' },
      },
      async (request, reply) => {
        await run(readParameters(request.query), request, reply)
        return reply
      },
    )

    scope.post(
      '/api/oauth2/auth',
      {
        schema: {
          tags,
          operationId: 'authorizeWithForm',
          summary: 'Sign in on the page of the service, by its form',
          description: `${text} Only a form of the page itself keeps the browser signed in.`,
          consumes: ['application/x-www-form-urlencoded'],
          body: AuthorizeForm,
          response: answers,
        },
        config,
      },
      async (request, reply) => {
        await run(readForm(request.headers['content-type'], request.body), request, reply)
        return reply
      },
    )

    function run(form: Form, ...[request, reply]: Parameters<Pages['visit']>) {
      return authorize(pages.visit(request, reply), form)
    }
  })
}

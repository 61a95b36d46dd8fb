import type { HttpApp } from '../platform/http.ts'
import { registerGroupRoutes } from './groups/routes.ts'
import { registerAuthorizeRoutes } from './oauth/authorize/routes.ts'
import { registerOAuthRoutes } from './oauth/routes.ts'
import { registerPages } from './pages/routes.ts'
import type { Auth } from './service.ts'
import { SessionInfo } from './sessions/info.ts'
import { registerUserRoutes } from './users/routes.ts'

export async function registerAuthRoutes(app: HttpApp, { auth }: { auth: Auth }): Promise<void> {
  await registerOAuthRoutes(app, auth)
  await registerAuthorizeRoutes(app, auth)
  await registerPages(app, auth.pages, auth.pageDefinitions())
  registerUserRoutes(app, auth)
  registerGroupRoutes(app, auth)

  app.get(
    '/api/v1/user/session',
    {
      schema: {
        tags: ['user'],
        operationId: 'getSession',
        summary: 'The session of the token',
        description:
          'Who is signed in, with which rights, and how the instance is set up: what a front end needs to begin.',
        response: { 200: SessionInfo },
      },
      config: { access: 'session', writes: false },
    },
    async (request) => auth.session(request),
  )
}

import type { HttpApp } from '../platform/http/http.ts'
import { registerAuthorizeRoutes } from './authorize/routes.ts'
import { registerFurtherOAuthRoutes } from './further-routes.ts'
import { registerOAuthRoutes } from './routes.ts'
import type { OAuthServer } from './server.ts'

export async function registerOAuthServerRoutes(app: HttpApp, server: OAuthServer): Promise<void> {
  await registerOAuthRoutes(app, server)
  await registerAuthorizeRoutes(app, server)
  await registerFurtherOAuthRoutes(app, server)
}

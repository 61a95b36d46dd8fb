import type { HttpApp } from '../platform/http/http.ts'
import { registerAuthorizeRoutes } from './authorize/routes.ts'
import { registerFurtherOAuthRoutes } from './further-routes.ts'
import { registerOAuthRoutes } from './routes.ts'
import type { OAuthServer } from './server.ts'

export async function registerOAuthServerRoutes(app: HttpApp, server: OAuthServer): Promise<void> {
  const { oauth, tokenInfo, authorize, pages, aliases, sessions, refreshes, logout, issuer } = server
  await registerOAuthRoutes(app, { oauth, tokenInfo, aliases })
  await registerAuthorizeRoutes(app, { authorize, pages })
  await registerFurtherOAuthRoutes(app, { sessions, refreshes, tokenInfo, logout, pages, issuer, aliases })
}

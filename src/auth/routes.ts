import type { HttpApp } from '../platform/http.ts'
import { registerDirectoryCheck, registerDirectoryRoutes } from './directories/routes.ts'
import { registerPasskeyRoutes } from './factors/passkeys/routes.ts'
import { registerGroupRoutes } from './groups/routes.ts'
import { registerAuthorizeRoutes } from './oauth/authorize/routes.ts'
import { registerFurtherOAuthRoutes } from './oauth/further-routes.ts'
import { registerOAuthRoutes } from './oauth/routes.ts'
import { registerPages } from './pages/routes.ts'
import type { Auth } from './service.ts'
import { registerSessionRoutes } from './sessions/routes.ts'
import { registerUserRoutes } from './users/routes.ts'

export async function registerAuthRoutes(app: HttpApp, { auth }: { auth: Auth }): Promise<void> {
  await registerOAuthRoutes(app, auth)
  await registerAuthorizeRoutes(app, auth)
  await registerPages(app, auth.pages, auth.pageDefinitions())
  await registerDirectoryRoutes(app, auth)
  registerDirectoryCheck(app, auth)
  await registerFurtherOAuthRoutes(app, auth)
  registerSessionRoutes(app, auth)
  registerPasskeyRoutes(app, auth)
  registerUserRoutes(app, auth)
  registerGroupRoutes(app, auth)
}

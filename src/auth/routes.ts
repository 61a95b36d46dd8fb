import type { HttpApp } from '../platform/http/http.ts'
import { registerDirectoryCheck, registerDirectoryRoutes } from './directories/routes.ts'
import { registerPasskeyRoutes } from './factors/passkeys/routes.ts'
import { registerGroupRoutes } from './groups/routes.ts'
import { registerAuthorizeRoutes } from './oauth/authorize/routes.ts'
import { registerFurtherOAuthRoutes } from './oauth/further-routes.ts'
import { registerOAuthRoutes } from './oauth/routes.ts'
import { registerPages } from './pages/routes.ts'
import { registerTextRoutes } from './pages/text-routes.ts'
import type { Auth } from './service.ts'
import { registerSessionRoutes } from './sessions/routes.ts'
import type { LookAtPictures } from './users/pictures.ts'
import { registerUserRoutes } from './users/routes.ts'

export async function registerAuthRoutes(
  app: HttpApp,
  { auth, lookAtPictures }: { auth: Auth; lookAtPictures: LookAtPictures },
): Promise<void> {
  await registerOAuthRoutes(app, auth)
  await registerAuthorizeRoutes(app, auth)
  await registerPages(app, auth.pages, auth.pageDefinitions())
  registerTextRoutes(app, auth)
  await registerDirectoryRoutes(app, auth)
  registerDirectoryCheck(app, auth)
  await registerFurtherOAuthRoutes(app, auth)
  registerSessionRoutes(app, auth, lookAtPictures)
  registerPasskeyRoutes(app, auth)
  registerUserRoutes(app, auth, lookAtPictures)
  registerGroupRoutes(app, auth)
}

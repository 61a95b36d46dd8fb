import type { LookAtPictures } from '../people/service.ts'
import type { HttpApp } from '../platform/http/http.ts'
import { registerChangePassword } from './account/change-password.ts'
import { registerDirectoryCheck, registerDirectoryRoutes } from './directories/routes.ts'
import { registerPasskeyRoutes } from './factors/passkeys/routes.ts'
import { registerPages } from './pages/routes.ts'
import { registerTextRoutes } from './pages/text-routes.ts'
import type { SignInService } from './service.ts'
import { registerSessionRoutes } from './sessions/routes.ts'

export async function registerSignInRoutes(
  app: HttpApp,
  { signIn, lookAtPictures }: { signIn: SignInService; lookAtPictures: LookAtPictures },
): Promise<void> {
  await registerPages(app, signIn.pages, signIn.pageDefinitions())
  registerTextRoutes(app, signIn)
  await registerDirectoryRoutes(app, signIn)
  registerDirectoryCheck(app, signIn)
  registerSessionRoutes(app, signIn, lookAtPictures)
  registerPasskeyRoutes(app, signIn)
  registerChangePassword(app, signIn.changePassword)
}

import type { ReadPictures } from '../people/service.ts'
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
  { signIn, lookAtPictures }: { signIn: SignInService; lookAtPictures: ReadPictures },
): Promise<void> {
  const { pages, ownTexts, comeBack, saml, checkDirectory, session, sessionOf, ownSessions, passkeyRecords } = signIn
  await registerPages(app, pages, signIn.pageDefinitions())
  registerTextRoutes(app, { ownTexts })
  await registerDirectoryRoutes(app, { pages, comeBack, saml })
  registerDirectoryCheck(app, { checkDirectory })
  registerSessionRoutes(app, { session, sessionOf, ownSessions }, lookAtPictures)
  registerPasskeyRoutes(app, { passkeyRecords })
  registerChangePassword(app, signIn.changePassword)
}

import type { HttpApp } from '../platform/http.ts'
import { registerOAuthRoutes } from './oauth/routes.ts'
import type { Auth } from './service.ts'

export async function registerAuthRoutes(app: HttpApp, { auth }: { auth: Auth }): Promise<void> {
  await registerOAuthRoutes(app, auth)
}

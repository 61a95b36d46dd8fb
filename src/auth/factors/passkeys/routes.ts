import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../../platform/http.ts'
import type { Auth } from '../../service.ts'

const OwnPasskey = Type.Object(
  {
    _id: Type.String(),
    name: Type.String(),
    backed_up: Type.Boolean({ description: 'It is kept in more places than one device.' }),
    created_at: Type.String(),
    last_used_at: Type.Optional(Type.String()),
  },
  { title: 'OwnPasskey' },
)

/** What users see of their passkeys without a page. */
export function registerPasskeyRoutes(app: HttpApp, { ownPasskeys }: Pick<Auth, 'ownPasskeys'>): void {
  app.get(
    '/api/v1/user/passkey/list',
    {
      schema: {
        tags: ['user'],
        operationId: 'listPasskeys',
        summary: 'Passkeys of the caller',
        description: 'Oldest first. They are set up, named and taken away on pages of the sign-in.',
        response: { 200: Type.Array(OwnPasskey) },
      },
      config: { access: 'user', writes: false },
    },
    async (request) => ownPasskeys(actorOf(request)),
  )
}

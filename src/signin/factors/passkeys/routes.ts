import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../../platform/http/http.ts'
import { Ok } from '../../../platform/values/tasks.ts'
import type { SignInService } from '../../service.ts'

const tags = ['user']

const StoredPasskey = Type.Object(
  {
    _id: Type.String(),
    user_id: Type.Integer(),
    name: Type.String(),
    backed_up: Type.Boolean({ description: 'It is kept in more places than one device.' }),
    created_at: Type.String(),
    last_used_at: Type.Optional(Type.String()),
  },
  { title: 'Passkey' },
)

const OfUser = Type.Object({
  user_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'The user; the caller where nothing is said. Others need `system.user`.',
    }),
  ),
})

const OneOf = Type.Object({ id: Type.String({ format: 'uuid', description: '`_id` of the passkey' }) })

const Renamed = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: 1000, description: 'Cut off behind 100 characters.' }) },
  { additionalProperties: true, title: 'PasskeyInput' },
)

/** Passkeys without a page. */
export function registerPasskeyRoutes(app: HttpApp, { passkeyRecords }: Pick<SignInService, 'passkeyRecords'>): void {
  app.get(
    '/api/v1/user/passkey/list',
    {
      schema: {
        tags,
        operationId: 'listPasskeys',
        summary: 'Passkeys of a user',
        description: 'Oldest first. They are set up on pages of the sign-in.',
        querystring: OfUser,
        response: { 200: Type.Array(StoredPasskey) },
      },
      config: { access: 'user', writes: false, errors: ['SystemRightRequired'] },
    },
    async (request) => passkeyRecords.list(actorOf(request), request.query.user_id),
  )

  app.post(
    '/api/v1/user/passkey/list/:id',
    {
      schema: {
        tags,
        operationId: 'renamePasskey',
        summary: 'Give a passkey another name',
        description: 'One of the caller, or of a user whose second factors the caller may reset.',
        params: OneOf,
        body: Renamed,
        response: { 200: StoredPasskey },
      },
      config: { access: 'user', writes: true, errors: ['ResourceNotFound', 'ColumnNeedsSystemRoot'] },
    },
    async (request) => passkeyRecords.rename(actorOf(request), request.params.id, request.body.name),
  )

  app.delete(
    '/api/v1/user/passkey/list/:id',
    {
      schema: {
        tags,
        operationId: 'removePasskey',
        summary: 'Take a passkey away',
        description:
          'Of a user whose second factors the caller may reset; or one of the caller, in the first ten minutes of a session that has proved a second factor, else 403 `FreshSignInRequired`. The last one stays where a group asks for one, unless somebody else takes it away.',
        params: OneOf,
        response: { 200: Ok },
      },
      config: {
        access: 'user',
        writes: true,
        errors: ['ResourceNotFound', 'FreshSignInRequired', 'ColumnNeedsSystemRoot'],
      },
    },
    async (request) => {
      await passkeyRecords.remove(actorOf(request), request.params.id)
      return { status: 'ok' as const }
    },
  )
}

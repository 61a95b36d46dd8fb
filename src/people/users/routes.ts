import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { noteIgnored } from '../../platform/http/ignored.ts'
import { flag, isOn } from '../../platform/http/query.ts'
import { isStrict } from '../../platform/http/query-names.ts'
import { TaskList } from '../../platform/values/tasks.ts'
import { IdParams, UserBatch, UserOutput, UserQuery } from '../schema.ts'
import { type ReadPictures, withPictures } from './pictures.ts'
import type { Answer, UserService } from './service.ts'

const tags = ['user']
const Users = Type.Array(UserOutput)

const SaveQuery = Type.Object({
  confirm: Type.Optional(
    Type.Literal('ignore_password_requirements', { description: 'Save a weak password all the same.' }),
  ),
  skip_constraints: Type.Optional(
    Type.Boolean({
      description: 'neither rules for passwords nor the form of email addresses are checked; needs system.root',
    }),
  ),
})

const DeleteQuery = Type.Object({
  delete_policy: Type.Optional(
    Type.Enum(['delete', 'archive', 'unarchive'], { description: 'What to do with the user.' }),
  ),
  confirm: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        '`collections`: the user goes although it has collections (202 asks). Anything else answers nothing, and is named in `X-Svc-Ignored`.',
    }),
  ),
  _transfer_collections: flag(
    'Collections of a user that is deleted come to the caller, instead of being deleted too.',
  ),
})

const OnlyOne = Type.Object({
  include_password: Type.Optional(Type.Boolean({ description: 'refused: password hashes never leave the service' })),
})

/** Clients send `confirm` with the answer to a 202. Another value is reported as ignored, or refused for strict callers. */
function assertAnswer(request: FastifyRequest, reply: FastifyReply, confirm: string | undefined): void {
  if (confirm === undefined || confirm === 'collections') return
  if (isStrict(request)) {
    const param = { param: 'confirm', value: confirm }
    throw new AppError('UrlParameterNotSupported', param, { message: 'confirm: the only answer is collections' })
  }
  noteIgnored(reply, ['confirm'])
}

export function registerUserRoutes(
  app: HttpApp,
  { users }: { users: UserService },
  lookAtPictures: ReadPictures,
): void {
  const shown = (actor: Actor, found: UserOutput[]): Promise<UserOutput[]> => withPictures(lookAtPictures, actor, found)

  /** 202 when the caller must decide something first, else the users. */
  async function answer(reply: { status(code: number): unknown }, actor: Actor, result: Answer) {
    if (result.kind === 'done') return shown(actor, result.users)
    reply.status(202)
    return { tasks: result.tasks }
  }

  app.get(
    '/api/v1/user',
    {
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'Users that the caller may read',
        description: 'Sorted by id. Callers who may not manage users get fewer members of each.',
        querystring: UserQuery,
        response: { 200: Users },
      },
      config: { access: 'user', writes: false, errors: ['SystemRightRequired'] },
    },
    async (request) => {
      const actor = actorOf(request)
      return shown(actor, await users.list(actor, request.query))
    },
  )

  for (const method of ['POST', 'PUT'] as const) {
    app.route({
      method,
      url: '/api/v1/user',
      schema: {
        tags,
        operationId: method === 'POST' ? 'saveUsers' : 'putUsers',
        summary: 'Create and update users',
        description:
          'For managers of users; the own record, and users on which the caller has the right for it, without that. Without `_id` a user is created; absent members stay as they are. All are saved or none. Of oneself, password, login, e-mail address, type, reference and second factors are changed within ten minutes of signing in (with the second factor, where there is one), else 403 `FreshSignInRequired`.',
        querystring: SaveQuery,
        body: UserBatch,
        response: { 200: Users, 202: TaskList },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        errors: [
          'SystemRightRequired',
          'RightRequired',
          'VersionMismatch',
          'UserTypeNotAllowed',
          'FreshSignInRequired',
          'ColumnCanNotBeUpdated',
          'ColumnNeedsSystemRoot',
          'DatabaseUniqueKeyViolation',
          'LookupNotFound',
          'UnknownRight',
          'UnknownRightParam',
          'UnknownRightValue',
          'TagNotFound',
          'UserNotFound',
          'NoPassword',
          'UnableToSetPasswordForUserType',
          'UserArchived',
          'UserDuplicateEmail',
          'UserDuplicateLogin',
          'UserEmailMalformed',
          'UserPictureNoRights',
          'UnknownTimezone',
          'TooManyAttempts',
        ],
      },
      handler: async (request, reply) => {
        const { confirm, skip_constraints: skipConstraints = false } = request.query
        const options = { ignorePasswordRequirements: confirm !== undefined, skipConstraints }
        const actor = actorOf(request)
        return answer(reply, actor, await users.save(actor, request.body, options))
      },
    })
  }

  app.get(
    '/api/v1/user/:id',
    {
      schema: {
        tags,
        operationId: 'getUser',
        summary: 'One user',
        description: 'As an array of one.',
        params: IdParams,
        querystring: OnlyOne,
        response: { 200: Users },
      },
      config: { access: 'user', writes: false, errors: ['UserNotFound'] },
    },
    async (request) => {
      const actor = actorOf(request)
      return shown(actor, await users.read(actor, request.params.id, request.query))
    },
  )

  app.delete(
    '/api/v1/user/:id',
    {
      schema: {
        tags,
        operationId: 'deleteUser',
        summary: 'Delete, archive or unarchive a user',
        description:
          'For managers of users, and for callers with the right `delete` on the user. Without `delete_policy` the answer is a 202 that asks for it.',
        params: IdParams,
        querystring: DeleteQuery,
        response: { 200: Users, 202: TaskList },
      },
      config: {
        access: 'user',
        writes: true,
        errors: [
          'SystemRightRequired',
          'RightRequired',
          'UserNotFound',
          'UserArchived',
          'UserDeleteSelf',
          'DeleteSystemUser',
          'DatabaseUniqueKeyViolation',
        ],
      },
    },
    async (request, reply) => {
      const actor = actorOf(request)
      const { delete_policy: policy, confirm, _transfer_collections: transfer } = request.query
      assertAnswer(request, reply, confirm)
      const removal = { policy, confirmed: confirm === 'collections', transfer: isOn(transfer) }
      return answer(reply, actor, await users.remove(actor, request.params.id, removal))
    },
  )
}

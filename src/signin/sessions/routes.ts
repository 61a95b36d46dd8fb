import { Type } from 'typebox'
import { type ReadPictures, withPictures } from '../../people/service.ts'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import type { SignInService } from '../service.ts'
import { SessionInfo } from './info.ts'

const tags = ['user']

const OpenSession = Type.Object(
  {
    _id: Type.String(),
    user_id: Type.Integer(),
    client_id: Type.String({ description: 'the program' }),
    method: Type.String({ description: 'how the user signed in' }),
    scope: Type.String(),
    since: Type.String(),
    last_used: Type.String({ description: 'to within some minutes' }),
    expires: Type.String(),
    address: Type.String({ description: 'where the user signed in from' }),
    device: Type.String({ description: 'what the program called itself (User-Agent)' }),
    bound_browser: Type.Boolean({ description: 'its tokens count in one browser only' }),
    current: Type.Boolean({ description: 'the session of this request' }),
  },
  { title: 'OpenSession' },
)

const OfUser = Type.Object({
  user_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The user; the caller where nothing is said. Others need `system.user`, or the right `sessions` on the user.',
    }),
  ),
})
const Ended = Type.Object({ ended: Type.Integer({ description: 'how many sessions' }) }, { title: 'EndedSessions' })

export function registerSessionRoutes(
  app: HttpApp,
  auth: Pick<SignInService, 'session' | 'sessionOf' | 'ownSessions'>,
  lookAtPictures: ReadPictures,
): void {
  app.get(
    '/api/v1/user/session',
    {
      schema: {
        tags,
        operationId: 'getSession',
        summary: 'The session of the token',
        description:
          'Who is signed in, with which rights, and how the instance is set up: what a front end needs to begin.',
        response: { 200: SessionInfo },
      },
      config: { access: 'session', writes: false },
    },
    async (request) => {
      const { actor, info } = await auth.session(request)
      const [user = info.user] = await withPictures(lookAtPictures, actor, [info.user])
      return { ...info, user }
    },
  )

  app.get(
    '/api/v1/user/session/list',
    {
      schema: {
        tags,
        operationId: 'listSessions',
        summary: 'Where a user is signed in',
        description: 'Open sessions, last used first, 1000 at most.',
        querystring: OfUser,
        response: { 200: Type.Array(OpenSession) },
      },
      config: { access: 'user', writes: false, errors: ['SystemRightRequired'] },
    },
    async (request) => auth.ownSessions.list(actorOf(request), request.query.user_id),
  )

  app.delete(
    '/api/v1/user/session/list',
    {
      schema: {
        tags,
        operationId: 'endOtherSessions',
        summary: 'Sign a user out everywhere else',
        description:
          'Ends all sessions but the one of this request; no other browser stays signed in. Their tokens are refused at once.',
        querystring: OfUser,
        response: { 200: Ended },
      },
      config: { access: 'user', writes: true, errors: ['SystemRightRequired'] },
    },
    async (request) => {
      const session = await auth.sessionOf(request)
      return { ended: await auth.ownSessions.endOthers(actorOf(request), session, request.query.user_id) }
    },
  )

  app.delete(
    '/api/v1/user/session/list/:id',
    {
      schema: {
        tags,
        operationId: 'endOneSession',
        summary: 'Sign out somewhere',
        description:
          'Ends one session, of the caller or of a user whom the caller manages. Its tokens are refused at once.',
        params: Type.Object({ id: Type.String({ format: 'uuid', description: '`_id` of the session' }) }),
        response: { 200: Ended },
      },
      config: { access: 'user', writes: true, errors: ['ResourceNotFound'] },
    },
    async (request) => {
      await auth.ownSessions.end(actorOf(request), request.params.id)
      return { ended: 1 }
    },
  )
}

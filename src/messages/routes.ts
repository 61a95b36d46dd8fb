import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { Acknowledged, Ok } from '../platform/values/tasks.ts'
import { Confirm, MessageBatch, MessageOutput, MessageParams, MessageQuery, OwnMessageOutput } from './schema.ts'
import { type MessageService, manageMessages } from './service.ts'

const tags = ['message']
const Messages = Type.Array(MessageOutput)
const systemRight = manageMessages

export interface MessageRouteDeps {
  messages: MessageService
}

export function registerMessageRoutes(http: HttpApp, { messages }: MessageRouteDeps): void {
  http.get(
    '/api/v1/message',
    {
      schema: {
        tags,
        operationId: 'listMessages',
        summary: 'All messages',
        description: 'Whomever they are for, by id.',
        querystring: MessageQuery,
        response: { 200: Messages },
      },
      config: { access: 'user', writes: false, systemRight },
    },
    (request) => messages.list(actorOf(request), request.query),
  )

  for (const method of ['POST', 'PUT'] as const) {
    http.route({
      method,
      url: '/api/v1/message',
      schema: {
        tags,
        operationId: method === 'POST' ? 'saveMessages' : 'putMessages',
        summary: 'Create and update messages',
        description:
          'Without `_id` and `lookup:_id` a message is created; absent members stay as they are. All are saved or none.',
        body: MessageBatch,
        response: { 200: Messages },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        systemRight,
        errors: ['VersionMismatch', 'StartTimeAfterEndTime', 'LookupNotFound', 'DatabaseUniqueKeyViolation'],
      },
      handler: (request) => messages.save(actorOf(request), request.body),
    })
  }

  http.get(
    '/api/v1/message/mine',
    {
      schema: {
        tags,
        operationId: 'listOwnMessages',
        summary: 'Messages that are for the caller now',
        description:
          'By groups, time and client. Callers without a user get what guests see. Those without `webfrontend_type` are shown at sign-in, the others by front ends.',
        response: { 200: Type.Array(OwnMessageOutput) },
      },
      config: { access: 'optional', writes: false },
    },
    (request) => messages.own(request.actor),
  )

  http.get(
    '/api/v1/message/:id',
    {
      schema: {
        tags,
        operationId: 'getMessage',
        summary: 'One message',
        description: 'As an array of one.',
        params: MessageParams,
        response: { 200: Messages },
      },
      config: { access: 'user', writes: false, systemRight, errors: ['MessageNotFound'] },
    },
    (request) => messages.read(actorOf(request), request.params.id),
  )

  http.delete(
    '/api/v1/message/:id',
    {
      schema: {
        tags,
        operationId: 'deleteMessage',
        summary: 'Delete a message',
        description: 'With all confirmations of it.',
        params: MessageParams,
        response: { 200: Acknowledged },
      },
      config: { access: 'user', writes: true, systemRight, errors: ['MessageNotFound'] },
    },
    async (request) => {
      await messages.remove(actorOf(request), request.params.id)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  http.post(
    '/api/v1/message/:id/confirm',
    {
      schema: {
        tags,
        operationId: 'confirmMessage',
        summary: 'Agree to a message, or note that it was seen',
        description: 'In the version that was read; another one that is stored by now is a `VersionMismatch`.',
        params: MessageParams,
        body: Confirm,
        response: { 200: Ok },
      },
      config: { access: 'user', writes: true, errors: ['MessageNotFound', 'VersionMismatch'] },
    },
    async (request) => {
      const { params, body } = request
      await messages.confirm(actorOf(request), params.id, body.version)
      return { status: 'ok' as const }
    },
  )
}

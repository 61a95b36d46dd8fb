import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { GroupBatch, GroupOutput, GroupQuery, IdParams } from '../schema.ts'
import { type GroupService, manageGroups } from './service.ts'

const tags = ['group']
const Groups = Type.Array(GroupOutput)

export function registerGroupRoutes(app: HttpApp, { groups }: { groups: GroupService }): void {
  app.get(
    '/api/v1/group',
    {
      schema: {
        tags,
        operationId: 'listGroups',
        summary: 'Groups that the caller may read',
        description: 'Callers without a user get an empty array.',
        querystring: GroupQuery,
        response: { 200: Groups },
      },
      config: { access: 'optional', writes: false },
    },
    async (request) => groups.list(request.actor, request.query),
  )

  for (const method of ['POST', 'PUT'] as const) {
    app.route({
      method,
      url: '/api/v1/group',
      schema: {
        tags,
        operationId: method === 'POST' ? 'saveGroups' : 'putGroups',
        summary: 'Create and update groups',
        description: 'Without `_id` a group is created; absent members stay as they are. All are saved or none.',
        body: GroupBatch,
        response: { 200: Groups },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        systemRight: manageGroups,
        errors: [
          'RightRequired',
          'VersionMismatch',
          'GroupTypeNotAllowed',
          'GroupTypeChangeNotAllowed',
          'ColumnCanNotBeUpdated',
          'ColumnNeedsSystemRoot',
          'DatabaseUniqueKeyViolation',
          'LookupNotFound',
          'UnknownRight',
          'UnknownRightParam',
          'UnknownRightValue',
          'TagNotFound',
          'UserNotFound',
        ],
      },
      handler: async (request) => groups.save(actorOf(request), request.body),
    })
  }

  app.get(
    '/api/v1/group/:id',
    {
      schema: {
        tags,
        operationId: 'getGroup',
        summary: 'One group',
        description: 'As an array of one.',
        params: IdParams,
        response: { 200: Groups },
      },
      config: { access: 'user', writes: false, errors: ['ResourceNotFound'] },
    },
    async (request) => groups.read(actorOf(request), request.params.id),
  )

  app.delete(
    '/api/v1/group/:id',
    {
      schema: {
        tags,
        operationId: 'deleteGroup',
        summary: 'Delete a group',
        description: 'Groups of the system stay.',
        params: IdParams,
        response: { 200: Groups },
      },
      config: {
        access: 'user',
        writes: true,
        systemRight: manageGroups,
        errors: ['ResourceNotFound', 'RightRequired', 'DeleteSystemGroup'],
      },
    },
    async (request) => groups.remove(actorOf(request), request.params.id),
  )
}

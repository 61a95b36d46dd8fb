import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http.ts'
import { GroupBatch, GroupOutput, GroupQuery, IdParams } from '../schema.ts'
import type { GroupService } from './service.ts'

const tags = ['group']
const Groups = Type.Array(GroupOutput)

export function registerGroupRoutes(app: HttpApp, { groups }: { groups: GroupService }): void {
  app.get(
    '/api/v1/group',
    {
      schema: { tags, summary: 'Groups that the caller may read', querystring: GroupQuery, response: { 200: Groups } },
      config: { access: 'optional', writes: false },
    },
    async (request) => groups.list(request.actor, request.query),
  )

  for (const method of ['POST', 'PUT'] as const) {
    app.route({
      method,
      url: '/api/v1/group',
      schema: { tags, summary: 'Create and update groups', body: GroupBatch, response: { 200: Groups } },
      config: { access: 'user', writes: true },
      handler: async (request) => groups.save(actorOf(request), request.body),
    })
  }

  app.get(
    '/api/v1/group/:id',
    {
      schema: { tags, summary: 'One group', params: IdParams, response: { 200: Groups } },
      config: { access: 'user', writes: false },
    },
    async (request) => groups.read(actorOf(request), request.params.id),
  )

  app.delete(
    '/api/v1/group/:id',
    {
      schema: { tags, summary: 'Delete a group', params: IdParams, response: { 200: Groups } },
      config: { access: 'user', writes: true },
    },
    async (request) => groups.remove(actorOf(request), request.params.id),
  )
}

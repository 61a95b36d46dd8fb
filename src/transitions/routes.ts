import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http.ts'
import { TransitionList } from './schema.ts'
import type { TransitionService } from './service.ts'

const List = Type.Array(Type.Object({}, { additionalProperties: true }))

export function registerTransitionRoutes(http: HttpApp, { transitions }: { transitions: TransitionService }): void {
  http.get(
    '/api/v1/transitions',
    {
      schema: {
        summary: 'The workflow transitions of the instance',
        description: 'In the order in which they are considered. Those of pools and object types are read there.',
        tags: ['transitions'],
        response: { 200: List },
      },
      config: { access: 'user', writes: false },
    },
    (request) => transitions.list(actorOf(request)),
  )

  http.post(
    '/api/v1/transitions',
    {
      schema: {
        summary: 'Replaces the workflow transitions of the instance',
        description:
          'What has no `_id` is created, what is missing is deleted. `_version`, when sent, must be the stored one.',
        tags: ['transitions'],
        body: TransitionList,
        response: { 200: List },
      },
      config: { access: 'user', writes: true },
    },
    (request) => transitions.save(actorOf(request), request.body),
  )
}

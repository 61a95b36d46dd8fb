import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http.ts'
import { TaskList } from '../platform/tasks.ts'
import { TransitionList } from './schema.ts'
import type { RunOnObjects, TransitionService } from './service.ts'

const List = Type.Array(Type.Object({}, { additionalProperties: true }))
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export interface TransitionRouteDeps {
  transitions: TransitionService
  runOnObjects: RunOnObjects
}

export function registerTransitionRoutes(http: HttpApp, { transitions, runOnObjects }: TransitionRouteDeps): void {
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

  http.get(
    '/api/v1/transitions/manual',
    {
      schema: {
        summary: 'Manual transitions that the caller may run on objects of a type in a pool',
        tags: ['transitions'],
        querystring: Type.Object({ objecttype_id: Id, pool_id: Type.Optional(Id) }, { additionalProperties: true }),
        response: { 200: List },
      },
      config: { access: 'user', writes: false },
    },
    (request) => transitions.manual(actorOf(request), request.query.objecttype_id, request.query.pool_id ?? null),
  )

  http.post(
    '/api/v1/transitions/:id/run',
    {
      schema: {
        summary: 'Runs a manual transition on objects',
        description:
          'All or nothing. `_version`, when sent, must be the stored one. A 202 says what has to be confirmed first.',
        tags: ['transitions'],
        params: Type.Object({ id: Id }),
        querystring: Type.Object(
          { confirmTransition: Type.Optional(Type.String({ maxLength: 4096 })) },
          { additionalProperties: true },
        ),
        body: Type.Array(
          Type.Object({ _system_object_id: Id, _version: Type.Optional(Id) }, { additionalProperties: true }),
          {
            minItems: 1,
            maxItems: 10_000,
          },
        ),
        response: {
          200: Type.Array(Type.Object({ _system_object_id: Type.Integer(), _version: Type.Integer() })),
          202: TaskList,
        },
      },
      config: { access: 'user', writes: true },
    },
    async (request, reply) => {
      transitions.requireManual(request.params.id)
      const result = await runOnObjects(actorOf(request), {
        trigger: { kind: 'manual', transitionId: request.params.id },
        objects: request.body.map(({ _system_object_id, _version }) => ({
          systemObjectId: _system_object_id,
          version: _version,
        })),
        confirmTransition: request.query.confirmTransition,
      })
      if (result.kind === 'confirm') return reply.status(202).send({ tasks: [...result.tasks] })
      return reply.send(
        result.objects.map(({ systemObjectId, version }) => ({ _system_object_id: systemObjectId, _version: version })),
      )
    },
  )
}

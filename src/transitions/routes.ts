import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { TaskList } from '../platform/values/tasks.ts'
import { manageTags } from '../tags/service.ts'
import { TransitionBody, TransitionList } from './schema.ts'
import type { RunOnObjects, TransitionService } from './service.ts'

/** Answers have transitions in the shape in which they are sent. */
const List = Type.Array(Type.Object({}, { additionalProperties: true, 'x-shown-as': TransitionBody }))
const Id = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export interface TransitionRouteDeps {
  transitions: TransitionService
  runOnObjects: RunOnObjects
}

export function registerTransitionRoutes(http: HttpApp, { transitions, runOnObjects }: TransitionRouteDeps): void {
  http.get(
    '/api/v1/transitions',
    {
      schema: {
        operationId: 'listTransitions',
        summary: 'The workflow transitions of the instance',
        description: 'In the order in which they are considered. Those of pools and object types are read there.',
        tags: ['transitions'],
        response: { 200: List },
      },
      config: { access: 'user', writes: false, systemRight: manageTags },
    },
    (request) => transitions.list(actorOf(request)),
  )

  http.post(
    '/api/v1/transitions',
    {
      schema: {
        operationId: 'saveTransitions',
        summary: 'Replace the workflow transitions of the instance',
        description:
          'What has no `_id` is created, what is missing is deleted. `_version`, when sent, must be the stored one.',
        tags: ['transitions'],
        body: TransitionList,
        response: { 200: List },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        systemRight: manageTags,
        errors: [
          'VersionMismatch',
          'TagNotFound',
          'TagNotEnabled',
          'RightRequired',
          'SystemRightRequired',
          'WebhookUnknown',
          'WebhookNotSelected',
          'WebhookCallbackUnknown',
          'ChangeOwnerNotSelected',
          'TransitionNotFound',
          'EventTypeNotAllowed',
          'LookupNotFound',
          'UserNotFound',
        ],
      },
    },
    (request) => transitions.save(actorOf(request), request.body),
  )

  http.get(
    '/api/v1/transitions/manual',
    {
      schema: {
        operationId: 'listManualTransitions',
        summary: 'Manual transitions that the caller may run on objects of a type in a pool',
        description: 'In the order in which they are considered.',
        tags: ['transitions'],
        querystring: Type.Object(
          {
            objecttype_id: Id('Id of the object type.'),
            pool_id: Type.Optional(Id('Id of the pool; absent for object types without pools.')),
          },
          { additionalProperties: true },
        ),
        response: { 200: List },
      },
      config: { access: 'user', writes: false, errors: ['PoolNotFound', 'UnknownObjecttype'] },
    },
    (request) => transitions.manual(actorOf(request), request.query.objecttype_id, request.query.pool_id ?? null),
  )

  http.post(
    '/api/v1/transitions/:id/run',
    {
      schema: {
        operationId: 'runTransition',
        summary: 'Run a manual transition on objects',
        description:
          'All or nothing. `_version`, when sent, must be the stored one. A 202 says what has to be confirmed first.',
        tags: ['transitions'],
        params: Type.Object({ id: Id('Id of the transition.') }),
        querystring: Type.Object(
          {
            confirmTransition: Type.Optional(
              Type.String({ maxLength: 4096, description: 'The token of a 202: its question is answered with yes.' }),
            ),
          },
          { additionalProperties: true },
        ),
        body: Type.Array(
          Type.Object(
            { _system_object_id: Id('The object.'), _version: Type.Optional(Id('Its stored version.')) },
            { additionalProperties: true, title: 'TransitionTarget' },
          ),
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
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        errors: [
          'TransitionNotFound',
          'TransitionNotApplicable',
          'TransitionRejected',
          'ObjectNotFound',
          'ObjectInsufficientRights',
          'VersionMismatch',
          'CommentRequired',
          'ConstraintViolation',
          'DbPreSaveFailed',
          'TagNotFound',
          'LookupNotFound',
          'InvalidValue',
        ],
      },
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

import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { noteIgnored } from '../platform/http/ignored.ts'
import { sendJson } from '../platform/http/json-answer.ts'
import { isOn } from '../platform/http/query.ts'
import { isStrict } from '../platform/http/query-names.ts'
import { requestFacts } from '../platform/http/request-facts.ts'
import { TaskList } from '../platform/values/tasks.ts'
import { DbObject, DeleteAnswer, DeleteBody, DeleteQuery, ObjectBody, ObjecttypePath, SaveQuery } from './schema.ts'
import type { ObjectService } from './service.ts'

/** `PATCH` is an extension of ours: the specification knows saves of whole objects only. */
const saves = [
  {
    method: 'POST',
    partial: false,
    texts: {
      operationId: 'saveObjects',
      summary: 'Create or update objects',
      description:
        'Without `_version` an object is created; otherwise `_version` must be the stored one. Writable fields of the mask that the payload does not have are cleared. With a list in the `_id` of the block the sent fields of all these objects change, and nothing else. All are saved or none.',
    },
  },
  {
    method: 'PATCH',
    partial: true,
    texts: {
      operationId: 'changeObjects',
      summary: 'Change some fields of objects',
      description:
        'Only what is sent changes: absent fields stay, `null` clears, a nested table is replaced as it is sent. `_version`, when sent, must be the stored one. With a list in the `_id` of the block all these objects change. All are saved or none.',
    },
  },
] as const

/** Saving and deleting objects (specification, Endpoints, Objects). */
export function registerObjectRoutes(app: HttpApp, { objects }: { objects: ObjectService }): void {
  for (const { method, partial, texts } of saves) {
    app.route({
      method,
      url: '/api/v1/db/:objecttype',
      schema: {
        ...texts,
        tags: ['objects'],
        params: ObjecttypePath,
        querystring: SaveQuery,
        body: ObjectBody,
        response: { 200: Type.Array(DbObject), 202: TaskList },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'objects',
        exactNumbers: true,
        errors: [
          'AnswerTooLarge',
          'CommentRequired',
          'CollectionObjectInsufficientRights',
          'ConstraintViolation',
          'DatabaseUniqueKeyViolation',
          'DbPreSaveFailed',
          'FieldNotWritable',
          'HierarchyCycle',
          'InvalidValue',
          'LookupFoundTooMany',
          'LookupNotFound',
          'MaskNotFound',
          'ObjectInsufficientRights',
          'ObjectNotFound',
          'PoolNotFound',
          'PoolRequired',
          'QuotaExceeded',
          'RightRequired',
          'SystemRightRequired',
          'TagNotFound',
          'TagNotEnabled',
          'TransitionRejected',
          'UnknownField',
          'UnknownObjecttype',
          'UnknownRight',
          'UnknownRightParam',
          'UnknownRightValue',
          'UserNotFound',
          'VersionMismatch',
          'ChangeOwnerNotSelected',
        ],
      },
      handler: async (request, reply) => {
        const { query } = request
        const options = {
          format: query.format ?? ('standard' as const),
          strict: isStrict(request),
          partial,
          dryRun: isOn(query.dry_run),
          skipReverseNested: isOn(query.skip_reverse_nested),
          skipBidirectionalUpdate: isOn(query.skip_bidirectional_update),
          skipIndex: isOn(query.skip_index),
          skipConstraints: isOn(query.skip_constraints),
          skipPlugins: isOn(query.skip_plugins),
          skipEvents: isOn(query.skip_events),
          collection: query.collection,
          collectionPolicy: query.collection_policy,
          awaitIndex: query.await_index ?? 0,
          fileDays: query.file_url_expire,
          ...confirmed(query),
          reversePoolChangedMode: query.reverse_pool_changed_mode,
          facts: () => requestFacts(request),
        }
        const { params, body, deadline } = request
        const saved = await objects.save(actorOf(request), params.objecttype, body, options, deadline)
        noteIgnored(reply, saved.ignored.paths, saved.ignored.more)
        if (saved.kind === 'confirm') return reply.status(202).send({ tasks: [...saved.tasks] })
        noteIndex(reply, saved.indexed)
        return sendJson(reply as FastifyReply, saved.answer)
      },
    })
  }

  app.delete(
    '/api/v1/db/:objecttype',
    {
      schema: {
        operationId: 'deleteObjects',
        summary: 'Move objects to the trash, restore or purge them',
        description:
          'The body names each object by its id, stored version and a comment. Without `delete_policy` the answer is a 202 with the choices.',
        tags: ['objects'],
        params: ObjecttypePath,
        querystring: DeleteQuery,
        body: DeleteBody,
        response: { 200: DeleteAnswer, 202: TaskList },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'objects',
        exactNumbers: true,
        errors: [
          'CollectionObjectInsufficientRights',
          'CommentRequired',
          'ConstraintViolation',
          'DatabaseUniqueKeyViolation',
          'DbPreSaveFailed',
          'InvalidValue',
          'NotInTrash',
          'ObjectInsufficientRights',
          'ObjectNotFound',
          'PurgeNotAllowed',
          'RightRequired',
          'SystemRightRequired',
          'TransitionRejected',
          'UnknownField',
          'UnknownObjecttype',
          'VersionMismatch',
        ],
      },
    },
    async (request, reply) => {
      const { query } = request
      const deleted = await objects.delete(
        actorOf(request),
        request.params.objecttype,
        request.body,
        {
          policy: query.delete_policy,
          dryRun: isOn(query.dry_run),
          confirmTransition: query.confirmTransition,
          awaitIndex: query.await_index ?? 0,
        },
        request.deadline,
      )
      if (deleted.kind === 'confirm') return reply.status(202).send({ tasks: [...deleted.tasks] })
      noteIndex(reply, deleted.indexed)
      return reply.send({
        ...deleted.answer,
        removed: [...deleted.answer.removed],
        setnull: [...deleted.answer.setnull],
      })
    },
  )
}

/** `revoke=yes:<token>` is both confirmations in one parameter (DB-010); clients also name both in it. */
function confirmed(query: { revoke?: string; confirmTransition?: string; 'revoke:confirmTransition'?: string }) {
  const revoke = query.revoke ?? query['revoke:confirmTransition']
  const token = revoke?.startsWith('yes:') ? revoke.slice(4) : undefined
  return { revoke: revoke !== undefined, confirmTransition: query.confirmTransition ?? token }
}

/** The save is committed, but the objects are not searchable yet (DB-025). */
function noteIndex(reply: FastifyReply, indexed: boolean): void {
  if (indexed) return
  reply.header('X-Svc-Error', 'The objects are saved, but not all of them are indexed yet.')
  reply.header('X-Svc-Error-Code', 'IndexTimeout')
}

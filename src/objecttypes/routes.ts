import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { dependentsQuery, sharesIn } from '../platform/http/query.ts'
import { TaskList } from '../platform/values/tasks.ts'
import { ObjecttypeInputs, ObjecttypeOutput, ObjecttypeStats } from './schema.ts'
import { manageObjecttypes, type ObjecttypeService } from './service.ts'

const tags = ['objecttype']
const read = { access: 'user', writes: false } as const
const Format = Type.Object({
  format: Type.Optional(Type.String({ description: '`short`: without the protected fields.' })),
})
const Id = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the object type.' }),
})
const Objecttypes = Type.Array(ObjecttypeOutput)

/** The endpoints of object type settings under `/api/v1/objecttype`. */
export function registerObjecttypeRoutes(app: HttpApp, { objecttypes }: { objecttypes: ObjecttypeService }): void {
  app.get(
    '/api/v1/objecttype',
    {
      schema: {
        operationId: 'listObjecttypes',
        summary: 'All object types with their settings',
        description: '`format=short` leaves out what needs system.objecttypemanager; so do callers without that right.',
        tags,
        querystring: Format,
        response: { 200: Objecttypes },
      },
      config: read,
    },
    async (request, reply) => {
      reply.header('X-Svc-Cache-ID', objecttypes.cacheId())
      return objecttypes.list(actorOf(request), { short: request.query.format === 'short' })
    },
  )

  app.get(
    '/api/v1/objecttype/:id',
    {
      schema: {
        operationId: 'getObjecttype',
        summary: 'One object type with its settings, in an array',
        description: '`format=short` leaves out what needs `system.objecttypemanager`.',
        tags,
        params: Id,
        querystring: Format,
        response: { 200: Objecttypes },
      },
      config: read,
    },
    (request) => objecttypes.get(actorOf(request), request.params.id, { short: request.query.format === 'short' }),
  )

  app.get(
    '/api/v1/objecttype/:id/stats',
    {
      schema: {
        operationId: 'getObjecttypeStats',
        summary: 'Number and size of the files of an object type',
        description: 'By class and extension, of latest, former and deleted versions.',
        tags,
        params: Id,
        response: { 200: ObjecttypeStats },
      },
      config: { ...read, systemRight: manageObjecttypes },
    },
    (request) => objecttypes.stats(actorOf(request), request.params.id),
  )

  app.post(
    '/api/v1/objecttype',
    {
      schema: {
        operationId: 'saveObjecttypes',
        summary: 'Save settings of object types',
        description:
          '`_version` is the stored version plus one. Absent members stay as they are. All are saved or none.',
        tags,
        querystring: Type.Object(dependentsQuery),
        body: ObjecttypeInputs,
        response: { 200: Objecttypes, 202: TaskList },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        systemRight: manageObjecttypes,
        errors: [
          'VersionMismatch',
          'ObjecttypeNeedsStandardMask',
          'TagNotFound',
          'LookupNotFound',
          'UnknownRight',
          'UnknownRightParam',
          'UnknownRightValue',
          'UnknownField',
          'UnsupportedFieldType',
          'RightRequired',
          'TagNotEnabled',
          'WebhookUnknown',
          'WebhookNotSelected',
          'SystemRightRequired',
          'WebhookCallbackUnknown',
          'ChangeOwnerNotSelected',
          'TransitionNotFound',
          'EventTypeNotAllowed',
          'UrlParameterNotSupported',
        ],
      },
    },
    async (request, reply) => {
      const { query, body } = request
      const saved = await objecttypes.save(actorOf(request), body, query.confirm, sharesIn(query))
      if (saved.kind === 'confirm') return reply.status(202).send({ tasks: [...saved.tasks] })
      reply.header('X-Svc-Cache-ID', saved.cacheId)
      return saved.objecttypes
    },
  )
}

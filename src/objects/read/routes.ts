import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { sendJson } from '../../platform/http/json-answer.ts'
import { flag, isOn } from '../../platform/http/query.ts'
import { formatNames, mergeModes } from '../render/formats.ts'
import { DbObject, FilesRealUrl, FileUrlExpire } from '../schema.ts'
import type { ReadService, ReadTarget, ShownAs } from './read.ts'

const Name = (description: string) => Type.String({ minLength: 1, maxLength: 200, description })
const names = { objecttype: Name('Name of the object type.'), mask: Name('Name of the mask, or `_all_fields`.') }
const MaskPath = Type.Object(names)
const IdPath = Type.Object({
  ...names,
  id: Type.String({ minLength: 1, maxLength: 300, description: 'The id of the kind that the path names.' }),
})

const Format = Type.Union(
  formatNames.map((format) => Type.Literal(format)),
  { default: 'full', description: 'How much of the object is answered.' },
)

const shared = {
  format: Type.Optional(Format),
  file_url_expire: FileUrlExpire,
  skip_reverse_nested: flag('Leave reverse-nested objects out.'),
  all_versions: flag('All versions, the latest first.'),
  latest_linked: flag('Former versions show linked objects as they are now.'),
  merge_linked_objects: Type.Optional(
    Type.Union(
      mergeModes.map((mode) => Type.Literal(mode)),
      { description: 'How much of linked objects is embedded.' },
    ),
  ),
  merge_max_depth: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'How deep linked objects are embedded.' }),
  ),
}

const SharedQuery = Type.Object(shared)

const ReadQuery = Type.Object({
  ...shared,
  version: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'A former version.' })),
})

const ListQuery = Type.Object({
  ...shared,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1000, description: 'Most objects.' })),
  offset: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, description: 'How many to leave out.' }),
  ),
  files_real_url: FilesRealUrl,
})

const errors = [
  'AnswerTooLarge',
  'MaskNotFound',
  'ObjectInsufficientRights',
  'ObjectNotFound',
  'TooManyHeavyRequests',
  'UnknownObjecttype',
  'VersionMismatch',
] as const

const answer = { 200: Type.Array(DbObject) }

const addresses = [
  { by: 'id', operationId: 'getObject', path: ':id', summary: 'Read one object by its _id' },
  {
    by: 'system_object_id',
    operationId: 'getObjectBySystemId',
    path: 'system_object_id/:id',
    summary: 'Read one object by its _system_object_id',
  },
  {
    by: 'global_object_id',
    operationId: 'getObjectByGlobalId',
    path: 'global_object_id/:id',
    summary: 'Read one object by its _global_object_id',
  },
] as const satisfies readonly { by: ReadTarget['by']; operationId: string; path: string; summary: string }[]

function shownAs(query: Static<typeof SharedQuery>): ShownAs {
  return {
    format: query.format ?? 'full',
    allVersions: isOn(query.all_versions),
    skipReverseNested: isOn(query.skip_reverse_nested),
    latestLinked: isOn(query.latest_linked),
    mergeLinkedObjects: query.merge_linked_objects,
    mergeMaxDepth: query.merge_max_depth,
    fileDays: query.file_url_expire,
  }
}

/** Reading objects (specification, Endpoints, Objects). */
export function registerReadRoutes(app: HttpApp, { read }: { read: ReadService }): void {
  for (const { by, operationId, path, summary } of addresses) {
    app.get(
      `/api/v1/db/:objecttype/:mask/${path}`,
      {
        schema: {
          operationId,
          summary,
          description: 'Always an array, empty when nothing matches.',
          tags: ['objects'],
          params: IdPath,
          querystring: ReadQuery,
          response: answer,
        },
        config: { access: 'user', writes: false, errors },
      },
      async (request, reply) => {
        const { params, query } = request
        const target = { objecttype: params.objecttype, mask: params.mask, by, id: params.id }
        const options = { ...shownAs(query), version: query.version }
        return sendJson(reply as FastifyReply, await read.get(actorOf(request), target, options, request.deadline))
      },
    )
  }

  app.get(
    '/api/v1/db/:objecttype/:mask/list',
    {
      schema: {
        operationId: 'listObjects',
        summary: 'List the objects of a type',
        description: 'The objects that the caller may read, by id.',
        tags: ['objects'],
        params: MaskPath,
        querystring: ListQuery,
        response: answer,
      },
      config: { access: 'user', writes: false, errors },
    },
    async (request, reply) => {
      const { params, query } = request
      const page = { limit: query.limit ?? 1000, offset: query.offset ?? 0 }
      const options = { ...shownAs(query), ...page }
      const { objecttype, mask } = params
      const found = await read.list(actorOf(request), objecttype, mask, options, request.deadline)
      return sendJson(reply as FastifyReply, found)
    },
  )
}

import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http.ts'
import { sendJson } from '../platform/json-body.ts'
import { Flag, isOn } from '../platform/query.ts'
import { formatNames, mergeModes } from './formats.ts'
import type { ReadService, ReadTarget, ShownAs } from './read.ts'
import { DbObject } from './schema.ts'

const Name = Type.String({ minLength: 1, maxLength: 200 })
const MaskPath = Type.Object({ objecttype: Name, mask: Name })
const IdPath = Type.Object({
  objecttype: Name,
  mask: Name,
  id: Type.String({ minLength: 1, maxLength: 300, description: 'The id of the kind that the path names.' }),
})

const Format = Type.Union(
  formatNames.map((format) => Type.Literal(format)),
  { default: 'full' },
)

const shared = {
  format: Type.Optional(Format),
  // Accepted by name; files have no signed addresses before the file store exists.
  file_url_expire: Type.Optional(Type.Integer({ minimum: 1, maximum: 36_500, description: 'In days.' })),
  skip_reverse_nested: Type.Optional(Flag),
  all_versions: Type.Optional(Flag),
  latest_linked: Type.Optional(Flag),
  merge_linked_objects: Type.Optional(Type.Union(mergeModes.map((mode) => Type.Literal(mode)))),
  merge_max_depth: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
}

const SharedQuery = Type.Object(shared)

const ReadQuery = Type.Object({
  ...shared,
  version: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
})

const ListQuery = Type.Object({
  ...shared,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
  files_real_url: Type.Optional(Flag),
})

const answer = { 200: Type.Array(DbObject) }

const addresses = [
  { by: 'id', path: ':id', summary: 'Read one object by its _id' },
  { by: 'system_object_id', path: 'system_object_id/:id', summary: 'Read one object by its _system_object_id' },
  { by: 'global_object_id', path: 'global_object_id/:id', summary: 'Read one object by its _global_object_id' },
] as const satisfies readonly { by: ReadTarget['by']; path: string; summary: string }[]

function shownAs(query: Static<typeof SharedQuery>): ShownAs {
  return {
    format: query.format ?? 'full',
    allVersions: isOn(query.all_versions),
    skipReverseNested: isOn(query.skip_reverse_nested),
    latestLinked: isOn(query.latest_linked),
    mergeLinkedObjects: query.merge_linked_objects,
    mergeMaxDepth: query.merge_max_depth,
  }
}

/** Reading objects (specification, Endpoints, Objects). */
export function registerReadRoutes(app: HttpApp, { read }: { read: ReadService }): void {
  for (const { by, path, summary } of addresses) {
    app.get(
      `/api/v1/db/:objecttype/:mask/${path}`,
      {
        schema: { summary, tags: ['objects'], params: IdPath, querystring: ReadQuery, response: answer },
        config: { access: 'user', writes: false },
      },
      async (request, reply) => {
        const { params, query } = request
        const target = { objecttype: params.objecttype, mask: params.mask, by, id: params.id }
        const options = { ...shownAs(query), version: query.version }
        return sendJson(reply as FastifyReply, await read.get(actorOf(request), target, options))
      },
    )
  }

  app.get(
    '/api/v1/db/:objecttype/:mask/list',
    {
      schema: {
        summary: 'List the objects of a type',
        tags: ['objects'],
        params: MaskPath,
        querystring: ListQuery,
        response: answer,
      },
      config: { access: 'user', writes: false },
    },
    async (request, reply) => {
      const { params, query } = request
      const page = { limit: query.limit ?? 1000, offset: query.offset ?? 0 }
      const options = { ...shownAs(query), ...page }
      return sendJson(reply as FastifyReply, await read.list(actorOf(request), params.objecttype, params.mask, options))
    },
  )
}

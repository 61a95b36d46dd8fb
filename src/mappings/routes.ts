import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { isOn } from '../platform/http/query.ts'
import { TaskList } from '../platform/values/tasks.ts'
import {
  DeleteQuery,
  MappingInput,
  MappingOutput,
  MappingParams,
  ProfileOutput,
  ProfileParams,
  TagCatalog,
  TagQuery,
} from './schema.ts'
import { type MappingService, manageMappings, unknownMapping } from './service.ts'

const tags = ['mappings']
const systemRight = manageMappings

export function registerMappingRoutes(http: HttpApp, { mappings }: { mappings: MappingService }): void {
  http.get(
    '/api/v1/xmlmapping/list',
    {
      schema: {
        tags,
        operationId: 'listMappingProfiles',
        summary: 'All profiles with the mappings made of each',
        description: 'A profile says which tags of files there are for what; a mapping binds its fields to columns.',
        response: { 200: Type.Array(ProfileOutput) },
      },
      config: { access: 'user', writes: false, errors: ['TooManyHeavyRequests'] },
    },
    () => mappings.list(),
  )

  http.get(
    '/api/v1/xmlmapping/profile/:profile',
    {
      schema: {
        tags,
        operationId: 'getMappingProfile',
        summary: 'One profile with its mappings',
        description: 'By its name, with the ending of its file.',
        params: ProfileParams,
        response: { 200: ProfileOutput },
      },
      config: { access: 'user', writes: false, errors: ['TooManyHeavyRequests'] },
    },
    (request) => mappings.readProfile(request.params.profile),
  )

  http.get(
    '/api/v1/xmlmapping/tags',
    {
      schema: {
        tags,
        operationId: 'listMetadataTags',
        summary: 'The tags of metadata that ExifTool knows',
        description: 'Exports may write the ones with `writable`; imports read all of them.',
        querystring: TagQuery,
        response: { 200: TagCatalog },
      },
      config: { access: 'user', writes: false, systemRight },
    },
    (request, reply) =>
      reply
        .header('Content-Type', 'application/json; charset=utf-8')
        .send(Readable.from(mappings.catalogue(actorOf(request), isOn(request.query.pretty)), { objectMode: false })),
  )

  http.put(
    '/api/v1/xmlmapping/mapping',
    {
      schema: {
        tags,
        operationId: 'createMapping',
        summary: 'Create a mapping',
        description: 'It is answered with its id, as it can be sent back.',
        body: MappingInput,
        response: { 200: MappingOutput },
      },
      config: {
        access: 'user',
        writes: true,
        systemRight,
        errors: ['DatabaseUniqueKeyViolation', 'TooManyHeavyRequests'],
      },
    },
    (request) => mappings.create(actorOf(request), request.body),
  )

  http.get(
    '/api/v1/xmlmapping/mapping/:mapping',
    {
      schema: {
        tags,
        operationId: 'getMapping',
        summary: 'One mapping',
        description: 'Columns that are gone from the datamodel are named no more.',
        params: MappingParams,
        response: { 200: MappingOutput },
      },
      config: { access: 'user', writes: false, systemRight },
    },
    (request) => mappings.read(actorOf(request), idOf(request.params.mapping)),
  )

  http.post(
    '/api/v1/xmlmapping/mapping/:mapping',
    {
      schema: {
        tags,
        operationId: 'updateMapping',
        summary: 'Replace a mapping',
        description: 'What is absent is not kept. The mapping that comes with the service cannot be changed.',
        params: MappingParams,
        body: MappingInput,
        response: { 200: MappingOutput },
      },
      config: {
        access: 'user',
        writes: true,
        systemRight,
        errors: ['DatabaseUniqueKeyViolation', 'TooManyHeavyRequests'],
      },
    },
    (request) => mappings.update(actorOf(request), idOf(request.params.mapping), request.body),
  )

  http.delete(
    '/api/v1/xmlmapping/mapping/:mapping',
    {
      schema: {
        tags,
        operationId: 'deleteMapping',
        summary: 'Delete a mapping',
        description: 'Where collections, pools or object types name it, that is asked first (202).',
        params: MappingParams,
        querystring: DeleteQuery,
        response: { 200: Type.Object({ acknowledged: Type.Literal(true) }), 202: TaskList },
      },
      config: { access: 'user', writes: true, systemRight, errors: ['UnknownDeletePolicy'] },
    },
    async (request, reply) => {
      const id = idOf(request.params.mapping)
      const tasks = await mappings.remove(actorOf(request), id, request.query.delete_policy)
      if (tasks.length > 0) return reply.status(202).send({ tasks: [...tasks] })
      return reply.send({ acknowledged: true as const })
    },
  )
}

/** @throws {AppError} `ServerGeneric`: only an id names a mapping. */
function idOf(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(id)) throw unknownMapping(text)
  return id
}

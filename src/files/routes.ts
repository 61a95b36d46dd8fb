import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { badRequest } from '../platform/errors.ts'
import { bodyBytes } from '../platform/http/body/drain.ts'
import { streamedBody } from '../platform/http/body/streamed.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { registerArchiveRoutes } from './delivery/archive-routes.ts'
import { binary, partialResponses, sendContent } from './delivery/send.ts'
import type { MetadataInObject, NameInObject } from './delivery/service.ts'
import { readTransformRequest } from './delivery/transform-request.ts'
import { registerFixityRoutes } from './fixity/routes.ts'
import { registerImageRoutes } from './images/routes.ts'
import { registerLocationRoutes } from './locations/routes.ts'
import { registerMoveRoutes } from './moves/routes.ts'
import { nameInDisposition } from './records/file-name.ts'
import { manageFiles, type Resync as ResyncRun } from './renditions/service.ts'
import {
  ChangeQuery,
  DownloadHeaders,
  DownloadParams,
  DownloadQuery,
  FileInput,
  FileParams,
  FileRecord,
  ListQuery,
  ReadQuery,
  Resync,
  SimilarFiles,
  SimilarQuery,
  UploadQuery,
} from './schema.ts'
import type { FileService } from './service.ts'
import type { UploadedFile, UploadsIntoCollections } from './upload/collections.ts'
import { registerDerivedRoutes } from './upload/derived-routes.ts'
import { registerRemoteRoutes } from './upload/from-address/routes.ts'
import { filesOfMultipart, type Incoming, mostFiles } from './upload/multipart.ts'
import { registerResumableRoutes } from './upload/resumable/routes.ts'

const mostIds = 1000
/** The last ones occur where the request asks for values by a mapping. */
const readErrors = ['InsufficientRights', 'MaskNotFound', 'PoolNotFound', 'UnknownObjecttype'] as const

/** Objects made of the metadata of files, by file, as far as the request asks for them. */
type MapMetadata = (
  actor: FastifyRequest['actor'],
  ids: readonly number[],
  query: {
    readonly mapping?: string | undefined
    readonly objecttype?: string | undefined
    readonly mask?: string | undefined
    readonly pool_id?: number | undefined
    readonly mapping_recipe_configs?: string | undefined
  },
) => Promise<ReadonlyMap<number, object>>

export interface FileRouteDeps {
  readonly files: FileService
  readonly nameInObject: NameInObject
  readonly mapMetadata: MapMetadata
  readonly metadataIn: MetadataInObject
  readonly collections: UploadsIntoCollections
}

export async function registerFileRoutes(
  http: HttpApp,
  { files, nameInObject, mapMetadata, metadataIn, collections }: FileRouteDeps,
): Promise<void> {
  registerFixityRoutes(http, files)
  registerLocationRoutes(http, files)
  registerMoveRoutes(http, files)
  await registerImageRoutes(http, files)
  registerArchiveRoutes(http, { files })

  for (const [method, operationId] of [
    ['POST', 'uploadFiles'],
    ['PUT', 'putFiles'],
  ] as const) {
    http.route({
      method,
      url: '/api/v1/eas/put',
      schema: {
        operationId,
        summary: 'Upload files',
        description:
          'One or several files as `multipart/form-data`, or one as the body itself, of any other type; its name is then ' +
          'in `filenames` or in `Content-Disposition`. All are stored or none. Needs the right `asset_upload` ' +
          'somewhere, for files of this class, extension and size. An upload belongs to its uploader until an object has it.',
        tags: ['files'],
        querystring: UploadQuery,
        response: { 200: Type.Array(FileRecord) },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'stream',
        errors: [
          'RightRequired',
          'UploadError',
          'FileLimitExceeded',
          'EasEmptyFilename',
          'EasInvalidFilename',
          'EasNoParentID',
          'DatabaseUniqueKeyViolation',
          'RequestTimeout',
          'CollectionUploadNoObjectFound',
          'ObjectNotFound',
        ],
      },
      handler: async (request) => {
        const { query } = request
        const more = {
          filenames: readList(query.filenames, 'filenames', isText),
          references: readList(query.references, 'references', isText),
          parents: readList(query.id_parents, 'id_parents', isId),
          versions: readList(query.version_names, 'version_names', isText),
        }
        const actor = actorOf(request)
        const permission = await files.permission(actor)
        const into = query.collection === undefined ? null : await collections.into(actor, query.collection)
        if (into && (more.parents.length > 0 || more.versions.length > 0)) {
          throw badRequest('collection: versions of other files become no objects.', { param: 'collection' })
        }
        const wish = { produce: readFlags(query.produce_versions), priority: query.priority ?? 0 }
        const content = incoming(request, more.filenames[0] ?? null)
        const { check_for_duplicates: duplicates, await_version: awaited } = query
        const records = await files.put(actor, content, permission, more, wish, { duplicates, awaited })
        if (!into) return records
        const linked = await into(
          records.map((record, index) => ({ ...uploadedFile(record), path: foldersOf(more.filenames[index]) })),
        )
        return records.map((record, index) => ({ ...record, _linked_objects: linked[index] ?? [] }))
      },
    })
  }

  registerDerivedRoutes(http, { files })
  registerRemoteRoutes(http, { files })
  await registerResumableRoutes(http, files)

  http.get(
    '/api/v1/eas',
    {
      schema: {
        operationId: 'readFiles',
        summary: 'Records of files',
        description: 'By id, those that the caller may see or download.',
        tags: ['files'],
        querystring: ListQuery,
        response: { 200: Type.Record(Type.String(), FileRecord) },
      },
      config: { access: 'optional', writes: false, errors: [...readErrors] },
    },
    async (request) => {
      const ids = readList(request.query.ids, 'ids', isId).filter((id) => id !== null)
      if (ids.length > mostIds) throw badRequest(`ids: at most ${mostIds} at a time.`, { param: 'ids' })
      const { check_for_duplicates: duplicates, obj_uuid: object } = request.query
      const records = await files.read(request.actor, ids, request.query.format ?? 'long', { duplicates, object })
      return Object.fromEntries(
        withMapped(records, await mapMetadata(request.actor, [...records.keys()], request.query)),
      )
    },
  )

  http.get(
    '/api/v1/eas/:fileId',
    {
      schema: {
        operationId: 'readFile',
        summary: 'The record of a file',
        description:
          'With signed addresses of the versions that the caller may have. Rights are those on the objects that have the file.',
        tags: ['files'],
        params: FileParams,
        querystring: ReadQuery,
        response: { 200: FileRecord },
      },
      config: { access: 'optional', writes: false, errors: [...readErrors] },
    },
    async (request) => {
      const { fileId } = request.params
      const { check_for_duplicates: duplicates, obj_uuid: object, await_version: awaited, format } = request.query
      const more = { duplicates, object, awaited }
      const records = await files.read(request.actor, [fileId], format ?? 'long', more)
      return withMapped(records, await mapMetadata(request.actor, [...records.keys()], request.query)).get(fileId) ?? {}
    },
  )

  http.get(
    '/api/v1/eas/:fileId/similar',
    {
      schema: {
        operationId: 'similarFiles',
        summary: 'Pictures that look like a file',
        description:
          'The most similar first, those that the caller may see or download: copies in another size, format or ' +
          'brightness, and the same content. None where the file is no picture, or has not been looked at yet.',
        tags: ['files'],
        params: FileParams,
        querystring: SimilarQuery,
        response: { 200: SimilarFiles },
      },
      config: { access: 'optional', writes: false, errors: ['InsufficientRights'] },
    },
    async ({ actor, params, query }) => files.similar(actor, params.fileId, query),
  )

  http.post(
    '/api/v1/eas/:fileId',
    {
      schema: {
        operationId: 'changeFile',
        summary: 'Change the name or the reference of a file',
        description: 'For its uploader, and for callers who may change an object that has it.',
        tags: ['files'],
        params: FileParams,
        querystring: ChangeQuery,
        body: FileInput,
        response: { 200: Type.Object({ status: Type.Object({ acknowledged: Type.Literal('ok') }) }) },
      },
      config: {
        access: 'user',
        writes: true,
        errors: ['InsufficientRights', 'EasEmptyFilename', 'EasInvalidFilename', 'DatabaseUniqueKeyViolation'],
      },
    },
    async (request) => {
      const { filename, reference } = request.body
      const checkOnly = request.query.permission_check_only === true
      await files.change(actorOf(request), request.params.fileId, { filename, reference }, checkOnly)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  http.post(
    '/api/v1/eas/resync',
    {
      schema: {
        operationId: 'resyncFiles',
        summary: 'Make renditions anew',
        description:
          'Looks through all files, in the background: what is missing is made, what was made by another recipe is made ' +
          'anew, what no recipe makes any more is removed. While one run goes on, it is answered. Needs `system.root`.',
        tags: ['files'],
        response: { 200: Resync },
      },
      config: { access: 'user', writes: true, systemRight: manageFiles, errors: [] },
    },
    async (request) => renderResync(await files.renditions.resync(actorOf(request))),
  )

  http.get(
    '/api/v1/eas/resync',
    {
      schema: {
        operationId: 'listResyncs',
        summary: 'Runs that made renditions anew',
        description: 'The latest ones, newest first, with their progress. Needs `system.root`.',
        tags: ['files'],
        response: { 200: Type.Array(Resync) },
      },
      config: { access: 'user', writes: false, systemRight: manageFiles, errors: [] },
    },
    async (request) => (await files.renditions.resyncs(actorOf(request))).map(renderResync),
  )

  http.route({
    method: ['GET', 'HEAD'],
    url: '/api/v1/eas/download/:fileId/:hash/:version',
    schema: {
      operationId: 'downloadFile',
      summary: 'The content of a file',
      description:
        'At the addresses that records of files have. With a signature no token is needed; without one the caller needs ' +
        '`asset_show` or `asset_download` on an object that has the file. Answers ranges and conditional requests. Pictures ' +
        'also come in another size or format, made for the request.',
      tags: ['files'],
      params: DownloadParams,
      querystring: DownloadQuery,
      headers: DownloadHeaders,
      response: {
        200: { description: 'The content.', content: binary },
        ...partialResponses,
      },
    },
    config: {
      access: 'optional',
      writes: false,
      errors: [
        'InsufficientRights',
        'PreconditionFailed',
        'RangeNotSatisfiable',
        'ResourceNotFound',
        'UrlParameterNotSupported',
        'ServiceUnavailable',
        'TooManyHeavyRequests',
      ],
    },
    compress: false,
    handler: async (request, reply) => {
      const signature = request.query['x-svc-signature'] ?? request.headers['x-svc-signature']
      const { obj_uuid: objUuid = null, ...query } = request.query
      const transform = readTransformRequest(query, files.presets())
      const asked = { signature, transform, nameIn: nameInObject, metadataIn }
      return sendContent(request, reply, (signal) =>
        files.download(request.actor, { ...request.params, objUuid }, { ...asked, signal }),
      )
    },
  })
}

function withMapped<T extends Record<string, unknown>>(
  records: ReadonlyMap<number, T>,
  objects: ReadonlyMap<number, object>,
) {
  return new Map(
    [...records].map(([id, record]) => {
      const object = objects.get(id)
      return [id, object ? { ...record, _mapped_metadata: object } : record] as const
    }),
  )
}

function renderResync(run: ResyncRun) {
  const { id, startedAt, finishedAt, total, checked, queued, removed, marks } = run
  const percent = finishedAt || total === 0 ? 100 : Math.min(99, Math.floor((100 * checked) / total))
  return {
    _id: id,
    scope: marks ? ('marks' as const) : ('all' as const),
    status: finishedAt ? ('done' as const) : ('running' as const),
    percent_done: percent,
    total,
    checked,
    queued,
    removed,
    started_at: startedAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
  }
}

/** The files in the body, in either form. */
function incoming(request: FastifyRequest, name: string | null): AsyncIterable<Incoming> | AsyncGenerator<Incoming> {
  const type = request.headers['content-type'] ?? ''
  const body = streamedBody(request)
  if (/^multipart\/form-data\b/i.test(type)) return filesOfMultipart(type, body)
  return one({
    name: name || nameInDisposition(request.headers['content-disposition']),
    content: body,
    bytes: bodyBytes(request),
  })
}

async function* one(file: Incoming): AsyncGenerator<Incoming> {
  yield file
}

/** A JSON list in a query string. @throws {AppError} naming the parameter. */
function readList<T>(text: string | undefined, param: string, fits: (value: unknown) => value is T): (T | null)[] {
  if (text === undefined) return []
  const list = parseJson(text)
  const most = param === 'ids' ? mostIds : mostFiles
  if (Array.isArray(list) && list.length <= most && list.every((value) => value === null || fits(value))) return list
  throw badRequest(`${param} must be a JSON list of at most ${most} values of the right type.`, { param })
}

/** Whether a flag is set for the file at a place: one JSON value for all, or a list; true where it is absent. */
function readFlags(text: string | undefined): (index: number) => boolean {
  if (text === 'true' || text === 'false') return () => text === 'true'
  const flags = readList(text, 'produce_versions', (value) => typeof value === 'boolean')
  return (index) => flags[index] ?? true
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 1000 && value.isWellFormed() && !value.includes('\0')

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/** The folders in a sent name: the part before its last slash. */
function foldersOf(name: string | null | undefined): string {
  const steps = (name ?? '').split(/[/\\]/).slice(0, -1)
  return steps.filter((step) => step.trim() !== '' && step !== '.' && step !== '..').join('/')
}

function uploadedFile(record: Readonly<Record<string, unknown>>): Omit<UploadedFile, 'path'> {
  const {
    _id,
    original_filename: name,
    filesize: bytes,
  } = record as {
    readonly _id: number
    readonly original_filename: string
    readonly filesize: number
  }
  return { fileId: _id, name, bytes }
}

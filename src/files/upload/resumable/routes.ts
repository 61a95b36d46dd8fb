import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AppError, badRequest } from '../../../platform/errors.ts'
import { streamedBody } from '../../../platform/http/body/streamed.ts'
import { actorOf, type HttpApp } from '../../../platform/http/http.ts'
import { onSurface } from '../../../platform/http/surface.ts'
import { utf8Text } from '../../../platform/values/utf8.ts'
import { type NewResumable, type ResumableService, uploadLifetime } from './service.ts'
import type { ResumableUpload } from './store.ts'

const version = '1.0.0'
const pieces = 'application/offset+octet-stream'
const path = '/api/v1/eas/tus'
const extensions = 'creation,creation-with-upload,expiration,termination'

/** The largest value of `Upload-Length`. */
const longest = 999_999_999_999_999

/** The headers of OPTIONS, which describe the server (tus 1.0, OPTIONS): without them clients do not know how to send. */
const optionsHeaders = (mostBytes: number) => ({
  'Tus-Resumable': version,
  'Tus-Version': version,
  'Tus-Extension': extensions,
  // Types of files may have lower limits, and there may be less space.
  'Tus-Max-Size': String(Math.min(longest, mostBytes)),
})

/** Headers of extensions that are not supported here and would change the upload. */
const otherExtensions: Readonly<Record<string, string>> = {
  'upload-defer-length': 'creation-defer-length',
  'upload-concat': 'concatenation',
  'upload-checksum': 'checksum',
}

const Params = Type.Object({ uploadId: Type.String({ format: 'uuid', description: 'Id of the upload.' }) })
const Version = {
  'tus-resumable': Type.Optional(Type.String({ maxLength: 20, description: `Version of the protocol: ${version}.` })),
}
const Bytes = (description: string) => Type.Optional(Type.String({ pattern: '^\\d{1,15}$', description }))
const Nothing = Type.Unsafe<undefined>({ description: 'How it stands is in the headers.' })

const errors = [
  'TusVersion',
  'RightRequired',
  'UploadError',
  'FileLimitExceeded',
  'PayloadTooLarge',
  'EasEmptyFilename',
  'EasInvalidFilename',
  'EasNoParentID',
] as const
const errorsOfPieces = [
  'UploadConflict',
  'ResourceNotFound',
  'UnsupportedMediaType',
  'DatabaseUniqueKeyViolation',
] as const

interface UploadRequest extends FastifyRequest {
  readonly params: { readonly uploadId: string }
}

/** Uploads that can be resumed: tus 1.0 with creation, creation-with-upload, expiration and termination. */
export async function registerResumableRoutes(app: HttpApp, { uploads }: { uploads: ResumableService }): Promise<void> {
  const surface = { ...app.surface, name: 'tus', optionsHeaders: optionsHeaders(uploads.mostBytes) }
  await onSurface(app, surface, (scope) => uploadRoutes(scope, uploads))
}

function uploadRoutes(http: HttpApp, uploads: ResumableService): void {
  async function tellOf(request: UploadRequest, reply: FastifyReply): Promise<FastifyReply> {
    const upload = await uploads.find(actorOf(request), request.params.uploadId)
    return tell(reply.header('Cache-Control', 'no-store'), upload).header('Upload-Length', upload.size).send()
  }

  async function takePiece(request: UploadRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (request.headers['content-type'] !== pieces) {
      throw new AppError('UnsupportedMediaType', {}, { message: `Pieces of an upload have the type ${pieces}.` })
    }
    const offset = request.headers['upload-offset']
    if (typeof offset !== 'string')
      throw badRequest('Upload-Offset must say where the piece begins.', { name: 'upload-offset' })
    const { uploadId } = request.params
    const upload = await uploads.append(actorOf(request), uploadId, Number(offset), streamedBody(request))
    return tell(reply.status(204), upload).send()
  }

  async function giveUp(request: UploadRequest, reply: FastifyReply): Promise<FastifyReply> {
    await uploads.remove(actorOf(request), request.params.uploadId)
    return reply.status(204).send()
  }

  /** The methods that `X-HTTP-Method-Override` can name. */
  const byMethod: Readonly<Record<string, typeof tellOf>> = { HEAD: tellOf, PATCH: takePiece, DELETE: giveUp }

  http.post(
    path,
    {
      schema: {
        operationId: 'createUpload',
        summary: 'Begin an upload in pieces',
        description:
          'The tus protocol, version 1.0, with creation, creation-with-upload, expiration and termination. Rights and ' +
          'limits are those of any upload. A body of the type `application/offset+octet-stream` is the first piece.',
        tags: ['files'],
        headers: Type.Object({
          ...Version,
          'upload-length': Bytes('Bytes of the whole file.'),
          'upload-metadata': Type.Optional(
            Type.String({
              maxLength: 8192,
              description: 'Pairs of a key and a value in base64: `filename` (or `name`), `reference`, `id_parent`.',
            }),
          ),
        }),
        consumes: [pieces],
        response: { 201: Nothing },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'stream',
        bodyOptional: true,
        outlivesClient: true,
        errors: [...errors, 'DatabaseUniqueKeyViolation', 'RequestTimeout'],
      },
    },
    async (request, reply) => {
      speak(request, reply)
      const length = request.headers['upload-length']
      if (length === undefined)
        throw badRequest('Upload-Length must say how long the file is.', { name: 'upload-length' })
      const wanted = { size: Number(length), ...metadataOf(request.headers['upload-metadata']) }
      const actor = actorOf(request)
      const id = await uploads.create(actor, wanted)
      reply.header('Location', `${path}/${id}`)
      const first = request.headers['content-type'] === pieces || wanted.size === 0
      const upload = first ? await uploads.append(actor, id, 0, streamedBody(request)) : await uploads.find(actor, id)
      return tell(reply.status(201), upload).send()
    },
  )

  http.route({
    method: 'HEAD',
    url: `${path}/:uploadId`,
    schema: {
      operationId: 'readUpload',
      summary: 'How far an upload in pieces is',
      description: '`Upload-Offset` says how much is there, `X-Svc-File-Id` which file it became.',
      tags: ['files'],
      params: Params,
      headers: Type.Object(Version),
      response: { 200: Nothing },
    },
    config: {
      access: 'user',
      writes: false,
      errors: ['TusVersion', 'ResourceNotFound'],
      neverKept: 'it changes with each piece',
    },
    handler: async (request, reply) => {
      speak(request, reply)
      return tellOf(request, reply)
    },
  })

  http.patch(
    `${path}/:uploadId`,
    {
      schema: {
        operationId: 'continueUpload',
        summary: 'Send the next piece of an upload',
        description: 'What arrives is kept, also when the request breaks off. With the last piece it becomes a file.',
        tags: ['files'],
        params: Params,
        consumes: [pieces],
        headers: Type.Object({ ...Version, 'upload-offset': Bytes('Where the piece begins.') }),
        response: { 204: Nothing },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'stream',
        outlivesClient: true,
        errors: [...errors, ...errorsOfPieces, 'RequestTimeout'],
      },
    },
    async (request, reply) => {
      speak(request, reply)
      return takePiece(request, reply)
    },
  )

  http.delete(
    `${path}/:uploadId`,
    {
      schema: {
        operationId: 'cancelUpload',
        summary: 'Give up an upload in pieces',
        description: 'A file that it became stays.',
        tags: ['files'],
        params: Params,
        headers: Type.Object(Version),
        response: { 204: Nothing },
      },
      config: { access: 'user', writes: true, errors: ['TusVersion', 'ResourceNotFound'] },
    },
    async (request, reply) => {
      speak(request, reply)
      return giveUp(request, reply)
    },
  )

  http.post(
    `${path}/:uploadId`,
    {
      schema: {
        operationId: 'overrideUploadMethod',
        summary: 'PATCH, HEAD or DELETE of an upload, for clients that can only POST',
        description: '`X-HTTP-Method-Override` says which of them it is; all else is as there.',
        tags: ['files'],
        params: Params,
        consumes: [pieces],
        headers: Type.Object({
          ...Version,
          'x-http-method-override': Type.Optional(
            Type.String({ maxLength: 20, description: '`PATCH`, `HEAD` or `DELETE`.' }),
          ),
          'upload-offset': Bytes('Where the piece begins.'),
        }),
        response: { 200: Nothing, 204: Nothing },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'stream',
        bodyOptional: true,
        optionsHeaders: optionsHeaders(uploads.mostBytes),
        outlivesClient: true,
        errors: [...errors, ...errorsOfPieces, 'RequestTimeout'],
      },
    },
    async (request, reply) => {
      const method = overriding(request) ?? ''
      speak(request, reply, method)
      const handler = Object.hasOwn(byMethod, method) ? byMethod[method] : undefined
      if (handler) return handler(request, reply)
      const message = 'X-HTTP-Method-Override must be PATCH, HEAD or DELETE: an upload takes no POST.'
      throw badRequest(message, { name: 'x-http-method-override' })
    },
  )
}

function overriding({ headers }: FastifyRequest): string | undefined {
  const said = headers['x-http-method-override']
  return typeof said === 'string' ? said.toUpperCase() : undefined
}

/** A client that cannot send a method sends a POST that names it. */
function speak(request: FastifyRequest, reply: FastifyReply, method: string = request.method): void {
  reply.header('Tus-Resumable', version)
  if ((overriding(request) ?? method) !== method) {
    throw badRequest(`X-HTTP-Method-Override cannot make another method of ${method}`, {
      name: 'x-http-method-override',
    })
  }
  if (request.headers['tus-resumable'] !== version) {
    reply.header('Tus-Version', version)
    throw new AppError('TusVersion', { version })
  }
  const [header, extension] = Object.entries(otherExtensions).find(([name]) => name in request.headers) ?? []
  if (header === undefined) return
  reply.header('Tus-Extension', extensions)
  throw badRequest(`${header} belongs to the extension ${extension}, which is not spoken here`, {
    name: header,
    extension,
  })
}

function tell(reply: FastifyReply, upload: ResumableUpload): FastifyReply {
  reply.header('Upload-Offset', upload.received)
  if (upload.fileId !== null) return reply.header('X-Svc-File-Id', upload.fileId)
  return reply.header('Upload-Expires', new Date(upload.touchedAt.getTime() + uploadLifetime).toUTCString())
}

/** Other keys have a meaning only for clients. @throws {AppError} */
function metadataOf(header = ''): Omit<NewResumable, 'size'> {
  const values = new Map<string, string>()
  for (const pair of header.split(',')) {
    const [key = '', value = ''] = pair.trim().split(' ')
    // The decoder skips characters that are not base64, and the result would be another text.
    if (!/^[A-Za-z\d+/]*={0,2}$/.test(value)) throw badRequest(`Upload-Metadata: ${key} is not base64.`)
    const text = utf8Text(Buffer.from(value, 'base64'), `Upload-Metadata: ${key}`)
    if (text.includes('\0') || text.length > 1000) throw badRequest(`Upload-Metadata: ${key} cannot be read.`)
    values.set(key, text)
  }
  const parent = values.get('id_parent')
  if (parent !== undefined && !/^[1-9]\d{0,15}$/.test(parent)) {
    throw badRequest('Upload-Metadata: id_parent must be the id of a file.')
  }
  return {
    filename: values.get('filename') || values.get('name') || '',
    reference: values.get('reference')?.normalize('NFC') || null,
    parentId: parent === undefined ? null : Number(parent),
  }
}

import { Type } from 'typebox'
import { AppError } from '../../../platform/errors.ts'
import { actorOf, type HttpApp } from '../../../platform/http/http.ts'
import { BulkInput, BulkQuery, FileRecord, RemoteInput, RemoteQuery } from '../../schema.ts'
import type { FileService } from '../../service.ts'
import { checkedUrl, type RemoteSource } from './fetch.ts'

const errors = [
  'RightRequired',
  'UploadError',
  'FileLimitExceeded',
  'EasInvalidURL',
  'EasEmptyFilename',
  'EasInvalidFilename',
  'EasRputError',
  'EasRputErrorContentLength',
  'SkipHeadRequestError',
  'EasNoParentID',
  'DatabaseUniqueKeyViolation',
] as const

export function registerRemoteRoutes(
  http: HttpApp,
  { files }: { files: Pick<FileService, 'permission' | 'putRemote'> },
) {
  http.post(
    '/api/v1/eas/rput',
    {
      schema: {
        operationId: 'fetchFile',
        summary: 'Upload a file from an address',
        description:
          'The service fetches the file, and answers when it is stored. Addresses of private networks are refused, also ' +
          'behind redirects. Rights and limits are those of an upload.',
        tags: ['files'],
        querystring: RemoteQuery,
        body: Type.Union([RemoteInput, Type.Null()]),
        response: { 200: Type.Array(FileRecord) },
      },
      config: { access: 'user', writes: true, bodyOptional: true, errors },
    },
    async (request) => {
      const permission = await files.permission(actorOf(request))
      const { skip_duplicate_reference: skipDuplicates = false, priority = 0, ...source } = request.query
      return files.putRemote(actorOf(request), [checked(source)], permission, { skipDuplicates, priority })
    },
  )

  http.post(
    '/api/v1/eas/rput/bulk',
    {
      schema: {
        operationId: 'fetchFiles',
        summary: 'Upload files from addresses',
        description: 'As one from an address; all are stored or none. Some are fetched at the same time.',
        tags: ['files'],
        querystring: BulkQuery,
        body: BulkInput,
        response: { 200: Type.Array(FileRecord) },
      },
      config: { access: 'user', writes: true, errors },
    },
    async (request) => {
      const permission = await files.permission(actorOf(request))
      const { skip_duplicate_reference: skipDuplicates = false, priority = 0 } = request.query
      return files.putRemote(actorOf(request), request.body.map(checked), permission, { skipDuplicates, priority })
    },
  )
}

/** @throws {AppError} naming the wrong member. */
function checked(source: RemoteSource): RemoteSource {
  const url = checkedUrl(source.url)
  if (source.skip_head_request && !source.filename) {
    const message = 'With skip_head_request the name must be in filename.'
    throw new AppError('SkipHeadRequestError', { url }, { message })
  }
  return { ...source, url }
}

import { Type } from 'typebox'
import type { HttpApp } from '../../platform/http/http.ts'
import { whenClosed } from '../../platform/limits/when-closed.ts'
import { ArchiveEntry, ArchiveParams, ArchiveQuery, DownloadHeaders } from '../schema.ts'
import type { FileService } from '../service.ts'
import { deliver } from './deliver.ts'
import { binary, partialResponses } from './send.ts'

export function registerArchiveRoutes(http: HttpApp, { files }: { files: Pick<FileService, 'downloadWithin'> }): void {
  http.route({
    method: ['GET', 'HEAD'],
    url: '/api/v1/eas/download/:fileId/:hash/:version/*',
    schema: {
      operationId: 'downloadFromArchive',
      summary: 'An entry of a ZIP archive',
      description:
        'The entry at a path in the archive: the content of a file, or the entries of a folder, as JSON. An empty path is the ' +
        'folder of all. Nothing is unpacked before. Signature and rights are those of the archive.',
      tags: ['files'],
      params: ArchiveParams,
      querystring: ArchiveQuery,
      headers: DownloadHeaders,
      response: {
        200: {
          description: 'The content, or the list of a folder.',
          content: { 'application/json': { schema: Type.Array(ArchiveEntry) }, ...binary },
        },
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
        'ServerGeneric',
        'ServiceUnavailable',
      ],
    },
    compress: false,
    handler: async (request, reply) => {
      const { '*': path, ...params } = request.params
      const place = { ...params, objUuid: request.query.obj_uuid ?? null }
      const signature = request.query['x-svc-signature'] ?? request.headers['x-svc-signature']
      const gone = new AbortController()
      whenClosed(reply.raw, () => gone.abort())
      const found = await files.downloadWithin(request.actor, place, signature, path, gone.signal)
      if (found.kind === 'file') {
        try {
          return await deliver(request, reply, found.delivery)
        } catch (error) {
          found.delivery.failed(error as Error)
          throw error
        }
      }
      const { keep, entries } = found
      reply.headers({
        'Content-Type': 'application/json; charset=utf-8',
        'Cache-Control': keep > 0 ? `private, max-age=${keep}` : 'private, no-cache',
      })
      return reply.send(
        entries.map(({ name, path: at, size, modified, folder }) => ({
          name,
          path: at,
          size,
          mod_time: modified.toISOString(),
          is_dir: folder,
        })),
      )
    },
  })
}

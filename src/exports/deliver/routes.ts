import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { binary, deliver, partialResponses } from '../../files/service.ts'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { requestFacts } from '../../platform/http/request-facts.ts'
import { whenClosed } from '../../platform/limits/when-closed.ts'
import type { ExportService } from '../service.ts'
import { archives } from './archive.ts'
import { indexPage } from './index-page.ts'
import type { Fetched } from './model.ts'
import { type PackageKind, packageKinds } from './packages/model.ts'
import { createArchiveSender } from './send-archive.ts'
import type { Deliveries } from './service.ts'

const tags = ['export']
const exportId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the export.' })
const uuid = Type.String({ format: 'uuid', description: 'That of one of its transports.' })
const path = Type.String({ maxLength: 2000, description: 'A path in the export; empty: all of it.' })
const Params = {
  own: Type.Object({ exportId, '*': path }),
  uuid: Type.Object({ exportId, uuid, '*': path }),
}
const Query = Type.Object({
  package: Type.Optional(
    Type.Enum(packageKinds, {
      description:
        'As a package: `bagit` (RFC 8493, SHA-512), `ocfl` (an object with one version, OCFL 1.1) or `ro_crate` (RO-Crate 1.1).',
    }),
  ),
})
const errors = [
  'InsufficientRights',
  'FileNotDone',
  'FileNotFound',
  'FileVersionNotAvailable',
  'PreconditionFailed',
  'RangeNotSatisfiable',
  'ResourceNotFound',
  'ServerGeneric',
  'ServiceUnavailable',
  'TooManyHeavyRequests',
  'UrlParameterNotSupported',
] as const

export interface DownloadRouteDeps {
  readonly exports: Pick<ExportService, 'find'>
  readonly deliveries: Deliveries
  readonly mostArchives: number
}

interface DownloadParams {
  readonly exportId: number
  readonly uuid?: string
  readonly '*': string
}

/** Results of runs, with the token of the export's user or with the uuid of a transport. */
export function registerDownloadRoutes(app: HttpApp, { exports, deliveries, mostArchives }: DownloadRouteDeps): void {
  const sendArchive = createArchiveSender({ deliveries, mostArchives })

  /** @throws {AppError} where the caller may not fetch it, or it does not exist yet */
  async function fetched(request: FastifyRequest): Promise<Fetched> {
    const { exportId: id, uuid: transport } = request.params as DownloadParams
    const facts = { request: requestFacts(request) }
    if (transport !== undefined) return { ...(await deliveries.byUuid(id, transport)), ...facts }
    const actor = actorOf(request)
    return { ...(await deliveries.fetched(await exports.find(actor, id), actor)), ...facts }
  }

  /** The file at the path, or the page of a folder. */
  async function sendFile(request: FastifyRequest, reply: FastifyReply, from: Fetched): Promise<FastifyReply> {
    const { '*': at } = request.params as DownloadParams
    const gone = new AbortController()
    let end = (): void => {}
    whenClosed(reply.raw, () => {
      gone.abort()
      end()
    })
    const found = await deliveries.at(from, at, gone.signal)
    if (found.kind === 'folder') return sendPage(reply, indexPage(from.stored.name, folderOf(at), found).toString())
    end = found.delivery.end
    if (gone.signal.aborted) end()
    try {
      return await deliver(request, reply, found.delivery)
    } catch (error) {
      deliveries.logFailure(from, `file/${at}`, 'file', error as Error)
      throw error
    }
  }

  for (const by of ['own', 'uuid'] as const) {
    const place = by === 'own' ? '/api/v1/export/:exportId' : '/api/v1/export/:exportId/uuid/:uuid'
    const access = by === 'own' ? ('user' as const) : ('public' as const)
    const told =
      by === 'own'
        ? 'For the user of the export.'
        : 'Needs no token: the uuid gives the rights of the user of the export.'

    app.route({
      method: ['GET', 'HEAD'],
      url: `${place}/file/*`,
      schema: {
        operationId: by === 'own' ? 'readExportFile' : 'readExportFileByUuid',
        summary: 'A file of an export',
        description:
          'Or, for an empty path and one that ends with a slash, a page that shows what is there. Files of objects are ' +
          `delivered with the rights that the user of the export has then. ${told}`,
        tags,
        params: Params[by],
        response: {
          200: {
            description: 'The file, or the page.',
            content: { 'text/html': { schema: Type.String() }, ...binary },
          },
          ...partialResponses,
        },
      },
      config: {
        access,
        writes: false,
        neverKept: 'rights may be lost',
        errors,
      },
      compress: false,
      handler: async (request, reply) => {
        return sendFile(request, reply, await fetched(request))
      },
    })

    for (const kind of ['zip', 'tar_gz'] as const) {
      app.get(
        `${place}/${kind}/*`,
        {
          schema: {
            operationId: `${kind === 'zip' ? 'zipExport' : 'tarExport'}${by === 'own' ? '' : 'ByUuid'}`,
            summary: `An export as ${kind === 'zip' ? 'ZIP' : 'TAR.GZ'}`,
            description: `All of it, or the contents of a folder; at the path of a file that file alone, as it is. Files of objects are delivered with the rights that the user of the export has then. ${told}`,
            tags,
            params: Params[by],
            querystring: Query,
            response: {
              200: {
                description: 'The archive, or the file.',
                content: { [archives[kind].contentType]: binary['application/octet-stream'], ...binary },
              },
              ...partialResponses,
            },
          },
          config: {
            access,
            writes: false,
            neverKept: 'rights may be lost',
            errors,
          },
          compress: false,
        },
        async (request, reply) => {
          const { package: packed } = request.query as { readonly package?: PackageKind }
          const { '*': at } = request.params as DownloadParams
          const from = await fetched(request)
          if (!packed && (await deliveries.isFile(from, at))) return sendFile(request, reply, from)
          return sendArchive(request, reply, from, { kind, folder: folderOf(at), ...(packed ? { packed } : {}) })
        },
      )
    }
  }
}

const folderOf = (at: string): string => at.replace(/\/$/, '')

/** The page runs no scripts: names of files are not ours. */
function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .headers({
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': "default-src 'none'",
      'Cache-Control': 'private, no-store',
      'X-Content-Type-Options': 'nosniff',
    })
    .send(page)
}

import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { binary, deliver, disposition, partialResponses } from '../../files/service.ts'
import { AppError } from '../../platform/errors.ts'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { requestFacts } from '../../platform/http/request-facts.ts'
import { callerOf } from '../../platform/limits/callers.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import { archiveName } from '../render.ts'
import type { ExportService } from '../service.ts'
import { type ArchiveKind, archiveOf, archives } from './archive.ts'
import { indexPage } from './index-page.ts'
import type { Fetched } from './model.ts'
import { type PackageKind, packageKinds } from './packages/model.ts'
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
const errors = ['InsufficientRights', 'FileNotDone', 'FileNotFound', 'ServerGeneric', 'ServiceUnavailable'] as const

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
  const taking = new Map<string, number>()

  /** Takes one of the caller's places for archives, until it is given back. @throws {AppError} `TooManyHeavyRequests` */
  function take(who: string): () => void {
    const count = taking.get(who) ?? 0
    if (count >= mostArchives) {
      throw new AppError('TooManyHeavyRequests', { quota: 'svc.quotas.archives', most: mostArchives, retry_after: 30 })
    }
    taking.set(who, count + 1)
    return () => {
      const left = (taking.get(who) ?? 1) - 1
      if (left > 0) taking.set(who, left)
      else taking.delete(who)
    }
  }

  /** @throws {AppError} where the caller may not fetch it, or it does not exist yet */
  async function fetched(request: FastifyRequest): Promise<Fetched> {
    const { exportId: id, uuid: transport } = request.params as DownloadParams
    const facts = { request: requestFacts(request) }
    if (transport !== undefined) return { ...(await deliveries.byUuid(id, transport)), ...facts }
    const actor = actorOf(request)
    return { ...(await deliveries.fetched(await exports.find(actor, id), actor)), ...facts }
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
        errors: [
          ...errors,
          'FileVersionNotAvailable',
          'PreconditionFailed',
          'RangeNotSatisfiable',
          'ResourceNotFound',
          'UrlParameterNotSupported',
          'TooManyHeavyRequests',
        ],
      },
      compress: false,
      handler: async (request, reply) => {
        const from = await fetched(request)
        const { '*': at } = request.params as DownloadParams
        const gone = new AbortController()
        let end = (): void => {}
        reply.raw.once('close', () => {
          gone.abort()
          end()
        })
        const found = await deliveries.at(from, at, gone.signal)
        if (found.kind === 'folder') return sendPage(reply, indexPage(from.stored.name, folderOf(at), found).toString())
        end = found.delivery.end
        try {
          return await deliver(request, reply, found.delivery)
        } catch (error) {
          deliveries.logFailure(from, `file/${at}`, error as Error)
          throw error
        }
      },
    })

    for (const kind of ['zip', 'tar_gz'] as const) {
      app.get(
        `${place}/${kind}/*`,
        {
          schema: {
            operationId: `${kind === 'zip' ? 'zipExport' : 'tarExport'}${by === 'own' ? '' : 'ByUuid'}`,
            summary: `An export as ${kind === 'zip' ? 'ZIP' : 'TAR.GZ'}`,
            description: `All of it, or the contents of a folder. Files of objects are delivered with the rights that the user of the export has then. ${told}`,
            tags,
            params: Params[by],
            querystring: Query,
            response: {
              200: {
                description: 'The archive.',
                content: { [archives[kind].contentType]: binary['application/octet-stream'] },
              },
            },
          },
          config: {
            access,
            writes: false,
            neverKept: 'rights may be lost',
            errors: [...errors, 'TooManyHeavyRequests'],
          },
          compress: false,
        },
        (request, reply) => sendArchive(request, reply, kind),
      )
    }
  }

  async function sendArchive(request: FastifyRequest, reply: FastifyReply, kind: ArchiveKind): Promise<FastifyReply> {
    const from = await fetched(request)
    const folder = folderOf((request.params as DownloadParams)['*'])
    if (folder !== '' && !(await deliveries.has(from, folder))) throw new AppError('FileNotFound', { path: folder })
    const giveBack = take(callerOf(from.caller ?? from.owner, request.ip))
    const gone = new AbortController()
    const { package: packed } = request.query as { readonly package?: PackageKind }
    const what = `${kind}/${folder}${packed ? `?package=${packed}` : ''}`
    const entries = () =>
      packed
        ? deliveries.packageOf(from, { kind: packed, part: folder, folder: archiveName(from.stored) }, gone.signal)
        : deliveries.entriesOf(from, folder, gone.signal)
    const archive = outsideDeadlines(() => archiveOf(kind, entries()))
    try {
      await begun(archive)
    } catch (error) {
      giveBack()
      deliveries.logFailure(from, what, error as Error)
      throw error
    }
    const { contentType, extension } = archives[kind]
    reply.headers({
      'Content-Type': contentType,
      'Content-Disposition': disposition('attachment', `${from.stored.name}.${extension}`),
      'Cache-Control': 'private, no-store',
      'X-Content-Type-Options': 'nosniff',
    })
    const counted = countedOf(archive)
    reply.raw.once('close', () => {
      gone.abort()
      giveBack()
      archive.destroy()
      if (counted.failure) deliveries.logFailure(from, what, counted.failure)
      else if (archive.readableEnded) deliveries.logDownload(from, { what, bytes: counted.bytes, objects: { folder } })
      else deliveries.logFailure(from, what, new Error('the archive was not taken to its end'))
    })
    return reply.send(archive)
  }
}

/** Resolves when a stream has data, so that an earlier error can be answered. @throws the error of the stream */
function begun(stream: Readable): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  stream.once('readable', resolve)
  stream.once('error', reject)
  return promise.finally(() => {
    stream.off('readable', resolve)
    stream.off('error', reject)
  })
}

/** Counts the bytes that are read from a stream. */
function countedOf(source: Readable): { bytes: number; failure: Error | null } {
  const counted = { bytes: 0, failure: null as Error | null }
  source.pause()
  source.on('data', (piece: Buffer) => {
    counted.bytes += piece.length
  })
  source.pause()
  source.once('error', (error) => {
    counted.failure = error
  })
  return counted
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

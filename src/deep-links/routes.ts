import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import {
  deliver,
  disposition,
  type FileService,
  isShown,
  type MetadataInObject,
  type NameInObject,
} from '../files/service.ts'
import type { HttpApp } from '../platform/http/http.ts'
import { onSurface } from '../platform/http/surface.ts'
import { deepLinkPath } from '../platform/values/deep-link.ts'
import { pathError } from './path.ts'
import type { DeepLinkAnswer, DeepLinkService, Document } from './service.ts'

export interface DeepLinkRouteDeps {
  readonly deepLinks: DeepLinkService
  readonly files: Pick<FileService, 'download'>
  readonly nameInObject: NameInObject
  readonly metadataIn: MetadataInObject
}

/** Kept, and asked for again each time: what a caller may see is another thing tomorrow. */
const cacheControl = 'no-cache, must-revalidate'

const inert = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'"

const PathParams = Type.Object({
  '*': Type.String({
    maxLength: 4096,
    description:
      'Selectors: an object (`id/…`, `uuid/…`, `column/…`), and what of it (`mask`, `file`, `file_browser`, `file_version`, `format`, `disposition`).',
  }),
})

const Query = Type.Object({
  disposition: Type.Optional(
    Type.Enum(['inline', 'attachment'], {
      description: 'Whether a browser is to show what is answered or to save it; as `disposition/…` in the path.',
    }),
  ),
})

/** Pages of any origin may read what is behind deep links: viewers load manifests from everywhere. */
export async function registerDeepLinkRoutes(app: HttpApp, deps: DeepLinkRouteDeps): Promise<void> {
  await onSurface(app, { ...app.surface, name: 'deep-links', origins: 'any' }, (http) => {
    http.route({
      method: ['GET', 'HEAD'],
      url: `${deepLinkPath}/*`,
      schema: {
        operationId: 'openDeepLink',
        summary: 'An object or one of its files by its address',
        description:
          'As a document in a format (`json`, `xml_native`, `csv`, `html`, `dc`, `xslt/<sheet>`, `iiif/v3/manifest.json`), or a file. ' +
          'Callers without a token are the system user `deep_link`. Rights on the object count; files need `asset_download`. ' +
          'Answers conditional requests, and ranges of files.',
        tags: ['deep links'],
        params: PathParams,
        querystring: Query,
        response: {
          200: {
            description: 'The document or the file.',
            content: {
              'application/json': { schema: Type.Unsafe<unknown>({}) },
              'application/octet-stream': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) },
            },
          },
          206: {
            description: 'A part of a file, for a `Range`.',
            content: {
              'application/octet-stream': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) },
            },
          },
          304: Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' }),
          416: { description: 'The range lies behind the end.', content: { 'text/plain': { schema: Type.String() } } },
        },
      },
      config: {
        access: 'optional',
        writes: false,
        errors: [
          'ApiObjectPath',
          'DeepLinkAccessByColumnDisabled',
          'DeepLinkAccessByIdDisabled',
          'DeepLinkAccessDisabled',
          'FileGroupNotAvailable',
          'FileVersionNotAvailable',
          'InsufficientRights',
          'ObjectGone',
          'ObjectInsufficientAssetDownloadRight',
          'ObjectInsufficientRights',
          'PreconditionFailed',
          'QuotaExceeded',
          'ResourceNotFound',
          'ServiceUnavailable',
          'TooManyHeavyRequests',
        ],
      },
      compress: false,
      handler: async (request, reply) => {
        const answer = await deps.deepLinks.open({
          actor: request.actor,
          address: request.ip,
          path: pathOf(request),
          disposition: request.query.disposition,
          deadline: request.deadline,
        })
        if (answer.kind === 'document') return sendDocument(request, reply, answer)
        return sendFile(request, reply, answer, deps)
      },
    })
  })
}

/** As it was sent: a slash that is encoded does not part selectors. */
function pathOf({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1)
  return path.slice(path.indexOf(`${deepLinkPath}/`) + deepLinkPath.length + 1)
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { actor, file, disposition: wanted }: Extract<DeepLinkAnswer, { kind: 'file' }>,
  { files, nameInObject: nameIn, metadataIn }: DeepLinkRouteDeps,
): Promise<FastifyReply> {
  const gone = new AbortController()
  const asked = { signature: undefined, transform: null, nameIn, metadataIn, signal: gone.signal }
  const delivery = await files.download(actor, file, asked)
  reply.raw.once('close', () => {
    gone.abort()
    delivery.end()
  })
  try {
    if (wanted === 'inline' && !isShown(delivery.version.mimeType)) {
      throw pathError(`files of the type ${delivery.version.mimeType} are not shown`)
    }
    return await deliver(request, reply, { ...delivery, cacheControl, ...(wanted ? { disposition: wanted } : {}) })
  } catch (error) {
    delivery.failed(error as Error)
    throw error
  }
}

function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { document, disposition: wanted }: { readonly document: Document } & Pick<DeepLinkAnswer, 'disposition'>,
): FastifyReply {
  const { bytes, contentType, name, isPage } = document
  const tag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`
  reply.headers({
    ETag: tag,
    'Cache-Control': cacheControl,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'X-Content-Type-Options': 'nosniff',
    // Pages say in themselves what they need; whatever sheets make of an object acts for nobody.
    ...(isPage ? {} : { 'Content-Security-Policy': inert }),
    ...(wanted ? { 'Content-Disposition': disposition(wanted, name) } : {}),
  })
  const known = request.headers['if-none-match']
  if (known?.split(',').some((one) => ['*', tag, `W/${tag}`].includes(one.trim()))) return reply.status(304).send()
  reply.header('Content-Type', contentType).header('Content-Length', bytes.length)
  return request.method === 'HEAD' ? reply.send() : reply.send(bytes)
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import {
  binary,
  type FileService,
  isShown,
  type MetadataInObject,
  type NameInObject,
  partialResponses,
  sendContent,
} from '../files/service.ts'
import type { HttpApp } from '../platform/http/http.ts'
import { onSurface } from '../platform/http/surface.ts'
import { deepLinkPath } from '../platform/values/deep-link.ts'
import { registerCollectionLinks } from './collection-routes.ts'
import { pathError } from './path.ts'
import { cacheControl, sendDocument } from './send-document.ts'
import type { DeepLinkAnswer, DeepLinkService } from './service.ts'
import { registerSitemaps } from './sitemaps/routes.ts'
import type { SitemapService } from './sitemaps/service.ts'

export interface DeepLinkRouteDeps {
  readonly deepLinks: DeepLinkService
  readonly sitemaps: SitemapService
  readonly files: Pick<FileService, 'download'>
  readonly nameInObject: NameInObject
  readonly metadataIn: MetadataInObject
}

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

/** Pages of any origin may read the targets of deep links: viewers load manifests from anywhere. */
export async function registerDeepLinkRoutes(app: HttpApp, deps: DeepLinkRouteDeps): Promise<void> {
  await onSurface(app, { ...app.surface, name: 'deep-links', origins: 'any' }, (http) => {
    http.route({
      method: ['GET', 'HEAD'],
      url: `${deepLinkPath}/*`,
      schema: {
        operationId: 'openDeepLink',
        summary: 'An object or one of its files by its address',
        description:
          'As a document in a format (`json`, `xml_native`, `csv`, `html`, `dc`, `lido`, `mods`, `xslt/<sheet>`, `iiif/v3/manifest.json`), or a file. ' +
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
              ...binary,
            },
          },
          ...partialResponses,
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
          'RangeNotSatisfiable',
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
          acceptLanguage: request.headers['accept-language'],
          deadline: request.deadline,
        })
        if (answer.kind === 'document') return sendDocument(request, reply, answer.document, answer.disposition)
        return sendFile(request, reply, answer, deps)
      },
    })
    registerCollectionLinks(http, deps)
    registerSitemaps(http, deps)
  })
}

/** The path as sent: an encoded slash does not separate selectors. */
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
  const asked = { signature: undefined, transform: null, nameIn, metadataIn }
  return sendContent(
    request,
    reply,
    (signal) => files.download(actor, file, { ...asked, signal }),
    (delivery) => {
      if (wanted === 'inline' && !isShown(delivery.version.mimeType)) {
        throw pathError(`files of the type ${delivery.version.mimeType} are not shown`)
      }
      return { ...delivery, cacheControl, ...(wanted ? { disposition: wanted } : {}) }
    },
  )
}

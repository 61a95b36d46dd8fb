import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { HttpApp } from '../../platform/http/http.ts'
import { onSurface } from '../../platform/http/surface.ts'
import { whenClosed } from '../../platform/limits/when-closed.ts'
import type { FileService } from '../service.ts'
import { formatNames, type IiifVersion, infoType, mostPixels, qualities, wantedVersion } from './iiif.ts'
import type { Cut } from './service.ts'

const Signature = Type.Optional(
  Type.String({
    maxLength: 200,
    description: 'Signature of the version, where it does not stand in the address; that of its `url`.',
  }),
)

const Path = (description: string) => Type.Object({ '*': Type.String({ maxLength: 2000, description }) })

const ImageQuery = Type.Object({ 'x-svc-signature': Signature })
const ZoomQuery = Type.Object({
  'x-svc-signature': Signature,
  obj_uuid: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: '`_uuid` of an object that must have the file, where it does not stand in the address.',
    }),
  ),
})
const ImageHeaders = Type.Object({
  'x-svc-signature': Signature,
  accept: Type.Optional(Type.String({ maxLength: 2000, description: 'May name the profile of IIIF Image 2.' })),
})

const words = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')

/** The description of the parameters in the address; to the router, they are one path. */
const iiifParts = (sizes: string): string =>
  'Place of the picture, and what of it. `region`: `full`, `square`, `x,y,w,h` in pixels, `pct:x,y,w,h` in percent. ' +
  `\`size\`: ${sizes}, \`w,\`, \`,h\`, \`pct:n\`, \`w,h\`, \`!w,h\` (fits within), of at most ${mostPixels / 1e6} million pixels. ` +
  '`rotation`: degrees from 0 to 360, clockwise; `!` before them mirrors first. ' +
  `\`quality\`: ${words(qualities)}. \`format\`: ${words(formatNames)}.`

const zoomParts =
  'Place of the picture, and which tile. `viewport`: pixels of the longest side of the whole picture. `tile`: pixels of a side of ' +
  'the tiles, 256 when not said. `x`, `y`: column and row of the tile, from 0. `format`: `jpg`, `png`.'

const picture = {
  description: 'The image.',
  content: { 'image/jpeg': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) } },
}

const known = Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' })

const place = '`{fileId}/{hash}[/obj_uuid/{uuid}][/{signature}]/{version}`'

type Images = Pick<FileService, 'images'>

/** Viewers of any origin may show the pictures. */
export async function registerImageRoutes(app: HttpApp, files: Images): Promise<void> {
  await onSurface(app, { ...app.surface, name: 'images', origins: 'any' }, (scope) => {
    iiifRoutes(scope, files)
    zoomRoutes(scope, files)
  })
}

function iiifRoutes(http: HttpApp, files: Images): void {
  const description =
    `level 2. ${place}, then nothing (303 to the description), ` +
    '`/info.json`, or `/{region}/{size}/{rotation}/{quality}.{format}`. A page of a PDF is `{version}~{page}`, from 1. The signature is that of the `url` of the ' +
    'version; without one the rights of the caller count. `obj_uuid` names an object that must have the file.'
  const shared = {
    tags: ['files'],
    querystring: ImageQuery,
    headers: ImageHeaders,
    response: { 200: picture, 303: Type.Unsafe<undefined>({ description: 'To the description.' }), 304: known },
  }
  const config = {
    access: 'optional',
    writes: false,
    errors: ['InsufficientRights', 'ResourceNotFound', 'UrlParameterNotSupported', 'TooManyHeavyRequests'],
  } as const
  interface ImageRequest extends FastifyRequest {
    params: { '*': string }
    query: { 'x-svc-signature'?: string }
    headers: FastifyRequest['headers'] & { 'x-svc-signature'?: string }
  }
  const answer = async (request: ImageRequest, reply: FastifyReply, version: IiifVersion) => {
    const signature = request.query['x-svc-signature'] ?? request.headers['x-svc-signature']
    const found = await files.images.iiif(request.actor, request.params['*'], { signature, version })
    if (found.kind === 'redirect') return reply.status(303).header('Location', found.to).send()
    if (found.kind === 'image') return sendCut(request, reply, found.image)
    return reply
      .headers({ 'Content-Type': infoType(request.headers.accept, version), 'Cache-Control': cacheControl(found.keep) })
      .send(JSON.stringify(found.info))
  }

  http.route({
    method: ['GET', 'HEAD'],
    url: '/api/v1/eas/iiif/*',
    schema: {
      ...shared,
      params: Path(iiifParts('`max`; with `^` before it, also larger than the region')),
      operationId: 'iiifImage',
      summary: 'IIIF Image API',
      description: `Version 3, and 2 where \`Accept\` names its profile; ${description}`,
    },
    config,
    compress: false,
    handler: async (request, reply) => {
      reply.header('Vary', 'Accept')
      return answer(request, reply, wantedVersion(request.headers.accept))
    },
  })

  http.route({
    method: ['GET', 'HEAD'],
    url: '/api/v1/eas/iiif2/*',
    schema: {
      ...shared,
      params: Path(iiifParts('`max`, `full`')),
      operationId: 'iiifImageSecond',
      summary: 'IIIF Image API, version 2',
      description: `For viewers that ask for version 2 by its address: ${description}`,
    },
    config,
    compress: false,
    handler: async (request, reply) => answer(request, reply, 2),
  })
}

function zoomRoutes(http: HttpApp, files: Images): void {
  http.route({
    method: ['GET', 'HEAD'],
    url: '/api/v1/eas/zoom/*',
    schema: {
      operationId: 'zoomTile',
      summary: 'A tile of a picture',
      description:
        `${place}\`/zoom{viewport}[/size{tile}][/avoid_interpolation]/part{x}x{y}.{format}\`: of the whole picture, its ` +
        'longest side `viewport` pixels long, the tile in column x and row y (from 0), `tile` pixels long (256 when not ' +
        'said), as `jpg` or `png`. `avoid_interpolation` shows pixels as squares.',
      tags: ['files'],
      params: Path(zoomParts),
      querystring: ZoomQuery,
      headers: ImageHeaders,
      response: { 200: picture, 304: known },
    },
    config: {
      access: 'optional',
      writes: false,
      errors: ['InsufficientRights', 'ResourceNotFound', 'UrlParameterNotSupported', 'TooManyHeavyRequests'],
    },
    compress: false,
    handler: async (request, reply) => {
      const signature = request.query['x-svc-signature'] ?? request.headers['x-svc-signature']
      const named = { signature, objUuid: request.query.obj_uuid }
      const tile = await files.images.zoom(request.actor, request.params['*'], named)
      return sendCut(request, reply, tile)
    },
  })
}

async function sendCut(request: FastifyRequest, reply: FastifyReply, { tag, keep, make }: Cut): Promise<FastifyReply> {
  reply.headers({
    ETag: `"${tag}"`,
    'Cache-Control': cacheControl(keep),
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  })
  if (request.headers['if-none-match']?.includes(`"${tag}"`)) return reply.status(304).send()
  const gone = new AbortController()
  whenClosed(reply.raw, () => gone.abort())
  const { content, mimeType } = await make(gone.signal)
  return reply.header('Content-Type', mimeType).send(Buffer.from(content))
}

function cacheControl(keep: number): string {
  return keep > 0 ? `private, max-age=${keep}` : 'private, no-cache'
}

import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { whenClosed } from '../../platform/limits/when-closed.ts'
import { FileRecord } from '../schema.ts'
import type { FileService } from '../service.ts'

const Pixels = (description: string) =>
  Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000, description }))

const Crop = Type.Object(
  { top: Pixels('0 when not said.'), left: Pixels('0 when not said.'), width: Pixels(''), height: Pixels('') },
  {
    additionalProperties: true,
    description: 'Pixels of the picture as it is after the rest; what of them lies in it, at least one.',
  },
)

const DerivedInput = Type.Object(
  {
    eas_parent_id: Type.Optional(
      Type.Integer({ minimum: 0, description: 'The file that it is made of; 0 names none.' }),
    ),
    format: Type.Optional(
      Type.String({
        maxLength: 20,
        description:
          '`jpg`, `jpeg`, `png`, `tif`, `tiff`, `gif`; that of the file where nothing is said, if it can be, else `jpg`.',
      }),
    ),
    transform: Type.Optional(
      Type.Object(
        {
          'rotate-z': Type.Optional(
            Type.Integer({
              minimum: -360,
              maximum: 360,
              description: 'Degrees, clockwise. New corners are transparent, or black where the format cannot.',
            }),
          ),
          'rotate-x': Type.Optional(
            Type.Integer({ description: 'Other than 0: top and bottom change places. Not with the other two.' }),
          ),
          'rotate-y': Type.Optional(Type.Integer({ description: 'Other than 0: left and right change places.' })),
          crop: Type.Optional(Type.Union([Type.Null(), Crop])),
        },
        { additionalProperties: true, description: 'In this order: turned, mirrored, cut.' },
      ),
    ),
    colorspace: Type.Optional(
      Type.Enum(['', 'rgb', 'sRGB', 'cmyk', 'gray'], { description: 'Empty: as it is. CMYK only as JPEG and TIFF.' }),
    ),
    colorprofile: Type.Optional(
      Type.String({
        maxLength: 200,
        description:
          '`sRGB Profile`, `Display P3`, `Generic CMYK Profile`, or one of `colorprofiles`; colours are converted. Empty or `-`: as it is.',
      }),
    ),
  },
  { additionalProperties: true, title: 'DerivedFileInput' },
)

export function registerDerivedRoutes(http: HttpApp, { files }: { files: Pick<FileService, 'permission' | 'derive'> }) {
  http.post(
    '/api/v1/eas/produce',
    {
      schema: {
        operationId: 'deriveFile',
        summary: 'Make another original of a picture',
        description:
          'Turned, mirrored, cut, in another format or other colours. It is a file of its own, with renditions where that ' +
          'one has some. Needs `asset_download` on the original, and `asset_upload` as an upload does.',
        tags: ['files'],
        querystring: Type.Object({
          obj_uuid: Type.Optional(
            Type.String({ maxLength: 100, description: '`_uuid` of an object that must have the file.' }),
          ),
        }),
        body: DerivedInput,
        response: { 200: FileRecord },
      },
      config: {
        access: 'user',
        writes: true,
        errors: [
          'RightRequired',
          'InsufficientRights',
          'EasNoParentID',
          'ProduceExtensionNotSupported',
          'ProduceFormatNotSupported',
          'UploadError',
          'FileLimitExceeded',
          'TooManyHeavyRequests',
        ],
      },
    },
    async (request, reply) => {
      const actor = actorOf(request)
      const permission = await files.permission(actor)
      const gone = new AbortController()
      whenClosed(reply.raw, () => gone.abort())
      const { transform, ...wish } = request.body
      const crop = transform?.crop ?? null
      const { top = 0, left = 0, width = 0, height = 0 } = crop ?? {}
      const turned = {
        ...transform,
        crop: crop && { top, left, width: Math.max(0, width), height: Math.max(0, height) },
      }
      const options = { objUuid: request.query.obj_uuid, signal: gone.signal }
      return files.derive(actor, permission, { ...wish, transform: turned }, options)
    },
  )
}

import { type Static, Type } from 'typebox'
import { refusedChange } from '../../platform/http/query.ts'

const Secret = Type.Optional(
  Type.String({ maxLength: 1000, description: 'Never answered. Left out or `***`: what is stored stays.' }),
)

/** One form for each kind; only the form of the location's own kind is allowed. */
const LocationConfig = Type.Object(
  {
    file: Type.Optional(
      Type.Object(
        {
          dir: Type.String({
            minLength: 1,
            maxLength: 1000,
            description:
              '`files` in the data folder, or a folder in it; or an absolute path in one of `svc.files.folders`.',
          }),
        },
        { additionalProperties: false },
      ),
    ),
    s3: Type.Optional(
      Type.Object(
        {
          bucket: Type.String({ minLength: 3, maxLength: 63, description: 'It must exist.' }),
          endpoint: Type.Optional(
            Type.String({ maxLength: 500, description: '`host:port` or an address; empty: AWS in the region.' }),
          ),
          accesskey: Type.Optional(Type.String({ maxLength: 500 })),
          secretkey: Secret,
          region: Type.Optional(Type.String({ maxLength: 100, description: '`us-east-1` when not said.' })),
          ssl: Type.Optional(Type.Boolean({ description: 'Whether an endpoint without scheme is https; it is.' })),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false, title: 'LocationConfig' },
)
export type LocationConfig = Static<typeof LocationConfig>

const statuses = ['connected', 'not accessible'] as const

export const LocationInput = Type.Object(
  {
    id: Type.Optional(Type.Integer({ minimum: 0, description: 'That of the address, or 0.' })),
    name: Type.String({ pattern: '^[\\w.-]{1,100}$', description: 'Its name in the base configuration.' }),
    kind: Type.Enum(['file', 's3'], { description: 'A folder, or a bucket of S3 or what speaks like it.' }),
    prefix: Type.Optional(
      Type.String({
        maxLength: 200,
        pattern: '^([\\w-][\\w.-]*(/[\\w-][\\w.-]*)*/?)?$',
        description: 'Stands before the name of each content.',
      }),
    ),
    config: LocationConfig,
    allow_purge: Type.Optional(
      Type.Boolean({ description: 'A purge of the whole instance may remove contents there (`purge.purge_storage`).' }),
    ),
    allow_redirect: Type.Optional(Type.Boolean(refusedChange('the service itself delivers all files'))),
    read_only: Type.Optional(Type.Boolean({ description: 'Nothing is stored there any more, and nothing removed.' })),
  },
  { additionalProperties: true, title: 'LocationInput' },
)
export type LocationInput = Static<typeof LocationInput>

export const LocationOutput = Type.Object(
  {
    id: Type.Integer(),
    created_at: Type.String({ format: 'date-time' }),
    name: Type.String(),
    kind: Type.Enum(['file', 's3']),
    prefix: Type.String(),
    config: Type.Object({}, { additionalProperties: true, 'x-shown-as': LocationConfig }),
    allow_purge: Type.Boolean(),
    allow_redirect: Type.Boolean(),
    read_only: Type.Boolean(),
    status: Type.Enum([...statuses], { description: 'As just tried.' }),
    status_msg: Type.String({ description: 'What is wrong; empty when nothing is.' }),
  },
  { title: 'LocationApi' },
)
export type LocationOutput = Static<typeof LocationOutput>

const Fixity = Type.Enum(['ok', 'damaged', 'missing'])

export const FixityReport = Type.Object(
  {
    round_days: Type.Integer({ description: 'Within so many days every content is read once.' }),
    locations: Type.Array(
      Type.Object({
        location_id: Type.Integer(),
        location_key: Type.String({ description: 'Its name.' }),
        count: Type.Integer({ description: 'Contents that are kept there.' }),
        size: Type.Integer({ description: 'Their bytes.' }),
        damaged: Type.Integer(),
        missing: Type.Integer(),
        verified_since: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
          description: 'Since then each of them has been read, or has arrived.',
        }),
      }),
    ),
    contents: Type.Array(
      Type.Object({
        location_id: Type.Integer(),
        hash: Type.String(),
        size: Type.Integer(),
        fixity: Fixity,
        verified_at: Type.String({ format: 'date-time' }),
        file_ids: Type.Array(Type.Integer(), { description: 'Files that have it, at most 100.' }),
      }),
      { description: 'Contents that were damaged at the last reading, at most 1000.' },
    ),
  },
  { title: 'FixityReport' },
)

import { type Static, Type } from 'typebox'

const open = { additionalProperties: true } as const

export const PurgeQuery = Type.Object({
  redirect: Type.Optional(
    Type.String({
      maxLength: 2000,
      description:
        'An http or https address, or a path here: answered 302 with it at once, while the purge goes on. What then fails is in ' +
        'the log of the service alone.',
    }),
  ),
  set_password: Type.Optional(
    Type.String({
      maxLength: 1000,
      description:
        'A new password of root, which takes a sign-in of the last ten minutes. Without it root keeps the present one.',
    }),
  ),
})

/** Public information about the instance, before sign-in. */
export const Settings = Type.Object(
  {
    name: Type.String({ description: 'Name of the instance, as the base configuration has it.' }),
    config_name: Type.String({ description: 'Internal name of the instance, as the base configuration has it.' }),
    instance: Type.String({ description: 'The part after @ in global object ids.' }),
    version: Type.String(),
    version_full: Type.String(),
    version_release_date: Type.Optional(
      Type.String({ format: 'date', description: 'Day on which the package was made; a checkout has none.' }),
    ),
    build_commit: Type.Optional(
      Type.String({ description: 'The commit that the package was made of, where that is known.' }),
    ),
    build_commit_time: Type.Optional(Type.String({ format: 'date-time', description: 'When that was committed.' })),
    external_url: Type.String(),
    startup_time: Type.String({ format: 'date-time' }),
    num_cpu: Type.Integer(),
    index_names: Type.Record(Type.String(), Type.String()),
    capabilities: Type.Object(
      {
        auth: Type.Boolean(),
        read_only: Type.Boolean({ description: 'The instance is in read-only mode.' }),
        geo_support: Type.Boolean(),
        kubernetes: Type.Boolean(),
        two_factor: Type.Boolean(),
        ci_hub: Type.Boolean(),
        linkrui: Type.Boolean(),
        mobile_app: Type.Boolean(),
      },
      open,
    ),
  },
  { ...open, title: 'Settings' },
)
export type Settings = Static<typeof Settings>

const TypeStats = Type.Object(
  {
    type_name: Type.String(),
    total_count: Type.Integer(),
    indexed_count: Type.Integer(),
    not_indexed_count: Type.Integer({ description: 'Not in the index yet.' }),
    error_count: Type.Integer({ description: 'Could not be indexed.' }),
    avg_size: Type.Optional(
      Type.Integer({
        description: 'Of object types: bytes of the content of an object as JSON, on average of some thousands.',
      }),
    ),
    total_size: Type.Optional(Type.Integer({ description: 'That for all of them.' })),
  },
  { ...open, title: 'TypeStats' },
)
export type TypeStats = Static<typeof TypeStats>

export const SystemStats = Type.Object(
  {
    objecttypes: Type.Array(TypeStats),
    basetypes: Type.Array(TypeStats),
    indices_objects: Type.Record(Type.String(), Type.Record(Type.String(), Type.Integer()), {
      description: 'Indexed objects by index and object type.',
    }),
    indices_stats: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          index: Type.String(),
          size: Type.String({ description: 'In bytes.' }),
          rebuilding: Type.Boolean({
            description: 'A large backlog is being indexed: searches for words are right, but slow.',
          }),
        },
        open,
      ),
    ),
    total_not_indexed: Type.Integer({ description: 'Objects that wait to be indexed, for the first time or anew.' }),
    pending_files: Type.Integer({ description: 'Files of which a rendition is not made yet.' }),
    queued_files: Type.Integer({ description: 'Those of them of which no rendition is being made at the moment.' }),
    file_stats: Type.Array(
      Type.Object({ status: Type.String(), count: Type.Integer() }, { ...open, title: 'SystemFileStat' }),
      { description: 'Renditions by status.' },
    ),
    certificates: Type.Array(
      Type.Object({
        of: Type.String({ description: 'Where it is configured.' }),
        subject: Type.String(),
        valid_to: Type.String(),
        expiring: Type.Boolean({ description: 'It ends within 30 days, or has ended.' }),
      }),
      { description: 'Certificates of directories in the base configuration.' },
    ),
  },
  { ...open, title: 'SystemStats' },
)
export type SystemStats = Static<typeof SystemStats>

import { type Static, Type } from 'typebox'
import { SearchRequest } from '../search/schema.ts'

const open = { additionalProperties: true } as const
const text = (maxLength: number, description?: string) =>
  Type.String({ maxLength, ...(description && { description }) })
const optional = Type.Optional
const flag = (description: string) => optional(Type.Boolean({ description }))
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

const pixels = optional(Type.Integer({ minimum: 0, maximum: 100_000 }))
const degrees = optional(Type.Integer({ minimum: -360, maximum: 360 }))
const side = optional(Type.Integer({ minimum: 0, maximum: 1_000_000 }))

const CustomVersion = Type.Object(
  {
    watermark: flag('With the watermark of the pool or object type.'),
    quality: optional(text(20, '`low` or `small` (50), `medium` (75), `high` (85), `maximum` (100), or 1 to 100.')),
    format: optional(text(20, '`keep`, `jpeg`, `tiff`, `png` or `bmp`.')),
    colorspace: optional(text(20, 'Empty, `rgb`, `sRGB`, `srgb`, `cmyk` or `gray`.')),
    colorprofile: optional(text(100, 'Name of a colour profile; empty or `-`: none.')),
    size: optional(text(20, '`keep` or `custom`.')),
    custom_size: optional(text(20, '`dimension_max`, `dimension_min`, `width`, `height`, `cover` or `contain`.')),
    dpi: optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
    custom_size_pixel: pixels,
    custom_width_pixel: pixels,
    custom_height_pixel: pixels,
    transform: optional(
      Type.Object(
        {
          'rotate-x': degrees,
          'rotate-y': degrees,
          'rotate-z': degrees,
          crop: optional(nullable(Type.Object({ top: side, left: side, width: side, height: side }, open))),
        },
        open,
      ),
    ),
  },
  { ...open, title: 'ExportCustomVersion' },
)

export const ExportVersion = Type.Object(
  {
    type: optional(Type.Enum(['original', 'current', 'version', 'custom'])),
    metadata: optional(
      Type.Union([text(20), Id], {
        description:
          '`standard` (by the mapping of the pool or object type), `keep`, `remove`, or the id of a mapping.',
      }),
    ),
    version: optional(text(100, 'Name of a rendition, as `small` or `image.small`.')),
    custom: optional(CustomVersion),
    custom_version_preset: optional(text(40, 'Name of a preset of the base configuration, in place of `custom`.')),
  },
  { ...open, title: 'ExportVersion' },
)
export type ExportVersion = Static<typeof ExportVersion>

const EasField = Type.Object(
  {
    files: flag('The files themselves are exported.'),
    include_non_preferred: flag('Files that are not preferred, too.'),
    data: optional(
      Type.Array(
        Type.Object(
          {
            type: Type.Enum(['original', 'current', 'version']),
            format: Type.Enum(['long', 'short']),
            version: optional(text(100)),
          },
          open,
        ),
        { maxItems: 100, description: 'Versions of which the data says the address.' },
      ),
    ),
  },
  { ...open, title: 'ExportEasField' },
)

const Asset = Type.Object(
  { versions: optional(Type.Array(ExportVersion, { maxItems: 100 })) },
  { ...open, title: 'ExportAsset' },
)

const Changelog = Type.Union([Type.Boolean(), Type.Object({ with_user: optional(Type.Boolean()) }, open)])
const columns = {
  localized_column_names: optional(Type.Boolean()),
  hierarchy: optional(Type.Enum(['column', '>', '/'])),
  include_changelog: optional(Changelog),
}
const CsvOptions = Type.Object(
  {
    ...columns,
    delimiter: optional(text(1)),
    quote: optional(text(1)),
    escape: optional(text(1)),
    use_bom: optional(Type.Boolean()),
  },
  { ...open, title: 'ExportCsv' },
)
const XlsxOptions = Type.Object(
  { ...columns, include_thumbnail: optional(Type.Boolean()) },
  { ...open, title: 'ExportXlsx' },
)

const members = {
  _id: optional(Id),
  _version: optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
  type: optional(text(100, '`export`, `export_incremental` or `download`.')),
  name: optional(Type.String({ minLength: 1, maxLength: 255, description: 'Unique for its user.' })),
  user_id: optional(
    Type.Unknown({ description: 'Has no effect: the user of an export is the caller who saved it last.' }),
  ),
  search: optional(
    Type.Unsafe<Static<typeof SearchRequest>>({
      ...SearchRequest,
      description: 'Which objects, in which order; required.',
    }),
  ),
  fields: optional(
    Type.Record(Type.String({ maxLength: 1000 }), Type.Object({ display_name: optional(text(1000)) }, open), {
      maxProperties: 1000,
      description: 'Fields that are exported, with the names that they have there; all where none is named.',
    }),
  ),
  eas_fields: optional(
    Type.Record(Type.String({ maxLength: 1000 }), EasField, {
      maxProperties: 200,
      description: 'Columns of files: what is exported of them.',
    }),
  ),
  classes: optional(
    Type.Record(Type.String({ maxLength: 20 }), Type.Array(ExportVersion, { maxItems: 100 }), {
      maxProperties: 20,
      description: 'Which versions are exported of files of a class; originals where nothing is said.',
    }),
  ),
  assets: optional(
    Type.Record(Type.String({ maxLength: 20 }), Type.Union([Type.Boolean(), Asset]), {
      maxProperties: 10_000,
      description: 'Single files by their ids: whether, and in which versions, they are exported.',
    }),
  ),
  csv: optional(Type.Union([Type.Boolean(), CsvOptions])),
  xml: optional(Type.Boolean()),
  xml_one_file_per_object: optional(Type.Boolean()),
  mapping: optional(Type.Union([text(200), Id], { description: 'Name or id of a mapping for XML.' })),
  xslt_xml_post_processing: optional(
    Type.Object({ _id: Id }, { ...open, description: 'A file with a style sheet that the XML passes.' }),
  ),
  xlsx: optional(Type.Union([Type.Boolean(), XlsxOptions])),
  json: optional(Type.Boolean()),
  json_one_file_per_object: optional(Type.Boolean()),
  merge_linked_objects: optional(text(100)),
  merge_max_depth: optional(Type.Integer({ minimum: 0, maximum: 9 })),
  include_parents: flag('The objects above in hierarchies are exported, too.'),
  file_url_expire_days: optional(Type.Integer({ minimum: 1, maximum: 36_500 })),
  produce_options: optional(Type.Object({ plugin: optional(text(200)) }, open)),
  all_languages: flag('Texts in all languages; else in those of the search.'),
  file_metadata: flag('What files say of themselves, in JSON and XML.'),
  no_inheritance: flag('Without values that come from above in a hierarchy.'),
  batch_size: optional(
    Type.Integer({ minimum: 0, maximum: 10_000, description: 'Objects for each folder of files; 0: one folder.' }),
  ),
  flat: flag('All files beside each other, without folders.'),
  filename_original: flag('Files have the names that they were uploaded with.'),
  filename_template: optional(text(1000, 'The names of files: see docs/exports.md.')),
}
export const exportMembers = Object.keys(members)

export const ExportBlock = Type.Object(members, { ...open, title: 'ExportBlock' })
/** The settings as stored: all members except for those of the record itself. */
export type ExportBody = Omit<Static<typeof ExportBlock>, '_id' | '_version' | 'name' | 'type' | 'user_id'>

const numbers = (minimum: number, maximum: number) =>
  optional(Type.Array(Type.Integer({ minimum, maximum }), { maxItems: maximum - minimum + 1 }))

const ExportSchedule = Type.Object(
  {
    days_of_month: numbers(1, 31),
    weekdays: optional(Type.Array(Type.Enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']), { maxItems: 7 })),
    hours: numbers(0, 23),
    minutes: numbers(0, 59),
    timezone: optional(text(100)),
  },
  { ...open, title: 'Schedule' },
)

const who = Type.Unsafe<unknown>({ ...Type.Object({}, open), 'x-shown-as': { type: 'object' } })

const TransportInput = Type.Object(
  {
    plugin: optional(nullable(text(200))),
    options: optional(Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { maxProperties: 100 })),
    email: optional(
      nullable(
        Type.Object(
          { message: optional(text(10_000)), recipients: optional(Type.Array(who, { maxItems: 100 })) },
          open,
        ),
      ),
    ),
    external_url: optional(nullable(text(2000))),
    uuid: optional(nullable(text(100))),
  },
  { ...open, title: 'ExportTransport' },
)
export type TransportInput = Static<typeof TransportInput>

export const ExportInput = Type.Object(
  {
    _basetype: optional(Type.Literal('export')),
    export: ExportBlock,
    _transports: optional(nullable(Type.Array(TransportInput, { maxItems: 20 }))),
    _schedules: optional(nullable(Type.Array(ExportSchedule, { maxItems: 20 }))),
    ...Object.fromEntries(
      [
        '_date_created',
        '_last_updated_at',
        '_last_run_at',
        '_last_relevant_object_count',
        '_last_relevant_run_at',
        '_next_run_at',
        '_state',
        '_plugin_log',
        '_files',
        '_files_count',
        '_progress',
        '_log',
        '_user',
      ].map((name) => [
        name,
        optional(Type.Unknown({ description: 'Answered, and passed over when it is sent back.' })),
      ]),
    ),
  },
  { ...open, title: 'ExportInput' },
)
export type ExportInput = {
  readonly _basetype?: 'export'
  readonly export: Static<typeof ExportBlock>
  readonly _transports?: readonly TransportInput[] | null
  readonly _schedules?: readonly Static<typeof ExportSchedule>[] | null
}

const Moment = Type.String({ format: 'date-time' })

export const ExportOutput = Type.Object(
  {
    _basetype: Type.Literal('export'),
    export: Type.Object({ _id: Id, _version: Type.Integer(), type: Type.String(), name: Type.String() }, open),
    _user: who,
    _date_created: Moment,
    _last_updated_at: Moment,
    _last_run_at: optional(Moment),
    _last_relevant_object_count: optional(Type.Integer({ description: 'Objects with a change in the latest run.' })),
    _last_relevant_run_at: optional(Moment),
    _next_run_at: optional(Moment),
    _state: Type.Enum(['new', 'pending', 'processing', 'done', 'done_with_warnings', 'failed']),
    _progress: optional(
      Type.Object(
        { step: Type.String(), done: Type.Integer(), total: Type.Integer() },
        { description: 'How far the run is (own extension).' },
      ),
    ),
    _plugin_log: Type.Array(Type.String()),
    _files: Type.Array(
      Type.Object({ path: Type.String(), size: optional(Type.Integer()), date_created: Moment }, open),
    ),
    _files_count: Type.Integer({
      description: 'How many files there are, where `_files` has not all of them (own extension).',
    }),
    _log: Type.Array(Type.Unknown({ 'x-shown-as': { type: 'object' } })),
    _transports: Type.Array(Type.Object({ plugin: Type.String(), options: Type.Object({}, open) }, open)),
    _schedules: Type.Array(ExportSchedule),
  },
  { ...open, title: 'Export' },
)
export type ExportOutput = Static<typeof ExportOutput>

export const ExportList = Type.Object(
  { limit: Type.Integer(), offset: Type.Integer(), count: Type.Integer(), objects: Type.Array(ExportOutput) },
  { title: 'ExportList' },
)

export const ListQuery = Type.Object({
  limit: optional(Type.Integer({ minimum: 0, maximum: 1000, description: '100 where nothing is said.' })),
  offset: optional(
    Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'How many to leave out at the beginning.' }),
  ),
  filter: optional(
    Type.String({
      maxLength: 1000,
      description: 'As in `type:export|download+status:done,status:failed`: `,` or, `+` and, `|` one of the values.',
    }),
  ),
})

export const ReadQuery = Type.Object({
  format: optional(
    Type.Enum(['short', 'standard', 'long'], {
      description:
        '`_log` has all events of the export (`long`, where nothing is said), those of the latest run, or none.',
    }),
  ),
})

export const ExportParams = Type.Object({
  exportId: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the export.' }),
})

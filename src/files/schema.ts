import { Type } from 'typebox'
import { refused } from '../platform/http/query.ts'
import { mostBits } from './model.ts'

const JsonList = (description: string) => Type.Optional(Type.String({ maxLength: 64 * 1024, description }))

const ownRecipes = 'recipes are those of the base configuration'

const Priority = Type.Optional(
  Type.Integer({
    minimum: -1000,
    maximum: 1000,
    description: 'Of the work on renditions: smaller ones go first; 0 when not said.',
  }),
)

const lookForDuplicates = Type.Optional(
  Type.Boolean({
    description:
      'Answer in `_duplicates` which other files with the same content, or that look alike, the caller may see, at ' +
      'most 100 of each.',
  }),
)

const awaitVersion = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 100,
    description:
      'Name of a version, `small` for example: the answer waits until it is made, or it is known that it will not be, at ' +
      'most 30 seconds. Its status says which.',
  }),
)

export const UploadQuery = Type.Object({
  filenames: JsonList(
    'JSON list of texts: names in place of those in the body, in its order; null or empty: that one. With `collection` what stands ' +
      'before the last slash is the folder of the file.',
  ),
  references: JsonList('JSON list of texts: references, unique among all files.'),
  id_parents: JsonList('JSON list of numbers: the files that these were made from.'),
  produce_versions: JsonList(
    'JSON list of true or false, or one of them for all: whether renditions are made; true when not said. Without them, ' +
      'a resync makes them.',
  ),
  priority: Priority,
  version_names: JsonList(
    'JSON list of texts: what is no file of its own but a version of the one in `id_parents`, by its name. `original` ' +
      'replaces what was uploaded there.',
  ),
  custom_produce_configs: Type.Optional(Type.String(refused(ownRecipes))),
  collection: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'The collection whose upload settings say which objects the files become parts of; `_linked_objects` of each file ' +
        'names them. Not with `id_parents` and `version_names`.',
    }),
  ),
  check_for_duplicates: lookForDuplicates,
  await_version: awaitVersion,
})

const remote = {
  url: Type.String({ maxLength: 2000, description: 'Where the file lies: `http` or `https`, without a password.' }),
  filename: Type.Optional(
    Type.String({
      maxLength: 1000,
      description:
        'Its name. Where it is missing, or has no extension, the header of the answer, the address or the type say it.',
    }),
  ),
  leave: Type.Optional(
    Type.Boolean({
      description:
        'The content stays where it is, and is fetched from there each time; it is read once, for hash and type.',
    }),
  ),
  id_parent: Type.Optional(Type.Integer({ minimum: 1, description: 'The file that this one was made from.' })),
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 1000, description: 'Unique among all files.' })),
  skip_head_request: Type.Optional(
    Type.Boolean({
      description: 'The answer is not asked for a name: `filename` must be there, and is taken as it is.',
    }),
  ),
  version_name: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'It is no file of its own but a version of that in `id_parent`, of this name; `original` replaces what was uploaded.',
    }),
  ),
  custom_produce_config: Type.Optional(Type.String(refused(ownRecipes))),
  produce_versions: Type.Optional(
    Type.Boolean({ description: 'Whether renditions are made; of what stays where it is there are none.' }),
  ),
  generate_metadata: Type.Optional(
    Type.Literal(true, { description: 'What is known of a file is always taken from its content.' }),
  ),
}
const ownMetadata = refused('what is known of a file is always taken from its content')

const skipDuplicates = {
  skip_duplicate_reference: Type.Optional(
    Type.Boolean({
      description: 'A reference that a file has stands for that file, which is answered with `_duplicates`.',
    }),
  ),
  priority: Priority,
}

export const RemoteQuery = Type.Object({ ...remote, ...skipDuplicates })

export const RemoteInput = Type.Object(
  { _technical_metadata: Type.Optional(Type.Unknown(ownMetadata)) },
  { additionalProperties: true, title: 'FileMetadata' },
)

export const BulkQuery = Type.Object(skipDuplicates)

export const BulkInput = Type.Array(
  Type.Object(
    { ...remote, metadata: Type.Optional(Type.Unknown(ownMetadata)) },
    { additionalProperties: true, title: 'RemoteFile' },
  ),
  { minItems: 1, maxItems: 1000 },
)

const Version = Type.Object(
  {
    _id: Type.String({ description: 'Its name.' }),
    class: Type.Optional(Type.String()),
    extension: Type.Optional(Type.String()),
    class_extension: Type.Optional(Type.String()),
    status: Type.String({
      description:
        '`done`; else there is no content yet: `pending`, `processing`, or there will be none: `failed` (the file is at ' +
        'fault), `not_produced` (something is missing here); `reason` says what.',
    }),
    reason: Type.Optional(Type.String()),
    percent_done: Type.Optional(Type.String()),
    date_created: Type.Optional(Type.String({ format: 'date-time' })),
    last_status_at: Type.String({ format: 'date-time' }),
    filesize: Type.Optional(Type.String()),
    hash: Type.Optional(Type.String()),
    blurhash: Type.Optional(Type.String()),
    width: Type.Optional(Type.String()),
    height: Type.Optional(Type.String()),
    dpi: Type.Optional(Type.String()),
    orientation: Type.Optional(Type.String()),
    aspect_ratio: Type.Optional(Type.String()),
    page_sizes: Type.Optional(
      Type.Unknown({ description: 'Of renditions that are PDF, as `technical_metadata` has them of originals.' }),
    ),
    zoom_url: Type.Optional(Type.String({ description: 'Of pictures: the beginning of addresses of tiles.' })),
    iiif_url: Type.Optional(Type.String({ description: 'Of pictures: the IIIF image service.' })),
    _show_allowed: Type.Boolean(),
    _download_allowed: Type.Boolean(),
    url: Type.Optional(
      Type.String({ description: 'Signed: it gives access to the content without a token until it expires.' }),
    ),
  },
  { additionalProperties: true, title: 'FileVersion' },
)

const duplicate = {
  _id: Type.Integer({ description: 'Id of the file.' }),
  certainty: Type.Number({ description: '1: it is the same, bit by bit. Less: it looks alike.' }),
  linked_system_objects: Type.Optional(
    Type.Array(Type.Object({ _system_object_id: Type.Integer(), _column_id: Type.Integer() }), {
      description: 'Objects that have it, as far as the caller may see them.',
    }),
  ),
}

const Duplicates = Type.Array(Type.Object(duplicate, { additionalProperties: true }))

export const SimilarFiles = Type.Array(
  Type.Object(
    {
      ...duplicate,
      differing_bits: Type.Integer({ description: 'How many of the 63 bits differ that say what a picture shows.' }),
    },
    { title: 'SimilarFile' },
  ),
)

const FileShape = Type.Object(
  {
    _id: Type.Integer(),
    class: Type.String({ description: '`audio`, `image`, `office`, `video` or `unknown`.' }),
    extension: Type.String(),
    class_extension: Type.String(),
    class_version_status: Type.String(),
    status: Type.String({ description: '`pending` or `processing` while renditions are made, then `done`.' }),
    is_original: Type.Boolean(),
    filesize: Type.Integer(),
    original_filename: Type.String(),
    original_filename_basename: Type.String(),
    original_filepath: Type.Optional(Type.String()),
    eas_parent_id: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    reference: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    date_uploaded: Type.Optional(Type.String({ format: 'date-time' })),
    best_date: Type.Optional(Type.String()),
    last_status_at: Type.Optional(Type.String({ format: 'date-time' })),
    hash: Type.Optional(Type.String({ description: 'SHA-256 of the content.' })),
    _duplicates: Type.Optional(Duplicates),
    _mapped_metadata: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'As `POST /db` takes it; with `mapping`.' }),
    ),
    compiled: Type.Optional(Type.String()),
    versions: Type.Record(Type.String(), Version, { description: 'The versions that the caller may see or download.' }),
  },
  { additionalProperties: true, title: 'File' },
)

/** Members of the record that the service cannot determine are absent. */
export const FileRecord = Type.Unsafe<Record<string, unknown>>(FileShape)

export const FileParams = Type.Object({
  fileId: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the file.' }),
})

const Format = Type.Optional(
  Type.Enum(['short', 'standard', 'long'], { description: 'How much is answered; `long` when not said.' }),
)

const inObject = (besides: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: `\`_uuid\` of an object that must have the file${besides}.`,
    }),
  )

const further = {
  obj_uuid: inObject('; addresses give the names that the object has for it'),
  check_for_duplicates: lookForDuplicates,
  mapping: Type.Optional(
    Type.String({
      pattern: '^(standard|[1-9][0-9]{0,15})$',
      description:
        'Id of a mapping, or `standard`: that of the pool or the object type. `_mapped_metadata` is then an object of what the ' +
        'file says of itself, which can be saved.',
    }),
  ),
  objecttype: Type.Optional(
    Type.String({ maxLength: 200, description: 'Of that object; that of the mapping when not said.' }),
  ),
  mask: Type.Optional(Type.String({ maxLength: 200, description: 'Of that object; the preferred one when not said.' })),
  pool_id: Type.Optional(Type.Integer({ minimum: 1, description: 'Pool of that object, which may name a mapping.' })),
}

export const SimilarQuery = Type.Object({
  bits: Type.Integer({
    minimum: 0,
    maximum: mostBits,
    default: mostBits,
    description: 'In how many of 63 bits pictures may differ.',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Most files.' }),
})

export const ReadQuery = Type.Object({ format: Format, ...further, await_version: awaitVersion })

export const ListQuery = Type.Object({
  ids: Type.String({ maxLength: 16 * 1024, description: 'JSON list of ids of files, at most 1000.' }),
  format: Format,
  ...further,
  mapping_recipe_configs: Type.Optional(
    Type.String({ maxLength: 64 * 1024, description: 'JSON object by recipe; empty, as no mapping takes a recipe.' }),
  ),
})

export const FileInput = Type.Object(
  {
    filename: Type.Optional(Type.String({ maxLength: 1000 })),
    reference: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Null()])),
    custom_produce_config: Type.Optional(Type.Unknown(refused(ownRecipes))),
  },
  { additionalProperties: true, title: 'FileInput' },
)

export const ChangeQuery = Type.Object({
  permission_check_only: Type.Optional(
    Type.Boolean({ description: 'Change nothing, only say whether it may be done.' }),
  ),
})

export const DownloadParams = Type.Object({
  fileId: FileParams.properties.fileId,
  hash: Type.String({ maxLength: 200, description: 'SHA-256 of the content.' }),
  version: Type.String({ maxLength: 200, description: 'Name of the version: `original`.' }),
})

const ownRecipe = refused('nothing is made by recipes on demand: `format`, `size` and the others say what is made')

const Side = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description }))

export const DownloadQuery = Type.Object({
  'x-svc-signature': Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Signature of the address, which is as good as a right while it holds.',
    }),
  ),
  obj_uuid: inObject(', and whose name for it is given where its object type has templates for names'),
  recipe: Type.Optional(Type.String(ownRecipe)),
  recipe_params: Type.Optional(Type.String(ownRecipe)),
  format: Type.Optional(
    Type.String({
      maxLength: 20,
      description:
        'Makes another picture for this download: `jpg`, `jpeg`, `png`, `tif`, `tiff`, `gif`, `webp` or `bmp`; without it that of ' +
        'the version, or `jpg`. Colours are sRGB with 8 bits.',
    }),
  ),
  size: Side('Pixels of a side, see `resize_mode`; pictures are never made larger than they are.'),
  width: Side('Pixels; alone, the height goes with it.'),
  height: Side('Pixels; alone, the width goes with it.'),
  resize_mode: Type.Optional(
    Type.Enum(['max', 'min', 'width', 'height', 'cover', 'force', 'contain'], {
      description:
        'Which side `size` is: the longer one (`max`, when not said), the shorter one, the width or the height. With `width` and ' +
        '`height`: they are filled and what stands out is cut off (`cover`, when not said), it fits into them, or it is forced.',
    }),
  ),
  crop: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'JSON with `top`, `left`, `width` and `height`: the part of the version, in its pixels, that is taken before all else.',
    }),
  ),
  quality: Type.Optional(
    Type.String({
      maxLength: 20,
      description: 'Of JPEG and WebP: `low`, `small` (50), `medium` (75), `maximum` (100), or 1 to 100.',
    }),
  ),
  dpi: Type.Optional(
    Type.Integer({
      minimum: -100_000,
      maximum: 100_000,
      description: 'Resolution that the picture says it has; 0 and less: none.',
    }),
  ),
  preset: Type.Optional(
    Type.String({
      maxLength: 40,
      description:
        'Name of a preset of the base configuration (`custom_version_presets`), which says all of the above; none of them ' +
        'beside it.',
    }),
  ),
  metadata: Type.Optional(
    Type.String({
      pattern: '^(keep|remove|standard|[1-9][0-9]{0,15})$',
      description:
        '`remove`: a copy without EXIF, IPTC, XMP and the like, but for orientation, resolution and colour profile. `keep`: ' +
        'as it is. The id of a mapping: fields of the object that has the file, as the caller reads them, are written into the ' +
        'copy; `standard`: by the mapping of its pool or object type, where there is one.',
    }),
  ),
})

export const DownloadHeaders = Type.Object({
  'x-svc-signature': Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Signature of the address, which is as good as a right while it holds.',
    }),
  ),
})

export const ArchiveParams = Type.Object({
  ...DownloadParams.properties,
  '*': Type.String({ maxLength: 2000, description: 'Path in the archive; folders may end with a slash.' }),
})

export const ArchiveQuery = Type.Object({
  'x-svc-signature': DownloadQuery.properties['x-svc-signature'],
  obj_uuid: inObject(''),
})

export const ArchiveEntry = Type.Object({
  name: Type.String(),
  path: Type.String({ description: 'In the archive; that of a folder ends with a slash.' }),
  size: Type.Integer({ description: 'Bytes, unpacked; of folders 0.' }),
  mod_time: Type.String({ format: 'date-time' }),
  is_dir: Type.Boolean(),
})

export const Resync = Type.Object(
  {
    _id: Type.Integer(),
    status: Type.Enum(['running', 'done'], {
      description: '`done`: all files have been looked at. Queued renditions may still be in the making.',
    }),
    scope: Type.Enum(['all', 'marks'], {
      description: '`marks`: only what bears a watermark or a caption, since these have been changed.',
    }),
    percent_done: Type.Integer(),
    total: Type.Integer({ description: 'Files when it began.' }),
    checked: Type.Integer(),
    queued: Type.Integer({ description: 'Renditions that are made.' }),
    removed: Type.Integer({ description: 'Renditions that no recipe makes any more.' }),
    started_at: Type.String({ format: 'date-time' }),
    finished_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  },
  { title: 'Resync' },
)

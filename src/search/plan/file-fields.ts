/**
 * The searchable data of files in a column: `artwork.image.original_filename`, or `_linked._asset.original_filename` for all
 * columns. Only the preferred file of each place counts, and only for callers who may see it (objects/masks/file-access.ts).
 */
import type { FileForIndex } from '../../files/service.ts'

export interface FileFieldKind {
  readonly name: string
  readonly kind: 'text' | 'number' | 'date'
  /** Whether values are counted. Other fields have too many distinct values. */
  readonly facet: boolean
  readonly sorted: boolean
  /** `original`: data of the original file. A caller who may see only a rendition cannot search it. */
  readonly level: 'any' | 'original'
  /** Only where the expert search of the column is on. */
  readonly expert: boolean
  readonly values: (file: FileForIndex) => readonly unknown[]
}

type Options = Partial<Pick<FileFieldKind, 'facet' | 'sorted' | 'level' | 'expert'>>

function define(
  kind: FileFieldKind['kind'],
  name: string,
  values: (file: FileForIndex) => readonly unknown[] | unknown,
  options: Options = {},
): FileFieldKind {
  return {
    name,
    kind,
    facet: false,
    sorted: true,
    level: 'any',
    expert: false,
    ...options,
    values: (file) => cleaned(kind, values(file)),
  }
}

const label = { facet: true } as const

const technical = (kind: FileFieldKind['kind'], name: string, options: Options = {}): FileFieldKind =>
  define(kind, `technical_metadata.${name}`, (file) => file.technical[name], { level: 'original', ...options })

/** Words about the subject and the authors of a picture, in all tags of the file that have such words. */
const descriptive = (name: string, tags: readonly string[], options: Options = {}): FileFieldKind => {
  const wanted = new Set(tags)
  const values = (file: FileForIndex) => file.tags.filter((tag) => wanted.has(`${tag.group}:${tag.name}`)).map(textOf)
  return define('text', `metadata.${name}`, values, { sorted: false, level: 'original', ...options })
}

const textOf = ({ print }: { readonly print: string }): string => print

export const fileFieldKinds: readonly FileFieldKind[] = [
  define('text', 'original_filename', (file) => file.filename),
  define('text', 'original_filename_basename', (file) => file.basename),
  define('text', 'class', (file) => file.class, label),
  define('text', 'extension', (file) => file.extension, label),
  define('text', 'class_extension', (file) => `${file.class}.${file.extension}`, label),
  define('text', 'status', (file) => file.status, label),
  define(
    'text',
    'class_version_status',
    (file) => file.versions.map(({ name, status }) => `${file.class}.${name}.${status}`),
    { facet: true, sorted: false },
  ),
  define('number', 'filesize', (file) => file.size),
  define('number', 'upload_user.user._id', (file) => file.uploadUser, { sorted: false }),
  define('number', 'preferred._id', (file) => file.id, { sorted: false }),
  define('date', 'date_uploaded', (file) => file.uploadedAt),
  define('date', 'best_date', (file) => file.bestDate, { level: 'original' }),
  technical('number', 'width'),
  technical('number', 'height'),
  technical('number', 'max_dimension'),
  technical('number', 'aspect_ratio'),
  technical('number', 'dpi'),
  technical('number', 'duration'),
  technical('number', 'pages'),
  technical('number', 'colordepth'),
  technical('number', 'samples_per_pixel', { sorted: false }),
  technical('date', 'create_date'),
  technical('date', 'date_time_original'),
  technical('text', 'format', label),
  technical('text', 'colorspace', label),
  technical('text', 'colorprofile', label),
  technical('text', 'camera_scanner', label),
  technical('text', 'orientation', { facet: true, sorted: false }),
  technical('text', 'projection_type', { facet: true, sorted: false }),
  technical('text', 'audio_codec', { facet: true, sorted: false }),
  technical('text', 'video_codec', { facet: true, sorted: false }),
  define('text', 'technical_metadata.mime_type', (file) => file.mimeType, { ...label, level: 'original' }),
  descriptive('title', ['XMP-dc:Title', 'IPTC:ObjectName', 'IPTC:Headline', 'XMP-photoshop:Headline', 'PDF:Title']),
  descriptive('description', ['XMP-dc:Description', 'IPTC:Caption-Abstract', 'IFD0:ImageDescription', 'PDF:Subject']),
  descriptive('creator', ['XMP-dc:Creator', 'IPTC:By-line', 'IFD0:Artist', 'PDF:Author'], label),
  descriptive('copyright', ['XMP-dc:Rights', 'IPTC:CopyrightNotice', 'IFD0:Copyright'], label),
  descriptive('credit', ['XMP-photoshop:Credit', 'IPTC:Credit', 'XMP-photoshop:Source', 'IPTC:Source'], label),
  define('text', 'metadata.keywords', keywordsOf, { facet: true, sorted: false, level: 'original' }),
  descriptive('city', ['XMP-photoshop:City', 'IPTC:City'], label),
  descriptive('country', ['XMP-photoshop:Country', 'IPTC:Country-PrimaryLocationName'], label),
  define('text', 'metadata_fulltext', fulltextOf, { sorted: false, level: 'original', expert: true }),
]

function keywordsOf({ tags }: FileForIndex): string[] {
  const wanted = new Set(['XMP-dc:Subject', 'IPTC:Keywords', 'PDF:Keywords'])
  return tags.filter(({ group, name }) => wanted.has(`${group}:${name}`)).flatMap(({ print }) => print.split('; '))
}

function fulltextOf({ text, tags }: FileForIndex): string[] {
  return [...tags.filter(({ group }) => !dull.has(group)).map(textOf), text]
}

/** Groups of metadata that people do not search for. */
const dull = new Set([
  'File',
  'Composite',
  'JFIF',
  'ICC_Profile',
  'ICC-header',
  'ICC-view',
  'ICC-meas',
  'PNG-pHYs',
  'System',
])

function cleaned(kind: FileFieldKind['kind'], found: readonly unknown[] | unknown): readonly unknown[] {
  const values = (Array.isArray(found) ? found : [found]) as readonly unknown[]
  if (kind === 'number') return values.filter((value) => typeof value === 'number' && Number.isFinite(value))
  if (kind === 'date') {
    return values.flatMap((value) => (typeof value === 'string' ? [{ value: value.replace(/\.\d+(?=Z|$)/, '') }] : []))
  }
  return [...new Set(values.filter((value) => typeof value === 'string' && value !== ''))]
}

/** The indexed part of a long text, in characters: some sixty pages. */
export const longestIndexed = 200_000

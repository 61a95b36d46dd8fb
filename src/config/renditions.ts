import { ownRow } from './client-renditions.ts'
import { table } from './fields/forms.ts'
import { bool, int, list, localized, select, text } from './fields/values.ts'

/** The available recipes for renditions, by class of files. */
const recipes = {
  /** `image`: a picture in some size. `pyramid`: tiles of all sizes, for zoom and IIIF. */
  image: ['image', 'pyramid'],
  /** `image`: of the first page. `pdf`: the document as PDF. */
  office: ['image', 'pdf'],
  /** `image`: a frame of the film. `video`: MP4 of a smaller size. */
  video: ['image', 'video'],
  /** `image`: the embedded cover. `audio`: for browsers. */
  audio: ['image', 'audio'],
} as const

/** Built-in colour profiles. */
export const builtInProfiles = ['sRGB Profile', 'Display P3', 'Generic CMYK Profile'] as const

export type RenditionClass = keyof typeof recipes

export type RecipeName = (typeof recipes)[RenditionClass][number]

/** The renditions of a class, a table; names are those of versions in records of files and in rights (`image.preview`). */
export function renditions(kind: RenditionClass, extensions: readonly string[]) {
  const recipe = select<RecipeName>(recipes[kind], 'image')
  const rows = table(
    {
      name: text('', { required: true, maxLength: 40, rule: nameRule }),
      displayname: localized(),
      recipe,
      /** The rendition of the class from which this one is created; empty: the original. */
      source: text('', { maxLength: 40 }),
      /** Extensions of the originals that get this rendition; none: all of the class. */
      extensions: list([], { choices: extensions }),
      /** `auto`: JPEG, and PNG where the picture is transparent. */
      format: select(['auto', 'jpg', 'png', 'webp', 'avif'], 'auto'),
      /** Size in pixels, in the sense of `resize_mode`; 0: unchanged. Pictures are never enlarged. */
      size: int(0, { max: 30_000 }),
      resize_mode: select(['max', 'min', 'width', 'height'], 'max'),
      /** Only originals whose longest side (for films: the height) has at least this number of pixels get the rendition. */
      size_minimum: int(0, { max: 1_000_000 }),
      quality: int(80, { min: 1, max: 100 }),
      /** Whether EXIF, IPTC and XMP are removed. */
      strip: bool(true),
      /** `srgb`: the profile of the web; `keep`: that of the original; else the name of a profile, which is embedded. */
      colorprofile: text('srgb', { maxLength: 100 }),
      /**
       * Whether it gets the watermark of the pool or object type; without a watermark it is not created. Only for `image` and
       * `pyramid`.
       */
      watermark: bool(false),
      /** Whether it gets the caption of the pool or object type, where there is one. Only for `image` and `pyramid`. */
      caption: bool(false),
      /** Whether it has all frames of moving images. Only with the format `webp`. */
      animated: bool(false),
      /** Whether lists show it for the file. */
      standard: bool(false),
      /** Whether rights name it. Otherwise every caller who may see an object with the file may get it. */
      rights_management: bool(true),
      /** A word for its size, by which deep links request it: `small`, `medium`, `huge`, or another one. */
      group: text('', { maxLength: 40, rule: groupRule }),
      /** Renditions with a smaller value are created earlier. */
      priority: int(5, { max: 100 }),
    },
    { default: defaults[kind], key: 'name', maxRows: 30 },
  )
  const check: typeof rows.check = (wire, path, stored) =>
    rows.check(Array.isArray(wire) ? wire.map((row, index) => ownRow(row, `${path}/${index}`)) : wire, path, stored)
  return { ...rows, check }
}

const small = { name: 'small', size: 400, group: 'small', priority: 0 }
const preview = { name: 'preview', size: 1000, standard: true, group: 'medium', priority: 1 }
const marked = { name: 'preview_watermark', recipe: 'image', size: 1000, watermark: true, caption: true, priority: 2 }

const defaults: Readonly<Record<RenditionClass, readonly object[]>> = {
  image: [
    { ...small, recipe: 'image' },
    { ...preview, recipe: 'image', caption: true },
    marked,
    { name: 'huge', recipe: 'image', size: 2000, size_minimum: 1001, group: 'huge' },
    { name: 'full', recipe: 'image', quality: 90, group: 'huge' },
    { name: 'zoom', recipe: 'pyramid', size_minimum: 1001, quality: 90, priority: 9 },
  ],
  office: [
    { ...small, recipe: 'image' },
    { ...preview, recipe: 'image', caption: true },
    marked,
    {
      name: 'pdf',
      recipe: 'pdf',
      extensions: 'csv doc docx odp ods odt ppsx ppt pptx rtf txt xls xlsx'.split(' '),
    },
  ],
  video: [
    { ...small, recipe: 'image' },
    { ...preview, recipe: 'image', caption: true },
    marked,
    { name: '360p', recipe: 'video', size: 360, priority: 8 },
    { name: '720p', recipe: 'video', size: 720, size_minimum: 720, priority: 9 },
  ],
  audio: [
    { ...small, recipe: 'image' },
    { ...preview, recipe: 'image' },
    { name: 'aac', recipe: 'audio', priority: 8 },
  ],
}

interface Row {
  readonly name: string
  readonly source: string
  readonly standard: boolean
  readonly animated: boolean
  readonly format: string
  readonly recipe: string
  readonly watermark: boolean
  readonly caption: boolean
}

/** Rules across rows: a source must come before its renditions. Returns the path below the table, and what is expected. */
export function renditionsRule(rows: readonly Row[]): { path: string; expected: string } | null {
  const before = new Set<string>()
  let standard = false
  for (const [index, row] of rows.entries()) {
    if (row.source !== '' && !before.has(row.source)) {
      return { path: `/${index}/source`, expected: 'the name of a row above, or empty' }
    }
    if (row.standard && standard) return { path: `/${index}/standard`, expected: 'set in one row only' }
    if (row.animated && row.format !== 'webp') {
      return { path: `/${index}/animated`, expected: 'false where the format is not webp' }
    }
    for (const mark of ['watermark', 'caption'] as const) {
      if (!row[mark]) continue
      if (row.recipe !== 'image' && row.recipe !== 'pyramid') {
        return { path: `/${index}/${mark}`, expected: 'false where the recipe is neither image nor pyramid' }
      }
      if (row.animated) return { path: `/${index}/${mark}`, expected: 'false where animated is set' }
    }
    standard ||= row.standard
    before.add(row.name)
  }
  return null
}

function nameRule(name: string): string | null {
  return /^[a-z0-9_]+$/.test(name) && name !== 'original' ? null : 'small letters, digits and _, and not original'
}

function groupRule(group: string): string | null {
  return /^[a-z0-9_-]+$/.test(group) ? null : 'small letters, digits, _ and -'
}

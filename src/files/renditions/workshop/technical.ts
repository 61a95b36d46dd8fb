/** A tag, as in records of files. */
export interface Tag {
  readonly group: string
  readonly name: string
  /** The value in the file: a number where it is one. */
  readonly value: unknown
  /** The value as text for people. */
  readonly print: string
  /** The entries of a list, which `print` joins. */
  readonly values?: readonly string[]
}

type Read = Readonly<Record<string, unknown>>

const mostTags = 1000
const longestText = 20_000
const mostValues = 2000
const longestName = 200
/** Most characters of all tags. */
const mostText = 500_000

/** Groups of tags that come from the file system and the tool, not from the file. */
const foreign = new Set(['System', 'ExifTool', 'SourceFile'])

/** Tags from ExifTool's output (`-G1 -l`), without pictures and other binary contents. */
export function tagsOf(read: Read): Tag[] {
  const tags: Tag[] = []
  let room = mostText
  for (const [key, given] of Object.entries(read)) {
    const colon = key.indexOf(':')
    if (colon < 1 || key.length > longestName || foreign.has(key.slice(0, colon)) || tags.length === mostTags) continue
    const print = printOf(given)
    if (print === '' || print.startsWith('(Binary data')) continue
    const values = valuesOf(given)
    room -= print.length * (values ? 2 : 1)
    if (room < 0) return tags
    const tag = { group: key.slice(0, colon), name: key.slice(colon + 1), value: rawOf(given), print }
    tags.push(values ? { ...tag, values } : tag)
  }
  return tags
}

/** Checks tags that another process has sent; null: they are not valid. */
export function checkedTags(given: unknown): readonly Tag[] | null {
  if (!Array.isArray(given) || given.length > mostTags) return null
  const isText = (value: unknown, most: number): boolean => typeof value === 'string' && value.length <= most
  const isTag = (one: unknown): one is Tag => {
    if (typeof one !== 'object' || one === null) return false
    const { group, name, value, print, values } = one as Record<string, unknown>
    if (values !== undefined && !isTexts(values)) return false
    const plain = typeof value === 'number' || typeof value === 'boolean' || isText(value, longestText)
    return isText(group, longestName) && isText(name, longestName) && isText(print, longestText) && plain
  }
  const isTexts = (values: unknown): boolean =>
    Array.isArray(values) && values.length <= mostValues && values.every((one) => isText(one, longestText))
  return given.every(isTag) ? given : null
}

/** The values of a list, without empty ones, and no more than `print` has. */
function valuesOf(given: unknown): readonly string[] | null {
  const value = isLong(given) ? given.val : given
  if (!Array.isArray(value)) return null
  const texts = value.slice(0, mostValues).map((one) => clean(textOf(one)))
  let room = longestText
  return texts.filter((text) => {
    room -= text.length
    return text !== '' && room >= 0
  })
}

function printOf(given: unknown): string {
  const value = isLong(given) ? given.val : given
  const text = Array.isArray(value) ? value.map(textOf).join('; ') : textOf(value)
  return clean(text)
}

/** Long text is cut first, so that cleaning it takes little time. */
function textOf(value: unknown): string {
  return (typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')).slice(
    0,
    10 * longestText,
  )
}

function rawOf(given: unknown): unknown {
  const value = isLong(given) ? (given.num ?? given.val) : given
  return typeof value === 'number' || typeof value === 'boolean' ? value : printOf(value)
}

function clean(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, '')
    .trim()
    .slice(0, longestText)
}

function isLong(given: unknown): given is { readonly val?: unknown; readonly num?: unknown } {
  return typeof given === 'object' && given !== null && 'val' in given
}

/** The members of `technical_metadata` that the tags give; `known` are those found before, which win over the tags. */
export function technicalOf(tags: readonly Tag[], known: Read): Record<string, unknown> {
  const find = (...names: string[]): Tag | undefined => {
    for (const name of names) {
      const tag = tags.find((one) => `${one.group}:${one.name}` === name || one.name === name)
      if (tag) return tag
    }
    return undefined
  }
  const number = (...names: string[]): number | undefined => {
    const value = Number(find(...names)?.value ?? Number.NaN)
    return Number.isFinite(value) ? value : undefined
  }
  const width = size(known.width) ?? size(number('ImageWidth', 'SourceImageWidth'))
  const height = size(known.height) ?? size(number('ImageHeight', 'SourceImageHeight'))
  const [make, model] = [find('IFD0:Make', 'Make')?.print, find('IFD0:Model', 'Model')?.print]
  const audio = find('AudioFormat', 'AudioCodec')?.print
  const video = find('CompressorID', 'VideoCodec')?.print
  const found: Record<string, unknown> = {
    ...(width && height ? { width, height, ...shape(width, height) } : {}),
    camera_scanner: make && model?.startsWith(make) ? model : [make, model].filter(Boolean).join(' ') || undefined,
    create_date: date(
      find('ExifIFD:CreateDate', 'XMP-xmp:CreateDate', 'QuickTime:CreateDate', 'PDF:CreateDate')?.print,
    ),
    date_time_original: date(
      find('ExifIFD:DateTimeOriginal', 'Keys:CreationDate', 'XMP-photoshop:DateCreated', 'DateTimeOriginal')?.print,
    ),
    gps_location: place(
      number('Composite:GPSLatitude', 'GPSLatitude'),
      number('Composite:GPSLongitude', 'GPSLongitude'),
      number('Composite:GPSAltitude', 'GPSAltitude'),
    ),
    has_clipping_path: find('ClippingPathName') ? true : undefined,
    duration: number('Composite:Duration', 'Duration'),
    pages: size(known.pages) ?? size(number('PDF:PageCount', 'PageCount', 'Pages', 'Slides', 'Page-count')),
    num_glyphs: size(number('NumGlyphs')),
    projection_type: find('ProjectionType')?.print,
    colorprofile: known.colorprofile ?? find('ProfileDescription')?.print,
    audio_codec: audio === undefined ? undefined : [audio],
    video_codec: video === undefined ? undefined : [video],
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

function size(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

export function shape(width: number, height: number) {
  const format = width > height ? 'landscape' : width < height ? 'portrait' : 'square'
  const aspect_ratio = Math.round((1000 * width) / height) / 1000
  return { max_dimension: Math.max(width, height), aspect_ratio, format }
}

/** The intended size on paper; nothing where the resolution is unknown. */
export function printed({ width, height, dpi }: Read) {
  if (typeof width !== 'number' || typeof height !== 'number' || typeof dpi !== 'number' || dpi <= 0) return {}
  const centimetres = (pixels: number): number => Math.round((254 * pixels) / dpi) / 100
  return { dimensions: { width: centimetres(width), height: centimetres(height), unit: 'cm' } }
}

/** A date of EXIF (`2008:10:22 16:28:39+02:00`) as ISO 8601; without time zone where the file has none. */
function date(text: string | undefined): string | undefined {
  const [, year, month, day, time, zone = ''] =
    /^(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?$/.exec(text ?? '') ?? []
  if (year === undefined || Number.isNaN(Date.parse(`${year}-${month}-${day}T${time}Z`))) return undefined
  return `${year}-${month}-${day}T${time}${zone}`
}

function place(latitude: number | undefined, longitude: number | undefined, altitude: number | undefined) {
  if (latitude === undefined || longitude === undefined) return undefined
  if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180 || (latitude === 0 && longitude === 0)) return undefined
  return { latitude, longitude, ...(altitude === undefined ? {} : { altitude }) }
}

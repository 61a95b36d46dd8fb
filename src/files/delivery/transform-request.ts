import { type BaseConfig, namesProfile } from '../../config/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { ColourRequest } from '../renditions/recipes/colours.ts'
import { pictureFormats, type SizedTask } from '../renditions/workshop/tasks.ts'

/** Parameters of a download that ask for more than the version as it is. */
export interface DeliveryQuery {
  readonly format?: string | undefined
  readonly size?: number | undefined
  readonly width?: number | undefined
  readonly height?: number | undefined
  readonly resize_mode?: string | undefined
  readonly crop?: string | undefined
  readonly quality?: string | undefined
  readonly dpi?: number | undefined
  readonly preset?: string | undefined
  /** `keep`, `remove`, `standard`, or the id of a mapping. */
  readonly metadata?: string | undefined
}

/** A named set of parameters. */
type Preset = BaseConfig['custom_version_presets']['value']['presets'][number]

/** Another picture made of the version. */
export interface PictureTransform {
  readonly format: SizedTask['format'] | null
  readonly crop: Partial<Record<'top' | 'left' | 'width' | 'height', number>> | null
  readonly fit: Fit
  /** For JPEG and WebP; null: default. */
  readonly compression: number | null
  readonly density: number | null
  readonly watermark: boolean
  /** Mirrored, then turned by so many degrees clockwise, after the part was cut out. The size is that of the result. */
  readonly mirror: SizedTask['mirror']
  readonly turn: number
  /** null: sRGB. */
  readonly colours: ColourRequest | null
}

type Fit =
  | { readonly mode: 'none' }
  /** The width, the height, or the longer or shorter side. */
  | { readonly mode: 'max' | 'min' | 'width' | 'height'; readonly size: number }
  | { readonly mode: 'cover' | 'contain' | 'force'; readonly width: number; readonly height: number }

export interface TransformRequest {
  readonly picture: PictureTransform | null
  /** The name of the preset in the request. */
  readonly preset: string | null
  /** Without embedded metadata. */
  readonly bare: boolean
  /** The mapping by which the fields of an object are written into it: an id, or `standard`; null: none. */
  readonly mapping: string | null
  /** The parameters for the log. */
  readonly params: Readonly<Record<string, unknown>>
}

const formats: Readonly<Record<string, SizedTask['format']>> = pictureFormats
const qualities: Readonly<Record<string, number>> = { low: 50, small: 50, medium: 75, maximum: 100 }
/** The names in presets, which have one more. */
const qualitiesOfPresets: Readonly<Record<string, string>> = { high: '85' }
const sides = ['top', 'left', 'width', 'height'] as const

/** Null where the version is wanted as it is. @throws {AppError} `UrlParameterNotSupported` naming the wrong parameter. */
export function readTransformRequest(
  { preset: name, metadata, ...query }: DeliveryQuery,
  presets: readonly Preset[],
): TransformRequest | null {
  const preset = name === undefined ? null : presetNamed(name, presets)
  const asked = partsOf(query)
  if (preset && Object.keys(asked).length > 0) {
    throw refuse('preset', name, `it says all of the picture, not with ${Object.keys(asked).join(', ')}`)
  }
  const transform = preset ? queryOf(preset) : query
  const further = preset ? furtherOf(preset) : nothingFurther
  const parts = preset ? { preset: preset.name, ...partsOf(transform), ...told(preset) } : asked
  const picture = Object.keys(parts).length === 0 ? null : { ...readPicture(transform, transform.dpi), ...further }
  if (picture && metadata === 'keep') {
    throw refuse('metadata', metadata, 'a picture that is made for a download says nothing of itself')
  }
  const mapping = metadata === undefined || metadata === 'keep' || metadata === 'remove' ? null : metadata
  if (!picture && metadata !== 'remove' && mapping === null) return null
  const params = { ...parts, ...(metadata === undefined ? {} : { metadata }) }
  return { picture, preset: preset?.name ?? null, bare: metadata === 'remove' && !picture, mapping, params }
}

/** The parameters of a picture. The interface says that a resolution of 0 and less is none. */
function partsOf({
  format,
  size,
  width,
  height,
  resize_mode,
  crop,
  quality,
  dpi,
}: DeliveryQuery): Partial<DeliveryQuery> {
  const parts = { format, size, width, height, resize_mode, crop, quality, dpi: (dpi ?? 0) > 0 ? dpi : undefined }
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
}

function presetNamed(name: string, presets: readonly Preset[]): Preset {
  const found = presets.find((preset) => preset.name === name)
  if (!found) throw refuse('preset', name, 'there is none of that name')
  return found
}

const modes = { dimension_max: 'max', dimension_min: 'min', width: 'width', height: 'height' } as const

/** A preset in the form of a download query. */
function queryOf({ custom }: Preset): DeliveryQuery {
  const { format, quality, size, custom_size: mode, dpi, transform } = custom
  const { top, left, width, height } = transform.crop
  const cut = top + left + width + height > 0
  const crop = cut ? { top, left, ...(width > 0 ? { width } : {}), ...(height > 0 ? { height } : {}) } : null
  const box = { width: custom.custom_width_pixel, height: custom.custom_height_pixel }
  return {
    ...(format === 'keep' ? {} : { format }),
    ...(quality === '' ? {} : { quality: qualitiesOfPresets[quality] ?? quality }),
    ...(dpi > 0 ? { dpi } : {}),
    ...(crop ? { crop: JSON.stringify(crop) } : {}),
    ...(size === 'keep'
      ? {}
      : mode === 'cover' || mode === 'contain'
        ? { ...box, resize_mode: mode }
        : { size: custom.custom_size_pixel, resize_mode: modes[mode] }),
  }
}

/** Members that only presets have, not downloads. */
type Further = Pick<PictureTransform, 'watermark' | 'mirror' | 'turn' | 'colours'>

const nothingFurther: Further = { watermark: false, mirror: null, turn: 0, colours: null }

function furtherOf({ custom }: Preset): Further {
  const { watermark, colorspace, colorprofile, transform } = custom
  const { 'rotate-x': x, 'rotate-y': y, 'rotate-z': turn } = transform
  const coloured = colorspace !== '' || namesProfile(colorprofile)
  return {
    watermark,
    mirror: x !== 0 ? 'x' : y !== 0 ? 'y' : null,
    // Presets turn first and mirror then. That is the same as mirroring first and turning the other way.
    turn: y !== 0 ? -turn : turn,
    colours: coloured ? { colorspace, colorprofile } : null,
  }
}

/** The same for the log: only values that differ from the defaults. */
function told({ custom: { watermark, colorspace, colorprofile, transform } }: Preset): Record<string, unknown> {
  const { crop: _, ...turns } = transform
  const all = Object.entries({ watermark, colorspace, colorprofile, ...turns })
  return Object.fromEntries(all.filter(([, value]) => value !== false && value !== '' && value !== 0))
}

function readPicture(
  { format, quality, crop, ...query }: DeliveryQuery,
  dpi: number | undefined,
): Omit<PictureTransform, keyof Further> {
  const known = format === undefined ? null : Object.hasOwn(formats, format) ? formats[format] : undefined
  if (known === undefined) throw refuse('format', format, `it can be ${Object.keys(formats).join(', ')}`)
  const compression = quality === undefined ? null : readQuality(quality)
  return {
    format: known,
    crop: readCrop(crop),
    fit: readFit(query),
    compression,
    density: (dpi ?? 0) > 0 ? (dpi ?? null) : null,
  }
}

function readQuality(text: string): number {
  const value = Object.hasOwn(qualities, text)
    ? qualities[text]
    : /^([1-9]\d?|100)$/.test(text)
      ? Number(text)
      : undefined
  if (value === undefined) throw refuse('quality', text, 'it is low, small, medium, maximum, or 1 to 100')
  return value
}

function readCrop(text: string | undefined): PictureTransform['crop'] {
  if (text === undefined) return null
  const value = parsed(text)
  const fits =
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(
      ([key, side]) => (sides as readonly string[]).includes(key) && Number.isSafeInteger(side) && Math.abs(side) < 1e6,
    )
  if (!fits) throw refuse('crop', text, 'it is JSON with top, left, width and height in pixels')
  return value as PictureTransform['crop']
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function readFit({ size, width, height, resize_mode: mode }: DeliveryQuery): Fit {
  if (size !== undefined) {
    if (width !== undefined || height !== undefined) throw refuse('size', `${size}`, 'not with width or height')
    if (mode === undefined) return { mode: 'max', size }
    if (mode === 'max' || mode === 'min' || mode === 'width' || mode === 'height') return { mode, size }
    throw refuse('resize_mode', mode, 'with size it is max, min, width or height')
  }
  if (width !== undefined && height !== undefined) {
    if (mode === undefined) return { mode: 'cover', width, height }
    if (mode === 'cover' || mode === 'contain' || mode === 'force') return { mode, width, height }
    throw refuse('resize_mode', mode, 'with width and height it is cover, contain or force')
  }
  if (mode !== undefined && !(mode === 'width' && width) && !(mode === 'height' && height)) {
    throw refuse('resize_mode', mode, 'it needs a size, or width and height')
  }
  if (width !== undefined) return { mode: 'width', size: width }
  return height === undefined ? { mode: 'none' } : { mode: 'height', size: height }
}

/** The error for an invalid parameter. */
export function refuse(param: string, value: string | undefined, why: string): AppError {
  const shown = `${value}`.slice(0, 100)
  return new AppError(
    'UrlParameterNotSupported',
    { param, value: shown },
    { message: `${param} cannot be ${shown}: ${why}.` },
  )
}

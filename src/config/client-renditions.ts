/**
 * Converts renditions as other clients configure them, `{"recipename": "imageconverter:browserthumbs", "params": {…}}`, to rows of
 * the tables of this service. Options that this service does not support are refused with their path.
 */
import { isRecord } from '../platform/values/records.ts'
import { wrong } from './fields/field.ts'

type Row = Readonly<Record<string, unknown>>

interface Known {
  readonly recipe: string
  /** Members of `params` with their names here; null: only an empty value is allowed. */
  readonly params: Readonly<Record<string, string | null>>
  readonly watermark?: true
}

const picture = { format: 'format', resize_mode: 'resize_mode', size: 'size', size_minimum: 'size_minimum' } as const

const image = {
  ...picture,
  colorprofile: 'colorprofile',
  jpegquality: 'quality',
  strip: 'strip',
  background: null,
  clip: null,
  colorspace: null,
  dpi: null,
  enlarge: null,
} as const

/** Recipes by the names of other clients. This service supports no others. */
const recipes: Readonly<Record<string, Known>> = {
  'audioconverter:convert': { recipe: 'audio', params: { format: null } },
  'audioconverter:preview': { recipe: 'image', params: picture },
  'imageconverter:browserthumbs': { recipe: 'image', params: image },
  'imageconverter:preview_pool_watermark': { recipe: 'image', params: image, watermark: true },
  'officeconverter:browserthumbs': { recipe: 'image', params: picture },
  'officeconverter:pdf': { recipe: 'pdf', params: {} },
  'officeconverter:preview': { recipe: 'image', params: picture },
  'videoconverter:resize': {
    recipe: 'video',
    params: { height: 'size', height_minimum: 'size_minimum', ffmpeg_params: null, timeout: null },
  },
  'videoconverter:thumbnail': {
    recipe: 'image',
    params: { format: 'format', size: 'size', timeout: null, 'video-thumb-select': null },
  },
}

/** Members of a row with their names here; null: only an empty value is allowed. */
const members: Readonly<Record<string, string | null>> = {
  name: 'name',
  displayname: 'displayname',
  extensions: 'extensions',
  group: 'group',
  standard: 'standard',
  watermark: 'watermark',
  rightsmanagement: 'rights_management',
  sourceversion: 'source',
  custommetadata: null,
}

/** A row in the form of this service; a row that has this form already stays unchanged. */
export function ownRow(row: unknown, path: string): unknown {
  if (!isRecord(row) || row.recipename === undefined) return row
  const { recipename, params = {}, ...others } = row
  const known = typeof recipename === 'string' && Object.hasOwn(recipes, recipename) ? recipes[recipename] : undefined
  if (!known) throw wrong(`${path}/recipename`, `one of ${Object.keys(recipes).join(', ')}`)
  if (!isRecord(params)) throw wrong(`${path}/params`, 'an object')
  return {
    ...renamed(others, members, path),
    ...renamed(params, known.params, `${path}/params`, values),
    recipe: known.recipe,
    ...(known.watermark ? { watermark: true } : {}),
  }
}

/** Converts values that this service writes differently; null: the value is left out. */
function values(name: string, value: unknown): unknown {
  if (name === 'resize_mode' && value === '') return null
  if (name === 'size' && typeof value === 'string' && /^\d{1,6}$/.test(value)) return Number(value)
  if (name === 'colorprofile' && (value === '' || value === '-')) return null
  if (name === 'quality' && value === 0) return null
  return value
}

function renamed(
  row: Row,
  names: Readonly<Record<string, string | null>>,
  path: string,
  convert: (name: string, value: unknown) => unknown = (_, value) => value,
): Record<string, unknown> {
  const own: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row)) {
    const known = Object.hasOwn(names, name) ? names[name] : undefined
    if (known === undefined) throw wrong(`${path}/${name}`, 'left out: there is no such member')
    if (known === null && !isNothing(name, value))
      throw wrong(`${path}/${name}`, 'left out: there is nothing like it here')
    if (known) own[known] = convert(known, value)
  }
  return own
}

/** Whether a value is empty, or is what this service does in any case. */
function isNothing(name: string, value: unknown): boolean {
  if (name === 'format') return value === 'aac' || value === '' || value === null
  if (name === 'colorspace') return value === '' || value === 'srgb' || value === null
  if (isRecord(value)) return Object.values(value).every((inner) => isNothing('', inner))
  if (Array.isArray(value)) return value.length === 0
  return value === null || value === '' || value === false || value === 0
}

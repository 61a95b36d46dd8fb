import { type ValuesOf, wrong } from './fields/field.ts'
import { form, table } from './fields/forms.ts'
import { bool, int, localized, select, text } from './fields/values.ts'

/** The options of a picture for a download, with names that clients share. */
const custom = {
  /** Whether it has the watermark of the pool or object type; if there is none, the picture is not available. */
  watermark: bool(false),
  /** `keep`: that of the version. */
  format: select(['keep', 'jpeg', 'tiff', 'png', 'bmp'], 'keep'),
  /** For JPEG and WebP; empty: the default. */
  quality: text('', {
    maxLength: 20,
    rule: (quality) =>
      /^(low|small|medium|high|maximum|[1-9]\d?|100)$/.test(quality)
        ? null
        : 'low, small, medium, high, maximum, or 1 to 100',
  }),
  size: select(['keep', 'custom'], 'keep'),
  /** The meaning of `custom_size_pixel`, or, for the last two, of `custom_width_pixel` and `custom_height_pixel`. */
  custom_size: select(['dimension_max', 'dimension_min', 'width', 'height', 'cover', 'contain'], 'dimension_max'),
  custom_size_pixel: int(0, { max: 100_000 }),
  custom_width_pixel: int(0, { max: 100_000 }),
  custom_height_pixel: int(0, { max: 100_000 }),
  /** The resolution in the metadata of the picture, in pixels per inch; 0: none. */
  dpi: int(0, { max: 100_000 }),
  /** Empty: sRGB, without a profile. `gray`: one channel; `cmyk`: the inks of a printer. */
  colorspace: select(['', 'rgb', 'sRGB', 'srgb', 'cmyk', 'gray'], ''),
  /** A built-in profile or one of `colorprofiles`, which is embedded; empty or `-`: none. */
  colorprofile: text('', { maxLength: 100 }),
  transform: form({
    /** Other than 0: flips the picture vertically. Not together with the other two. */
    'rotate-x': int(0, { min: -360, max: 360 }),
    /** Other than 0: flips the picture horizontally. */
    'rotate-y': int(0, { min: -360, max: 360 }),
    /** Degrees, clockwise. */
    'rotate-z': int(0, { min: -360, max: 360 }),
    /** The part that is cut out before all other steps, in pixels of the version; without width or height: to its end. */
    crop: form({
      top: int(0, { max: 1_000_000 }),
      left: int(0, { max: 1_000_000 }),
      width: int(0, { max: 1_000_000 }),
      height: int(0, { max: 1_000_000 }),
    }),
  }),
}

const preset = {
  name: text('', {
    required: true,
    maxLength: 40,
    rule: (name) => (/^[A-Za-z0-9_-]+$/.test(name) ? null : 'letters, digits, _ and -'),
  }),
  displayname: localized(),
  custom: form(custom),
}

export type VersionPreset = ValuesOf<typeof preset>

export const versionPresets = table(preset, { key: 'name', maxRows: 50 })

type Custom = VersionPreset['custom']

const customForm = form(custom)

/**
 * Options of a picture that are given without a preset, in the shape of a preset. @throws {AppError} `ServerGeneric` with the path
 * of an invalid option.
 */
export function readCustomVersion(wire: Readonly<Record<string, unknown>>, path: string): Custom {
  const { transform, ...rest } = wire
  const { crop, ...turns } = (transform ?? {}) as Readonly<Record<string, unknown>>
  const sent = { ...rest, transform: { ...turns, ...(crop ? { crop } : {}) } }
  const read = customForm.read(customForm.check(sent, path, customForm.default))
  const broken = customRule(read)
  if (broken) throw wrong(`${path}${broken.path.replaceAll('/', '.')}`, broken.expected)
  return read
}

const sizes = ['custom_size_pixel', 'custom_width_pixel', 'custom_height_pixel'] as const

/** Each preset must have a name and an effect. Returns the path below the table, and what is expected. */
export function versionPresetsRule(presets: readonly VersionPreset[]): { path: string; expected: string } | null {
  for (const [index, { displayname, custom }] of presets.entries()) {
    if (Object.keys(displayname).length === 0) return { path: `/${index}/displayname`, expected: 'given' }
    const broken = customRule(custom)
    if (broken) return { ...broken, path: `/${index}/custom${broken.path}` }
  }
  return null
}

function customRule(custom: Custom): { path: string; expected: string } | null {
  const { size, custom_size, format, quality, transform } = custom
  const box = custom_size === 'cover' || custom_size === 'contain'
  const wanted = size === 'keep' ? [] : box ? ['custom_width_pixel', 'custom_height_pixel'] : ['custom_size_pixel']
  for (const name of sizes) {
    const isWanted = wanted.includes(name)
    if (isWanted && custom[name] === 0) return { path: `/${name}`, expected: 'at least 1' }
    if (!isWanted && custom[name] !== 0) return { path: `/${name}`, expected: `0: nothing asks for it` }
  }
  if (size === 'keep' && custom_size !== 'dimension_max') return { path: '/custom_size', expected: 'left out' }
  if (quality !== '' && format !== 'keep' && format !== 'jpeg') {
    return { path: '/quality', expected: `empty: the format ${format} has none` }
  }
  if (format === 'bmp' && namesProfile(custom.colorprofile)) {
    return { path: '/colorprofile', expected: 'empty: the format bmp carries none' }
  }
  const turned = turnRule(custom)
  if (turned) return turned
  const { crop, 'rotate-x': x, 'rotate-y': y, 'rotate-z': turn } = transform
  const cut = Object.values(crop).some((side) => side > 0) || x !== 0 || y !== 0 || turn % 360 !== 0
  const coloured = custom.colorspace !== '' || namesProfile(custom.colorprofile)
  const sized = size === 'custom' || custom.dpi > 0
  const does = cut || coloured || sized || format !== 'keep' || quality !== '' || custom.watermark
  return does ? null : { path: '', expected: 'something that has an effect' }
}

function turnRule({ custom_size, transform }: Custom): { path: string; expected: string } | null {
  const { 'rotate-x': x, 'rotate-y': y, 'rotate-z': turn } = transform
  const path = '/transform/rotate-z'
  if (x !== 0 && (y !== 0 || turn !== 0)) return { path: '/transform/rotate-x', expected: '0 beside the other two' }
  if (turn !== 0 && turn % 360 === 0) return { path, expected: '0: it turns nothing' }
  // With `cover` the picture has no visible corners.
  if (turn % 90 !== 0 && custom_size === 'cover') return { path, expected: 'a multiple of 90 where the size is cover' }
  return null
}

/**
 * Whether a text names a colour profile. The available profiles, and their valid combinations, are checked where files are
 * processed.
 */
export const namesProfile = (name: string): boolean => name !== '' && name !== '-'

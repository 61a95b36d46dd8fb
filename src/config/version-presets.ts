import { bool, form, int, localized, select, table, text, type ValuesOf, wrong } from './fields.ts'

/** What a picture that is made for a download may be, by names that all share. */
const custom = {
  /** With the watermark of pool or object type; where there is none, it cannot be had. */
  watermark: bool(false),
  /** `keep`: that of the version. */
  format: select(['keep', 'jpeg', 'tiff', 'png', 'bmp'], 'keep'),
  /** Of JPEG and WebP; empty: as usual. */
  quality: text('', {
    maxLength: 20,
    rule: (quality) =>
      /^(low|small|medium|high|maximum|[1-9]\d?|100)$/.test(quality)
        ? null
        : 'low, small, medium, high, maximum, or 1 to 100',
  }),
  size: select(['keep', 'custom'], 'keep'),
  /** What `custom_size_pixel`, or, of the last two, `custom_width_pixel` and `custom_height_pixel` are. */
  custom_size: select(['dimension_max', 'dimension_min', 'width', 'height', 'cover', 'contain'], 'dimension_max'),
  custom_size_pixel: int(0, { max: 100_000 }),
  custom_width_pixel: int(0, { max: 100_000 }),
  custom_height_pixel: int(0, { max: 100_000 }),
  /** Pixels per inch that it says it has; 0: nothing. */
  dpi: int(0, { max: 100_000 }),
  /** Empty: sRGB, which nothing says of itself. `gray`: one channel; `cmyk`: the inks of a printer. */
  colorspace: select(['', 'rgb', 'sRGB', 'srgb', 'cmyk', 'gray'], ''),
  /** A profile of the service or of `colorprofiles`, which the picture carries; empty or `-`: none. */
  colorprofile: text('', { maxLength: 100 }),
  transform: form({
    /** Other than 0: top and bottom change places. Not with the other two. */
    'rotate-x': int(0, { min: -360, max: 360 }),
    /** Other than 0: left and right change places. */
    'rotate-y': int(0, { min: -360, max: 360 }),
    /** Degrees, clockwise. */
    'rotate-z': int(0, { min: -360, max: 360 }),
    /** The part that is taken before all else, in pixels of the version; no width or height: to its end. */
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
 * What is said of a picture without giving it a name, in the shape of a preset. @throws {AppError} `ServerGeneric` naming the
 * place of what cannot be
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

/** Each says something, and nothing in vain. Answers the path below the table, and what is expected. */
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
  // What is filled has no corners to be seen.
  if (turn % 90 !== 0 && custom_size === 'cover') return { path, expected: 'a multiple of 90 where the size is cover' }
  return null
}

/** Whether a text names a profile of colours; which there are, and what goes together, is known where files are. */
export const namesProfile = (name: string): boolean => name !== '' && name !== '-'

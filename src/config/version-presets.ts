import { bool, form, int, localized, select, table, text, type ValuesOf, waiting } from './fields.ts'

/** What a picture that is made for a download may be, by names that all share. */
const custom = {
  /** With the watermark of pool or object type; where there is none, it cannot be had. */
  watermark: bool(false),
  /** `keep`: that of the version. */
  format: select(['keep', 'jpeg', 'tiff', 'png'], 'keep'),
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
  colorspace: waiting(text('', { maxLength: 100 }), 'pictures that are made for a download have sRGB'),
  colorprofile: waiting(text('', { maxLength: 100 }), 'pictures that are made for a download have sRGB'),
  transform: form({
    'rotate-x': waiting(int(0, { min: -360, max: 360 }), 'pictures that are made for a download are not turned'),
    'rotate-y': waiting(int(0, { min: -360, max: 360 }), 'pictures that are made for a download are not turned'),
    'rotate-z': waiting(int(0, { min: -360, max: 360 }), 'pictures that are made for a download are not turned'),
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
  const cut = Object.values(transform.crop).some((side) => side > 0)
  const does = cut || size === 'custom' || format !== 'keep' || quality !== '' || custom.dpi > 0 || custom.watermark
  return does ? null : { path: '', expected: 'something that has an effect' }
}

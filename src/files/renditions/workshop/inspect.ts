import type { Sharp } from 'sharp'
import { blurhash } from './blurhash.ts'
import type { Opened } from './open.ts'
import { perceptualHashOf } from './perceptual-hash.ts'
import type { Basics, PicturesResult } from './tasks.ts'
import { shape } from './technical.ts'

/** A picture that shows the same as the source. */
export interface PictureSource {
  readonly width: number
  readonly open: () => Sharp
}

const depths: Readonly<Record<string, number>> = {
  uchar: 8,
  char: 8,
  ushort: 16,
  short: 16,
  uint: 32,
  int: 32,
  float: 32,
}
const spaces: Readonly<Record<string, string>> = {
  srgb: 'RGB',
  rgb: 'RGB',
  rgb16: 'RGB',
  'b-w': 'Gray',
  grey16: 'Gray',
}

/** Metadata from the picture itself, without any other program; its look is computed from the smallest of the made pictures. */
export async function inspect(
  opened: Opened,
  looks: readonly PictureSource[],
): Promise<Pick<PicturesResult, 'basics' | 'perceptualHash'>> {
  const small = (): Sharp => smallest(opened, looks)
  const blurhash = await look(small())
  const basics = { ...headOf(opened), ...(blurhash === undefined ? {} : { blurhash }) }
  return { basics, perceptualHash: await perceptualHashOf(small()) }
}

/** Metadata from the header of the picture: no pixels are decoded for that. */
export function headOf({ metadata, pages }: Opened): Basics {
  const height = metadata.pageHeight ?? metadata.height
  // The picture is turned upright.
  const turned = (metadata.orientation ?? 1) >= 5
  const [across, down] = turned ? [height, metadata.width] : [metadata.width, height]
  const known = {
    ...(across && down ? { width: across, height: down, ...shape(across, down) } : {}),
    dpi: pages === null ? metadata.density : undefined,
    colorspace: spaces[metadata.space ?? ''] ?? metadata.space?.toUpperCase(),
    colordepth: depths[metadata.depth ?? ''],
    samples_per_pixel: metadata.channels,
    orientation: metadata.orientation === undefined ? undefined : `${metadata.orientation}`,
    colorprofile: metadata.icc ? profileName(metadata.icc) : undefined,
    pages: pages ?? ((metadata.pages ?? 1) > 1 ? metadata.pages : undefined),
  }
  // A page drawn here has no colour information of its own.
  const drawn =
    pages === null ? [] : ['colorspace', 'colordepth', 'samples_per_pixel', 'width', 'height', 'max_dimension']
  return Object.fromEntries(
    Object.entries(known).filter(([key, value]) => value !== undefined && value !== null && !drawn.includes(key)),
  )
}

function smallest(opened: Opened, looks: readonly PictureSource[]): Sharp {
  const [first] = [...looks].sort((some, other) => some.width - other.width)
  return first ? first.open() : opened.open()
}

async function look(picture: Sharp): Promise<string | undefined> {
  const { data, info } = await picture
    .autoOrient()
    .resize({ width: 32, height: 32, fit: 'inside' })
    .flatten({ background: 'white' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
  return info.channels === 3 ? blurhash(data, info.width, info.height) : undefined
}

/** The description in an ICC profile (ICC.1, 9.2.41; in ASCII in version 2 of the format). */
function profileName(icc: Buffer): string | undefined {
  const count = icc.length >= 132 ? Math.min(icc.readUInt32BE(128), 200) : 0
  for (let index = 0; index < count; index++) {
    const at = 132 + 12 * index
    if (at + 12 > icc.length) return undefined
    if (icc.toString('latin1', at, at + 4) !== 'desc') continue
    const start = icc.readUInt32BE(at + 4)
    const tag = icc.subarray(start, start + icc.readUInt32BE(at + 8))
    if (tag.length < 28) return undefined
    if (tag.toString('latin1', 0, 4) === 'desc') return clean(tag.toString('latin1', 12, 12 + tag.readUInt32BE(8)))
    const [length, offset] = [tag.readUInt32BE(20), tag.readUInt32BE(24)]
    const text = Buffer.from(tag.subarray(offset, offset + length - (length % 2))).swap16()
    return clean(text.toString('utf16le'))
  }
  return undefined
}

function clean(name: string): string | undefined {
  const text = name
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
    .slice(0, 200)
  return text === '' ? undefined : text
}

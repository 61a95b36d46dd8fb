import type { Metadata, Sharp } from 'sharp'
import { type Opened, openSource } from './open.ts'
import type { DeriveTask, RegionTask, Results } from './tasks.ts'

export const mimeTypes = {
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  tif: 'image/tiff',
  gif: 'image/gif',
  bmp: 'image/bmp',
} as const

/** A part of a picture in the requested size, from the smallest sufficient level of a pyramid. */
export async function cutRegion(task: RegionTask, pixels: number): Promise<Results['region']> {
  const cut = await partOf(await openSource(task.source, pixels, drawnSide(task)), task)
  const { turn, mirror } = task
  const corners = turn % 90 === 0 ? '#000' : '#fff'
  const turned = turnedBy(coloured(cut, task), { turn, mirror: mirror ? 'y' : null, corners })
  const content = await encoded(turned, task)
  return { content, mimeType: mimeTypes[task.format] }
}

/** The longest side at which a page has to be drawn for the requested size. */
function drawnSide({ source: { page }, region, width, height }: RegionTask): number | undefined {
  if (!page) return undefined
  const scale = Math.min(1, Math.max(width / region.width, height / region.height))
  return Math.ceil(scale * Math.max(page.width, page.height))
}

/** The part in the requested size. */
export async function partOf(
  opened: Opened,
  task: Pick<RegionTask, 'source' | 'region' | 'width' | 'height'> & { readonly sharpPixels?: boolean },
): Promise<Sharp> {
  const { picture, metadata: all, scale } = await levelFor(opened, task)
  const { region, width, height } = task
  // Rounding may end one pixel outside the level.
  const turned = (all.orientation ?? 1) >= 5
  const [across, down] = (turned ? [all.height, all.width] : [all.width, all.height]) as [number, number]
  const left = Math.min(Math.floor(region.left * scale), across - 1)
  const top = Math.min(Math.floor(region.top * scale), down - 1)
  const part = {
    left,
    top,
    width: Math.max(1, Math.min(Math.round(region.width * scale), across - left)),
    height: Math.max(1, Math.min(Math.round(region.height * scale), down - top)),
  }
  const whole = part.left === 0 && part.top === 0 && part.width === across && part.height === down
  const upright = picture.autoOrient()
  return (whole ? upright : upright.extract(part)).resize({
    width,
    height,
    fit: 'fill',
    kernel: task.sharpPixels ? 'nearest' : 'lanczos3',
  })
}

/** Pyramids are TIFFs of a special kind: each page is half as large as the one before. */
async function levelFor(
  { open, metadata }: Opened,
  task: Pick<RegionTask, 'source' | 'region' | 'width' | 'height'>,
): Promise<{ picture: Sharp; metadata: Metadata; scale: number }> {
  const { page } = task.source
  if (page) return { picture: open(), metadata, scale: (metadata.width ?? 1) / page.width }
  const levels = metadata.format === 'tiff' ? (metadata.pages ?? 1) : 1
  const wanted = Math.min(task.region.width / task.width, task.region.height / task.height)
  const level = Math.max(0, Math.min(levels - 1, Math.floor(Math.log2(Math.max(1, wanted)))))
  const picture = open({ page: level, sequentialRead: false })
  if (level === 0) return { picture, metadata, scale: 1 }
  const own = await picture.metadata()
  return { picture, metadata: own, scale: (own.width ?? 1) / (metadata.width ?? 1) }
}

function coloured(picture: Sharp, { quality }: RegionTask): Sharp {
  if (quality === 'gray') return picture.greyscale()
  if (quality === 'bitonal') return picture.threshold(128)
  return picture
}

/** Mirrored, then turned clockwise; `corners`: the colour of the new corners. */
export function turnedBy(
  picture: Sharp,
  { mirror, turn, corners }: Pick<DeriveTask, 'mirror' | 'turn'> & { readonly corners: string },
): Sharp {
  const mirrored = mirror === 'y' ? picture.flop() : mirror === 'x' ? picture.flip() : picture
  return turn === 0 ? mirrored : mirrored.rotate(turn, { background: corners })
}

function encoded(picture: Sharp, { format, quality }: RegionTask): Promise<Buffer> {
  const gray = quality === 'gray' || quality === 'bitonal'
  const toned = gray ? picture.toColourspace('b-w') : picture.toColourspace('srgb')
  if (format === 'png') return toned.png().toBuffer()
  if (format === 'webp') return toned.webp({ quality: 80 }).toBuffer()
  if (format === 'tif') return toned.tiff({ compression: 'lzw' }).toBuffer()
  if (format === 'gif') return toned.gif().toBuffer()
  return toned.flatten({ background: 'white' }).jpeg({ quality: 80 }).toBuffer()
}

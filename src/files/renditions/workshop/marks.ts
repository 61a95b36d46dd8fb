import sharp, { type OverlayOptions, type Sharp } from 'sharp'
import { captionOf, type Size } from './caption.ts'
import { openSource } from './open.ts'
import type { PictureMarks } from './tasks.ts'

/**
 * Draws watermark and caption on a picture. It first writes the picture to an uncompressed file at `path`, because its
 * final size is known only then.
 */
export async function drawMarks(
  picture: Sharp,
  { watermark, caption }: PictureMarks,
  { path, pixels }: { readonly path: string; readonly pixels: number },
): Promise<Sharp> {
  const canvas: Size = await picture.tiff({ compression: 'none' }).toFile(path)
  const base = sharp(path, { limitInputPixels: pixels })
  const overlays: OverlayOptions[] = []
  if (watermark) overlays.push(await watermarkOn(canvas, watermark, pixels))
  const drawn = caption ? await captionOf(caption, canvas) : null
  if (drawn) overlays.push(...drawn.overlays)
  const below = drawn?.below ?? 0
  const paper = below > 0 ? base.extend({ bottom: below, background: 'white' }) : base
  return overlays.length > 0 ? paper.composite(overlays) : paper
}

async function watermarkOn(
  canvas: Size,
  { source, gravity, dissolve, size, tile }: NonNullable<PictureMarks['watermark']>,
  pixels: number,
): Promise<OverlayOptions> {
  const opened = await openSource(source, pixels)
  const { data, info } = await opened
    .open()
    .autoOrient()
    .resize({ ...boxOf(size, canvas, await uprightSize(opened.open())), fit: 'inside' })
    .ensureAlpha()
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
  for (let at = 3; at < data.length; at += 4) data[at] = Math.round(((data[at] ?? 0) * dissolve) / 100)
  const { width, height } = info
  const input = { input: data, raw: { width, height, channels: 4 } } as const
  if (tile) return { ...input, tile: true, gravity: 'northwest' }
  const across = gravity.includes('w') ? 0 : gravity.includes('e') ? 1 : 0.5
  const down = gravity.includes('n') ? 0 : gravity.includes('s') ? 1 : 0.5
  return {
    ...input,
    left: Math.round((canvas.width - width) * across),
    top: Math.round((canvas.height - height) * down),
  }
}

async function uprightSize(picture: Sharp): Promise<Size> {
  const { width = 1, height = 1, pageHeight = height, orientation = 1 } = await picture.metadata()
  return orientation >= 5 ? { width: pageHeight, height: width } : { width, height: pageHeight }
}

/** The box into which a watermark must fit: from its `size`, relative to the canvas and never larger than that. */
function boxOf(size: string, canvas: Size, own: Size): Size {
  const part = (text: string, whole: number): number =>
    Math.max(1, Math.round(text.endsWith('%') ? (whole * Number.parseInt(text, 10)) / 100 : Number.parseInt(text, 10)))
  const within = ({ width, height }: Size): Size => ({
    width: Math.min(width, canvas.width),
    height: Math.min(height, canvas.height),
  })
  if (size === '') return within(own)
  const [across = '', down] = size.split('x')
  if (down !== undefined) return within({ width: part(across, canvas.width), height: part(down, canvas.height) })
  const longest = part(across, Math.max(canvas.width, canvas.height))
  return within({ width: longest, height: longest })
}

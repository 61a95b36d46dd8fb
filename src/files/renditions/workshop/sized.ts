import { join } from 'node:path'
import sharp, { type Sharp } from 'sharp'
import { writeBitmap } from './bmp.ts'
import { inColours } from './derive.ts'
import { CannotMake, reasonOf } from './failure.ts'
import { drawMarks } from './marks.ts'
import { openSource } from './open.ts'
import { mimeTypes, partOf, turnedBy } from './region.ts'
import type { Results, SizedTask } from './tasks.ts'

/** A picture in another size or format: in sRGB where nothing else is asked for, and without the metadata of the source. */
export async function makeSized(task: SizedTask, pixels: number): Promise<Results['sized']> {
  const opened = await openSource(task.source, pixels)
  try {
    const corners = cornersOf(task.format)
    const upright = turnedBy(await partOf(opened, task), { ...task, corners })
    const canvas = { path: join(task.folder, 'canvas.tif'), pixels }
    const marked = task.marks ? await drawMarks(upright.toColourspace('srgb'), task.marks, canvas) : null
    const path = join(task.folder, `sized.${task.format}`)
    const picture = task.colours
      ? await inOtherColours(marked ?? upright.keepIccProfile(), { ...task, colours: task.colours }, pixels)
      : await inUsualColours(marked ?? upright.toColourspace('srgb'), task)
    if (task.format === 'bmp') await writeBitmap(picture, path, task.density)
    else await written(picture, task).toFile(path)
    return { path, mimeType: mimeTypes[task.format] }
  } catch (error) {
    if (error instanceof CannotMake) throw error
    throw new CannotMake('unreadable', reasonOf(error), { cause: error })
  }
}

const transparentFormats = new Set(['png', 'webp', 'tif', 'gif'])

/** The colour of the corners of a turned picture. */
function cornersOf(format: SizedTask['format']): string {
  return transparentFormats.has(format) ? '#00000000' : '#ffffff'
}

async function inUsualColours(picture: Sharp, { density }: SizedTask): Promise<Sharp> {
  return density === null ? picture : withDensity(picture, density)
}

/**
 * Goes through a temporary file that has a colour profile and no other metadata: libvips keeps metadata together with the
 * profile.
 */
async function inOtherColours(
  picture: Sharp,
  { folder, density, colours }: SizedTask & { readonly colours: NonNullable<SizedTask['colours']> },
  pixels: number,
): Promise<Sharp> {
  const path = join(folder, 'colours.tif')
  await picture.tiff({ compression: 'none' }).toFile(path)
  const bare = sharp(path, { limitInputPixels: pixels })
  return inColours(density === null ? bare : bare.withMetadata({ density }), colours)
}

/** From its pixels alone: keeping the density would also keep all other metadata of the source. */
async function withDensity(picture: Sharp, density: number): Promise<Sharp> {
  const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  return sharp(data, { raw: { width, height, channels }, limitInputPixels: false }).withMetadata({ density })
}

function written(picture: Sharp, { format, compression: quality }: SizedTask): Sharp {
  if (format === 'png') return picture.png({ compressionLevel: 6 })
  if (format === 'tif') return picture.tiff({ compression: 'lzw' })
  if (format === 'gif') return picture.gif()
  if (format === 'webp') return picture.webp({ quality })
  return picture.flatten({ background: 'white' }).jpeg({ quality })
}

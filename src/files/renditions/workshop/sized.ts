import { join } from 'node:path'
import sharp, { type Sharp } from 'sharp'
import { CannotMake, reasonOf } from './failure.ts'
import { drawMarks } from './marks.ts'
import { openSource } from './open.ts'
import { mimeTypes, partOf } from './region.ts'
import type { Results, SizedTask } from './tasks.ts'

/** A picture in another size or format: its colours in sRGB, and nothing of what it said of itself. */
export async function makeSized(task: SizedTask, pixels: number): Promise<Results['sized']> {
  const opened = await openSource(task.source, pixels)
  try {
    const plain = (await partOf(opened, task)).toColourspace('srgb')
    const canvas = { path: join(task.folder, 'canvas.tif'), pixels }
    const part = task.marks ? await drawMarks(plain, task.marks, canvas) : plain
    const path = join(task.folder, `sized.${task.format}`)
    await written(task.density === null ? part : await withDensity(part, task.density), task).toFile(path)
    return { path, mimeType: mimeTypes[task.format] }
  } catch (error) {
    if (error instanceof CannotMake) throw error
    throw new CannotMake('unreadable', reasonOf(error), { cause: error })
  }
}

/** From its pixels alone: what carries a density carries all that the source says of itself otherwise. */
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

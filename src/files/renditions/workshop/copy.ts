import sharp, { type OutputInfo, type Sharp } from 'sharp'
import { CannotMake } from './failure.ts'
import { openSource } from './open.ts'
import type { CopyFormat, CopyTask, MadePicture } from './tasks.ts'

const mimeTypes: Readonly<Record<CopyFormat, string>> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  tif: 'image/tiff',
  gif: 'image/gif',
  webp: 'image/webp',
}

/** A changed copy: cut first, then turned. What is cut is counted on the picture as it is seen. @throws {CannotMake} */
export async function makeCopy(task: CopyTask, pixels: number): Promise<MadePicture> {
  const { open } = await openSource(task.source, pixels)
  let picture = open({ sequentialRead: false }).autoOrient()
  if (task.crop) {
    // Orientation and cut of one pipeline would come in the other order.
    const upright = await picture.keepIccProfile().raw().toBuffer({ resolveWithObject: true })
    const { width, height, channels } = upright.info
    const { left, top, width: across, height: down } = task.crop
    if (left + across > width || top + down > height) {
      throw new CannotMake('unreadable', `crop must lie within ${width} x ${height} pixels`)
    }
    picture = sharp(upright.data, { raw: { width, height, channels } }).extract(task.crop)
  }
  if (task.flip) picture = picture.flip()
  if (task.flop) picture = picture.flop()
  if (task.turn !== 0) {
    const flat = await picture.png({ compressionLevel: 0 }).toBuffer()
    picture = sharp(flat, { limitInputPixels: pixels }).rotate(task.turn, { background: '#fff' })
  }
  const { width, height } = await written(toned(picture, task), task)
  return { name: 'copy', path: task.path, extension: task.format, mimeType: mimeTypes[task.format], width, height }
}

function toned(picture: Sharp, { colorspace, format }: CopyTask): Sharp {
  if (colorspace === 'b-w') return picture.greyscale().toColourspace('b-w')
  if (colorspace === 'cmyk' && (format === 'jpg' || format === 'tif')) return picture.toColourspace('cmyk')
  return picture.toColourspace('srgb')
}

function written(picture: Sharp, { format, path }: CopyTask): Promise<OutputInfo> {
  if (format === 'png') return picture.png().toFile(path)
  if (format === 'webp') return picture.webp({ quality: 90 }).toFile(path)
  if (format === 'tif') return picture.tiff({ compression: 'lzw' }).toFile(path)
  if (format === 'gif') return picture.gif().toFile(path)
  return picture.flatten({ background: 'white' }).jpeg({ quality: 95 }).toFile(path)
}

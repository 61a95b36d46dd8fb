import { CannotMake } from './failure.ts'

export interface RawPicture {
  readonly data: Buffer
  readonly width: number
  readonly height: number
  readonly channels: 3 | 4
}

/** The main picture of a HEIC file, turned upright. @throws {CannotMake} */
export async function decodeHeif(content: Buffer, pixels: number): Promise<RawPicture> {
  const { HeifDecoder } = await library()
  const images = new HeifDecoder().decode(content)
  const [image] = images
  if (!image) throw new CannotMake('unreadable', 'no picture is found in the HEIF file')
  try {
    const [width, height] = [image.get_width(), image.get_height()]
    if (width * height > pixels) throw new CannotMake('unreadable', `the picture has more than ${pixels} pixels`)
    const data = new Uint8ClampedArray(4 * width * height)
    const shown = await new Promise((resolve) => image.display({ data, width, height }, resolve))
    if (!shown) throw new CannotMake('unreadable', 'the HEIF picture cannot be decoded')
    return withoutIdleAlpha(data, width, height)
  } finally {
    for (const one of images) one.free()
  }
}

/** The decoder always reports an alpha channel; a picture without transparency must not become a PNG. */
function withoutIdleAlpha(rgba: Uint8ClampedArray, width: number, height: number): RawPicture {
  for (let at = 3; at < rgba.length; at += 4) {
    if (rgba[at] !== 255) return { data: Buffer.from(rgba.buffer), width, height, channels: 4 }
  }
  const data = Buffer.allocUnsafe(3 * width * height)
  for (let from = 0, to = 0; from < rgba.length; from += 4) {
    data[to++] = rgba[from] as number
    data[to++] = rgba[from + 1] as number
    data[to++] = rgba[from + 2] as number
  }
  return { data, width, height, channels: 3 }
}

async function library() {
  try {
    return (await import('libheif-js/wasm-bundle.js')).default
  } catch (cause) {
    throw new CannotMake('unavailable', 'HEIC needs the package libheif-js', { cause, needs: 'libheif-js' })
  }
}

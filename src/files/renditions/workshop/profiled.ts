import sharp from 'sharp'
import type { RawPicture } from './heif.ts'

/** Types of fields in TIFF 6.0. */
const short = 3
const long = 4
const undefinedBytes = 7

/** Pixels with their colour profile, as a TIFF without compression: libvips reads profiles from files only. */
export function withProfile({ data, width, height, channels }: RawPicture, icc: Uint8Array): Buffer {
  const fields: readonly (readonly [tag: number, type: number, values: readonly number[] | Uint8Array])[] = [
    [256, long, [width]],
    [257, long, [height]],
    [258, short, Array.from({ length: channels }, () => 8)],
    [259, short, [1]],
    [262, short, [2]],
    [273, long, [0]],
    [277, short, [channels]],
    [278, long, [height]],
    [279, long, [data.length]],
    [284, short, [1]],
    // Alpha is not premultiplied.
    ...(channels === 4 ? [[338, short, [2]] as const] : []),
    [34675, undefinedBytes, icc],
  ]
  const head = Buffer.alloc(8 + 2 + 12 * fields.length + 4)
  head.write('II*\0', 'latin1')
  head.writeUInt32LE(8, 4)
  head.writeUInt16LE(fields.length, 8)
  const bits = Buffer.alloc(2 * channels)
  for (let index = 0; index < channels; index++) bits.writeUInt16LE(8, 2 * index)
  const [bitsAt, iccAt] = [head.length, head.length + bits.length]
  const padding = Buffer.alloc((icc.length + bits.length) % 2)
  const pixelsAt = iccAt + icc.length + padding.length
  for (const [index, [tag, type, values]] of fields.entries()) {
    const at = 10 + 12 * index
    head.writeUInt16LE(tag, at)
    head.writeUInt16LE(type, at + 2)
    head.writeUInt32LE(values.length, at + 4)
    const value = tag === 258 ? bitsAt : tag === 34675 ? iccAt : tag === 273 ? pixelsAt : (values[0] ?? 0)
    if (type === short && values.length === 1) head.writeUInt16LE(value, at + 8)
    else head.writeUInt32LE(value, at + 8)
  }
  return Buffer.concat([head, bits, icc, padding, data])
}

/** The profile of Display P3, used by cameras of telephones. */
export async function displayP3(): Promise<Uint8Array> {
  const pixel = sharp({ create: { width: 1, height: 1, channels: 3, background: 'black' } })
  const { icc } = await sharp(await pixel.withIccProfile('p3').png().toBuffer()).metadata()
  if (!icc) throw new Error('libvips has no profile for Display P3')
  return icc
}

/** Primaries of Display P3 (ITU-T H.273, table 2). */
const p3Primaries = 12

/** Whether a HEIF file declares by numbers that its colours are those of Display P3. */
export function saysDisplayP3(heif: Buffer): boolean {
  const at = heif.indexOf('colrnclx', 0, 'latin1')
  return at >= 0 && at + 10 <= heif.length && heif.readUInt16BE(at + 8) === p3Primaries
}

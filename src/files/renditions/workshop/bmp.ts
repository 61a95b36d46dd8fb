import { open } from 'node:fs/promises'
import type { Sharp } from 'sharp'

/** Bytes of both headers: of the file, and of the picture (BITMAPINFOHEADER). */
const headerBytes = 54
/** Approximate bytes that are written at a time. */
const batchBytes = 4 * 1024 * 1024
const inch = 0.0254

/**
 * Writes a picture as a Windows bitmap: 24 bits a pixel, the lowest row first, not compressed. The format has neither
 * profiles nor transparency.
 */
export async function writeBitmap(picture: Sharp, path: string, density: number | null): Promise<void> {
  const { data, info } = await picture.flatten({ background: 'white' }).raw().toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  const row = Math.ceil((width * 3) / 4) * 4
  const file = await open(path, 'wx')
  try {
    await file.write(header(width, height, row, density))
    const rows = Math.max(1, Math.floor(batchBytes / row))
    for (let below = 0; below < height; below += rows) {
      const batch = Buffer.alloc(Math.min(rows, height - below) * row)
      for (let y = 0; y * row < batch.length; y++) {
        copyRow(data.subarray((height - 1 - below - y) * width * channels), batch.subarray(y * row), width, channels)
      }
      await file.writeFile(batch)
    }
  } finally {
    await file.close()
  }
}

function copyRow(from: Buffer, to: Buffer, width: number, channels: number): void {
  const [red, green, blue] = channels < 3 ? [0, 0, 0] : [0, 1, 2]
  for (let x = 0; x < width; x++) {
    const at = x * channels
    to[3 * x] = from[at + blue] as number
    to[3 * x + 1] = from[at + green] as number
    to[3 * x + 2] = from[at + red] as number
  }
}

function header(width: number, height: number, row: number, density: number | null): Buffer {
  const bytes = Buffer.alloc(headerBytes)
  const perMetre = Math.round((density ?? 0) / inch)
  bytes.write('BM', 'latin1')
  bytes.writeUInt32LE(headerBytes + row * height, 2)
  bytes.writeUInt32LE(headerBytes, 10)
  bytes.writeUInt32LE(40, 14)
  bytes.writeInt32LE(width, 18)
  bytes.writeInt32LE(height, 22)
  bytes.writeUInt16LE(1, 26)
  bytes.writeUInt16LE(24, 28)
  bytes.writeUInt32LE(row * height, 34)
  bytes.writeInt32LE(perMetre, 38)
  bytes.writeInt32LE(perMetre, 42)
  return bytes
}

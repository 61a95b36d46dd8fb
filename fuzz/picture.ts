import { crc32, deflateSync } from 'node:zlib'

const chunk = (name: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

/**
 * A PNG of black and white squares. Its bytes are the same on every machine, as nothing in it is compressed: examples
 * show its hash. `comment` is in it as text, so that an answer with the original can be recognised.
 */
export function chessboard(width: number, height: number, comment: string): Buffer {
  const row = (y: number): Buffer => {
    const bytes = Buffer.alloc(1 + Math.ceil(width / 8))
    // Squares of 16 pixels: two bytes of one colour, two of the other.
    for (let at = 1; at < bytes.length; at++) bytes[at] = ((at - 1) >> 1) % 2 === (y >> 4) % 2 ? 0xff : 0
    return bytes
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 1
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, (_, y) => row(y))), { level: 0 })
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('tEXt', Buffer.from(`Comment\0${comment}`, 'latin1')),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

import { Transform, type TransformCallback } from 'node:stream'

const block = 512
const notOurs = 'the file is no backup'

/**
 * Passes a tar archive through only as long as it consists of plain files, not larger than the largest entry of a backup: no links,
 * no folders, and no extended headers, which the reader behind it would collect in memory, whatever their length.
 */
export function plainTar(largestEntry: number): Transform {
  let header = Buffer.alloc(0)
  /** Bytes until the next header. */
  let rest = 0

  function look(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (rest > 0) {
        const passed = Math.min(rest, chunk.length - at)
        rest -= passed
        at += passed
        continue
      }
      const taken = chunk.subarray(at, at + block - header.length)
      header = Buffer.concat([header, taken])
      at += taken.length
      if (header.length < block) return
      rest = paddedSize(header, largestEntry)
      header = Buffer.alloc(0)
    }
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      try {
        look(chunk)
      } catch (error) {
        done(error as Error)
        return
      }
      done(null, chunk)
    },
  })
}

/**
 * Bytes of an entry with the padding of its last block. @see https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html
 */
function paddedSize(header: Buffer, largest: number): number {
  // Two such blocks are the end.
  if (header.every((byte) => byte === 0)) return 0
  const [kind, digits] = [header.toString('latin1', 156, 157), header.toString('latin1', 124, 136)]
  if (kind !== '0' && kind !== '\0') throw new Error(`${notOurs}: it has an entry that is no plain file`)
  const size = /^[0-7]{1,11}[\0 ]*$/.test(digits) ? Number.parseInt(digits, 8) : Number.POSITIVE_INFINITY
  if (size > largest) throw new Error(`${notOurs}: it has an entry that is too large`)
  return Math.ceil(size / block) * block
}

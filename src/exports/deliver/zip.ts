/**
 * A streamed ZIP (APPNOTE 6.3.10) of any number of entries: its directory is collected on disk. The library yazl keeps all entries with
 * their streams in memory, and searches the list at each entry: time grows with the square of their number, memory with the number.
 */
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { crc32, createDeflateRaw, deflateRaw, deflateRawSync } from 'node:zlib'
import { bytesOf } from '../../platform/memory/bytes-of.ts'
import { Spool } from '../../platform/memory/spool.ts'

export interface ZipEntry {
  readonly path: string
  readonly modified: Date
  /** Packing makes it smaller. */
  readonly packs: boolean
  /** Bytes that the content has. */
  readonly size: number
  readonly content: Readable
}

/** The facts about an entry for the directory. */
interface Written {
  readonly entry: ZipEntry
  readonly offset: number
  readonly crc: number
  readonly packedSize: number
  /** Its sizes follow the content, since they were not known before. */
  readonly streamed: boolean
}

/** Contents of fewer bytes are packed in memory. */
const mostInMemory = 256 * 1024
/** The largest number of four bytes: the real number is in the ZIP64 fields. */
const most32 = 0xff_ff_ff_ff
/** Contents of fewer bytes have fewer than four gigabytes, however badly they pack. */
const most32Packed = 0xff_00_00_00
const most16 = 0xff_ff

/** Contents of fewer bytes are packed at once: a thread would take longer to begin. */
const mostAtOnce = 16 * 1024
const deflated = promisify(deflateRaw)

/** For a short content a short memory of it is enough: the usual one takes 260 KB, and the longest time. */
function packedBytes(bytes: Buffer): Buffer | Promise<Buffer> {
  const bits = Math.min(15, Math.max(9, Math.ceil(Math.log2(bytes.length + 1))))
  const options = { windowBits: bits, memLevel: Math.min(8, bits - 6), chunkSize: Math.max(64, bytes.length) }
  return bytes.length <= mostAtOnce ? deflateRawSync(bytes, options) : deflated(bytes, options)
}

/** The bytes of an archive of the entries, each taken before the next one is asked for. */
export async function* zipPieces(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Buffer> {
  await using directory = new Spool()
  let offset = 0
  let count = 0
  for await (const entry of entries) {
    const start = offset
    const pieces = entry.size <= mostInMemory ? small(entry, start) : large(entry, start)
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) {
        await directory.write(directoryRecord(value))
        break
      }
      offset += value.length
      yield value
    }
    count++
  }
  for await (const piece of directory.read()) yield piece
  yield endOf({ count, offset, size: directory.bytes })
}

/** An entry whose sizes are known before its content. */
async function* small(entry: ZipEntry, offset: number): AsyncGenerator<Buffer, Written> {
  const bytes = await bytesOf(entry.content)
  assertSize(entry, bytes.length)
  const packed = entry.packs ? await packedBytes(bytes) : bytes
  const written = { entry, offset, crc: crc32(bytes), packedSize: packed.length, streamed: false }
  yield Buffer.concat([localHeader(written), packed])
  return written
}

async function* large(entry: ZipEntry, offset: number): AsyncGenerator<Buffer, Written> {
  const before = { entry, offset, crc: 0, packedSize: 0, streamed: true }
  yield localHeader(before)
  let [crc, size, packedSize] = [0, 0, 0]
  async function* counted(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of source) {
      crc = crc32(piece, crc)
      size += piece.length
      yield piece
    }
  }
  for await (const piece of entry.packs ? packedPieces(entry.content, counted) : counted(entry.content)) {
    packedSize += piece.length
    yield piece
  }
  assertSize(entry, size)
  const written = { ...before, crc, packedSize }
  yield descriptor(written)
  return written
}

async function* packedPieces(
  content: Readable,
  counted: (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const deflate = createDeflateRaw()
  // Reading fails with the same error.
  const packing = pipeline(content, counted, deflate).catch(() => {})
  try {
    yield* deflate as AsyncIterable<Buffer>
  } finally {
    deflate.destroy()
    await packing
  }
}

function assertSize({ path, size }: ZipEntry, found: number): void {
  if (size !== found) throw new Error(`${path} has ${found} bytes, not ${size}`)
}

const isLarge = ({ size }: ZipEntry): boolean => size >= most32Packed

/** Names are UTF-8; with the second flag, sizes follow the content. */
const flagsOf = ({ streamed }: Written): number => 0x08_00 | (streamed ? 0x08 : 0)

/** Version, flags, method, time, checksum and sizes, as both headers have them. */
function common(
  written: Written,
  { crc, packedSize, size }: { crc: number; packedSize: number; size: number },
): Buffer {
  const { entry } = written
  const { time, date } = dosTime(entry.modified)
  return Buffer.concat([
    numbers(2, isLarge(entry) || written.offset >= most32 ? 45 : 20, flagsOf(written), entry.packs ? 8 : 0, time, date),
    numbers(4, crc, packedSize, size),
  ])
}

function localHeader(written: Written): Buffer {
  const { entry, streamed, crc, packedSize } = written
  const name = Buffer.from(entry.path)
  const extra = isLarge(entry) ? Buffer.concat([numbers(2, 1, 16), numbers(8, 0, 0)]) : nothing
  const told = isLarge(entry) ? most32 : 0
  const sizes = streamed ? { crc: 0, packedSize: told, size: told } : { crc, packedSize, size: entry.size }
  return Buffer.concat([
    numbers(4, 0x04_03_4b_50),
    common(written, sizes),
    numbers(2, name.length, extra.length),
    name,
    extra,
  ])
}

function descriptor({ entry, crc, packedSize }: Written): Buffer {
  return Buffer.concat([numbers(4, 0x08_07_4b_50, crc), numbers(isLarge(entry) ? 8 : 4, packedSize, entry.size)])
}

/** A plain file that everybody may read. */
const attributes = 0o100_644 * 0x1_00_00
/** Made by Unix, as version 6.3 says. */
const madeBy = (3 << 8) | 63

function directoryRecord(written: Written): Buffer {
  const { entry, offset, crc, packedSize } = written
  const name = Buffer.from(entry.path)
  const [wide, far] = [isLarge(entry), offset >= most32]
  const long = [...(wide ? [entry.size, packedSize] : []), ...(far ? [offset] : [])]
  const seconds = Math.min(Math.max(Math.floor(entry.modified.getTime() / 1000), 0), 0x7f_ff_ff_ff)
  const extra = Buffer.concat([
    numbers(2, 0x54_55, 5),
    Buffer.from([1]),
    numbers(4, seconds),
    ...(long.length > 0 ? [numbers(2, 1, 8 * long.length), numbers(8, ...long)] : []),
  ])
  const sizes = wide ? { crc, packedSize: most32, size: most32 } : { crc, packedSize, size: entry.size }
  return Buffer.concat([
    numbers(4, 0x02_01_4b_50),
    numbers(2, madeBy),
    common(written, sizes),
    // No comment, the first disk, no text.
    numbers(2, name.length, extra.length, 0, 0, 0),
    numbers(4, attributes, far ? most32 : offset),
    name,
    extra,
  ])
}

/** The end, with the numbers of ZIP64 before it where the usual ones are too small. */
function endOf({
  count,
  offset,
  size,
}: {
  readonly count: number
  readonly offset: number
  readonly size: number
}): Buffer {
  const usual = Buffer.concat([
    numbers(4, 0x06_05_4b_50),
    numbers(2, 0, 0, Math.min(count, most16), Math.min(count, most16)),
    numbers(4, Math.min(size, most32), Math.min(offset, most32)),
    numbers(2, 0),
  ])
  if (count < most16 && offset < most32 && size < most32) return usual
  return Buffer.concat([
    numbers(4, 0x06_06_4b_50),
    numbers(8, 44),
    numbers(2, madeBy, 45),
    numbers(4, 0, 0),
    numbers(8, count, count, size, offset),
    numbers(4, 0x07_06_4b_50, 0),
    numbers(8, offset + size),
    numbers(4, 1),
    usual,
  ])
}

const nothing = Buffer.alloc(0)

/** Little-endian numbers of so many bytes each. */
function numbers(bytes: 2 | 4 | 8, ...values: readonly number[]): Buffer {
  const written = Buffer.allocUnsafe(bytes * values.length)
  for (const [index, value] of values.entries()) {
    if (bytes === 8) written.writeBigUInt64LE(BigInt(value), 8 * index)
    else written.writeUIntLE(value, bytes * index, bytes)
  }
  return written
}

/** In steps of two seconds, from 1980 to 2107; UTC. */
function dosTime(at: Date): { readonly time: number; readonly date: number } {
  const year = Math.min(Math.max(at.getUTCFullYear(), 1980), 2107)
  return {
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    date: ((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  }
}

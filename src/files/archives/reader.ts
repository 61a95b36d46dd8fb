import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { RandomAccessReader } from 'yauzl'
import type { ByteRange } from '../blobs/blob-store.ts'

/** The source of an archive, which is read in parts. */
export interface ArchiveSource {
  readonly size: number
  read(part: ByteRange): Promise<Readable>
}

/**
 * Bytes that are fetched at once: the directory is read in pieces of some fifty bytes, each of which would otherwise be a
 * request to S3.
 */
const windowBytes = 128 * 1024

/** Bytes of a directory; that of a hundred thousand entries has about ten million. */
const mostBytes = 64_000_000

export function readerOf(source: ArchiveSource): RandomAccessReader {
  return new SourceReader(source)
}

class SourceReader extends RandomAccessReader {
  readonly #source: ArchiveSource
  #window = { start: 0, bytes: Buffer.alloc(0) }
  #fetched = 0

  constructor(source: ArchiveSource) {
    super()
    this.#source = source
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(partOf(this.#source, { start, end: end - 1 }), { objectMode: false })
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    done: (error: Error | null) => void,
  ): void {
    this.#bytes(position, length).then((bytes) => {
      bytes.copy(target, offset)
      done(null)
    }, done)
  }

  async #bytes(position: number, length: number): Promise<Buffer> {
    const { start, bytes } = this.#window
    if (position < start || position + length > start + bytes.length) await this.#fetch(position, length)
    const from = position - this.#window.start
    return this.#window.bytes.subarray(from, from + length)
  }

  async #fetch(position: number, length: number): Promise<void> {
    const { size } = this.#source
    if (position < 0 || position + length > size) throw new Error('the archive names places behind its end')
    const end = Math.min(size, position + Math.max(length, windowBytes))
    this.#fetched += end - position
    if (this.#fetched > mostBytes) throw new Error('the directory of the archive is too large')
    const bytes = await buffer(await this.#source.read({ start: position, end: end - 1 }))
    if (bytes.length !== end - position) throw new Error('the archive is shorter than it should be')
    this.#window = { start: position, bytes }
  }
}

async function* partOf(source: ArchiveSource, part: ByteRange): AsyncGenerator<Buffer> {
  yield* await source.read(part)
}

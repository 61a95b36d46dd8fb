import { createHash, type Hash, hash } from 'node:crypto'
import { pipeline, Readable, Transform } from 'node:stream'
import { bytesOf } from '../../../platform/memory/bytes-of.ts'
import type { Spool } from '../../../platform/memory/spool.ts'
import { type ArchiveEntry, type OpenedEntry, openedBytes, openedOrTold } from '../archive.ts'

/** A file of a package; its digest and size are known after it has been read. */
export interface HashedEntry {
  readonly entry: ArchiveEntry
  /** @throws {Error} where its content was not read completely */
  result(): { readonly digest: string; readonly size: number }
}

/**
 * The files, opened one after the other. A file that cannot be opened is replaced by a text with the reason, beside its
 * place, so that all listed files exist.
 */
export async function* hashedEntries(
  files: AsyncIterable<ArchiveEntry>,
  algorithm: 'sha256' | 'sha512',
): AsyncGenerator<HashedEntry> {
  for await (const file of files) {
    const { source, ...opened } = await openedOrTold(file)
    try {
      const entry = { ...file, ...opened }
      yield source.size > mostInMemory ? hashed(entry, source, algorithm) : await hashedAtOnce(entry, source, algorithm)
    } finally {
      source.content.destroy()
      source.end()
    }
  }
}

/** Contents of fewer bytes are read before they are taken. */
const mostInMemory = 256 * 1024

async function hashedAtOnce(
  file: ArchiveEntry,
  { content, size }: OpenedEntry,
  algorithm: string,
): Promise<HashedEntry> {
  const bytes = await bytesOf(content)
  if (bytes.length !== size) throw new Error(`the file ${file.path} was not taken`)
  const digest = hash(algorithm, bytes)
  return { entry: { ...file, open: async () => openedBytes(bytes) }, result: () => ({ digest, size }) }
}

function hashed(file: ArchiveEntry, source: OpenedEntry, algorithm: string): HashedEntry {
  const sum = createHash(algorithm)
  let size = 0
  let whole = false
  const counting = new Transform({
    transform(piece: Buffer, _encoding, done) {
      sum.update(piece)
      size += piece.length
      done(null, piece)
    },
    flush(done) {
      whole = true
      done()
    },
  })
  return {
    entry: {
      ...file,
      async open() {
        // This stream ends when its source does; the reader of the stream gets the error.
        pipeline(source.content, counting, () => {})
        return { size: source.size, content: counting, end() {} }
      },
    },
    result() {
      if (!whole) throw new Error(`the file ${file.path} was not taken`)
      return { digest: sum.digest('hex'), size }
    },
  }
}

/** Texts of packages can always be had; their error would stand beside them. */
const besideOf = (path: string) => async () => `${path}.error.txt`

/** A text as a file of a package. */
export function textEntry(path: string, modified: Date, text: string): ArchiveEntry {
  return { path, modified, packs: true, pathOfError: besideOf(path), open: async () => openedBytes(Buffer.from(text)) }
}

/** A spooled text as a file of a package. */
export function spoolEntry(path: string, modified: Date, spool: Spool): ArchiveEntry {
  return {
    path,
    modified,
    packs: true,
    pathOfError: besideOf(path),
    open: async () => ({
      size: spool.bytes,
      content: Readable.from(spool.read(), { objectMode: false }),
      end() {},
    }),
  }
}

/** A text that is built in pieces, with its SHA-512. */
export class Listing {
  readonly spool: Spool
  readonly #hash: Hash

  constructor(spool: Spool) {
    this.spool = spool
    this.#hash = createHash('sha512')
  }

  async add(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    this.#hash.update(bytes)
    await this.spool.write(bytes)
  }

  /** Called once, when the text is complete. */
  digest(): string {
    return this.#hash.digest('hex')
  }
}

import { createHash, type Hash } from 'node:crypto'
import { pipeline, Readable, Transform } from 'node:stream'
import { AppError } from '../../../platform/errors.ts'
import type { Spool } from '../../../platform/memory/spool.ts'
import type { ArchiveEntry, OpenedEntry } from '../archive.ts'

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
    const opened = await file.open().catch((error: unknown) => {
      if (error instanceof AppError) return error
      throw error
    })
    const failed = opened instanceof AppError
    const path = failed ? `${file.path}.error.txt` : file.path
    const source = failed ? openedText(`${opened.message}\n`) : opened
    try {
      yield hashed({ ...file, path, packs: failed || file.packs }, source, algorithm)
    } finally {
      source.content.destroy()
      source.end()
    }
  }
}

function openedText(text: string): OpenedEntry {
  const bytes = Buffer.from(text)
  return { size: bytes.length, content: Readable.from([bytes], { objectMode: false }), end() {} }
}

function hashed(file: ArchiveEntry, source: OpenedEntry, algorithm: string): HashedEntry {
  const hash = createHash(algorithm)
  let size = 0
  let whole = false
  const counting = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece)
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
      return { digest: hash.digest('hex'), size }
    },
  }
}

/** A text as a file of a package. */
export function textEntry(path: string, modified: Date, text: string): ArchiveEntry {
  return { path, modified, packs: true, open: async () => openedText(text) }
}

/** A spooled text as a file of a package. */
export function spoolEntry(path: string, modified: Date, spool: Spool): ArchiveEntry {
  return {
    path,
    modified,
    packs: true,
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

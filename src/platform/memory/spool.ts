import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes that stay in memory. */
const mostInMemory = 4 * 1024 * 1024
const chunkSize = 256 * 1024

/**
 * Bytes that are written first and read afterwards: a few stay in memory, more go to an unnamed file, which is deleted when the
 * process ends.
 */
export class Spool implements AsyncDisposable {
  #buffered: Buffer[] = []
  #bytes = 0
  #file: FileHandle | null = null
  #stored = 0

  get bytes(): number {
    return this.#stored + this.#bytes
  }

  /** Adds a line. */
  add(line: string): Promise<void> {
    return this.write(Buffer.from(`${line}\n`))
  }

  async write(piece: Buffer): Promise<void> {
    this.#buffered.push(piece)
    this.#bytes += piece.length
    if (this.#bytes >= mostInMemory) await this.#flush()
  }

  async #flush(): Promise<void> {
    this.#file ??= await unnamedFile()
    const all = Buffer.concat(this.#buffered)
    this.#buffered = []
    this.#bytes = 0
    for (let from = 0; from < all.length; ) {
      const { bytesWritten } = await this.#file.write(all, from, all.length - from, this.#stored)
      from += bytesWritten
      this.#stored += bytesWritten
    }
  }

  async *lines(): AsyncGenerator<string> {
    let rest: Buffer = Buffer.alloc(0)
    for await (const chunk of this.read()) {
      const all = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      let from = 0
      for (let end = all.indexOf(10, from); end !== -1; end = all.indexOf(10, from)) {
        yield all.toString('utf8', from, end)
        from = end + 1
      }
      rest = all.subarray(from)
    }
  }

  /** The bytes from `start` to `end`, both included; default: all. */
  async *read({ start, end }: { readonly start: number; readonly end: number } = all): AsyncGenerator<Buffer> {
    for (let at = start; this.#file && at < this.#stored && at <= end; ) {
      const length = Math.min(chunkSize, this.#stored - at, end - at + 1)
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(length), 0, length, at)
      if (bytesRead === 0) break
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
    // A reader takes longer for thousands of short pieces.
    const rest = Buffer.concat(this.#buffered)
    const part = rest.subarray(Math.max(0, start - this.#stored), Math.max(0, end - this.#stored + 1))
    for (let at = 0; at < part.length; at += chunkSize) yield part.subarray(at, at + chunkSize)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const file = this.#file
    this.#file = null
    await file?.close()
  }
}

const all = { start: 0, end: Number.MAX_SAFE_INTEGER }

async function unnamedFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `strongroom-spool-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

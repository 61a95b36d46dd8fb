import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes that stay in memory. */
const mostInMemory = 4 * 1024 * 1024
const chunkSize = 256 * 1024

/**
 * Lines that are written once and then read once: a little in memory, more in a file without a name, which is gone with the
 * process.
 */
export class Spool implements AsyncDisposable {
  #buffered: Buffer[] = []
  #bytes = 0
  #file: FileHandle | null = null
  #stored = 0

  get bytes(): number {
    return this.#stored + this.#bytes
  }

  async add(line: string): Promise<void> {
    const buffer = Buffer.from(`${line}\n`)
    this.#buffered.push(buffer)
    this.#bytes += buffer.length
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
    for await (const chunk of this.#chunks()) {
      const all = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      let from = 0
      for (let end = all.indexOf(10, from); end !== -1; end = all.indexOf(10, from)) {
        yield all.toString('utf8', from, end)
        from = end + 1
      }
      rest = all.subarray(from)
    }
  }

  async *#chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; this.#file && at < this.#stored; ) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, at)
      if (bytesRead === 0) break
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
    yield* this.#buffered
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close()
    this.#file = null
  }
}

async function unnamedFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `strongroom-table-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

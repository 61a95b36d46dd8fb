import { type FileHandle, mkdir, open, opendir, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { release, transferAll } from '../../platform/memory/buffer-ownership.ts'
import {
  BlobMissing,
  type BlobStore,
  type ByteRange,
  hashIn,
  pathOf,
  type Received,
  type Sha256,
  temporary,
} from './blob-store.ts'

/** Contents in a folder. The folder is made when something is stored, not before: so a missing mount is noticed. */
export function createFileSystemStore(folder: string): BlobStore {
  const temporaryFolder = join(folder, temporary)
  const place = (sha256: Sha256): string => join(folder, pathOf(sha256))

  async function receive(source: AsyncIterable<Buffer>): Promise<Received> {
    const path = join(temporaryFolder, crypto.randomUUID())
    const discard = (): Promise<void> => rm(path, { force: true })
    let size = 0
    try {
      const file = await create(path)
      try {
        for await (const chunks of gathered(source)) {
          size += await writeAll(file, chunks)
          release(chunks)
        }
        await file.sync()
      } finally {
        await file.close()
      }
    } catch (error) {
      await discard().catch(() => {})
      throw error
    }
    return { size, discard, keep: (sha256) => keep(path, place(sha256)) }
  }

  async function read(sha256: Sha256, range?: ByteRange): Promise<Readable> {
    const file = await open(place(sha256), 'r').catch((cause: NodeJS.ErrnoException) => {
      throw cause.code === 'ENOENT' ? new BlobMissing(sha256, { cause }) : cause
    })
    return transferAll(file.createReadStream({ highWaterMark: 256 * 1024, ...range }))
  }

  /** Free bytes at the nearest existing folder. */
  async function free(): Promise<number> {
    for (let at = folder; ; at = dirname(at)) {
      const found = await statfs(at).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' && dirname(at) !== at) return null
        throw error
      })
      if (found) return found.bavail * found.bsize
    }
  }

  return {
    receive,
    read,
    async size(sha256) {
      return (await statOf(place(sha256)))?.size ?? null
    },
    local: place,
    free,
    remove: (sha256) => rm(place(sha256), { force: true }),
    async sweep(before) {
      let removed = 0
      for await (const { path } of filesBelow(temporaryFolder, false)) {
        const found = await statOf(path)
        if (!found || found.mtime >= before) continue
        await rm(path, { force: true })
        removed++
      }
      return removed
    },
    async *list() {
      for await (const { path } of filesBelow(folder)) {
        const sha256 = hashIn(relative(folder, path))
        const found = sha256 === null ? null : await statOf(path)
        if (sha256 !== null && found) yield { sha256, size: found.size }
      }
    },
    async probe({ readOnly }) {
      if (readOnly) {
        if (!(await stat(folder)).isDirectory()) throw new Error(`${folder} is no folder`)
        return
      }
      const content = Buffer.from(crypto.randomUUID())
      const received = await receive(once(content))
      try {
        const written = await statOf(temporaryFolder)
        if (!written || received.size !== content.length) throw new Error('what was written is not there')
      } finally {
        await received.discard()
      }
    },
    close() {},
  }
}

/** Creates a file; its folder usually exists already. */
async function create(path: string): Promise<FileHandle> {
  const opened = (): Promise<FileHandle> => open(path, 'wx', 0o640)
  return opened().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await makeFolder(dirname(path))
    return opened()
  })
}

/** Makes a folder that survives a power cut: its entry in the folder above is on disk, too. */
async function makeFolder(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o750 })
  if (made === undefined) return
  for (let at = path; at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at))
}

async function keep(from: string, to: string): Promise<void> {
  await makeFolder(dirname(to))
  await rename(from, to)
  await syncFolder(dirname(to))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Bytes that are written at once: data from the network arrives in small pieces. */
const gatheredBytes = 256 * 1024

async function* gathered(source: AsyncIterable<Buffer>): AsyncIterable<readonly Buffer[]> {
  let chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of source) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < gatheredBytes) continue
    yield chunks
    chunks = []
    bytes = 0
  }
  if (bytes > 0) yield chunks
}

/** Answers the number of bytes. */
async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<number> {
  const size = chunks.reduce((sum, { length }) => sum + length, 0)
  let { bytesWritten: at } = await file.writev(chunks)
  if (at === size) return size
  const whole = Buffer.concat(chunks)
  while (at < size) at += (await file.write(whole, at)).bytesWritten
  return size
}

async function statOf(path: string) {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
}

async function* filesBelow(folder: string, recursive = true): AsyncIterable<{ path: string }> {
  const entries = await opendir(folder, { recursive }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!entries) return
  for await (const entry of entries) if (entry.isFile()) yield { path: join(entry.parentPath, entry.name) }
}

async function* once(chunk: Buffer): AsyncIterable<Buffer> {
  yield chunk
}

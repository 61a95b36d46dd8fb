import { type FileHandle, mkdir, open, opendir, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { transferAll } from '../../platform/memory/buffer-ownership.ts'
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
import { createGatherer, writeAll } from './gather.ts'

/** Contents in a folder. The folder is made when something is stored, not before: so a missing mount is noticed. */
export function createFileSystemStore(folder: string): BlobStore {
  const temporaryFolder = join(folder, temporary)
  const place = (sha256: Sha256): string => join(folder, pathOf(sha256))
  const gathered = createGatherer()

  /** Writes a content under a temporary name; `written` resolves when it is on disk, too. */
  async function write(source: AsyncIterable<Buffer>) {
    const path = join(temporaryFolder, crypto.randomUUID())
    const file = await create(path)
    let size = 0
    try {
      for await (const pieces of gathered(source)) size += await writeAll(file, pieces)
    } catch (error) {
      await file.close().catch(() => {})
      await rm(path, { force: true }).catch(() => {})
      throw error
    }
    const written = file.sync().finally(() => file.close())
    // A failure is reported when the promise is awaited.
    written.catch(() => {})
    return { path, size, written }
  }

  async function receive(source: AsyncIterable<Buffer>): Promise<Received> {
    // The disk is not waited for: meanwhile the caller does what comes before `keep`.
    const { path, size, written } = await write(source)
    return {
      size,
      async discard() {
        await written.catch(() => {})
        await rm(path, { force: true })
      },
      async keep(sha256) {
        await written
        await keep(path, place(sha256))
      },
    }
  }

  async function read(sha256: Sha256, range?: ByteRange): Promise<Readable> {
    const file = await open(place(sha256), 'r').catch((cause: NodeJS.ErrnoException) => {
      throw cause.code === 'ENOENT' ? new BlobMissing(sha256, { cause }) : cause
    })
    return transferAll(file.createReadStream(await boundsOf(file, range)))
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
      const { path, size, written } = await write(once(content))
      try {
        await written
        if (!(await statOf(temporaryFolder)) || size !== content.length)
          throw new Error('what was written is not there')
      } finally {
        await rm(path, { force: true })
      }
    },
    close() {},
  }
}

/** Most bytes that are read at once. */
const readBytes = 256 * 1024

/**
 * The options for a stream of the content or a part of it. With its end known, no buffer is larger than the rest of the
 * content, and none is allocated only to find the end: most contents are pictures of a few kilobytes.
 */
async function boundsOf(file: FileHandle, range: ByteRange | undefined) {
  const { size } = await file.stat().catch(async (error: unknown) => {
    await file.close()
    throw error
  })
  const { start = 0, end = size - 1 } = range ?? {}
  return size === 0 ? {} : { start, end, highWaterMark: Math.max(1, Math.min(readBytes, end - start + 1)) }
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
  await Promise.all((await newFolders(path)).map((folder) => syncFolder(dirname(folder))))
}

/** Makes a folder and those above it; answers the new ones. */
async function newFolders(path: string): Promise<string[]> {
  const made = await mkdir(path, { recursive: true, mode: 0o750 })
  const folders: string[] = []
  if (made !== undefined) for (let at = path; at.length >= made.length; at = dirname(at)) folders.push(at)
  return folders
}

/** Most contents get a folder of their own, so all folders are written together: one after the other takes as long for each. */
async function keep(from: string, to: string): Promise<void> {
  const made = await newFolders(dirname(to))
  await rename(from, to)
  await Promise.all([dirname(to), ...made.map(dirname)].map(syncFolder))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
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

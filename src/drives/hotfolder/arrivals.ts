/**
 * Contents uploaded over HTTP are stored beside the drop folders until they are complete, so that no incomplete file is
 * visible.
 */
import { randomUUID } from 'node:crypto'
import { open, opendir, rename, statfs, unlink } from 'node:fs/promises'
import { AppError } from '../../platform/errors.ts'
import { lookAt, openFolder } from './folder.ts'

const folder = '.arriving'
/** Milliseconds after which an upload is certainly no longer in progress. */
const longest = 24 * 3_600_000
/** Bytes between two checks of the free space. */
const lookEvery = 64 * 1024 * 1024

export interface Arrived extends AsyncDisposable {
  readonly bytes: number
  /**
   * Gives the file its final name; a file that had the name before is replaced. Without this call, the file is removed on
   * disposal.
   */
  moveTo(path: string): Promise<void>
}

export interface ArrivalLimits {
  /** Bytes of the content. */
  readonly most: number
  /** Bytes that stay free on the disk. */
  readonly reserve: number
}

/** @throws {AppError} `FileLimitExceeded`, `HotfolderFull` */
export async function receive(root: string, content: AsyncIterable<Buffer>, limits: ArrivalLimits): Promise<Arrived> {
  const place = await openFolder(root, [folder], { make: true })
  if (!place) throw new Error('there is something else in the place of the folder for arriving files')
  const path = place.at(randomUUID())
  const discard = async (): Promise<void> => {
    await unlink(path).catch(() => {})
    await place[Symbol.asyncDispose]()
  }
  try {
    const bytes = await write(root, path, content, limits)
    return { bytes, moveTo: (to) => rename(path, to), [Symbol.asyncDispose]: discard }
  } catch (error) {
    await discard()
    throw isFull(error) ? full(error) : error
  }
}

async function write(
  root: string,
  path: string,
  content: AsyncIterable<Buffer>,
  { most, reserve }: ArrivalLimits,
): Promise<number> {
  const handle = await open(path, 'wx', 0o660)
  let bytes = 0
  let looked = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.length
      if (bytes > most) throw new AppError('FileLimitExceeded', { bytes: most })
      if (bytes - looked >= lookEvery) {
        await assertRoom(root, 0, reserve)
        looked = bytes
      }
      await handle.writeFile(chunk)
    }
    await handle.sync()
    return bytes
  } finally {
    await handle.close()
  }
}

/** @throws {AppError} `HotfolderFull` where so many more bytes would leave less than the reserve */
export async function assertRoom(root: string, bytes: number, reserve: number): Promise<void> {
  const { bavail, bsize } = await statfs(root)
  if (bavail * bsize - bytes < reserve) throw full()
}

export function full(cause?: unknown): AppError {
  return new AppError('HotfolderFull', {}, { cause })
}

function isFull(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
}

/** Removes uploads that did not end. */
export async function tidyArrivals(root: string): Promise<void> {
  await using place = await openFolder(root, [folder])
  if (!place) return
  for await (const { name } of await opendir(place.path)) {
    const info = await lookAt(place, name)
    if (info?.isFile() && Date.now() - info.mtimeMs > longest) await unlink(place.at(name)).catch(() => {})
  }
}

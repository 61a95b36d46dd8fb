/**
 * Folders of the hotfolder. Other programs write there, too, so no link is followed: a folder is opened step by step, and
 * its entries are addressed by its descriptor. An entry may be replaced between a check of its name and its use.
 */
import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/** An open folder: `at` gives the paths of its entries. */
export interface Folder extends AsyncDisposable {
  at(name: string): string
  /** The folder itself. */
  readonly path: string
}

/** Whether the system has paths for descriptors. */
const byDescriptor = process.platform === 'linux' && existsSync('/proc/self/fd')

/**
 * A folder below `root`; null where there is none, or something else. The root itself belongs to the administrator and
 * may be a link. With `make`, missing folders are made.
 */
export async function openFolder(
  root: string,
  steps: readonly string[],
  { make = false }: { readonly make?: boolean } = {},
): Promise<Folder | null> {
  return byDescriptor ? openSteps(root, steps, make) : openReal(root, steps, make)
}

async function openSteps(root: string, steps: readonly string[], make: boolean): Promise<Folder | null> {
  let handle: FileHandle | null = await openOne(root, 0)
  for (const step of steps) {
    if (!handle) return null
    const parent: FileHandle = handle
    try {
      const path = `/proc/self/fd/${parent.fd}/${step}`
      if (make) await mkdir(path).catch(ignoreExisting)
      handle = await openOne(path, O_NOFOLLOW)
    } finally {
      await parent.close()
    }
  }
  if (!handle) return null
  const opened = handle
  const path = `/proc/self/fd/${opened.fd}`
  return { path, at: (name) => `${path}/${name}`, [Symbol.asyncDispose]: () => opened.close() }
}

async function openOne(path: string, more: number): Promise<FileHandle | null> {
  return open(path, O_RDONLY | O_DIRECTORY | more).catch(nothing)
}

/** Without paths for descriptors: the path is checked once, before it is used. */
async function openReal(root: string, steps: readonly string[], make: boolean): Promise<Folder | null> {
  const base = await realpath(root).catch(nothing)
  if (base === null) return null
  const path = join(base, ...steps)
  for (let length = 1; length <= steps.length; length++) {
    const part = join(base, ...steps.slice(0, length))
    if (make) await mkdir(part).catch(ignoreExisting)
    if (!(await lstat(part).catch(nothing))?.isDirectory()) return null
  }
  return { path, at: (name) => join(path, name), async [Symbol.asyncDispose]() {} }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

const absent: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENAMETOOLONG'])

/** Null for an error that only means that there is no such entry. */
export function nothing(error: NodeJS.ErrnoException): null {
  if (absent.has(error.code)) return null
  throw error
}

/** Opens a file for reading; null where there is none, or a link, a pipe or anything else. The caller closes it. */
export async function openFile(folder: Folder, name: string): Promise<FileHandle | null> {
  const handle = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(nothing)
  if (!handle) return null
  const info = await handle.stat()
  if (info.isFile()) return handle
  await handle.close()
  return null
}

/** The entry with a name, if it is a folder, or a file without other hard links. */
export async function lookAt(folder: Folder, name: string) {
  const info = await lstat(folder.at(name)).catch(nothing)
  if (!info) return null
  if (info.isDirectory()) return info
  // A second hard link may lead to a folder that its creator cannot read.
  return info.isFile() && info.nlink === 1 ? info : null
}

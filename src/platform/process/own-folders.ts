/**
 * Folders in which another user also writes: when the service runs as root, PostgreSQL runs as a user with fewer rights. That user
 * can replace any entry of its folders by a link, so its links are never followed, and files are handed over by their descriptor:
 * between a check of a name and its use, the name may get another file.
 */
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, rm } from 'node:fs/promises'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

const self = (): number | undefined => process.getuid?.()

/** Whether links of this owner are followed: only those that the service itself, or root, has made. */
function isTrusted({ uid }: Stats): boolean {
  return uid === 0 || uid === self()
}

/** @throws {Error} when the name is a link that another user has put there. */
export async function assertOwnLink(path: string): Promise<void> {
  const info = await lstat(path).catch(() => null)
  if (info?.isSymbolicLink() && !isTrusted(info)) {
    throw new Error(
      `${path} is a link of the user ${info.uid}, which is not followed: look what it is, and take it away`,
    )
  }
}

/**
 * Creates a folder if it does not exist, and sets its owner and mode by its descriptor. @throws {Error} when something else has its
 * name.
 */
export async function giveFolder(path: string, owner: Owner | null, mode: number): Promise<void> {
  await assertOwnLink(path)
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const link = (await lstat(path)).isSymbolicLink()
  await using folder = await openFolder(path, link)
  const info = await folder.stat()
  const { uid, gid } = owner ?? { uid: self() ?? info.uid, gid: process.getgid?.() ?? info.gid }
  // Only root can do this, and only root needs it.
  if (self() === 0 && (info.uid !== uid || info.gid !== gid)) await folder.chown(uid, gid)
  if ((info.mode & 0o777) !== mode && (info.uid === self() || self() === 0)) await folder.chmod(mode)
}

async function openFolder(path: string, link: boolean): Promise<FileHandle> {
  try {
    return await open(path, O_RDONLY | O_DIRECTORY | (link ? 0 : O_NOFOLLOW))
  } catch (cause) {
    throw new Error(`${path} must be a folder: ${(cause as Error).message}`, { cause })
  }
}

/** An empty file under that name. A file that had the name before keeps its content, also behind a link. */
export async function freshFile(path: string): Promise<FileHandle> {
  await rm(path, { force: true })
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
}

/** The text of a file that another user may have put there: empty for anything but a regular file. Never waits for a pipe. */
export async function readForeign(path: string, longest = 64 * 1024): Promise<string> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null)
  if (!file) return ''
  try {
    const info = await file.stat()
    if (!info.isFile()) return ''
    const length = Math.min(info.size, longest)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, info.size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Whether only its owner can write to a folder, and the path is not a link. */
export async function isOnlyOf(path: string, uid: number | undefined): Promise<boolean> {
  const info = await lstat(path).catch(() => null)
  return !!info?.isDirectory() && info.uid === uid && (info.mode & 0o022) === 0
}

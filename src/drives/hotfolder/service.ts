/**
 * The hotfolder: files dropped into the folder of a collection come into objects by its upload settings. This is the
 * share into which clients drop them and where they see waiting ones; the crawler imports them. See docs/drives.md.
 */
import { mkdir, open, opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { FileService } from '../../files/service.ts'
import type { IngestService } from '../../ingest/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { createLocks, type Lockable } from '../locks.ts'
import { assertName } from '../names.ts'
import { openRoot, type RootDeps } from '../roots.ts'
import type { DriveRoot } from '../store.ts'
import { type Arrived, assertRoom, full, receive } from './arrivals.ts'
import { type Folder, lookAt, openFile, openFolder } from './folder.ts'
import { mostFolders, mostNames, type StagedEntry, type StagedFile } from './model.ts'
import { fits, importing, isReserved } from './names.ts'
import { addUsage, lockPrefix, mayMeasure, setUsage, type UsageLimits } from './store.ts'
import { listAll } from './walk.ts'

export const hotfolderPath = '/api/v1/hotfolder'

export interface HotfolderDeps extends RootDeps {
  readonly root: string
  readonly settings: () => { readonly hotfolder: boolean }
  readonly files: Pick<FileService, 'permission'>
  readonly ingest: Pick<IngestService, 'target'>
  readonly limits: UsageLimits & { readonly reserve: number }
}

/** The share that a client has mounted. */
export interface DropFolder {
  readonly actor: Actor
  readonly collection: DriveRoot
}

/** The entry at a path; null: there is none. */
export interface Spot {
  readonly steps: readonly string[]
  readonly entry: StagedEntry | null
}

export type HotfolderService = ReturnType<typeof createHotfolderService>

export function createHotfolderService(deps: HotfolderDeps) {
  const { db, root, limits } = deps
  const locks = createLocks(db)

  const within = ({ collection }: DropFolder, steps: readonly string[]) => openFolder(root, [collection.uuid, ...steps])

  /** The folder that contains a path. @throws {AppError} `PathConflict` where it is missing */
  async function parentOf(drop: DropFolder, steps: readonly string[]): Promise<Folder> {
    const folder = await within(drop, steps.slice(0, -1))
    if (!folder) throw new AppError('PathConflict')
    return folder
  }

  /** @throws {AppError} for names that are not allowed */
  function assertTaken(steps: readonly string[]): string {
    const name = steps.at(-1)
    if (name === undefined) throw new AppError('PathConflict')
    assertName(name)
    if (isReserved(name) || !fits(name)) throw new AppError('EasInvalidFilename', { filename: name.slice(0, 255) })
    return name
  }

  /** Counts files and bytes there, including files of the service itself. */
  async function measure({ collection }: DropFolder): Promise<UsageLimits> {
    let [files, bytes] = [0, 0]
    for (const { folders, names } of await listAll(root, collection.uuid)) {
      await using folder = await openFolder(root, [collection.uuid, ...folders])
      for (const name of names) {
        const info = folder && (await lookAt(folder, name))
        if (info) [files, bytes] = [files + 1, bytes + info.size]
      }
    }
    return { files, bytes }
  }

  /** @throws {AppError} `HotfolderFull` */
  async function count(drop: DropFolder, bytes: number): Promise<void> {
    const { id } = drop.collection
    if (await addUsage(db, id, bytes, limits)) return
    // Files imported since are only subtracted by this measurement.
    if (!(await mayMeasure(db, id))) throw full()
    await setUsage(db, id, await measure(drop))
    if (!(await addUsage(db, id, bytes, limits))) throw full()
  }

  async function place(drop: DropFolder, steps: readonly string[], arrived: Arrived): Promise<void> {
    await using folder = await parentOf(drop, steps)
    const name = steps.at(-1) as string
    if ((await lookAt(folder, name))?.isDirectory()) throw new AppError('PathConflict')
    await arrived.moveTo(folder.at(name))
    await sync(folder)
  }

  return {
    locks,

    /** @throws {AppError} `WebdavNotEnabled`, `ResourceNotFound` */
    async open(key: string, remoteAddr: string): Promise<DropFolder> {
      if (!deps.settings().hotfolder) throw new AppError('WebdavNotEnabled')
      const opened = await openRoot(deps, key, remoteAddr)
      if (!opened) throw new AppError('ResourceNotFound')
      await mkdir(join(root, opened.root.uuid), { recursive: true, mode: 0o770 })
      return { actor: opened.actor, collection: opened.root }
    },

    async find(drop: DropFolder, steps: readonly string[]): Promise<Spot> {
      if (steps.length > mostFolders || steps.some((step) => step.startsWith('.'))) return { steps, entry: null }
      const name = steps.at(-1)
      await using folder = await within(drop, name === undefined ? [] : steps.slice(0, -1))
      const info = folder && (await lookAt(folder, name ?? '.'))
      return { steps, entry: info ? entryOf(name ?? '', info) : null }
    },

    /** The entries of a folder: waiting files, those being imported, failed ones and logs. */
    async list(drop: DropFolder, steps: readonly string[]): Promise<StagedEntry[]> {
      await using folder = await within(drop, steps)
      if (!folder) throw new AppError('ResourceNotFound')
      const entries: StagedEntry[] = []
      for await (const { name } of await opendir(folder.path, { bufferSize: 500 })) {
        if (name.startsWith('.')) continue
        if (entries.length >= mostNames) break
        const info = await lookAt(folder, name)
        if (info) entries.push(entryOf(name, info))
      }
      return entries.sort((one, other) => (one.name < other.name ? -1 : 1))
    },

    /** The key of locks: names here are distinct from those of the collection's drive. */
    lockable({ collection }: DropFolder, steps: readonly string[]): Lockable {
      return { collectionId: collection.id, name: `${lockPrefix}${steps.join('/')}`, path: [] }
    },

    async assertFree(drop: DropFolder, steps: readonly string[], tokens: readonly string[]): Promise<void> {
      const held = await locks.at(this.lockable(drop, steps))
      if (held.some(({ token }) => !tokens.includes(token))) throw new AppError('ResourceLocked')
    },

    /**
     * Before a content is read: checks whether the name is allowed, and answers how long the content may be.
     * @throws {AppError} `DotFilenameNotAllowed`, `EasInvalidFilename`, `PathConflict`, `CollectionUploadNoObjectFound`,
     * `RightRequired`, `HotfolderFull`
     */
    async accept(drop: DropFolder, { steps, entry }: Spot, bytes: number): Promise<number> {
      assertTaken(steps)
      if (steps.length > mostFolders || entry?.kind === 'folder') throw new AppError('PathConflict')
      await using _parent = await parentOf(drop, steps)
      await deps.ingest.target(drop.actor, drop.collection.id)
      const { largest } = await deps.files.permission(drop.actor)
      if (Number.isFinite(bytes) && bytes > largest) throw new AppError('FileLimitExceeded', { bytes: largest })
      await assertRoom(root, Number.isFinite(bytes) ? bytes : 0, limits.reserve)
      return Math.min(largest, limits.bytes)
    },

    /** Stores a content with a name; the import takes it from there. @throws {AppError} */
    async drop(drop: DropFolder, { steps }: Spot, content: AsyncIterable<Buffer>, most: number): Promise<void> {
      await using arrived = await receive(root, content, { most, reserve: limits.reserve })
      await count(drop, arrived.bytes)
      await place(drop, steps, arrived)
    },

    /** Makes an empty file with a free name: it is not imported. @throws {AppError} */
    async announce(drop: DropFolder, { steps, entry }: Spot): Promise<void> {
      if (entry !== null) return
      await using arrived = await receive(root, nothingToRead(), { most: 0, reserve: limits.reserve })
      await count(drop, 0)
      await place(drop, steps, arrived)
    },

    /** Makes a folder; an existing one is not changed. @throws {AppError} `PathConflict` */
    async makeFolder(drop: DropFolder, { steps, entry }: Spot): Promise<void> {
      if (entry?.kind === 'folder') return
      const name = assertTaken(steps)
      if (entry !== null || steps.length >= mostFolders) throw new AppError('PathConflict')
      await using folder = await parentOf(drop, steps)
      await assertRoom(root, 0, limits.reserve)
      await count(drop, 0)
      await mkdir(folder.at(name), { mode: 0o770 })
    },

    /** Removes a waiting file, or an empty folder. @throws {AppError} `PathConflict`, `ResourceLocked` */
    async remove(drop: DropFolder, { steps, entry }: Spot): Promise<void> {
      const name = steps.at(-1)
      if (!entry || name === undefined) throw new AppError('PathConflict')
      assertNotTaken(name)
      await using folder = await parentOf(drop, steps)
      await (entry.kind === 'folder' ? rmdir(folder.at(name)) : unlink(folder.at(name))).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') throw new AppError('ResourceNotFound')
          if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') throw new AppError('PathConflict')
          throw error
        },
      )
    },

    /** Renames a waiting file. @throws {AppError} `PathConflict`, `ResourceLocked` */
    async move(drop: DropFolder, from: Spot, to: Spot): Promise<void> {
      const name = from.steps.at(-1)
      if (!from.entry || name === undefined || to.entry) throw new AppError('PathConflict')
      assertNotTaken(name)
      const target = assertTaken(to.steps)
      if (to.steps.length > mostFolders) throw new AppError('PathConflict')
      await using folder = await parentOf(drop, from.steps)
      await using into = await parentOf(drop, to.steps)
      await rename(folder.at(name), into.at(target)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') throw new AppError('ResourceNotFound')
        // A folder was moved into itself, or the target exists meanwhile.
        if (['EINVAL', 'EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR'].includes(error.code ?? ''))
          throw new AppError('PathConflict')
        throw error
      })
    },

    /** The content of a waiting file. @throws {AppError} `ResourceNotFound` where it no longer exists */
    async read(drop: DropFolder, steps: readonly string[], range?: { start: number; end: number }): Promise<Readable> {
      await using folder = await parentOf(drop, steps)
      const handle = await openFile(folder, steps.at(-1) as string)
      if (!handle) throw new AppError('ResourceNotFound')
      return handle.createReadStream({ ...range, autoClose: true })
    },
  }
}

/** A file that is being imported must not be changed. */
function assertNotTaken(name: string): void {
  if (name.startsWith(importing)) throw new AppError('ResourceLocked')
}

interface Info {
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly mtime: Date
  readonly birthtime: Date
  isDirectory(): boolean
}

function entryOf(name: string, info: Info): StagedEntry {
  const common = { name, createdAt: info.birthtime, modifiedAt: info.mtime }
  if (info.isDirectory()) return { kind: 'folder', ...common }
  const etag = `"${info.size.toString(36)}-${Math.floor(info.mtimeMs).toString(36)}"`
  return { kind: 'staged', bytes: info.size, etag, ...common } satisfies StagedFile
}

/** Once the service has answered, the change is on stable storage. */
async function sync({ path }: Folder): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* nothingToRead(): AsyncGenerator<Buffer> {}

/**
 * Drives: collections as folders of files, for WebDAV clients. Every caller with the address has the rights of the
 * collection's owner there. See docs/drives.md.
 */
import type { CollectionService } from '../collections/service.ts'
import type { FileService } from '../files/service.ts'
import type { IngestService, Target } from '../ingest/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { createLocks, type Lockable } from './locks.ts'
import type { DriveEntry, DriveFile, DriveFolder, Place, Placeholder } from './model.ts'
import { assertName, distinctNames, nameKey, safeName } from './names.ts'
import { openRoot, type RootDeps } from './roots.ts'
import * as store from './store.ts'

export { createCrawler } from './hotfolder/crawler.ts'
export { createHotfolderService, hotfolderPath } from './hotfolder/service.ts'
export { createUploadKeys } from './keys.ts'

export const drivePath = '/api/v1/WebDAV'

/** Drives are also found without the prefix of the interface, as clients of it know them. */
export const driveAliases = { '/WebDAV/': `${drivePath}/` }

export interface DriveDeps extends RootDeps {
  readonly settings: () => { readonly read_write_access: boolean }
  readonly files: Pick<FileService, 'permission' | 'put' | 'download' | 'downloadable'>
  readonly ingest: Pick<IngestService, 'target' | 'ingest' | 'replace' | 'remove'>
  readonly collections: Pick<CollectionService, 'makeBelow' | 'rename' | 'remove'>
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
}

/** A drive that a client has mounted, and the user whose rights it has. */
export interface Drive {
  readonly actor: Actor
  readonly root: DriveFolder
}

/** An upload that is allowed to begin. */
export interface Upload {
  readonly actor: Actor
  readonly parent: DriveFolder
  readonly name: string
  /** The entry with this name; never a folder. */
  readonly entry: DriveEntry | null
  readonly target: Target
  readonly permission: Awaited<ReturnType<FileService['permission']>>
}

export interface StoreOptions {
  readonly deadline: Deadline
  /** The request depends on what was there before. */
  readonly conditional: boolean
}

export type DriveService = ReturnType<typeof createDriveService>

/** Most steps of a path, and most names without a content in one folder. */
const [mostSteps, mostPlaceholders] = [100, 1000]

/** How often a content is put in place of a file that other requests change at the same time. */
const mostAttempts = 10

export function createDriveService(deps: DriveDeps) {
  const { db, files, ingest, languages } = deps
  const locks = createLocks(db)

  /** @throws {AppError} `WebdavNotEnabled`, `ResourceNotFound` */
  async function open(key: string, remoteAddr: string): Promise<Drive> {
    if (!deps.settings().read_write_access) throw new AppError('WebdavNotEnabled')
    const opened = await openRoot(deps, key, remoteAddr)
    if (!opened) throw new AppError('ResourceNotFound')
    return { actor: opened.actor, root: folderOf(opened.root, '') }
  }

  function folderOf({ id, path, createdAt, updatedAt }: store.DriveRoot, name: string): DriveFolder {
    return { kind: 'folder', id, name, path, createdAt, modifiedAt: updatedAt }
  }

  /** The title of a collection, in the first language for which it has one. */
  function titleOf({ id, displayname }: store.DriveRoot): string {
    const language = languages().find((one) => displayname[one]) ?? Object.keys(displayname)[0]
    return (language === undefined ? undefined : displayname[language]) ?? String(id)
  }

  async function subfolders(folder: DriveFolder, q: Queryable = db): Promise<DriveFolder[]> {
    const named = distinctNames(await store.foldersIn(q, folder.id), titleOf)
    return named.map(({ thing, name }) => folderOf(thing, name))
  }

  /**
   * All names in a folder: collections keep theirs, files with the same names get numbers. The names do not depend on the
   * rights of the owner.
   */
  async function namesIn(actor: Actor, folder: DriveFolder): Promise<DriveEntry[]> {
    const folders = await subfolders(folder)
    const taken = new Set(folders.map(({ name }) => nameKey(name)))
    const found = await store.filesIn(db, folder.id, await columnsOf(actor, folder))
    const named = distinctNames(found, ({ name }) => name, taken).map(
      ({ thing, name }): DriveFile => ({ ...thing, name }),
    )
    const waiting = (await store.placeholdersIn(db, folder.id))
      .filter(({ name }) => !taken.has(nameKey(name)))
      .map(({ name, createdAt }): Placeholder => ({ kind: 'placeholder', name, createdAt }))
    return [...folders, ...named, ...waiting]
  }

  /** Without files that the actor may not download. */
  async function visibleOf(actor: Actor, entries: readonly DriveEntry[]): Promise<DriveEntry[]> {
    const ids = entries.flatMap((entry) => (entry.kind === 'file' ? entry.fileId : []))
    const visible = await files.downloadable(actor, [...new Set(ids)])
    return entries.filter((entry) => entry.kind !== 'file' || visible.has(entry.fileId))
  }

  async function entriesOf({ actor }: Pick<Drive, 'actor'>, folder: DriveFolder): Promise<DriveEntry[]> {
    return visibleOf(actor, await namesIn(actor, folder))
  }

  /** The field of files that the upload settings name; null: all of them. */
  async function columnsOf(actor: Actor, folder: DriveFolder): Promise<readonly number[] | null> {
    const target = await targetOf(actor, folder)
    return target === null ? null : [target.column.id]
  }

  /** null: no upload is possible there. */
  async function targetOf(actor: Actor, folder: DriveFolder): Promise<Target | null> {
    try {
      return await ingest.target(actor, folder.id)
    } catch (error) {
      if (error instanceof AppError && error.status < 500) return null
      throw error
    }
  }

  /**
   * The entry at a path; null: a folder on the way is missing. One statement for each step but the last.
   * @throws {AppError} `InsufficientRights` for a file that the owner may not download
   */
  async function find(drive: Drive, steps: readonly string[]): Promise<Place | null> {
    if (steps.length > mostSteps) return null
    if (steps.length === 0) return { parent: null, name: '', entry: drive.root }
    let parent = drive.root
    for (const step of steps.slice(0, -1)) {
      const next = (await subfolders(parent)).find(({ name }) => nameKey(name) === nameKey(step))
      if (!next) return null
      parent = next
    }
    const name = steps.at(-1) as string
    const named = (await namesIn(drive.actor, parent)).filter((one) => nameKey(one.name) === nameKey(name))
    const [entry = null] = await visibleOf(drive.actor, named)
    // A file that the owner may not download still occupies its name.
    if (named[0] && !entry) throw new AppError('InsufficientRights')
    return { parent, name: entry?.name ?? name, entry }
  }

  function lockable({ parent, name, entry }: Place): Lockable {
    if (entry?.kind === 'folder') return { collectionId: entry.id, name: null, path: entry.path }
    const folder = parent as DriveFolder
    return { collectionId: folder.id, name, path: folder.path }
  }

  /** @throws {AppError} `ResourceLocked` where there is a lock whose token is not sent */
  async function assertFree(place: Place, tokens: readonly string[]): Promise<void> {
    const held = await locks.at(lockable(place))
    const parent = place.entry?.kind === 'folder' && place.parent ? place.parent : null
    // Renaming or deleting a folder also changes the folder that contains it.
    if (parent) held.push(...(await locks.at({ collectionId: parent.id, name: null, path: parent.path })))
    if (held.some(({ token }) => !tokens.includes(token))) throw new AppError('ResourceLocked')
  }

  /**
   * Requests that name a folder in the same place take turns until they have committed, so that two of them do not make the same
   * name twice; answers the folder that has the name by then.
   */
  async function folderNamed(tx: Tx, parent: DriveFolder, name: string): Promise<DriveFolder | undefined> {
    await store.lockNames(tx, parent.id)
    return (await subfolders(parent, tx)).find((one) => nameKey(one.name) === nameKey(name))
  }

  /**
   * Puts another content in place of a file (null: of the one that has the name by now). Another request may change it meanwhile:
   * the last one counts, unless the request depends on what was there.
   */
  async function replaceFile(
    { actor, parent, name, target }: Upload,
    given: DriveFile | null,
    fileId: number,
    { deadline, conditional }: StoreOptions,
  ): Promise<{ readonly ids: readonly number[]; readonly replaced: boolean }> {
    let entry: DriveEntry | null | undefined = given
    for (let attempts = 1; ; attempts++) {
      entry ??= (await namesIn(actor, parent)).find((one) => nameKey(one.name) === nameKey(name))
      if (entry?.kind !== 'file') throw new AppError('PathConflict')
      try {
        await ingest.replace(actor, target, entry, fileId, deadline)
        return { ids: [entry.systemObjectId], replaced: true }
      } catch (error) {
        const late = error instanceof AppError && ['VersionMismatch', 'ResourceNotFound'].includes(error.code)
        if (!late || attempts === mostAttempts) throw error
        if (conditional) throw new AppError('PreconditionFailed', { header: 'If-Match' }, { cause: error })
        entry = null
      }
    }
  }

  return {
    open,
    find,
    entriesOf,
    locks,
    lockable,
    assertFree,

    /** The content of a file of the drive. @throws {AppError} */
    content: (actor: Actor, { fileId, sha256 }: DriveFile, signal: AbortSignal) =>
      files.download(
        actor,
        { fileId, hash: sha256, version: 'original' },
        { signature: undefined, transform: null, nameIn: async () => null, metadataIn: async () => [], signal },
      ),

    /**
     * The settings for an upload to a name, before the content is read.
     * @throws {AppError} `DotFilenameNotAllowed`, `EasInvalidFilename`, `PathConflict`, `CollectionUploadNoObjectFound`,
     * `RightRequired`
     */
    async upload({ actor }: Drive, place: Place | null): Promise<Upload> {
      if (!place?.parent) throw new AppError('PathConflict')
      const { parent, name, entry } = place
      if (entry?.kind === 'folder') throw new AppError('PathConflict')
      assertName(name)
      const target = await ingest.target(actor, parent.id)
      const permission = await files.permission(actor)
      return { actor, parent, name, entry, target, permission }
    },

    /** Adds a name whose content comes later; an existing file is not changed. @throws {AppError} */
    async announce({ parent, name, entry }: Pick<Upload, 'parent' | 'name' | 'entry'>): Promise<void> {
      if (entry !== null) return
      const added = await db.transaction((tx) => store.addPlaceholder(tx, parent.id, name, mostPlaceholders))
      if (!added) throw new AppError('PathConflict', { most: mostPlaceholders })
    },

    /**
     * Stores a content, and adds it to the matching objects; answers their system object ids, and whether there was a file with
     * the name. @throws {AppError}
     */
    async store(
      upload: Upload,
      content: { readonly content: AsyncIterable<Buffer>; readonly bytes: number },
      options: StoreOptions,
    ): Promise<{ readonly ids: readonly number[]; readonly replaced: boolean }> {
      const { actor, parent, name, entry, target, permission } = upload
      const more = { filenames: [], references: [], parents: [], versions: [] }
      const wish = { produce: () => true, priority: 0 }
      const [record] = await files.put(actor, one({ name, ...content }), permission, more, wish)
      const fileId = record?._id as number
      await store.removePlaceholder(db, parent.id, name)
      if (entry?.kind === 'file') return replaceFile(upload, entry, fileId, options)
      const ingested = {
        fileId,
        name: record?.original_filename as string,
        bytes: record?.filesize as number,
        path: '',
      }
      let late = false
      // The save has locked the list of the collection, so another upload of the name is either seen or comes later.
      const alsoInSave = async (tx: Tx): Promise<void> => {
        const files = await store.filesIn(tx, parent.id, [target.column.id])
        late = files.some((one) => one.fileId !== fileId && nameKey(safeName(one.name)) === nameKey(name))
        if (late) throw new AppError('PathConflict')
      }
      try {
        const [outcome] = await ingest.ingest(actor, target, [ingested], { ...options, together: true, alsoInSave })
        return { ids: outcome?.objects.map(({ systemObjectId }) => systemObjectId) ?? [], replaced: false }
      } catch (error) {
        if (!late) throw error
        if (options.conditional) throw new AppError('PreconditionFailed', { header: 'If-None-Match' }, { cause: error })
        return replaceFile(upload, null, fileId, options)
      }
    },

    /** Removes a file from its object, or a placeholder. @throws {AppError} */
    async remove({ actor }: Drive, { parent, entry }: Place, deadline: Deadline): Promise<void> {
      const folder = parent as DriveFolder
      if (entry?.kind === 'placeholder') return store.removePlaceholder(db, folder.id, entry.name)
      if (entry?.kind !== 'file') throw new AppError('PathConflict')
      const withObject = await store.madeForFile(db, folder.id, entry.systemObjectId)
      await ingest.remove(actor, await targetOf(actor, folder), entry, { withObject, deadline })
    },

    /** Deletes an empty collection. @throws {AppError} */
    async removeFolder({ actor }: Drive, { id }: DriveFolder): Promise<void> {
      await deps.collections.remove(actor, id)
    },

    /** Makes a collection; an existing one is not changed. @throws {AppError} `PathConflict` */
    async makeFolder({ actor }: Drive, place: Place | null): Promise<void> {
      if (!place) throw new AppError('PathConflict')
      const { parent, name, entry } = place
      if (entry?.kind === 'folder') return
      if (entry !== null || !parent) throw new AppError('PathConflict')
      assertName(name)
      let late = false
      const first = async (tx: Tx): Promise<void> => {
        late = (await folderNamed(tx, parent, name)) !== undefined
        if (late) throw new AppError('PathConflict')
      }
      await deps.collections.makeBelow(actor, parent.id, named(name), first).catch((error: unknown) => {
        // Another request has made it meanwhile.
        if (!late) throw error
      })
    },

    /** Renames a folder. @throws {AppError} `PathConflict` for everything else */
    async rename({ actor }: Drive, from: Place | null, to: Place | null): Promise<void> {
      const folder = from?.entry
      if (folder?.kind !== 'folder' || !from?.parent || !to?.parent) throw new AppError('PathConflict')
      if (to.parent.id !== from.parent.id) throw new AppError('PathConflict')
      if (to.entry && !(to.entry.kind === 'folder' && to.entry.id === folder.id)) throw new AppError('PathConflict')
      assertName(to.name)
      const { parent, name } = { parent: to.parent, name: to.name }
      await deps.collections.rename(actor, folder.id, named(name), async (tx) => {
        const other = await folderNamed(tx, parent, name)
        if (other && other.id !== folder.id) throw new AppError('PathConflict')
      })
    },
  }

  function named(name: string): Record<string, string> {
    return Object.fromEntries(languages().map((language) => [language, name]))
  }
}

async function* one<T>(file: T): AsyncGenerator<T> {
  yield file
}

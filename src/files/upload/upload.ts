import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Locations } from '../locations/service.ts'
import { original, type StoredFile } from '../model.ts'
import { assertVersionNames } from './manual.ts'
import type { Incoming } from './multipart.ts'
import type { UploadPermission } from './permission.ts'
import { receiveFile } from './receive.ts'
import {
  discardAll,
  type NewReceivedFile,
  type StoreReceivedDeps,
  storeReceived,
  uploadInfo,
} from './store-received.ts'

/** The parameters of the files of an upload, in the order of the files. */
export interface UploadOptions {
  readonly filenames: readonly (string | null)[]
  readonly references: readonly (string | null)[]
  readonly parents: readonly (number | null)[]
  /** The names of those files that are versions of their parents. */
  readonly versions: readonly (string | null)[]
}

export interface UploadDeps extends StoreReceivedDeps {
  readonly locations: Pick<Locations, 'forOriginals' | 'forVersions'>
  /** Whether each of the files exists and the caller may change it. */
  readonly mayChange: (actor: Actor, ids: readonly number[]) => Promise<ReadonlySet<number>>
}

/**
 * Receives all files of a request, or none: contents first, under temporary names; then they are announced and get their
 * names, and one transaction makes the records. Once the service has answered, the files are on stable storage; an
 * interrupted upload is removed.
 */
export async function upload(
  deps: UploadDeps,
  actor: Actor,
  incoming: AsyncIterable<Incoming>,
  permission: UploadPermission,
  options: UploadOptions,
): Promise<StoredFile[]> {
  await assertParents(deps, actor, options.parents)
  assertVersionNames(options.versions.map((name, index) => ({ name, parentId: options.parents[index] ?? null })))
  const arrived: NewReceivedFile[] = []
  try {
    for await (const file of incoming) {
      const index = arrived.length
      const name = options.filenames[index] || asSent(file.name)
      const versionName = options.versions[index] ?? null
      const location = locationFor(deps.locations, versionName)
      arrived.push({
        ...(await receiveFile({ ...file, name }, location.store, permission)),
        locationId: location.id,
        reference: options.references[index]?.normalize('NFC') ?? null,
        parentId: options.parents[index] ?? null,
        versionName,
      })
    }
    if (arrived.length === 0) throw new AppError('UploadError', {}, { message: 'The request has no file.' })
    assertNoMore(options, arrived.length)
  } catch (error) {
    await discardAll(arrived)
    throw error
  }
  return storeReceived(deps, actor, arrived, (file, { versionName }) => [
    { type: 'FILE_UPLOAD', actor, basetype: 'file', objectId: file.id, info: { file: uploadInfo(file, versionName) } },
  ])
}

/**
 * The name in a part of a multipart body, which the parser reads as UTF-8, whatever it is.
 * @throws {AppError} `EasInvalidFilename` where the bytes were not UTF-8.
 */
function asSent(name: string): string {
  if (!name.includes('\ufffd')) return name
  const message = 'The name of the file is not UTF-8; send it so, or in the parameter `filenames`.'
  throw new AppError('EasInvalidFilename', { filename: name.slice(0, 255) }, { message })
}

/** The location for a content, by the kind of its version. */
export function locationFor(
  locations: Pick<Locations, 'forOriginals' | 'forVersions'>,
  versionName: string | null | undefined,
): ReturnType<Locations['forOriginals']> {
  return versionName == null || versionName === original ? locations.forOriginals() : locations.forVersions()
}

/** @throws {AppError} `EasNoParentID` when a parent does not exist, or the caller may not change it. */
export async function assertParents(
  deps: Pick<UploadDeps, 'mayChange'>,
  actor: Actor,
  parents: UploadOptions['parents'],
): Promise<void> {
  const ids = parents.filter((id) => id !== null)
  if (ids.length === 0) return
  const allowed = await deps.mayChange(actor, ids)
  const missing = ids.find((id) => !allowed.has(id))
  if (missing === undefined) return
  const message = `There is no file ${missing} that you may change.`
  throw new AppError('EasNoParentID', { id_parent: missing }, { message })
}

/** A request that names more files than it sends has lost a file on the way. */
function assertNoMore(options: UploadOptions, count: number): void {
  for (const [name, list] of Object.entries(options)) {
    if (list.length > count) throw badRequest(`${name} has ${list.length} entries for ${count} files.`, { param: name })
  }
}

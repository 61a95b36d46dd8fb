import type { EventLog } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db } from '../../platform/db.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Locations } from '../locations/service.ts'
import type { StoredFile } from '../model.ts'
import * as store from '../records/store.ts'
import { type Arrived, arrive } from './arrive.ts'
import type { Incoming } from './multipart.ts'
import type { UploadPermission } from './permission.ts'

/** What is said of the files of an upload beside their contents, by their order. */
export interface UploadOptions {
  readonly filenames: readonly (string | null)[]
  readonly references: readonly (string | null)[]
  readonly parents: readonly (number | null)[]
}

export interface UploadDeps {
  readonly db: Db
  readonly events: EventLog
  readonly locations: Pick<Locations, 'forOriginals'>
  /** Whether each of the files exists and the caller may change it. */
  readonly mayChange: (actor: Actor, ids: readonly number[]) => Promise<ReadonlySet<number>>
}

/**
 * Takes all files of a request, or none: contents first, under temporary names; then they are announced, get their names,
 * and one transaction makes the records. What is answered lies on stable storage; what is interrupted is swept away.
 */
export async function upload(
  deps: UploadDeps,
  actor: Actor,
  incoming: AsyncIterable<Incoming>,
  permission: UploadPermission,
  options: UploadOptions,
): Promise<StoredFile[]> {
  await assertParents(deps, actor, options.parents)
  const location = deps.locations.forOriginals()
  const arrived: Arrived[] = []
  try {
    for await (const file of incoming) {
      const name = options.filenames[arrived.length] || file.name
      arrived.push(await arrive({ ...file, name }, location.store, permission))
    }
    if (arrived.length === 0) throw new AppError('UploadError', {}, { message: 'The request has no file.' })
    assertNoMore(options, arrived.length)
    const blobs = arrived.map(({ sha256, received: { size } }) => ({ locationId: location.id, sha256, size }))
    await store.announceBlobs(deps.db, blobs)
    for (const { received, sha256 } of arrived) await received.keep(sha256)
    const files = arrived.map(({ name, type: { extension, class: kind, mimeType } }, index) => ({
      ...(blobs[index] as store.NewBlob),
      parentId: options.parents[index] ?? null,
      reference: options.references[index] ?? null,
      filepath: name,
      extension,
      class: kind,
      mimeType,
    }))
    return await deps.db.transaction(async (tx) => {
      const ids = await store.insertFiles(tx, actor.userId, files)
      const stored = new Map((await store.readFiles(tx, ids)).map((file) => [file.id, file]))
      const made = ids.flatMap((id) => stored.get(id) ?? [])
      await deps.events.append(
        tx,
        made.map((file) => ({
          type: 'FILE_UPLOAD' as const,
          actor,
          basetype: 'file',
          objectId: file.id,
          info: { file: uploadInfo(file) },
        })),
      )
      return made
    })
  } catch (error) {
    await Promise.all(arrived.map(({ received }) => received.discard().catch(() => {})))
    throw error
  }
}

/** What the log keeps of a file. */
export function uploadInfo({ id, filepath, reference, versions }: StoredFile): Record<string, unknown> {
  const [first] = versions
  return {
    _id: id,
    original_filename: filepath,
    reference,
    filesize: first?.size,
    class: first?.class,
    extension: first?.extension,
    hash: first?.sha256,
  }
}

async function assertParents(deps: UploadDeps, actor: Actor, parents: UploadOptions['parents']): Promise<void> {
  const ids = parents.filter((id) => id !== null)
  if (ids.length === 0) return
  const allowed = await deps.mayChange(actor, ids)
  const missing = ids.find((id) => !allowed.has(id))
  if (missing === undefined) return
  const message = `There is no file ${missing} that you may change.`
  throw new AppError('EasNoParentID', { id_parent: missing }, { message })
}

/** Whoever names more files than it sends has lost one on the way. */
function assertNoMore(options: UploadOptions, count: number): void {
  for (const [name, list] of Object.entries(options)) {
    if (list.length > count) throw badRequest(`${name} has ${list.length} entries for ${count} files.`, { param: name })
  }
}

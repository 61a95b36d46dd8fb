/** Stores the contents of taken files in the file service. */
import type { FileService } from '../../files/service.ts'
import type { IngestedFile } from '../../ingest/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { openFile, openFolder } from './folder.ts'
import type { DroppedFile, DropTarget } from './model.ts'

export interface StoreContentsDeps {
  readonly root: string
  readonly files: Pick<FileService, 'permission' | 'put'>
}

/** A file has changed since it was taken: a program still writes to it, or has removed it. */
class Changed extends Error {
  readonly file: DroppedFile
  constructor(file: DroppedFile) {
    super('the file has changed while it was read')
    this.file = file
  }
}

export interface StoredContents {
  readonly stored: ReadonlyMap<DroppedFile, IngestedFile>
  readonly refused: ReadonlyMap<DroppedFile, AppError>
  /** Files that were still being written. */
  readonly changed: readonly DroppedFile[]
}

const more = { filenames: [], references: [], parents: [], versions: [] }
const wish = { produce: () => true, priority: 0 }

/** Stores all at once, or, if one is refused, one after the other. @throws {Error} where it may succeed later */
export async function storeContents(
  deps: StoreContentsDeps,
  { actor, uuid }: DropTarget,
  taken: readonly DroppedFile[],
  signal: AbortSignal,
): Promise<StoredContents> {
  const allowed = await deps.files.permission(actor)
  const stored = new Map<DroppedFile, IngestedFile>()
  const refused = new Map<DroppedFile, AppError>()
  const changed: DroppedFile[] = []

  async function put(files: readonly DroppedFile[]): Promise<void> {
    const incoming = incomingOf(deps.root, uuid, files, signal)
    const records = await deps.files.put(actor as Actor, incoming, allowed, more, wish)
    for (const [index, file] of files.entries()) {
      const record = records[index] ?? {}
      stored.set(file, {
        fileId: record._id as number,
        name: record.original_filename as string,
        bytes: record.filesize as number,
        path: file.folders.join('/'),
      })
    }
  }

  async function putAlone(file: DroppedFile): Promise<void> {
    try {
      await put([file])
    } catch (error) {
      if (error instanceof Changed) changed.push(file)
      else if (error instanceof AppError && error.status < 500 && !signal.aborted) refused.set(file, error)
      else throw error
    }
  }

  try {
    await put(taken)
  } catch (error) {
    if (signal.aborted || !(error instanceof Changed || (error instanceof AppError && error.status < 500))) throw error
    for (const file of taken) await putAlone(file)
  }
  return { stored, refused, changed }
}

async function* incomingOf(root: string, uuid: string, files: readonly DroppedFile[], signal: AbortSignal) {
  for (const file of files) {
    yield { name: file.name, bytes: file.bytes, content: contentOf(root, uuid, file, signal) }
  }
}

async function* contentOf(root: string, uuid: string, file: DroppedFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  await using folder = await openFolder(root, [uuid, ...file.folders])
  const handle = folder && (await openFile(folder, file.storedName))
  if (!handle) throw new Changed(file)
  let bytes = 0
  try {
    for await (const chunk of handle.createReadStream({ autoClose: false, highWaterMark: 256 * 1024 })) {
      signal.throwIfAborted()
      bytes += (chunk as Buffer).length
      if (bytes > file.bytes) throw new Changed(file)
      yield chunk as Buffer
    }
    const { size, mtimeMs } = await handle.stat()
    if (bytes !== file.bytes || size !== bytes || Math.floor(mtimeMs) !== file.modified) throw new Changed(file)
  } finally {
    await handle.close()
  }
}

/** Imports some files of one drop folder: they are taken over, stored, put into objects, and then removed or marked as failed. */
import { randomUUID } from 'node:crypto'
import { rename, unlink } from 'node:fs/promises'
import type { IngestedFile, IngestService } from '../../ingest/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { type Claimant, claim, forget, markDone, release } from './claims.ts'
import { type Folder, lookAt, openFolder } from './folder.ts'
import { appendLog, isFailureLog, writeFailureLog } from './log.ts'
import type { DroppedFile, DropTarget, ImportResult } from './model.ts'
import { failed, failureLogOf, importing } from './names.ts'
import { type StoreContentsDeps, storeContents } from './store-contents.ts'

export interface BatchDeps extends StoreContentsDeps {
  readonly db: Db
  readonly ingest: Pick<IngestService, 'target' | 'ingest'>
}

export interface BatchOptions {
  /** Aborted when the service stops. */
  readonly signal: AbortSignal
  /** This is the last attempt: errors that would otherwise be tried again are final. */
  readonly last: boolean
}

/**
 * Imports the files, each once; a file that fails by its own fault is then named `ERROR-…`.
 * @throws {Error} where it may succeed later: the files keep the names of taken ones, and come first in the next run
 */
export async function importBatch(
  deps: BatchDeps,
  target: DropTarget,
  dropped: readonly DroppedFile[],
  { signal, last }: BatchOptions,
): Promise<void> {
  const { db } = deps
  const claimant: Claimant = { collectionId: target.collectionId, run: randomUUID() }
  const taken = await takeAll(deps, target, dropped)
  const claimed = await claim(db, claimant, taken)
  const before = taken.filter((file) => !claimed.has(file))
  if (before.length > 0) {
    await finish(deps, target, before.map(doneBefore))
    await forget(db, claimant.collectionId, before)
  }
  if (claimed.size === 0) return
  const results = await bringIn(deps, target, claimant, [...claimed], signal).catch((error: unknown) => {
    if (!last || signal.aborted || isPassing(error)) throw error
    return [...claimed].map((file) => failure(file, error))
  })
  await finish(deps, target, results)
  await release(db, claimant.run)
}

/** Gives files the names of taken ones. Files that no longer exist or have changed meanwhile are left out. */
async function takeAll(
  { root }: BatchDeps,
  target: DropTarget,
  dropped: readonly DroppedFile[],
): Promise<DroppedFile[]> {
  const taken: DroppedFile[] = []
  await inFolders(root, target, dropped, async (folder, files) => {
    for (const file of files) {
      const storedName = `${importing}${file.name}`
      if (file.storedName !== storedName) {
        // Only the import gives such names.
        if (await lookAt(folder, storedName)) continue
        if (!(await renamed(folder, file.storedName, storedName))) continue
      }
      const info = await lookAt(folder, storedName)
      if (info?.size === file.bytes && Math.floor(info.mtimeMs) === file.modified) taken.push({ ...file, storedName })
      else if (info) await giveBack(folder, { ...file, storedName })
    }
  })
  return taken
}

async function bringIn(
  deps: BatchDeps,
  target: DropTarget,
  claimant: Claimant,
  files: readonly DroppedFile[],
  signal: AbortSignal,
): Promise<ImportResult[]> {
  const { ingest, root } = deps
  let into: Awaited<ReturnType<IngestService['target']>>
  try {
    into = await ingest.target(target.actor, target.collectionId)
  } catch (error) {
    if (!isFinal(error)) throw error
    return files.map((file) => failure(file, error))
  }
  const { stored, refused, changed } = await storeContents(deps, target, files, signal).catch((error: unknown) => {
    // For example, the owner may upload nothing.
    if (!isFinal(error) || signal.aborted) throw error
    return { stored: new Map(), refused: new Map(files.map((file) => [file, error])), changed: [] }
  })
  await inFolders(root, target, changed, async (folder, some) => {
    for (const file of some) await giveBack(folder, file)
  })
  const byFile = new Map([...stored].map(([file, ingested]) => [ingested, file]))
  const alsoInSave = (tx: Tx, saved: readonly IngestedFile[]) =>
    markDone(tx, claimant, [...new Set(saved.flatMap((one) => byFile.get(one) ?? []))])
  const outcomes =
    byFile.size === 0
      ? []
      : await ingest.ingest(target.actor, into, [...byFile.keys()], { together: false, alsoInSave })
  const results = outcomes.map(
    ({ file, objects, error, messages }): ImportResult => ({
      file: byFile.get(file) as DroppedFile,
      fileId: file.fileId,
      systemObjectIds: objects.map(({ systemObjectId }) => systemObjectId),
      status: error ? 'error' : 'done',
      message: error ? messageOf(error) : messages.join('; '),
    }),
  )
  return [...results, ...[...refused].map(([file, error]) => failure(file, error))]
}

/** Removes files that are in objects, and marks the others. */
async function finish({ root }: BatchDeps, target: DropTarget, results: readonly ImportResult[]): Promise<void> {
  const byFile = new Map(results.map((result) => [result.file, result]))
  await inFolders(root, target, [...byFile.keys()], async (folder, files) => {
    for (const file of files) {
      const { status, message } = byFile.get(file) as ImportResult
      if (status === 'done') await removeTaken(folder, file)
      else await markFailed(folder, file, message)
    }
  })
  await using top = await openFolder(root, [target.uuid])
  if (top) await appendLog(top, target.actor.login, results)
}

async function removeTaken(folder: Folder, { name, storedName }: DroppedFile): Promise<void> {
  await unlink(folder.at(storedName)).catch(ignoreMissing)
  // The log of an earlier attempt, if the failed file was given its old name again.
  if (await lookAt(folder, `${failed}${name}`)) return
  await unlinkFailureLog(folder, name)
}

async function unlinkFailureLog(folder: Folder, name: string): Promise<void> {
  const info = await lookAt(folder, failureLogOf(name))
  if (info?.isFile() && (await isFailureLog(folder, failureLogOf(name), info.size))) {
    await unlink(folder.at(failureLogOf(name))).catch(ignoreMissing)
  }
}

/** Uses a free name: earlier failed files stay as well. */
async function markFailed(folder: Folder, { name, storedName }: DroppedFile, message: string): Promise<void> {
  const free = await freeName(folder, name)
  if (await renamed(folder, storedName, `${failed}${free}`)) await writeFailureLog(folder, failureLogOf(free), message)
}

async function freeName(folder: Folder, name: string): Promise<string> {
  const dot = name.lastIndexOf('.')
  const at = dot > 0 ? dot : name.length
  let free = name
  for (let number = 2; await lookAt(folder, `${failed}${free}`); number++) {
    free = `${name.slice(0, at)} (${number})${name.slice(at)}`
  }
  return free
}

/** Gives the file its original name again, if that is free. */
async function giveBack(folder: Folder, { name, storedName }: DroppedFile): Promise<void> {
  if (!(await lookAt(folder, name))) await renamed(folder, storedName, name)
}

/** False: the file no longer exists. */
async function renamed(folder: Folder, from: string, to: string): Promise<boolean> {
  try {
    await rename(folder.at(from), folder.at(to))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** Folder by folder, each opened once; a missing folder is skipped. */
async function inFolders(
  root: string,
  { uuid }: DropTarget,
  files: readonly DroppedFile[],
  work: (folder: Folder, files: readonly DroppedFile[]) => Promise<void>,
): Promise<void> {
  const byFolder = Map.groupBy(files, ({ folders }) => folders.join('/'))
  for (const some of byFolder.values()) {
    await using folder = await openFolder(root, [uuid, ...(some[0]?.folders ?? [])])
    if (folder) await work(folder, some)
  }
}

/** Errors that would occur again. */
function isFinal(error: unknown): error is AppError {
  return error instanceof AppError && error.status < 500 && !isPassing(error)
}

/** A lock, a full disk, a busy database: such errors are not the fault of a file, however long they last. */
function isPassing(error: unknown): boolean {
  return error instanceof AppError && [423, 429, 503, 507].includes(error.status)
}

function failure(file: DroppedFile, error: unknown): ImportResult {
  return { file, systemObjectIds: [], fileId: null, status: 'error', message: messageOf(error) }
}

/** Our own errors are reported without details, which only operators may read. */
function messageOf(error: unknown): string {
  return error instanceof AppError ? `${error.code}: ${error.message}` : 'ServerGeneric: The import failed.'
}

function doneBefore(file: DroppedFile): ImportResult {
  const message = 'It had come into an object before the service ended.'
  return { file, systemObjectIds: [], fileId: null, status: 'done', message }
}

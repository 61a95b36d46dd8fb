import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { original, type StoredFile } from '../model.ts'
import * as store from '../records/store.ts'
import type { OriginalType } from '../renditions/model.ts'
import { type ManualVersion, putManualVersions } from './manual.ts'
import type { ReceivedFile } from './receive.ts'

/** A content that has arrived, its location, and the members of the file to be made. */
export interface NewReceivedFile extends ReceivedFile {
  readonly locationId: number
  readonly reference: string | null
  /** The file that it was made from; for a version, the file that it belongs to. */
  readonly parentId: number | null
  /** It is a version of that file, not a separate file. */
  readonly versionName?: string | null
}

export interface StoreReceivedDeps {
  readonly db: Db
  readonly events: EventLog
  /** Plans the renditions of new originals, in the transaction that makes them; with their places in the request. */
  readonly plan: (tx: Tx, originals: readonly PlacedOriginal[]) => Promise<void>
  /** Called with the files whose metadata or name has changed. */
  readonly changed?: (tx: Tx, fileIds: readonly number[]) => Promise<void>
  /** The metadata of a picture that no recipe reads; none where it is no picture. */
  readonly inspect?: (content: NewReceivedFile) => Promise<Readonly<Record<string, unknown>>>
}

export interface PlacedOriginal {
  readonly fileId: number
  readonly index: number
  /** Set for a file that has just been made. */
  readonly original?: OriginalType | undefined
}

/**
 * Makes files and versions of received contents, of all or of none: the contents are announced and get their names; then
 * one transaction makes the records, the additions of `also` and the events. An interruption leaves only data that the
 * janitor removes. Answers the file of each, in their order.
 */
export async function storeReceived<T extends NewReceivedFile>(
  { db, events, plan, inspect, changed }: StoreReceivedDeps,
  actor: Actor,
  arrived: readonly T[],
  eventsOf: (file: StoredFile, arrival: T) => readonly NewEvent[],
  also?: (tx: Tx, files: readonly StoredFile[]) => Promise<void>,
): Promise<StoredFile[]> {
  try {
    const files = arrived.map(newFile)
    await store.announceBlobs(db, files)
    for (const { received, sha256 } of arrived) await received.keep(sha256)
    const versions = await manualVersions(arrived, inspect)
    const makeRecords = async (tx: Tx): Promise<StoredFile[]> => {
      const whole = files.filter((_, index) => !isVersion(arrived[index] as T))
      const inserted = (whole.length > 0 ? await store.insertFiles(tx, actor.userId, whole) : []).values()
      await putManualVersions(tx, versions)
      const ids = arrived.map((one) => (isVersion(one) ? one.parentId : inserted.next().value) ?? 0)
      const originals = ids
        .map((fileId, index) => {
          const one = arrived[index] as T
          return { fileId, index, original: isVersion(one) ? undefined : one.type }
        })
        .filter(({ index }) => [undefined, null, original].includes(arrived[index]?.versionName))
      await plan(tx, originals)
      if (versions.length > 0) await changed?.(tx, [...new Set(versions.map(({ fileId }) => fileId))])
      const stored = new Map((await store.readFiles(tx, [...new Set(ids)])).map((file) => [file.id, file]))
      const made = ids.flatMap((id) => stored.get(id) ?? [])
      await also?.(tx, made)
      await events.append(
        tx,
        made.flatMap((file, index) => eventsOf(file, arrived[index] as T)),
      )
      return made
    }
    return await db.transaction(makeRecords, { byIndexes: true })
  } catch (error) {
    await discardAll(arrived)
    throw error
  }
}

function isVersion({ versionName }: NewReceivedFile): boolean {
  return typeof versionName === 'string'
}

function newFile({ name, type, sha256, received, locationId, parentId, reference }: NewReceivedFile): store.NewFile {
  const { extension, class: kind, mimeType } = type
  return {
    locationId,
    sha256,
    size: received.size,
    parentId,
    reference,
    filepath: name,
    extension,
    class: kind,
    mimeType,
  }
}

async function manualVersions(
  arrived: readonly NewReceivedFile[],
  inspect: StoreReceivedDeps['inspect'],
): Promise<ManualVersion[]> {
  const made: ManualVersion[] = []
  for (const one of arrived) {
    const { parentId, versionName, type } = one
    if (typeof versionName !== 'string' || parentId === null) continue
    // At the original recipes look.
    const isLookedAt = versionName !== original && (type.class === 'image' || type.extension === 'pdf')
    const looked = isLookedAt ? await inspect?.(one) : undefined
    made.push({ ...newFile(one), fileId: parentId, name: versionName, metadata: looked ?? {} })
  }
  return made
}

export async function discardAll(arrived: readonly ReceivedFile[]): Promise<void> {
  await Promise.all(arrived.map(({ received }) => received.discard().catch(() => {})))
}

/** The members of a file that are stored in the event log. */
export function uploadInfo(
  { id, filepath, reference, versions }: StoredFile,
  version?: string | null,
): Record<string, unknown> {
  const first = versions.find(({ name }) => name === (version ?? original))
  return {
    ...(version == null ? {} : { version }),
    _id: id,
    original_filename: filepath,
    reference,
    filesize: first?.size,
    class: first?.class,
    extension: first?.extension,
    hash: first?.sha256,
  }
}

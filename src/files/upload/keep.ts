import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Tx } from '../../platform/db.ts'
import type { StoredFile } from '../model.ts'
import * as store from '../records/store.ts'
import type { Arrived } from './arrive.ts'

/** A content that has arrived, where, and what is said of the file that it becomes. */
export interface NewArrival extends Arrived {
  readonly locationId: number
  readonly reference: string | null
  readonly parentId: number | null
}

export interface KeepDeps {
  readonly db: Db
  readonly events: EventLog
  /** What is to be made of new files, in the transaction that makes them. */
  readonly plan: (tx: Tx, ids: readonly number[]) => Promise<void>
}

/**
 * Makes files of contents that have arrived, of all or of none: the contents are announced, get their names, and one
 * transaction makes the records with what `also` adds and the events. What interrupts it leaves nothing but what is
 * swept away.
 */
export async function keepArrived<T extends NewArrival>(
  { db, events, plan }: KeepDeps,
  actor: Actor,
  arrived: readonly T[],
  eventsOf: (file: StoredFile, arrival: T) => readonly NewEvent[],
  also?: (tx: Tx, files: readonly StoredFile[]) => Promise<void>,
): Promise<StoredFile[]> {
  try {
    const files = arrived.map((one): store.NewFile => {
      const { name, type, sha256, received, locationId, parentId, reference } = one
      const { extension, class: kind, mimeType } = type
      const blob = { locationId, sha256, size: received.size }
      return { ...blob, parentId, reference, filepath: name, extension, class: kind, mimeType }
    })
    await store.announceBlobs(db, files)
    for (const { received, sha256 } of arrived) await received.keep(sha256)
    return await db.transaction(async (tx) => {
      const ids = await store.insertFiles(tx, actor.userId, files)
      await plan(tx, ids)
      const stored = new Map((await store.readFiles(tx, ids)).map((file) => [file.id, file]))
      const made = ids.flatMap((id) => stored.get(id) ?? [])
      await also?.(tx, made)
      await events.append(
        tx,
        made.flatMap((file, index) => eventsOf(file, arrived[index] as T)),
      )
      return made
    })
  } catch (error) {
    await discardAll(arrived)
    throw error
  }
}

export async function discardAll(arrived: readonly Arrived[]): Promise<void> {
  await Promise.all(arrived.map(({ received }) => received.discard().catch(() => {})))
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

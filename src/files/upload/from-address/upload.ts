import type { NewEvent } from '../../../events/service.ts'
import type { Actor } from '../../../platform/actor.ts'
import { AppError } from '../../../platform/errors.ts'
import { currentDeadline } from '../../../platform/limits/deadline.ts'
import type { Seal } from '../../../platform/secrets/seal.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Locations } from '../../locations/service.ts'
import type { StoredFile } from '../../model.ts'
import { rememberAddresses } from '../../remote/addresses.ts'
import type { OpenRemote } from '../../remote/open.ts'
import { remoteLocation } from '../../remote/remote-store.ts'
import { assertVersionNames } from '../manual.ts'
import type { UploadPermission } from '../permission.ts'
import { type ReceivedFile, receiveFile } from '../receive.ts'
import {
  discardAll,
  type NewReceivedFile,
  type StoreReceivedDeps,
  storeReceived,
  uploadInfo,
} from '../store-received.ts'
import { assertParents, locationFor } from '../upload.ts'
import { fetchRemote, type RemoteSource } from './fetch.ts'

export interface RemoteUploadDeps extends StoreReceivedDeps {
  readonly locations: Pick<Locations, 'forOriginals' | 'forVersions'>
  readonly open: OpenRemote
  readonly seal: Seal
  /** Writes to the event log outside of the request's transaction. */
  readonly log: (event: NewEvent) => void
  readonly mayChange: (actor: Actor, ids: readonly number[]) => Promise<ReadonlySet<number>>
}

interface RemoteArrival extends NewReceivedFile {
  readonly source: RemoteSource
  readonly etag: string | null
  readonly startedAt: Date
  /** Seconds. */
  readonly took: number
}

/** Files of a request that are fetched at the same time. */
const atOnce = 4

/** Fetches all files, or none. Contents that stay on the web are read once: for their hashes, sizes and types. */
export async function uploadRemote(
  deps: RemoteUploadDeps,
  actor: Actor,
  sources: readonly RemoteSource[],
  permission: UploadPermission,
): Promise<StoredFile[]> {
  await assertParents(
    deps,
    actor,
    sources.map(({ id_parent }) => id_parent ?? null),
  )
  assertVersionNames(
    sources.map(({ version_name, id_parent }) => ({ name: version_name ?? null, parentId: id_parent ?? null })),
  )
  const deadline = currentDeadline()
  const arrived = new Array<RemoteArrival>(sources.length)
  const waiting = sources.entries()
  let failure: { readonly error: unknown } | null = null

  async function work(): Promise<void> {
    for (const [index, source] of waiting) {
      if (failure) return
      try {
        deadline.check()
        arrived[index] = await fetchOne(deps, locationFor(deps.locations, source.version_name), source, permission)
      } catch (error) {
        failure ??= { error }
        if (!source.leave) deps.log(failureEvent(source, locationFor(deps.locations, source.version_name), error))
      }
    }
  }

  await Promise.all(Array.from({ length: atOnce }, work))
  const failed = failure as { readonly error: unknown } | null
  if (failed) {
    await discardAll(arrived.filter(Boolean))
    throw failed.error
  }
  const left = arrived.filter(({ locationId }) => locationId === remoteLocation)
  return storeReceived(
    deps,
    actor,
    arrived,
    (file, arrival) => eventsOf(actor, file, arrival, locationFor(deps.locations, arrival.versionName)),
    (tx) =>
      rememberAddresses(
        tx,
        deps.seal,
        left.map(({ sha256, source, etag }) => ({ sha256, url: source.url, etag })),
      ),
  )
}

async function fetchOne(
  { open }: RemoteUploadDeps,
  location: { readonly id: number; readonly store: BlobStore },
  source: RemoteSource,
  permission: UploadPermission,
): Promise<RemoteArrival> {
  const startedAt = new Date()
  const fetched = await fetchRemote(open, source)
  try {
    const one: ReceivedFile = await receiveFile(fetched, source.leave ? onlyRead : location.store, permission)
    return {
      ...one,
      locationId: source.leave ? remoteLocation : location.id,
      reference: source.reference ?? null,
      parentId: source.id_parent ?? null,
      versionName: source.version_name ?? null,
      source,
      etag: fetched.etag,
      startedAt,
      took: (Date.now() - startedAt.getTime()) / 1000,
    }
  } finally {
    fetched.close()
  }
}

/** Reads a content completely and stores nothing. */
const onlyRead: Pick<BlobStore, 'receive'> = {
  async receive(source) {
    let size = 0
    for await (const chunk of source) size += chunk.length
    return { size, keep: async () => {}, discard: async () => {} }
  },
}

/** Logged outside of the request's transaction: nothing of the request is stored. */
function failureEvent(
  { url }: RemoteSource,
  { id, name }: { readonly id: number; readonly name: string },
  cause: unknown,
): NewEvent {
  const error = cause instanceof AppError ? cause.message : 'The content could not be stored.'
  const info = { remote_url: url, location_key: name, location_id: id, error }
  return { type: 'FILE_MOVE_ERROR', actor: null, basetype: 'file', info }
}

function eventsOf(
  actor: Actor,
  file: StoredFile,
  { source, startedAt, took, locationId, received, versionName }: RemoteArrival,
  location: { readonly id: number; readonly name: string },
): NewEvent[] {
  const about = { basetype: 'file', objectId: file.id }
  const leave = locationId === remoteLocation
  const info = { file: { ...uploadInfo(file, versionName), remote_url: source.url, leave } }
  const uploaded: NewEvent = { type: 'FILE_UPLOAD_REMOTE', actor, ...about, info }
  if (leave) return [uploaded]
  const moved = {
    remote_url: source.url,
    location_key: location.name,
    location_id: location.id,
    startet: startedAt.toISOString(),
    took,
    size: received.size,
  }
  return [uploaded, { type: 'FILE_MOVE', actor: null, ...about, info: moved }]
}

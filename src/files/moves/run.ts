import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { type Verifiable, verify } from '../fixity/verify.ts'
import { announceBlobs } from '../records/store.ts'
import { type Copied, copyAll, discardAll } from './copy.ts'
import type { Move } from './store.ts'
import * as store from './store.ts'

export interface MoveDeps {
  readonly db: Db
  readonly events: EventLog
  readonly locations: {
    all(): readonly { readonly id: number; readonly name: string; readonly readOnly: boolean }[]
    storeOf(id: number): BlobStore
  }
}

/** Most contents of a batch, and the bytes above which a batch has fewer. */
const most = 50
const mostBytes = 64_000_000

/**
 * Moves the next contents. Each is copied, read again at the target, and only then do the files refer to it there. An
 * interruption leaves every file where it was; the janitor removes copies that are not used.
 * @returns false when the run is over. @throws when a place cannot be read or written at the time.
 */
export async function moveSome(deps: MoveDeps, id: number, signal: AbortSignal): Promise<boolean> {
  const { db, events, locations } = deps
  const move = await store.findRunning(db, id)
  if (!move) return false
  const places = new Map(locations.all().map((location) => [location.id, location]))
  const target = places.get(move.toId)
  if (!places.has(move.fromId) || !target || target.readOnly) {
    const error = target?.readOnly ? `${target.name} is read-only` : 'one of the locations is gone'
    await store.endMove(db, id, 'failed', error)
    return false
  }
  const found = await store.nextContents(db, move, most)
  if (found.length === 0) {
    if (await store.nextPass(db, move)) return true
    await store.endMove(db, id, 'done', null)
    return false
  }
  const contents = firstOf(found)
  const last = contents.at(-1)?.sha256 ?? ''
  const [from, to] = [locations.storeOf(move.fromId), locations.storeOf(move.toId)]
  const startet = new Date()
  const there = await alreadyThere(deps, move, to, contents)
  const copied = await copyAll(
    from,
    to,
    contents.filter((blob) => !there.includes(blob)),
    signal,
  )
  there.push(...(await keepAll(deps, move, to, copied)))
  const harmed = copied.flatMap(({ blob, fixity }) => (fixity === 'ok' ? [] : [{ ...blob, fixity }]))
  const took = (Date.now() - startet.getTime()) / 1000
  const place = { location_key: target.name, location_id: target.id }
  await db.transaction(async (tx) => {
    // The run was stopped, or another process was faster: the copies belong to no run.
    if (!(await store.lockRunning(tx, move))) return
    await tx.query('select from file_location where id = any($1::bigint[]) order by id for share', [
      [move.fromId, move.toId],
    ])
    const switched = await store.switchContents(tx, move, there)
    await store.noteHarmed(tx, move, harmed)
    await store.noteProgress(tx, id, last)
    const sizes = new Map(there.map(({ sha256, size }) => [sha256, size]))
    const told = switched.map(({ sha256, fileId }): NewEvent => {
      const info = { ...place, startet: startet.toISOString(), took, size: sizes.get(sha256) }
      return { type: 'FILE_MOVE', actor: null, basetype: 'file', objectId: fileId, info }
    })
    const wrong = harmed.map(({ sha256, fixity }): NewEvent => {
      const error = `The content ${sha256} in the location ${places.get(move.fromId)?.name} is ${fixity}.`
      return { type: 'FILE_MOVE_ERROR', actor: null, basetype: 'file', info: { ...place, error } }
    })
    await events.append(tx, [...told, ...wrong])
  })
  return true
}

/** As many contents as fit into a batch, at least one. */
function firstOf(found: readonly Verifiable[]): Verifiable[] {
  let bytes = 0
  const end = found.findIndex(({ size }) => {
    bytes += size
    return bytes > mostBytes
  })
  return end === -1 ? [...found] : found.slice(0, Math.max(1, end))
}

/**
 * The contents that the other location has already, unharmed. They are announced first, so that no janitor removes them
 * meanwhile.
 */
async function alreadyThere({ db }: MoveDeps, move: Move, to: BlobStore, contents: readonly Verifiable[]) {
  const known: Verifiable[] = []
  for (const blob of contents) if ((await to.size(blob.sha256)) === blob.size) known.push(blob)
  if (known.length === 0) return known
  await announceBlobs(db, blobsAt(move, known))
  const unharmed: Verifiable[] = []
  for (const blob of known) if ((await verify(to, blob)) === 'ok') unharmed.push(blob)
  return unharmed
}

/** Gives the received copies their final names. @throws when a copy differs from the sent content. */
async function keepAll({ db }: MoveDeps, move: Move, to: BlobStore, copied: readonly Copied[]): Promise<Verifiable[]> {
  const kept: Verifiable[] = []
  try {
    const arrived = copied.filter(({ received }) => received !== null).map(({ blob }) => blob)
    if (arrived.length > 0) await announceBlobs(db, blobsAt(move, arrived))
    for (const { blob, received } of copied) {
      if (!received) continue
      await received.keep(blob.sha256)
      if ((await verify(to, blob)) !== 'ok') throw new Error(`${blob.sha256} is not there as it was sent`)
      kept.push(blob)
    }
    return kept
  } catch (error) {
    await discardAll(copied)
    throw error
  }
}

function blobsAt({ toId }: Move, blobs: readonly Verifiable[]) {
  return blobs.map(({ sha256, size }) => ({ locationId: toId, sha256, size }))
}

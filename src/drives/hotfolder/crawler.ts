/**
 * Imports files from the hotfolder. One process does it at a time, under a lock of the database. Drop folders take turns,
 * some files at a time, so that a folder with many files does not delay others for long.
 */
import { constants } from 'node:fs'
import { mkdir, open, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PoolClient } from 'pg'
import type { Logger } from 'pino'
import type { Actor } from '../../platform/actor.ts'
import { keepTalking } from '../../platform/postgres/connection-watch.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../../platform/process/periodic.ts'
import { tidyArrivals } from './arrivals.ts'
import { type BatchDeps, importBatch } from './batch.ts'
import { forgetOld } from './claims.ts'
import type { DropTarget } from './model.ts'
import { type DropOwner, dropOwners, lockedPaths, uploadCollections } from './store.ts'
import { ripeFiles } from './walk.ts'

export interface CrawlerOptions extends BatchDeps {
  readonly log: Logger
  readonly actorsOf: (from: Db, ids: readonly number[]) => Promise<ReadonlyMap<number, Actor>>
  readonly settings: () => { readonly hotfolder: boolean; readonly hotfolder_wait_sec: number }
  readonly readOnly: () => boolean
}

const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants

/** Advisory lock for the import; `strg` and a number of our own. */
const lock = 0x73747267_0012n
/** Files and bytes of one import: further files wait. A larger file is imported alone. */
const batch = { files: 250, bytes: 256 * 1024 * 1024 }
/** Drop folders that are imported at the same time. */
const atATime = 3
/** Names of folders that are looked up at a time. */
const foldersAtATime = 200
/** Milliseconds between two checks of the time. */
const tick = 1000
/**
 * Number of failed imports, for other reasons than their files, after which files are imported one by one, and after
 * which they fail.
 */
const [triesAlone, mostTries] = [3, 6]

/** The time at which a drop folder is tried again. */
interface Pause {
  readonly until: number
  readonly tries: number
}

export function createCrawler(options: CrawlerOptions): Periodic {
  const { db, root, log, settings, readOnly } = options
  const closing = new AbortController()
  const pauses = new Map<number, Pause>()
  let due = 0

  async function work(stopped: () => boolean): Promise<void> {
    const client = await db.connect()
    let broken = true
    let lost = false
    const onLost = (): void => {
      lost = true
    }
    client.once('error', onLost)
    const silence = keepTalking(client)
    try {
      if (await isMine(client)) {
        await prepare()
        while (!stopped() && !lost && (await round(() => stopped() || lost)));
        await client.query('select pg_advisory_unlock($1)', [lock])
      }
      broken = false
    } finally {
      silence()
      client.off('error', onLost)
      // The lock is released with its connection.
      client.release(broken || lost)
      due = performance.now() + 1000 * Math.min(5, Math.max(1, settings().hotfolder_wait_sec / 3))
    }
  }

  async function isMine(client: PoolClient): Promise<boolean> {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [lock])
    return rows[0]?.mine === true
  }

  /** Makes drop folders for collections with their own upload settings. */
  async function prepare(): Promise<void> {
    await mkdir(root, { recursive: true, mode: 0o770 })
    await tidyArrivals(root)
    await forgetOld(db)
    const there = new Set(await Array.fromAsync(dropFolders(root)))
    for (const uuid of await uploadCollections(db)) {
      if (!there.has(uuid)) await mkdir(join(root, uuid), { mode: 0o770 }).catch(ignoreExisting)
    }
  }

  /** One turn of each drop folder; false: there was nothing to import. */
  async function round(stopped: () => boolean): Promise<boolean> {
    let imported = false
    let some: string[] = []
    const turn = async (): Promise<void> => {
      const uuids = some
      some = []
      if (uuids.length > 0 && (await turnOf(uuids, stopped))) imported = true
    }
    for await (const uuid of dropFolders(root)) {
      if (stopped()) return false
      some.push(uuid)
      if (some.length >= foldersAtATime) await turn()
    }
    await turn()
    return imported
  }

  async function turnOf(uuids: readonly string[], stopped: () => boolean): Promise<boolean> {
    const owners = await dropOwners(db, uuids)
    const actors = await options.actorsOf(db, [...new Set(owners.map(({ ownerId }) => ownerId))])
    const locked = await lockedPaths(
      db,
      owners.map(({ collectionId }) => collectionId),
    )
    const now = await clockOf(root)
    const waiting = owners.values()
    let imported = false
    const worker = async (): Promise<void> => {
      for (const owner of waiting) {
        const actor = actors.get(owner.ownerId)
        if (stopped() || !actor) continue
        const paths = locked.get(owner.collectionId) ?? new Set<string>()
        if (await importFrom({ ...owner, actor }, owner, paths, now)) imported = true
      }
    }
    await Promise.all(Array.from({ length: atATime }, worker))
    return imported
  }

  /** Imports some files of one drop folder; false: there were none, or they are tried again later. */
  async function importFrom(
    target: DropTarget,
    { collectionId, uuid }: DropOwner,
    locked: ReadonlySet<string>,
    now: number,
  ): Promise<boolean> {
    const { until = 0, tries = 0 } = pauses.get(collectionId) ?? {}
    const began = performance.now()
    if (until > began) return false
    try {
      const settled = 1000 * settings().hotfolder_wait_sec
      const files = await ripeFiles(root, uuid, {
        now,
        settled,
        locked,
        files: tries >= triesAlone ? 1 : batch.files,
        bytes: batch.bytes,
      })
      if (files.length === 0) {
        // A folder that takes long to read is read less often.
        pauses.set(collectionId, { until: performance.now() + 10 * (performance.now() - began), tries })
        return false
      }
      await importBatch(options, target, files, { signal: closing.signal, last: tries >= mostTries })
      pauses.delete(collectionId)
      return true
    } catch (error) {
      if (closing.signal.aborted) return false
      log.warn(
        { err: error, collection: collectionId },
        'files of the hotfolder could not be imported; they are tried again',
      )
      pauses.set(collectionId, { until: performance.now() + 1000 * Math.min(60, 2 ** tries), tries: tries + 1 })
      return false
    }
  }

  const periodic = createPeriodic({
    every: tick,
    paused: () => !settings().hotfolder || readOnly() || performance.now() < due,
    work,
    onFailure: (error) => log.warn({ err: error }, 'the hotfolder could not be looked through'),
  })
  return {
    run: periodic.run,
    close() {
      closing.abort(new Error('the service ends'))
      return periodic.close()
    },
  }
}

/** Folders whose name is a uuid. */
async function* dropFolders(root: string): AsyncGenerator<string> {
  for await (const entry of await opendir(root, { bufferSize: 500 })) {
    if (entry.isDirectory() && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(entry.name)) yield entry.name
  }
}

/** The time of the file system's clock, which may be that of another machine. */
async function clockOf(root: string): Promise<number> {
  const probe = await open(join(root, '.clock'), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    const now = new Date()
    await probe.utimes(now, now)
    return (await probe.stat()).ctimeMs
  } finally {
    await probe.close()
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** Makes a requested backup: first beside the data of the process, then in its location under its hash. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileService } from '../files/service.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { Progress } from '../platform/process/progress.ts'
import { type BackupConfig, type BackupResult, backupFormats } from './formats.ts'
import type { StoredBackup } from './store.ts'
import * as store from './store.ts'

export interface MakeDeps {
  readonly db: Db
  readonly config: BackupConfig
  /** Of archives on their way. */
  readonly folder: string
  /** The store for backups; null: none. */
  readonly place: FileService['backupPlace']
  readonly storeOf: FileService['storeOf']
  /** Sends a notification to administrators. */
  readonly alarm: (subject: string, text: string) => Promise<void>
  /** Aborted when the service stops. */
  readonly signal: AbortSignal
}

/** Milliseconds between two lines of the log about the progress. */
const pace = 5000

/** Returns the place of the archive. */
export async function makeBackup(deps: MakeDeps, backup: StoredBackup): Promise<NonNullable<store.BackupEnd['place']>> {
  const { db, config, folder, place, storeOf, alarm, signal } = deps
  const target = place()
  if (!target) throw new Error('location_defaults.backups names no location that can be written to')
  const format = backupFormats[backup.format]
  if (!format) throw new Error(`this release makes no backups of the format ${backup.format}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeLeftovers(folder, backup.id)
  await removeContent(storeOf, backup)
  const file = join(folder, `${temporaryName(backup.id)}${crypto.randomUUID()}`)
  const progress = progressInto(db, backup.id)
  try {
    const without = backup.includeEvents ? [] : ['event']
    const { lines, harmed } = await format.write({
      db,
      config,
      file,
      without,
      progress,
      signal,
      name: fileName(backup),
    })
    for (const line of lines) await progress.line(line)
    const stored = await storeFile(file, storeOf(target.id), (sha256) =>
      store.noteContent(db, backup.id, { locationId: target.id, sha256 }),
    )
    await progress.line(`stored in the location ${target.name}`)
    await tellHarmed(alarm, backup.id, harmed)
    return { locationId: target.id, ...stored }
  } finally {
    progress.stop()
    await rm(file, { force: true })
  }
}

/**
 * The beginning of the names of files for a backup on the way to its location: archives of people in the same folder have other
 * names.
 */
const temporaryName = (id: number): string => `making-${id}-`

/** Removes the files of killed attempts. */
async function removeLeftovers(folder: string, id: number): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(temporaryName(id))) await rm(join(folder, name), { recursive: true, force: true })
}

/** Takes away what an attempt has stored that was killed, or has failed, before the backup was done. */
export async function removeContent(
  storeOf: FileService['storeOf'],
  { status, locationId, sha256 }: StoredBackup,
): Promise<void> {
  if (status !== 'done' && locationId !== null && sha256 !== null) await storeOf(locationId).remove(sha256)
}

/** `note` writes down what will be there, before it is. */
async function storeFile(
  file: string,
  there: ReturnType<FileService['storeOf']>,
  note: (sha256: string) => Promise<void>,
) {
  const hash = createHash('sha256')
  const received = await there.receive(hashed(createReadStream(file), hash))
  const sha256 = hash.digest('hex')
  try {
    await note(sha256)
    await received.keep(sha256)
  } catch (error) {
    await received.discard().catch(() => {})
    throw error
  }
  return { sha256, size: received.size }
}

async function tellHarmed(alarm: MakeDeps['alarm'], id: number, harmed: BackupResult['harmed']): Promise<void> {
  if (harmed.length === 0) return
  const lines = harmed.map(({ location, count }) => `${location}: ${count}`)
  await alarm('Contents of files are missing or damaged', `Backup ${id} found harmed contents. ${lines.join('; ')}`)
}

function progressInto(db: Db, id: number): Progress & { line(text: string): Promise<void> } {
  let step = { label: '', total: 0, done: 0 }
  let toldAt = Date.now()
  let told: Promise<void> = Promise.resolve()
  const line = (text: string): Promise<void> => {
    told = told.then(() => store.noteLine(db, id, text)).catch(() => {})
    return told
  }
  return {
    line,
    start(label, total) {
      step = { label, total, done: 0 }
      void line(`${label}: ${total}`)
    },
    advance(count) {
      step.done += count
      if (Date.now() < toldAt + pace) return
      toldAt = Date.now()
      void line(`${step.label}: ${step.done} of ${step.total}`)
    },
    stop() {},
    say: (text) => void line(text),
  }
}

/** The file name of a backup for downloads. */
export function fileName({ id, createdAt, format }: Pick<StoredBackup, 'id' | 'createdAt' | 'format'>): string {
  const moment = createdAt.toISOString().slice(0, 19).replaceAll(':', '-')
  return `backup-${id}-${moment}.${backupFormats[format]?.extension ?? 'bin'}`
}

async function* hashed(source: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    hash.update(chunk)
    yield chunk
  }
}

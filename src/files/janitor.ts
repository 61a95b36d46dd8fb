import type { ClientBase } from 'pg'
import type { Logger } from 'pino'
import { type EventLog, type JanitorRun, janitorRun, type NewEvent } from '../events/service.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { createPeriodic } from '../platform/process/periodic.ts'
import type { BlobStore, Sha256 } from './blobs/blob-store.ts'
import { uploadLifetime } from './upload/resumable/service.ts'

/**
 * Removes unused data: links of former versions of objects as far as pools say so, uploads that no object and no user has
 * had for a number of days, contents that no file has had for a day, and leftovers of interrupted uploads. Any process
 * may run it; only one does at a time.
 */
export interface JanitorOptions {
  readonly db: Db
  readonly events: EventLog
  readonly log: Logger
  readonly locations: {
    all(): readonly { readonly id: number; readonly name: string; readonly readOnly: boolean }[]
    storeOf(id: number): Pick<BlobStore, 'remove' | 'sweep'>
  }
  /**
   * A run that removes links of former versions. Each call does a batch in the transaction, with its report, and answers
   * the number of links: 0 at the end.
   */
  readonly formerFiles: (now: Date) => (tx: Tx) => Promise<number>
  readonly settings: () => { readonly active: boolean; readonly file_expire_days: number }
  /** No data may be changed at this time. */
  readonly paused: () => boolean
  readonly now?: () => number
}

const day = 86_400_000
const hour = 3_600_000
/** Files and contents that are removed with one statement. */
const batch = 200
/** Failed removals in a location, after which it is skipped until the next run. */
const mostFailures = 5
/** Advisory lock for the run; `strg` and a number of our own. */
const lock = 0x73747267_0009n

/** Prevents all removals until the connection ends; waits for a removal in progress. */
export async function holdContents(client: Pick<ClientBase, 'query'>): Promise<void> {
  await client.query('select pg_advisory_lock_shared($1)', [lock])
}

/** A content without a file. */
interface Unused {
  readonly location: number
  readonly sha256: Sha256
}

export function createJanitor({
  db,
  events,
  log,
  locations,
  formerFiles,
  settings,
  paused,
  now = Date.now,
}: JanitorOptions) {
  /** The present step and its progress, for the report of a failure. */
  let step: { readonly report: JanitorRun; done: number } = { report: janitorRun('', batch), done: 0 }
  /** The time that the run uses as the present, where one is given. */
  let said: number | null = null
  const clock = (): number => said ?? now()

  async function work(stopped: () => boolean, at?: Date): Promise<void> {
    said = at?.getTime() ?? null
    await db.query('delete from file_upload where touched_at < $1', [new Date(clock() - uploadLifetime)])
    await inBatches('file_link_delete', stopped, formerFiles(new Date(clock())))
    await inBatches('file_expire', stopped, (tx) => removeFiles(tx, settings().file_expire_days))
    const failures = new Map<number, number>()
    await inBatches('file_blob', stopped, (tx) => removeBlobs(tx, new Date(clock() - day), failures))
    for (const { id, readOnly } of locations.all()) {
      if (readOnly || stopped()) continue
      await locations
        .storeOf(id)
        .sweep(new Date(clock() - day))
        .catch((error: Error) => log.warn({ err: error, location: id }, 'leftovers of uploads cannot be removed'))
    }
  }

  /** Repeats until a batch finds nothing. Each batch is a separate transaction, and only one process at a time does this. */
  async function inBatches(type: string, stopped: () => boolean, one: (tx: Tx) => Promise<number>): Promise<void> {
    step = { report: janitorRun(type, batch), done: 0 }
    for (let found = batch; found > 0 && !stopped(); ) {
      found = await db.transaction(async (tx) => {
        const { rows } = await tx.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [lock])
        return rows[0]?.mine ? one(tx) : 0
      })
      step.done += found
    }
  }

  /** A file that is just being linked is locked; after that it counts as linked. */
  async function removeFiles(tx: Tx, days: number): Promise<number> {
    const report = janitorRun('file_expire', batch)
    const { rows } = await tx.query<{ id: number }>(
      `with gone as materialized (
         select id from file f
         where unlinked_at < $1 and not exists (select from file_use u where u.file_id = f.id)
           and not exists (select from "user" u where u.picture_id = f.id)
           and not exists (select from file_holder h where h.file_id = f.id)
         order by id limit ${batch} for update skip locked
       ), versions as (
         delete from file_version where file_id in (select id from gone) returning location_id, sha256
       ), unused as (
         update file_blob b set touched_at = $2 from versions v
         where b.location_id = v.location_id and b.sha256 = v.sha256
       )
       delete from file where id in (select id from gone) returning id`,
      [new Date(clock() - days * day), new Date(clock())],
    )
    const log = rows.map(({ id }) => `file ${id}: nothing has had it for ${days} days`)
    if (rows.length > 0) await events.append(tx, [report.done(rows.length, log)])
    return rows.length
  }

  /**
   * The rows stay locked until the contents are removed: an upload of the same content waits, and then stores it again. A
   * location that fails too often is skipped for the rest of the run; failed removals are tried again another day.
   */
  async function removeBlobs(tx: Tx, before: Date, failures: Map<number, number>): Promise<number> {
    const report = janitorRun('file_blob', batch)
    const able = locations.all().filter(({ id, readOnly }) => !readOnly && (failures.get(id) ?? 0) < mostFailures)
    const { rows } = await tx.query<Unused>(
      `select location_id as location, encode(sha256, 'hex') as sha256 from file_blob b
       where touched_at < $1 and location_id = any($2::bigint[]) and not exists (
         select from file_version v where v.location_id = b.location_id and v.sha256 = b.sha256)
       and not exists (
         select from file_upload_part p where p.location_id = b.location_id and p.sha256 = b.sha256)
       and not exists (select from kept_content k where k.location_id = b.location_id and k.sha256 = b.sha256)
       order by touched_at limit ${batch} for update skip locked`,
      [before, able.map(({ id }) => id)],
    )
    const names = new Map(able.map(({ id, name }) => [id, name]))
    const done: Unused[] = []
    const failed: Unused[] = []
    const told: NewEvent[] = []
    for (const row of rows) {
      const { location, sha256 } = row
      const sofar = failures.get(location) ?? 0
      if (sofar >= mostFailures) continue
      const info = {
        location_key: names.get(location),
        location_id: location,
        filename: sha256,
        log: ['no version of a file has this content any more'],
      }
      try {
        await locations.storeOf(location).remove(sha256)
        done.push(row)
        told.push({ type: 'FILE_DELETE', actor: null, basetype: 'file', info })
      } catch (error) {
        failures.set(location, sofar + 1)
        failed.push(row)
        const failure = { ...info, error: (error as Error).message }
        told.push({ type: 'FILE_DELETE_ERROR', actor: null, basetype: 'file', info: failure })
      }
    }
    if (done.length > 0) {
      const log = done.map(({ location, sha256 }) => `${names.get(location)}: ${sha256}`)
      told.push(report.done(done.length, log))
    }
    await Promise.all([
      tx.query(
        `delete from file_blob b using unnest($1::bigint[], $2::text[]) as x(l, h)
         where b.location_id = x.l and b.sha256 = decode(x.h, 'hex')`,
        columnsOf(done),
      ),
      tx.query(
        `update file_blob b set touched_at = $3 from unnest($1::bigint[], $2::text[]) as x(l, h)
         where b.location_id = x.l and b.sha256 = decode(x.h, 'hex')`,
        [...columnsOf(failed), new Date(clock())],
      ),
      events.append(tx, told),
    ])
    return rows.length
  }

  return createPeriodic({
    every: hour,
    paused: () => paused() || !settings().active,
    work,
    async onFailure(error) {
      log.error({ err: error }, 'the janitor of files failed')
      await events.append(db, [step.report.failed(error, step.done, [])]).catch(() => {})
    },
  })
}

function columnsOf(rows: readonly Unused[]): [number[], Sha256[]] {
  return [rows.map(({ location }) => location), rows.map(({ sha256 }) => sha256)]
}

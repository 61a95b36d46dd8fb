/**
 * Fixity: every content is read again and compared with its hash, a share of them each hour, so that all are read within
 * the days of a round. A damaged content is restored from another location with the same content, where there is one.
 */
import type { Logger } from 'pino'
import { type EventLog, janitorRun } from '../../events/service.ts'
import type { Jobs } from '../../jobs/service.ts'
import type { Measure } from '../../platform/http/metrics.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../../platform/process/periodic.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { KeptBlob } from './store.ts'
import * as store from './store.ts'
import { type Fixity, restore, verify } from './verify.ts'

export interface FixityOptions {
  readonly db: Db
  readonly events: EventLog
  readonly log: Pick<Logger, 'warn'>
  /** Reports problems to the administrators. */
  readonly alarm?: (subject: string, text: string) => Promise<void>
  readonly locations: {
    all(): readonly { readonly id: number; readonly name: string; readonly readOnly: boolean }[]
    storeOf(id: number): Pick<BlobStore, 'read' | 'receive' | 'remove' | 'probe'>
  }
}

export interface FixityResult {
  readonly blob: KeptBlob
  readonly fixity: Fixity
  /** It was damaged, and is restored. */
  readonly restored: boolean
}

export type FixityService = ReturnType<typeof createFixity>

/** Days in which every content is checked once. */
const round = 90
const job = 'files.fixity'
const hour = 3_600_000
const mostTold = 1000
const mostMailed = 50

export function createFixity({ db, events, log, alarm = async () => {}, locations }: FixityOptions) {
  /** Contents of an unreachable location give no result: they are left out. */
  async function check(blobs: readonly KeptBlob[]): Promise<FixityResult[]> {
    const known = new Map(locations.all().map((location) => [location.id, location]))
    const results: FixityResult[] = []
    for (const [id, there] of Map.groupBy(blobs, ({ locationId }) => locationId)) {
      const location = known.get(id)
      if (!location) continue
      try {
        const place = locations.storeOf(id)
        await place.probe({ readOnly: true })
        for (const blob of there) {
          const found = await verify(place, blob)
          const restored = found !== 'ok' && !location.readOnly && (await putRight(blob))
          results.push({ blob, fixity: restored ? 'ok' : found, restored })
        }
      } catch (error) {
        log.warn({ err: error, location: id }, 'contents of a location cannot be verified')
      }
    }
    await store.noteResults(db, results)
    return results
  }

  async function putRight(blob: KeptBlob): Promise<boolean> {
    for (const id of await store.otherPlaces(db, blob)) {
      const done = await restore(locations.storeOf(id), locations.storeOf(blob.locationId), blob).catch(() => false)
      if (done) return true
    }
    return false
  }

  async function tellAdministrators(lines: readonly string[]): Promise<void> {
    const more = lines.length > mostMailed ? [`… and ${lines.length - mostMailed} more`] : []
    await alarm('Contents of files were damaged or missing', [...lines.slice(0, mostMailed), ...more].join('\n')).catch(
      (error: unknown) => log.warn({ err: error }, 'administrators could not be told of harmed contents'),
    )
  }

  /** Checks the share of one hour. */
  async function run(now = new Date()): Promise<FixityResult[]> {
    const due = await store.dueBlobs(db, { hours: round * 24, now })
    const report = janitorRun('file_fixity', due.length)
    const results = await check(due)
    const names = new Map(locations.all().map(({ id, name }) => [id, name]))
    const wrong = results.flatMap(({ blob, fixity, restored }, index) => {
      if (fixity === 'ok' && !restored) return []
      const state = restored ? 'was wrong and has been restored' : `is ${fixity}`
      return { index, line: `The content ${blob.sha256} in the location ${names.get(blob.locationId)} ${state}.` }
    })
    const told = wrong.map(({ index, line }) => report.failed(new Error(line), index, [line]))
    if (results.length > 0) {
      told.unshift(
        report.done(
          results.length,
          wrong.map(({ line }) => line),
        ),
      )
    }
    await events.append(db, told)
    if (wrong.length > 0) await tellAdministrators(wrong.map(({ line }) => line))
    return results
  }

  return {
    run,

    /** Every content, or every one of a location; answers in batches. */
    async *all(locationId: number | null): AsyncGenerator<FixityResult[]> {
      for (let last: KeptBlob | null = null; ; ) {
        const blobs: KeptBlob[] = await store.blobsBehind(db, last, 100, locationId)
        const end = blobs.at(-1)
        if (!end) return
        yield await check(blobs)
        last = end
      }
    },

    /** Checks the contents of one file: originals and their renditions. */
    ofFile: async (fileId: number): Promise<FixityResult[]> => check(await store.blobsOfFile(db, fileId)),

    async report() {
      const [there, harmed] = await Promise.all([store.readFixity(db), store.readHarmed(db, mostTold)])
      return {
        round_days: round,
        locations: there.map(({ oldest, ...one }) => ({ ...one, verified_since: oldest?.toISOString() ?? null })),
        contents: harmed.map((one) => ({ ...one, verified_at: one.verified_at.toISOString() })),
      }
    },

    measure: {
      name: 'file_contents_harmed',
      help: 'Contents of files that were damaged or missing when they were last read.',
      label: 'location',
      read: () => store.countHarmed(db),
    } satisfies Measure,
  }
}

/** Once an hour one of the processes reads its share. */
export function scheduleFixity(
  fixity: FixityService,
  {
    db,
    jobs,
    log,
    paused,
  }: Pick<FixityOptions, 'db' | 'log'> & { readonly jobs: Jobs; readonly paused: () => boolean },
): Periodic {
  jobs.register<null>(
    job,
    async () => {
      if (!paused()) await fixity.run()
    },
    'standard',
  )
  return createPeriodic({
    every: hour,
    paused,
    work: () => db.transaction((tx) => jobs.enqueue(tx, job, null, { key: job, maxAttempts: 1 })),
    onFailure: (error) => log.warn({ err: error }, 'the next contents to verify could not be queued'),
  })
}

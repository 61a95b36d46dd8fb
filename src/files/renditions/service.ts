import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { JobHandler, Jobs } from '../../jobs/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Config } from '../../platform/config/config.ts'
import { requireRight } from '../../platform/http/system-right.ts'
import { currentDeadline } from '../../platform/limits/deadline.ts'
import { createShares } from '../../platform/limits/shares.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { withoutNetwork } from '../../platform/process/foreign/network.ts'
import type { StoredFile } from '../model.ts'
import { readFiles } from '../records/store.ts'
import { awaitVersion } from './make/await-version.ts'
import { pagesOf } from './make/pages.ts'
import { createProduce, type ProduceJob } from './make/produce.ts'
import { createRenditionListeners } from './make/rendition-listeners.ts'
import { createAnswers } from './plan/answers.ts'
import { createDescribe, type DescribeDeps, metadataJob } from './plan/describe.ts'
import { createFairPriority } from './plan/fair-priority.ts'
import { createFirstRenditions, type NewFileJob, newFileJob } from './plan/first-renditions.ts'
import {
  planNew,
  previewJob,
  produceJob,
  type RenditionRequest,
  schedule,
  scheduleMetadata,
  scheduleRest,
} from './plan/plan.ts'
import {
  type Resync,
  readResyncs,
  renewMarks,
  resyncJob,
  runResync,
  startMarksResync,
  startResync,
} from './plan/resync.ts'
import { findPrograms } from './programs/programs.ts'
import { noPrograms, type RecipePrograms } from './recipes/added.ts'
import { createPrecedence } from './recipes/precedence.ts'
import { localPath } from './sources/sources.ts'
import { createWorkFolders } from './sources/work-folders.ts'
import { CannotMake } from './workshop/failure.ts'
import { createWorkers, type Workers } from './workshop/workers.ts'

export type RenditionConfig = Pick<
  Config,
  | 'dataDir'
  | 'jobsPreview'
  | 'jobsMedia'
  | 'mediaMemory'
  | 'mediaSeconds'
  | 'mediaDrawingSeconds'
  | 'mediaPixels'
  | 'mediaOutput'
  | 'ffmpeg'
  | 'ffprobe'
  | 'soffice'
>

export interface RenditionOptions
  extends Omit<DescribeDeps, 'workers' | 'programs' | 'folders' | 'schedule' | 'listeners' | 'recipePrograms'> {
  readonly jobs: Jobs
  readonly log: Logger
  /** Nothing may be stored. */
  readonly readOnly: () => boolean
  readonly config: RenditionConfig
}

/** A newly arrived content. */
export interface InspectedContent {
  readonly locationId: number
  readonly sha256: string
  readonly type: { readonly extension: string }
}

export type { Resync } from './plan/resync.ts'

export type Renditions = Awaited<ReturnType<typeof createRenditions>>

/** Checks the files of saved objects. */
const marksJob = 'files.marks'

export const manageFiles = { name: 'system.root' } as const

/** Renditions of files: planned with the upload, made by jobs in separate processes, renewed by a resync. */
export async function createRenditions(options: RenditionOptions) {
  const { db, jobs, log, config, settings, marking } = options
  const limits = {
    memory: config.mediaMemory * 1_000_000,
    seconds: config.mediaSeconds,
    drawingSeconds: config.mediaDrawingSeconds,
    pixels: config.mediaPixels * 1_000_000,
    output: config.mediaOutput * 1_000_000,
  }
  const place = join(config.dataDir, 'work')
  await mkdir(place, { recursive: true, mode: 0o750 })
  const isolate = await withoutNetwork()
  const workers = createWorkers({ most: config.jobsMedia, limits, background: true, place, isolate })
  // Requests wait for these: they do not queue behind other renditions, and have a shorter time limit.
  const viewers = createWorkers({
    most: config.jobsPreview + config.jobsMedia,
    limits: { ...limits, seconds: Math.min(60, limits.seconds) },
    background: false,
    idle: 300,
    place,
    isolate,
  })
  const { ffmpeg, ffprobe, soffice } = config
  const programs = await findPrograms({ names: { ffmpeg, ffprobe, soffice }, limits, isolate })
  const folders = createWorkFolders(place)
  await folders.sweep()
  const precedence = createPrecedence()
  const fairPriority = createFairPriority()
  const scheduleIn = (tx: Tx, scheduled: Parameters<typeof schedule>[2]) => schedule(tx, jobs, scheduled)
  const listeners = createRenditionListeners()
  let own = noPrograms
  const recipePrograms: RecipePrograms = {
    saying: (type) => own.saying(type),
    make: (...given) => own.make(...given),
    say: (...given) => own.say(...given),
    ask: (...given) => own.ask(...given),
  }
  const tools = { programs, folders, schedule: scheduleIn, listeners, recipePrograms }
  const describeIn = (tx: Tx, files: Parameters<typeof scheduleMetadata>[2]) => scheduleMetadata(tx, jobs, files)
  const produce = createProduce({ ...options, ...tools, workers })
  const preview = createProduce({ ...options, ...tools, workers: viewers })
  const makers = createShares(config.jobsPreview)
  const run: Workers['run'] = (task, signal, who = currentDeadline().who) =>
    makers.run(who, () => viewers.run(task, signal, who), signal)
  const firstOnes = createProduce({ ...options, ...tools, workers: { run }, looksLater: true })
  const describe = createDescribe({ ...options, ...tools, workers })
  const looking = { db, settings, marking, recipePrograms, schedule: scheduleIn, scheduleMetadata: describeIn }

  const first = createFirstRenditions({
    db,
    jobs,
    most: config.jobsPreview,
    precedence,
    produce: firstOnes,
    scheduleRest: (tx, files) => scheduleRest(tx, { jobs, settings: settings() }, files),
  })

  /** Behind the first renditions of files, which requests wait for. */
  const behind =
    <P>(handler: JobHandler<P>): JobHandler<P> =>
    async (payload, context) => {
      await precedence.turn(context.signal)
      return handler(payload, context)
    }
  jobs.register<ProduceJob>(previewJob, (job, context) => precedence.ahead(() => preview(job, context)), 'preview')
  jobs.register<NewFileJob>(newFileJob, first.takeOver, 'preview')
  jobs.register<ProduceJob>(produceJob, behind(produce), 'media')
  jobs.register<{ fileId: number }>(metadataJob, behind(describe), 'media')
  jobs.register<{ id: number }>(resyncJob, ({ id }, { signal }) => runResync(looking, id, signal), 'standard')
  jobs.register<{ objects: readonly number[] }>(
    marksJob,
    ({ objects }, { signal }) => renewMarks(looking, objects, signal),
    'standard',
  )

  return {
    folders,
    viewers,

    /** Answers of recipes about files, for mappings; see `createAnswers`. */
    ask: createAnswers({
      db,
      events: options.events,
      folders,
      storeOf: options.locations.storeOf,
      programs: recipePrograms,
      readOnly: options.readOnly,
    }),

    /** Runs recipes by these from now on: they are built later. */
    useRecipes(programs: RecipePrograms): void {
      own = programs
    },

    /** Renditions of new files, in the transaction that makes these. */
    plan(tx: Tx, wishes: readonly RenditionRequest[]): Promise<void> {
      precedence.expect()
      return planNew(tx, { jobs, settings: settings(), marking, first, fairPriority }, wishes)
    },

    /** Waits until a version of each of the files is made, or will not be; see `awaitVersion`. */
    awaitVersion: (files: readonly StoredFile[], name: string): Promise<readonly StoredFile[]> =>
      awaitVersion({ listeners, read: (ids) => readFiles(ids.length > 1 ? db : options.pipelined, ids) }, files, name),

    /**
     * To be called when a file begins to arrive: the process for its preview is ready when the upload ends, and other
     * renditions do not begin just before.
     */
    expect(): void {
      precedence.expect()
      viewers.warm()
    },

    /** Facts about a picture or a PDF from its content; nothing where it cannot be read. */
    async inspect({ locationId, sha256, type }: InspectedContent): Promise<Readonly<Record<string, unknown>>> {
      await using folder = await folders.make()
      const path = await localPath({ sha256 }, options.locations.storeOf(locationId), folder.path)
      if (type.extension === 'pdf') return pagesOf((task) => viewers.run(task), path)
      const source = { path, extension: type.extension }
      const task = { kind: 'pictures', source, folder: folder.path, recipes: [], inspect: 'all' } as const
      return viewers.run(task).then(
        ({ basics }) => basics ?? {},
        (error: unknown) => {
          if (error instanceof CannotMake) return {}
          throw error
        },
      )
    },

    /** Checks, after the commit, whether the files of the objects have the right marks. */
    async renewMarks(tx: Tx, objects: readonly number[]): Promise<void> {
      if (objects.length > 0 && marking.any()) await jobs.enqueue(tx, marksJob, { objects })
    },

    /** Whether a recipe makes anything with a watermark or a caption. */
    drawsMarks: (): boolean =>
      Object.values(settings().classes).some(({ versions }) => versions.some((one) => one.watermark || one.caption)),

    /** Renews all renditions with a watermark or a caption. */
    resyncMarks: (tx: Tx, actor: Actor): Promise<Resync> => startMarksResync(tx, jobs, actor.userId),

    /** Begins to check all files. @throws {AppError} `SystemRightRequired`. */
    async resync(actor: Actor): Promise<Resync> {
      requireRight(actor, manageFiles)
      return db.transaction((tx) => startResync(tx, jobs, actor.userId))
    },

    /** The latest runs. @throws {AppError} `SystemRightRequired`. */
    async resyncs(actor: Actor): Promise<Resync[]> {
      requireRight(actor, manageFiles)
      return readResyncs(db, 20)
    },

    /**
     * Looks for renditions that could not be made because a program was missing that is now installed. To be called once,
     * with the jobs ready.
     */
    async wake(): Promise<void> {
      const { rowCount } = await db.query('select from file_rendition where needs = any($1::text[]) limit 1', [
        programs.found(),
      ])
      if (rowCount === 0) return
      log.info({ programs: programs.found() }, 'programs are there that were missing: renditions are made')
      await db.transaction((tx) => startResync(tx, jobs, null))
    },

    async close(): Promise<void> {
      await Promise.all([workers.close(), viewers.close()])
    },
  }
}

import type { Jobs } from '../../../jobs/service.ts'
import type { Db, Queryable, Tx } from '../../../platform/postgres/db.ts'
import type { RenditionStatus } from '../../records/rendition.ts'
import * as store from '../make/store.ts'
import type { Recipe, RenditionSettings, Scheduled } from '../model.ts'
import type { RecipePrograms } from '../recipes/added.ts'
import { bearsMarks, isUnmarked, type LoadedMarks, type Marking, noMarks, readMarks } from '../recipes/marks.ts'
import { recipeHash, recipesFor } from '../recipes/recipes.ts'
import { metadataHash, metadataName } from './describe.ts'
import { scheduledFor } from './plan.ts'

/** A run through all files: its progress and its findings. */
export interface Resync {
  readonly id: number
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly total: number
  readonly checked: number
  readonly queued: number
  readonly removed: number
  /** Only renditions with watermarks and captions are checked. */
  readonly marks: boolean
}

export interface ResyncDeps {
  readonly db: Db
  readonly settings: () => RenditionSettings
  readonly marking: Marking
  readonly recipePrograms: Pick<RecipePrograms, 'saying'>
  readonly schedule: (tx: Tx, scheduled: readonly Scheduled[]) => Promise<void>
  readonly scheduleMetadata: (
    tx: Tx,
    files: readonly { readonly fileId: number; readonly priority: number }[],
  ) => Promise<void>
}

export const resyncJob = 'files.resync'

/** Files that are checked in one transaction. */
const batch = 200
/** Behind all new uploads. */
const priority = 1000

interface Looked {
  readonly fileId: number
  readonly class: store.OriginalRow['class']
  readonly extension: string
  readonly manual: readonly string[]
  readonly sha256: string
  readonly renditions: readonly {
    readonly name: string
    readonly status: RenditionStatus
    readonly hash: string | null
    readonly madeOf: string | null
    /** Seconds since it was announced or ended. */
    readonly age: number
  }[]
}

/** Begins a run. If a run is in progress, answers that one. */
export async function startResync(tx: Tx, jobs: Jobs, userId: number | null): Promise<Resync> {
  await tx.query('lock table file_resync in share row exclusive mode')
  const running = (await readResyncs(tx, 20)).find(({ finishedAt, marks }) => finishedAt === null && !marks)
  return running ?? begin(tx, jobs, userId, false)
}

/**
 * Begins a run that renews renditions with a watermark or a caption: these have been changed in this transaction. A run
 * in progress may already have passed the files concerned.
 */
export async function startMarksResync(tx: Tx, jobs: Jobs, userId: number | null): Promise<Resync> {
  await tx.query('lock table file_resync in share row exclusive mode')
  return begin(tx, jobs, userId, true)
}

async function begin(tx: Tx, jobs: Jobs, userId: number | null, marks: boolean): Promise<Resync> {
  await tx.query('insert into file_resync (user_id, marks, total) select $1, $2, count(*) from file', [userId, marks])
  const [started] = await readResyncs(tx, 1)
  if (!started) throw new Error('the run has gone')
  await jobs.enqueue(tx, resyncJob, { id: started.id })
  return started
}

/** The latest runs, newest first. */
export async function readResyncs(from: Queryable, most: number): Promise<Resync[]> {
  const { rows } = await from.query<Resync>(
    `select id, started_at as "startedAt", finished_at as "finishedAt", total, checked, queued, removed, marks
     from file_resync order by id desc limit $1`,
    [most],
  )
  return rows
}

/** Continues the run until all files have been checked. */
export async function runResync(deps: ResyncDeps, id: number, signal: AbortSignal): Promise<void> {
  for (let more = true; more; ) {
    if (signal.aborted) throw new Error('the service stops')
    more = await deps.db.transaction((tx) => next(deps, tx, id))
  }
}

async function next(deps: ResyncDeps, tx: Tx, id: number): Promise<boolean> {
  const { rows } = await tx.query<{ upTo: number; marks: boolean }>(
    'select up_to as "upTo", marks from file_resync where id = $1 and finished_at is null for update',
    [id],
  )
  const [run] = rows
  if (!run) return false
  const files = await look(tx, { after: run.upTo, marks: run.marks })
  const found = run.marks ? await findStaleMarks(deps, tx, files) : await findStale(deps, tx, files)
  const { scheduled, dropped, described } = found
  await store.dropRenditions(tx, dropped)
  await deps.schedule(tx, scheduled)
  await deps.scheduleMetadata(tx, described)
  const last = files.at(-1)
  await tx.query(
    `update file_resync set up_to = coalesce($2, up_to), checked = checked + $3, queued = queued + $4,
       removed = removed + $5, finished_at = case when $6 then now() end where id = $1`,
    [id, last?.fileId ?? null, files.length, scheduled.length, dropped.length, files.length < batch],
  )
  return files.length === batch
}

/** Renews the renditions with outdated marks, for files that the saved objects have or had. */
export async function renewMarks(deps: ResyncDeps, objects: readonly number[], signal: AbortSignal): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    if (signal.aborted) throw new Error('the service stops')
    const from: number = after
    after = await deps.db.transaction(async (tx) => {
      const files = await look(tx, { after: from, marks: true, objects })
      await deps.schedule(tx, (await findStaleMarks(deps, tx, files)).scheduled)
      return files.length === batch ? files.at(-1)?.fileId : undefined
    })
  }
}

interface Found {
  readonly scheduled: readonly Scheduled[]
  readonly dropped: readonly store.Planned[]
  readonly described: readonly { readonly fileId: number; readonly priority: number }[]
}

async function findStale(
  { settings, marking, recipePrograms }: ResyncDeps,
  tx: Tx,
  files: readonly Looked[],
): Promise<Found> {
  const marks = await readMarks(
    marking,
    tx,
    files.map(({ fileId }) => fileId),
  )
  const scheduled: Scheduled[] = []
  const dropped: store.Planned[] = []
  const described: { readonly fileId: number; readonly priority: number }[] = []
  for (const file of files) {
    const all = recipesFor(settings(), file)
    const own = marks.get(file.fileId) ?? noMarks
    scheduled.push(...scheduledFor(file, all, priority, (recipe) => isStale(file, recipe, all, own)))
    const tags = file.renditions.find(({ name }) => name === metadataName)
    if (file.class !== 'unknown' && !isCurrent(tags, metadataHash(recipePrograms, file), file.sha256)) {
      described.push({ fileId: file.fileId, priority })
    }
    for (const { name } of file.renditions) {
      if (name === metadataName) continue
      if (!all.some((recipe) => recipe.name === name)) dropped.push({ fileId: file.fileId, name })
    }
  }
  return { scheduled, dropped, described }
}

/** Only for files that have renditions. */
async function findStaleMarks({ settings, marking }: ResyncDeps, tx: Tx, files: readonly Looked[]): Promise<Found> {
  const made = files.filter(({ renditions }) => renditions.some(({ name }) => name !== metadataName))
  const marks = await readMarks(
    marking,
    tx,
    made.map(({ fileId }) => fileId),
  )
  const scheduled = made.flatMap((file) => {
    const all = recipesFor(settings(), file)
    const own = marks.get(file.fileId) ?? noMarks
    const isWanted = (recipe: Recipe): boolean => bearsMarks(recipe, all) && isStale(file, recipe, all, own)
    return scheduledFor(file, all, 0, isWanted)
  })
  return { scheduled, dropped: [], described: [] }
}

/** Without a watermark the rendition is not made, and an existing one is removed. */
function isStale(file: Looked, recipe: Recipe, all: readonly Recipe[], marks: LoadedMarks): boolean {
  const known = file.renditions.find(({ name }) => name === recipe.name)
  if (isUnmarked(recipe, all, marks)) return known !== undefined && known.status !== 'unmarked'
  return known?.status === 'unmarked' || !isCurrent(known, recipeHash(recipe, all, marks), file.sha256)
}

/** Seconds after which no process can be working on it any more: its recipe changed before its turn came. */
const longestWait = 86_400

/** A waiting rendition is not queued twice, and a failed one is not tried again as long as nothing has changed. */
function isCurrent(known: Looked['renditions'][number] | undefined, hash: string, sha256: string): boolean {
  if (!known || known.status === 'not_produced') return false
  if (known.status === 'pending' || known.status === 'processing') return known.age < longestWait
  return known.hash === hash && known.madeOf === sha256
}

/**
 * The next files behind one. For marks, the originals are locked as in the processes that make renditions: work in
 * progress is seen when it ends.
 */
async function look(
  tx: Tx,
  { after, marks, objects }: { readonly after: number; readonly marks: boolean; readonly objects?: readonly number[] },
): Promise<Looked[]> {
  if (marks) {
    await tx.query(
      `select from file_version where name = 'original' and file_id in (${nextFiles}) order by file_id for no key update`,
      [after, objects ?? null],
      'lock-originals',
    )
  }
  const { rows } = await tx.query<Looked>(
    `select f.id as "fileId", v.class, v.extension, encode(v.sha256, 'hex') as sha256, r.renditions,
       array(select m.name from file_version m where m.file_id = f.id and m.manual) as manual
     from (select id from file where id in (${nextFiles}) order by id for key share) f
       join file_version v on v.file_id = f.id and v.name = 'original'
       cross join lateral (
         select coalesce(json_agg(json_build_object('name', name, 'status', status, 'hash', recipe_hash,
           'madeOf', encode(made_of, 'hex'), 'age', extract(epoch from now() - status_at))), '[]') as renditions
         from file_rendition where file_id = f.id
       ) r
     order by f.id`,
    [after, objects ?? null],
  )
  return rows
}

const nextFiles = `select id from file where id > $1 and ($2::bigint[] is null
    or id in (select file_id from file_use where system_object_id = any($2::bigint[])))
  order by id limit ${batch}`

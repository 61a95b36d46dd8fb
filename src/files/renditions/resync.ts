import type { Jobs } from '../../jobs/service.ts'
import type { Db, Queryable, Tx } from '../../platform/db.ts'
import { metadataHash, metadataName } from './describe.ts'
import type { Recipe, RenditionSettings, RenditionStatus } from './model.ts'
import { type Scheduled, scheduledFor } from './plan.ts'
import { recipeHash, recipesFor } from './recipes.ts'
import * as store from './store.ts'

/** A run through all files: how far it is, and what it found. */
export interface Resync {
  readonly id: number
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly total: number
  readonly checked: number
  readonly queued: number
  readonly removed: number
}

export interface ResyncDeps {
  readonly db: Db
  readonly settings: () => RenditionSettings
  readonly schedule: (tx: Tx, scheduled: readonly Scheduled[]) => Promise<void>
  readonly scheduleMetadata: (
    tx: Tx,
    files: readonly { readonly fileId: number; readonly priority: number }[],
  ) => Promise<void>
}

export const resyncJob = 'files.resync'

/** Files that are looked at in one transaction. */
const batch = 200
/** Behind everything that somebody has just uploaded. */
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

/** Begins a run. One at a time: while one goes on, that is answered. */
export async function startResync(tx: Tx, jobs: Jobs, userId: number | null): Promise<Resync> {
  await tx.query('lock table file_resync in share row exclusive mode')
  const [running] = await readResyncs(tx, 1)
  if (running && running.finishedAt === null) return running
  await tx.query('insert into file_resync (user_id, total) select $1, count(*) from file', [userId])
  const [started] = await readResyncs(tx, 1)
  if (!started) throw new Error('the run has gone')
  await jobs.enqueue(tx, resyncJob, { id: started.id })
  return started
}

/** The latest runs, newest first. */
export async function readResyncs(from: Queryable, most: number): Promise<Resync[]> {
  const { rows } = await from.query<Resync>(
    `select id, started_at as "startedAt", finished_at as "finishedAt", total, checked, queued, removed
     from file_resync order by id desc limit $1`,
    [most],
  )
  return rows
}

/** Goes on where the run was, until all files have been looked at. */
export async function runResync(deps: ResyncDeps, id: number, signal: AbortSignal): Promise<void> {
  for (let more = true; more; ) {
    if (signal.aborted) throw new Error('the service stops')
    more = await deps.db.transaction((tx) => next(deps, tx, id))
  }
}

async function next({ settings, schedule, scheduleMetadata }: ResyncDeps, tx: Tx, id: number): Promise<boolean> {
  const { rows } = await tx.query<{ upTo: number }>(
    'select up_to as "upTo" from file_resync where id = $1 and finished_at is null for update',
    [id],
  )
  const [run] = rows
  if (!run) return false
  const files = await look(tx, run.upTo)
  const scheduled: Scheduled[] = []
  const dropped: store.Planned[] = []
  const described: { readonly fileId: number; readonly priority: number }[] = []
  for (const file of files) {
    const all = recipesFor(settings(), file)
    const isStale = (recipe: Recipe): boolean => {
      const known = file.renditions.find(({ name }) => name === recipe.name)
      return !isCurrent(known, recipeHash(recipe, all), file.sha256)
    }
    scheduled.push(...scheduledFor(file, all, priority, isStale))
    const tags = file.renditions.find(({ name }) => name === metadataName)
    if (file.class !== 'unknown' && !isCurrent(tags, metadataHash, file.sha256)) {
      described.push({ fileId: file.fileId, priority })
    }
    for (const { name } of file.renditions) {
      if (name === metadataName) continue
      if (!all.some((recipe) => recipe.name === name)) dropped.push({ fileId: file.fileId, name })
    }
  }
  await store.dropRenditions(tx, dropped)
  await schedule(tx, scheduled)
  await scheduleMetadata(tx, described)
  const last = files.at(-1)
  await tx.query(
    `update file_resync set up_to = coalesce($2, up_to), checked = checked + $3, queued = queued + $4,
       removed = removed + $5, finished_at = case when $6 then now() end where id = $1`,
    [id, last?.fileId ?? null, files.length, scheduled.length, dropped.length, files.length < batch],
  )
  return files.length === batch
}

/** Seconds after which nobody can be at it any more: its recipe changed before its turn came. */
const longestWait = 86_400

/** What waits is not queued twice, and what failed is not tried again as long as nothing has changed. */
function isCurrent(known: Looked['renditions'][number] | undefined, hash: string, sha256: string): boolean {
  if (!known || known.status === 'not_produced') return false
  if (known.status === 'pending' || known.status === 'processing') return known.age < longestWait
  return known.hash === hash && known.madeOf === sha256
}

async function look(tx: Tx, after: number): Promise<Looked[]> {
  const { rows } = await tx.query<Looked>(
    `select f.id as "fileId", v.class, v.extension, encode(v.sha256, 'hex') as sha256, r.renditions,
       array(select m.name from file_version m where m.file_id = f.id and m.manual) as manual
     from (select id from file where id > $1 order by id limit ${batch} for key share) f
       join file_version v on v.file_id = f.id and v.name = 'original'
       cross join lateral (
         select coalesce(json_agg(json_build_object('name', name, 'status', status, 'hash', recipe_hash,
           'madeOf', encode(made_of, 'hex'), 'age', extract(epoch from now() - status_at))), '[]') as renditions
         from file_rendition where file_id = f.id
       ) r
     order by f.id`,
    [after],
  )
  return rows
}

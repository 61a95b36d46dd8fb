import type { JobRequest, Jobs } from '../../../jobs/service.ts'
import { currentDeadline } from '../../../platform/limits/deadline.ts'
import type { Tx } from '../../../platform/postgres/db.ts'
import type { ProduceJob } from '../make/produce.ts'
import * as store from '../make/store.ts'
import { maxAttempts, type OriginalType, type Recipe, type RenditionSettings, type Scheduled } from '../model.ts'
import { isUnmarked, type Marking, noMarks, readMarks } from '../recipes/marks.ts'
import { recipesFor, turnsOf } from '../recipes/recipes.ts'
import { metadataJob, metadataName } from './describe.ts'
import type { FairPriority } from './fair-priority.ts'
import type { FirstRenditions, NewFileJob } from './first-renditions.ts'

export const produceJob = 'files.produce'

/** The same for the first renditions: these do not wait behind others. */
export const previewJob = 'files.preview'

/** The wishes for renditions of a new file. */
export interface RenditionRequest {
  readonly fileId: number
  /** False: no renditions are made until a resync. */
  readonly produce: boolean
  readonly priority: number
  /** Its type, where the file has just been made. */
  readonly original?: OriginalType | undefined
}

/** Announces renditions and queues the work: one job for all renditions of a file with the same priority. */
export async function schedule(tx: Tx, jobs: Jobs, scheduled: readonly Scheduled[]): Promise<void> {
  if (scheduled.length === 0) return
  await Promise.all([store.planRenditions(tx, scheduled.map(plannedOf)), jobs.enqueueAll(tx, requestsFor(scheduled))])
}

function plannedOf({ fileId, recipe: { name } }: Scheduled): store.Planned {
  return { fileId, name }
}

function requestsFor(scheduled: readonly Scheduled[]): JobRequest[] {
  const requests = new Map<string, JobRequest>()
  for (const { fileId, turn, priority } of scheduled) {
    const payload: ProduceJob = { fileId, priority: turn }
    const name = turn === 0 ? previewJob : produceJob
    requests.set(`${fileId}:${turn}`, { name, payload, priority: priority + turn, maxAttempts })
  }
  return [...requests.values()]
}

interface PlanDeps {
  readonly fairPriority: FairPriority
  readonly jobs: Jobs
  readonly settings: RenditionSettings
  readonly marking: Marking
  readonly first: Pick<FirstRenditions, 'takes' | 'room' | 'add'>
}

/** Plans renditions of new files; those with a watermark wait until an object has the file. */
export async function planNew(
  tx: Tx,
  { jobs, settings, marking, first, fairPriority }: PlanDeps,
  all: readonly RenditionRequest[],
) {
  const { who } = currentDeadline()
  const wishes = all
    .filter(({ produce }) => produce)
    .map((wish) => ({ ...wish, priority: wish.priority + fairPriority.add(who) }))
  const wanted = new Map(wishes.map((wish) => [wish.fileId, wish]))
  if (wanted.size === 0) return
  const given = [...wanted.values()].flatMap(({ fileId, original }) =>
    original ? [{ fileId, class: original.class, extension: original.extension, manual: [] }] : [],
  )
  const others = [...wanted.values()].filter(({ original }) => !original).map(({ fileId }) => fileId)
  const originals = [...given, ...(others.length > 0 ? await store.readOriginals(tx, others) : [])]
  // A file of an object may get another original.
  const marks = await readMarks(marking, tx, marking.any() ? [...wanted.keys()] : [])
  const plain: store.Planned[] = []
  const described: NewFileJob[] = []
  const scheduled = originals.flatMap((original) => {
    const { fileId } = original
    const all = recipesFor(settings, original)
    const isPlain = (recipe: Recipe): boolean => isUnmarked(recipe, all, marks.get(fileId) ?? noMarks)
    const own = all.filter((recipe) => isPlain(recipe) && !original.manual.includes(recipe.name))
    plain.push(...own.map(({ name }) => ({ fileId, name })))
    const priority = wanted.get(fileId)?.priority ?? 0
    if (original.class !== 'unknown') described.push({ fileId, priority, who })
    return scheduledFor(original, all, priority, (recipe) => !isPlain(recipe))
  })
  // The other renditions of a picture are queued when its first ones are finished.
  const mine = originals
    .filter(
      (original) =>
        first.takes(original) && scheduled.some(({ fileId, turn }) => fileId === original.fileId && turn === 0),
    )
    .slice(0, first.room())
    .map(({ fileId }): NewFileJob => ({ fileId, priority: wanted.get(fileId)?.priority ?? 0, who }))
  const names = [...scheduled.map(plannedOf), ...described.map(({ fileId }) => ({ fileId, name: metadataName }))]
  // The upload waits for this: it takes one round trip.
  const [, added] = await Promise.all([
    store.planNewRenditions(tx, names, plain),
    mine.length > 0 && first.add(tx, mine),
  ])
  const taken = new Set(added ? mine.map(({ fileId }) => fileId) : [])
  const isQueued = ({ fileId }: { readonly fileId: number }): boolean => !taken.has(fileId)
  await jobs.enqueueAll(tx, [
    ...requestsFor(scheduled.filter(isQueued)),
    ...described.filter(isQueued).map(metadataRequest),
  ])
}

/** Queues the renditions of new files that follow their first renditions; they were announced together with these. */
export async function scheduleRest(
  tx: Tx,
  { jobs, settings }: { readonly jobs: Jobs; readonly settings: RenditionSettings },
  files: readonly NewFileJob[],
): Promise<void> {
  const priorities = new Map(files.map(({ fileId, priority }) => [fileId, priority]))
  const priorityOf = (fileId: number): number => priorities.get(fileId) ?? 0
  const ids = [...priorities.keys()]
  const [originals, pending] = await Promise.all([store.readOriginals(tx, ids), store.readPending(tx, ids)])
  const isPending = (fileId: number, name: string): boolean => pending.get(fileId)?.has(name) === true
  const scheduled = originals.flatMap((original) =>
    scheduledFor(original, recipesFor(settings, original), priorityOf(original.fileId), (recipe) =>
      isPending(original.fileId, recipe.name),
    ),
  )
  const described = ids.filter((fileId) => isPending(fileId, metadataName))
  await jobs.enqueueAll(tx, [
    ...requestsFor(scheduled),
    ...described.map((fileId) => metadataRequest({ fileId, priority: priorityOf(fileId) })),
  ])
}

/** The recipes `all` of an original that fulfil the condition, without recipes whose versions were uploaded. */
export function scheduledFor(
  original: store.OriginalRow,
  all: readonly Recipe[],
  priority: number,
  condition: (recipe: Recipe) => boolean = () => true,
): Scheduled[] {
  const turns = turnsOf(all, original)
  const { fileId, manual } = original
  const wanted = all.filter((recipe) => !manual.includes(recipe.name) && condition(recipe))
  return wanted.map((recipe) => ({ fileId, recipe, priority, turn: turns.get(recipe.name) ?? 0 }))
}

/** Behind the first renditions, which a request waits for. */
const metadataPriority = 3

function metadataRequest({ fileId, priority }: Omit<NewFileJob, 'who'>): JobRequest {
  return { name: metadataJob, payload: { fileId }, priority: priority + metadataPriority, maxAttempts }
}

/** Announces and queues the reading of files' own metadata. */
export async function scheduleMetadata(tx: Tx, jobs: Jobs, files: readonly Omit<NewFileJob, 'who'>[]): Promise<void> {
  if (files.length === 0) return
  const planned = files.map(({ fileId }) => ({ fileId, name: metadataName }))
  await Promise.all([store.planRenditions(tx, planned), jobs.enqueueAll(tx, files.map(metadataRequest))])
}

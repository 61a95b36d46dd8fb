import type { JobRequest, Jobs } from '../../jobs/service.ts'
import type { Tx } from '../../platform/db.ts'
import { metadataJob, metadataName } from './describe.ts'
import { isUnmarked, type Marking, noMarks, readMarks } from './marks.ts'
import type { Recipe, RenditionSettings, Scheduled } from './model.ts'
import type { ProduceJob } from './produce.ts'
import { recipesFor, turnsOf } from './recipes.ts'
import * as store from './store.ts'

export const produceJob = 'files.produce'

/** The same for those whose turn is at once: they wait for no others. */
export const previewJob = 'files.preview'

/** What is wanted of new files. */
export interface Wish {
  readonly fileId: number
  /** Without it there are no renditions until a resync. */
  readonly produce: boolean
  readonly priority: number
}

/** A job is tried again when it could not do its work for lack of a database or of space, not for a bad file. */
const maxAttempts = 8

/** Announces renditions and queues the work, one job for all of a file that are of the same priority. */
export async function schedule(tx: Tx, jobs: Jobs, scheduled: readonly Scheduled[]): Promise<void> {
  if (scheduled.length === 0) return
  const requests = new Map<string, JobRequest>()
  for (const { fileId, turn, priority } of scheduled) {
    const payload: ProduceJob = { fileId, priority: turn }
    const name = turn === 0 ? previewJob : produceJob
    requests.set(`${fileId}:${turn}`, { name, payload, priority: priority + turn, maxAttempts })
  }
  const planned = scheduled.map(({ fileId, recipe: { name } }) => ({ fileId, name }))
  await Promise.all([store.planRenditions(tx, planned), jobs.enqueueAll(tx, [...requests.values()])])
}

/** Renditions of new files; those with a watermark wait until an object has the file. */
export async function planNew(
  tx: Tx,
  { jobs, settings, marking }: { readonly jobs: Jobs; readonly settings: RenditionSettings; readonly marking: Marking },
  wishes: readonly Wish[],
): Promise<void> {
  const wanted = new Map(wishes.filter(({ produce }) => produce).map((wish) => [wish.fileId, wish]))
  if (wanted.size === 0) return
  const originals = await store.readOriginals(tx, [...wanted.keys()])
  // Another original may come to a file that objects have.
  const marks = await readMarks(marking, tx, marking.any() ? [...wanted.keys()] : [])
  const plain: store.Planned[] = []
  const scheduled = originals.flatMap((original) => {
    const { fileId } = original
    const all = recipesFor(settings, original)
    const isPlain = (recipe: Recipe): boolean => isUnmarked(recipe, all, marks.get(fileId) ?? noMarks)
    const own = all.filter((recipe) => isPlain(recipe) && !original.manual.includes(recipe.name))
    plain.push(...own.map(({ name }) => ({ fileId, name })))
    const priority = wanted.get(fileId)?.priority ?? 0
    return scheduledFor(original, all, priority, (recipe) => !isPlain(recipe))
  })
  const described = originals.filter(({ class: kind }) => kind !== 'unknown')
  const later = described.map(({ fileId }) => ({ fileId, priority: wanted.get(fileId)?.priority ?? 0 }))
  // Whoever uploads waits for this: it goes in one round trip.
  await Promise.all([store.notePlain(tx, plain), schedule(tx, jobs, scheduled), scheduleMetadata(tx, jobs, later)])
}

/** The recipes `all` of an original that fulfil the condition, without those whose versions were uploaded. */
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

/** Behind the first renditions, which somebody waits for. */
const metadataPriority = 3

/** Announces the reading of files' own metadata, and queues it. */
export async function scheduleMetadata(
  tx: Tx,
  jobs: Jobs,
  files: readonly { readonly fileId: number; readonly priority: number }[],
): Promise<void> {
  if (files.length === 0) return
  const planned = files.map(({ fileId }) => ({ fileId, name: metadataName }))
  const requests = files.map(({ fileId, priority }) => ({
    name: metadataJob,
    payload: { fileId },
    priority: priority + metadataPriority,
    maxAttempts,
  }))
  await Promise.all([store.planRenditions(tx, planned), jobs.enqueueAll(tx, requests)])
}

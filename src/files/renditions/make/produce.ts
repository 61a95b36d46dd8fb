import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import type { EventLog, NewEvent } from '../../../events/service.ts'
import type { Attempt } from '../../../jobs/service.ts'
import { transferAll } from '../../../platform/memory/buffer-ownership.ts'
import type { Db, Queryable, Tx } from '../../../platform/postgres/db.ts'
import type { BlobStore, Received } from '../../blobs/blob-store.ts'
import { receiveHashed } from '../../blobs/receive-hashed.ts'
import { classOf } from '../../classes.ts'
import { originalOf, type StoredFile, whoOf } from '../../model.ts'
import * as records from '../../records/store.ts'
import type { Recipe, RenditionSettings, Scheduled } from '../model.ts'
import type { Programs } from '../programs/programs.ts'
import type { RecipePrograms } from '../recipes/added.ts'
import { bearsMarks, type LoadedMarks, type Marking, noMarks, readMarks } from '../recipes/marks.ts'
import { recipeHash, recipesFor, turnsOf } from '../recipes/recipes.ts'
import type { WorkFolders } from '../sources/work-folders.ts'
import { CannotMake } from '../workshop/failure.ts'
import type { Workers } from '../workshop/workers.ts'
import { makeAll, type Outcome, type Output, type Produced } from './make.ts'
import { createProgress } from './progress.ts'
import type { RenditionListeners } from './rendition-listeners.ts'
import * as store from './store.ts'

export interface ProduceDeps {
  readonly db: Db
  /** For reads of one file. */
  readonly pipelined: Queryable
  readonly events: EventLog
  readonly settings: () => RenditionSettings
  readonly marking: Marking
  readonly schedule: (tx: Tx, scheduled: readonly Scheduled[]) => Promise<void>
  readonly locations: {
    storeOf(id: number): BlobStore
    forVersions(): { readonly id: number; readonly store: BlobStore }
  }
  /** See `FileOptions`. */
  readonly changed: (tx: Tx, fileIds: readonly number[]) => Promise<void>
  readonly workers: Pick<Workers, 'run'>
  /**
   * A request waits for the result: the perceptual hash of the original is computed later, with other renditions or its
   * metadata.
   */
  readonly looksLater?: boolean
  readonly programs: Programs
  readonly folders: WorkFolders
  readonly listeners: RenditionListeners
  readonly recipePrograms: RecipePrograms
}

/** All waiting renditions of one file whose recipes have this priority. */
export interface ProduceJob {
  readonly fileId: number
  readonly priority: number
}

/** Attempts to make a rendition before it is given up: each time the service ended in the middle. */
export const mostAttempts = 3

/**
 * Makes renditions: begins them, makes them in other processes, stores them, and notes all results in one transaction. A
 * rendition that cannot be made gets a reason, and is not tried again until something has changed. After another failure
 * (a full disk, no database) it is tried again.
 */
export function createProduce(deps: ProduceDeps) {
  return async function produce({ fileId, priority }: ProduceJob, { attempt, signal }: Attempt): Promise<void> {
    const [file] = await records.readFiles(deps.pipelined, [fileId])
    if (!file) return
    const original = originalOf(file)
    const all = recipesFor(deps.settings(), original)
    const turns = turnsOf(all, original)
    const wanted = all.filter(({ name }) => turns.get(name) === priority)
    const begun = await store.beginRenditions(deps.db, fileId, {
      names: wanted.map(({ name }) => name),
      again: attempt > 1,
    })
    const mine = wanted.filter(({ name }) => begun.has(name))
    if (mine.length === 0) return
    const began = performance.now()
    await using folder = deps.folders.late()
    const tired = mine.filter(({ name }) => (begun.get(name) ?? 0) > mostAttempts)
    const fresh = mine.filter((recipe) => !tired.includes(recipe))
    const givenUp = new CannotMake('unreadable', 'the service ended each time when it was made')
    const { workers, programs, locations } = deps
    const bearing = mine.some((recipe) => bearsMarks(recipe, all))
    const marksIn = async (from: Queryable): Promise<LoadedMarks> =>
      (bearing ? (await readMarks(deps.marking, from, [fileId])).get(fileId) : undefined) ?? noMarks
    const marks = await marksIn(deps.db)
    await using progress = createProgress(deps.db, fileId)
    const tools = {
      workers,
      programs,
      storeOf: locations.storeOf,
      folder: () => folder.path(),
      signal,
      who: whoOf(file),
      marks,
      all,
      db: deps.db,
      looksLater: deps.looksLater === true,
      recipePrograms: deps.recipePrograms,
    }
    const { outcomes, basics, perceptualHash } = await makeAll({ ...tools, onProgress: progress.note }, file, fresh)
    await progress.settled()
    const ended = [...outcomes, ...tired.map((recipe) => ({ recipe, problem: givenUp }))]
    const made = { outcomes: ended, basics, perceptualHash }
    const again = (tx: Tx): Promise<void> =>
      deps.schedule(
        tx,
        mine.map((recipe) => ({ fileId, recipe, turn: priority, priority: 0 })),
      )
    const rest = all.filter((recipe) => !mine.includes(recipe))
    await conclude(deps, file, { all, rest, marks, marksIn, again }, made, performance.now() - began)
  }
}

/** The settings by which renditions were made. */
interface MadeBy {
  readonly all: readonly Recipe[]
  /** Renditions with other priorities. */
  readonly rest: readonly Recipe[]
  readonly marks: LoadedMarks
  /** The present marks. */
  readonly marksIn: (from: Queryable) => Promise<LoadedMarks>
  /** Queues all of the work once more. */
  readonly again: (tx: Tx) => Promise<void>
}

/** Stores the renditions, and notes how each ended. */
async function conclude(
  { db, events, locations, changed, listeners }: ProduceDeps,
  file: StoredFile,
  { all, rest, marks, marksIn, again }: MadeBy,
  { outcomes, basics, perceptualHash }: Produced,
  took: number,
): Promise<void> {
  const location = locations.forVersions()
  const kept: { readonly received: Received; readonly version: store.NewVersion }[] = []
  try {
    for (const outcome of outcomes) {
      if ('output' in outcome) kept.push(await receive(location, outcome.recipe.name, outcome.output))
    }
    const versions = kept.map(({ version }) => version)
    if (versions.length > 0) await records.announceBlobs(db, versions)
    for (const { received, version } of kept) await received.keep(version.sha256)
    const madeOf = originalOf(file).sha256
    const late = lateRest(rest, outcomes).map((outcome) =>
      endOf(outcome, recipeHash(outcome.recipe, all, marks), madeOf),
    )
    const ended = outcomes.map((outcome) => endOf(outcome, recipeHash(outcome.recipe, all, marks), madeOf))
    await db.transaction(
      async (tx) => {
        if (!(await store.lockOriginal(tx, file.id, madeOf))) return
        tx.afterCommit(() => listeners.tell(file.id))
        // A process that changes the marks of the file either checks its renditions after this, or its change is visible
        // here.
        const now = await marksIn(tx)
        const outdated = outcomes.some(({ recipe }) => recipeHash(recipe, all, now) !== recipeHash(recipe, all, marks))
        if (outdated) return again(tx)
        const none = outcomes.filter((outcome) => 'unmarked' in outcome || 'tooSmall' in outcome)
        // A request waits for the first renditions: these statements are sent together, in this order.
        await Promise.all([
          store.putVersions(tx, file.id, versions),
          store.dropVersions(
            tx,
            file.id,
            none.map(({ recipe }) => recipe.name),
          ),
          store.endRenditions(tx, file.id, ended),
          late.length > 0 && store.endRenditions(tx, file.id, late, { pending: true }),
          basics && store.addMetadata(tx, file.id, basics),
          perceptualHash !== undefined && store.putPerceptualHash(tx, file.id, madeOf, perceptualHash),
          changed(tx, [file.id]),
          events.append(
            tx,
            outcomes.flatMap((outcome) => eventOf(file, outcome, took)),
          ),
        ])
      },
      { eager: true, byIndexes: true },
    )
  } catch (error) {
    await Promise.all(kept.map(({ received }) => received.discard().catch(() => {})))
    throw error
  }
}

/** If one rendition of a file took too long, the others would, too: they end with the same reason. */
function lateRest(rest: readonly Recipe[], outcomes: readonly Outcome[]): Outcome[] {
  const late = outcomes.find((outcome) => 'problem' in outcome && outcome.problem.late)
  return late && 'problem' in late ? rest.map((recipe) => ({ recipe, problem: late.problem })) : []
}

async function receive(location: { readonly id: number; readonly store: BlobStore }, name: string, output: Output) {
  const { received, sha256 } = await receiveHashed(location.store, bytesOf(output))
  const size = 'content' in output ? output.content.length : (await stat(output.path)).size
  if (received.size !== size) {
    await received.discard()
    throw new Error(`${received.size} of ${size} bytes were stored`)
  }
  const { extension, mimeType, metadata } = output
  const version = {
    name,
    locationId: location.id,
    sha256,
    size,
    extension,
    class: classOf(extension),
    mimeType,
    metadata,
  }
  return { received, version }
}

function bytesOf(output: Output): Readable {
  if (!('content' in output)) return transferAll(createReadStream(output.path, { highWaterMark: 256 * 1024 }))
  const { buffer, byteOffset, length } = output.content
  return Readable.from([Buffer.from(buffer, byteOffset, length)])
}

function endOf(outcome: Outcome, hash: string, madeOf: string): store.Ended {
  const { name } = outcome.recipe
  const end = { name, reason: null, needs: null, recipeHash: hash, madeOf }
  if ('output' in outcome) return { ...end, status: 'done' }
  if ('tooSmall' in outcome) return { ...end, status: 'too_small' }
  if ('unmarked' in outcome) return { ...end, status: 'unmarked' }
  const { kind, message, needs = null } = outcome.problem
  return { ...end, status: kind === 'unavailable' ? 'not_produced' : 'failed', reason: message, needs }
}

/** The machine that made it: several machines can use one database. */
const connInfos = [{ host: hostname() }]

function eventOf(file: StoredFile, outcome: Outcome, took: number): NewEvent[] {
  if ('tooSmall' in outcome || 'unmarked' in outcome) return []
  const { displayname: _, ...recipe } = outcome.recipe
  const base = { actor: null, basetype: 'file', objectId: file.id } as const
  if ('output' in outcome) {
    const { extension } = outcome.output
    // A long document would have a long list of them.
    const { page_sizes: _pages, ...metadata } = outcome.output.metadata
    const receipt = { version: recipe.name, extension, ...metadata, took: Math.round(took) / 1000 }
    return [{ ...base, type: 'FILE_PRODUCE', info: { recipe, receipt, connInfos } }]
  }
  const { kind, message } = outcome.problem
  const receipt = { version: recipe.name, status: kind === 'unavailable' ? 'not_produced' : 'failed', reason: message }
  return [{ ...base, type: 'FILE_PRODUCE_ERROR', info: { recipe, receipt, connInfos } }]
}

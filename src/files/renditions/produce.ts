import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { JobContext } from '../../jobs/service.ts'
import type { Db } from '../../platform/db.ts'
import type { BlobStore, Received } from '../blobs/blob-store.ts'
import { BlobMissing } from '../blobs/blob-store.ts'
import { classOf } from '../classes.ts'
import { type FileVersion, originalOf, type StoredFile } from '../model.ts'
import * as records from '../records/store.ts'
import type { Recipe, RenditionSettings } from './model.ts'
import type { Programs } from './programs.ts'
import { recipeHash, recipesFor } from './recipes.ts'
import { localPath, pictureSource } from './sources.ts'
import * as store from './store.ts'
import type { Tags } from './tags.ts'
import type { WorkFolders } from './work-folders.ts'
import { CannotMake } from './workshop/failure.ts'
import type { PictureRecipe } from './workshop/tasks.ts'
import type { Workers } from './workshop/workers.ts'

export interface ProduceDeps {
  readonly db: Db
  readonly events: EventLog
  readonly settings: () => RenditionSettings
  readonly locations: {
    storeOf(id: number): BlobStore
    forVersions(): { readonly id: number; readonly store: BlobStore }
  }
  readonly workers: Workers
  readonly programs: Programs
  readonly tags: Tags
  readonly folders: WorkFolders
}

/** Renditions of one file, all that wait and whose recipes have this priority. */
export interface ProduceJob {
  readonly fileId: number
  readonly priority: number
}

/** Times that a rendition is begun before it is given up: each time the service ended in the middle. */
const mostAttempts = 3

interface Output {
  readonly path: string
  readonly extension: string
  readonly mimeType: string
  readonly metadata: Readonly<Record<string, unknown>>
}

type Outcome =
  | { readonly recipe: Recipe; readonly output: Output }
  | { readonly recipe: Recipe; readonly tooSmall: true }
  | { readonly recipe: Recipe; readonly problem: CannotMake }

interface Produced {
  readonly outcomes: readonly Outcome[]
  /** What a look at the original told. */
  readonly basics: Readonly<Record<string, unknown>> | null
}

/**
 * Makes renditions: begun, made by other processes, stored, and said so in one transaction. What cannot be made says why,
 * and is not tried again until something has changed; what fails for another reason is (a full disk, a database away).
 */
export function createProduce(deps: ProduceDeps) {
  return async function produce({ fileId, priority }: ProduceJob, { attempt, signal }: JobContext): Promise<void> {
    const [file] = await records.readFiles(deps.db, [fileId])
    if (!file) return
    const original = originalOf(file)
    const all = recipesFor(deps.settings(), original)
    const wanted = all.filter((recipe) => recipe.priority === priority)
    const begun = await store.beginRenditions(deps.db, fileId, {
      names: wanted.map(({ name }) => name),
      again: attempt > 1,
    })
    const mine = wanted.filter(({ name }) => begun.has(name))
    if (mine.length === 0) return
    const began = performance.now()
    await using folder = await deps.folders.make()
    const tired = mine.filter(({ name }) => (begun.get(name) ?? 0) > mostAttempts)
    const fresh = mine.filter((recipe) => !tired.includes(recipe))
    const givenUp = new CannotMake('unreadable', 'the service ended each time when it was made')
    const { outcomes, basics } = await makeAll(deps, file, fresh, folder.path, signal)
    const ended = [...outcomes, ...tired.map((recipe) => ({ recipe, problem: givenUp }))]
    await conclude(deps, file, all, { outcomes: ended, basics }, performance.now() - began)
  }
}

async function makeAll(
  deps: ProduceDeps,
  file: StoredFile,
  recipes: readonly Recipe[],
  folder: string,
  signal: AbortSignal,
): Promise<Produced> {
  const original = originalOf(file)
  const outcomes: Outcome[] = []
  let basics: Produced['basics'] = null
  // Recipes of the same source share one look at it.
  for (const [source, group] of Map.groupBy(recipes, (recipe) => sourceOf(file, recipe))) {
    const isOriginal = source === original
    try {
      const path = await readable(deps, source, folder)
      const pictures = group.filter((recipe) => recipe.recipe === 'image' || recipe.recipe === 'pyramid')
      if (pictures.length > 0) {
        const made = await makePictures(deps, source, path, pictures, isOriginal && needsLook(original), folder, signal)
        outcomes.push(...made.outcomes)
        basics = made.basics ?? basics
      }
      for (const recipe of group) {
        if (!pictures.includes(recipe)) outcomes.push(await convert(deps, source, path, recipe, folder, signal))
      }
    } catch (error) {
      if (!(error instanceof CannotMake)) throw error
      const done = new Set(outcomes.map(({ recipe }) => recipe))
      outcomes.push(...group.filter((recipe) => !done.has(recipe)).map((recipe) => ({ recipe, problem: error })))
    }
  }
  return { outcomes, basics }
}

/** The version that a rendition is made of; the original, where there is none of that name yet. */
function sourceOf(file: StoredFile, { source }: Recipe): FileVersion {
  return file.versions.find(({ name }) => source !== '' && name === source) ?? originalOf(file)
}

function needsLook({ metadata }: FileVersion): boolean {
  return metadata.blurhash === undefined
}

async function readable({ locations }: ProduceDeps, source: FileVersion, folder: string): Promise<string> {
  try {
    return await localPath(source, locations.storeOf(source.locationId), folder)
  } catch (cause) {
    if (cause instanceof BlobMissing) throw new CannotMake('unreadable', 'its content is missing', { cause })
    throw cause
  }
}

async function makePictures(
  { workers, programs, tags }: ProduceDeps,
  version: FileVersion,
  path: string,
  recipes: readonly Recipe[],
  inspect: boolean,
  folder: string,
  signal: AbortSignal,
): Promise<Produced> {
  const source = await pictureSource(version, path, { programs, tags, signal, folder })
  const task = { kind: 'pictures', source, folder, inspect, recipes: recipes.map(pictureRecipe) } as const
  const { made, tooSmall, failed, basics } = await workers.run(task, signal)
  const outcomes = recipes.map((recipe): Outcome => {
    const picture = made.find(({ name }) => name === recipe.name)
    if (picture) {
      const { width, height } = picture
      const pyramid = recipe.recipe === 'pyramid' ? { pyramid: true } : {}
      return { recipe, output: { ...picture, metadata: { ...dimensions(width, height), ...pyramid } } }
    }
    if (tooSmall.includes(recipe.name)) return { recipe, tooSmall: true }
    return { recipe, problem: new CannotMake('unreadable', failed[recipe.name] ?? 'nothing was made') }
  })
  return { outcomes, basics }
}

function pictureRecipe(recipe: Recipe): PictureRecipe {
  const { displayname: _, recipe: kind, ...rest } = recipe
  return { ...rest, recipe: kind === 'pyramid' ? 'pyramid' : 'image' }
}

function dimensions(width: number, height: number) {
  return { width, height, aspect_ratio: Math.round((1000 * width) / height) / 1000 }
}

/** What programs of the machine make. */
async function convert(
  { programs }: ProduceDeps,
  { extension, metadata }: FileVersion,
  path: string,
  recipe: Recipe,
  folder: string,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    if (recipe.recipe === 'pdf') {
      const made = await programs.pdf(path, extension, join(folder), signal)
      return { recipe, output: { path: made, extension: 'pdf', mimeType: 'application/pdf', metadata: {} } }
    }
    if (recipe.recipe === 'video') {
      if (typeof metadata.height === 'number' && metadata.height < recipe.size_minimum)
        return { recipe, tooSmall: true }
      const made = await programs.video(path, folder, recipe.size, signal)
      return { recipe, output: { path: made, extension: 'mp4', mimeType: 'video/mp4', metadata: {} } }
    }
    const made = await programs.audio(path, folder, signal)
    return { recipe, output: { path: made, extension: 'm4a', mimeType: 'audio/mp4', metadata: {} } }
  } catch (error) {
    if (error instanceof CannotMake) return { recipe, problem: error }
    throw error
  }
}

/** Stores what was made, and says how everything ended. */
async function conclude(
  { db, events, locations }: ProduceDeps,
  file: StoredFile,
  all: readonly Recipe[],
  { outcomes, basics }: Produced,
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
    const ended = outcomes.map((outcome) => endOf(outcome, recipeHash(outcome.recipe, all), madeOf))
    await db.transaction(async (tx) => {
      if (!(await store.putVersions(tx, file.id, versions))) return
      await store.endRenditions(tx, file.id, ended)
      if (basics) await store.addMetadata(tx, file.id, basics)
      await events.append(
        tx,
        outcomes.flatMap((outcome) => eventOf(file, outcome, took)),
      )
    })
  } catch (error) {
    await Promise.all(kept.map(({ received }) => received.discard().catch(() => {})))
    throw error
  }
}

async function receive(location: { readonly id: number; readonly store: BlobStore }, name: string, output: Output) {
  const hash = createHash('sha256')
  async function* hashed(): AsyncIterable<Buffer> {
    for await (const chunk of createReadStream(output.path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      yield chunk
    }
  }
  const received = await location.store.receive(hashed())
  const { size } = await stat(output.path)
  if (received.size !== size) {
    await received.discard()
    throw new Error(`${received.size} of ${size} bytes were stored`)
  }
  const { extension, mimeType, metadata } = output
  const sha256 = hash.digest('hex')
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

function endOf(outcome: Outcome, hash: string, madeOf: string): store.Ended {
  const { name } = outcome.recipe
  const end = { name, reason: null, needs: null, recipeHash: hash, madeOf }
  if ('output' in outcome) return { ...end, status: 'done' }
  if ('tooSmall' in outcome) return { ...end, status: 'too_small' }
  const { kind, message, needs = null } = outcome.problem
  return { ...end, status: kind === 'unavailable' ? 'not_produced' : 'failed', reason: message, needs }
}

function eventOf(file: StoredFile, outcome: Outcome, took: number): NewEvent[] {
  if ('tooSmall' in outcome) return []
  const { displayname: _, ...recipe } = outcome.recipe
  const base = { actor: null, basetype: 'file', objectId: file.id } as const
  if ('output' in outcome) {
    const { extension, metadata } = outcome.output
    const receipt = { version: recipe.name, extension, ...metadata, took: Math.round(took) / 1000 }
    return [{ ...base, type: 'FILE_PRODUCE', info: { recipe, receipt } }]
  }
  const { kind, message } = outcome.problem
  const receipt = { version: recipe.name, status: kind === 'unavailable' ? 'not_produced' : 'failed', reason: message }
  return [{ ...base, type: 'FILE_PRODUCE_ERROR', info: { recipe, receipt } }]
}

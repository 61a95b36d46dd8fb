import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../../../platform/postgres/db.ts'
import { omit } from '../../../platform/values/records.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { classOf } from '../../classes.ts'
import { type FileVersion, originalOf, type StoredFile } from '../../model.ts'
import { fileTypeOf } from '../../records/file-type.ts'
import type { Recipe, RecipeProgram } from '../model.ts'
import type { MediaFacts } from '../programs/ffmpeg.ts'
import type { RecipePrograms } from '../recipes/added.ts'
import { drawnMarks, isUnmarked, type LoadedMarks, marksForWorkshop, marksOn } from '../recipes/marks.ts'
import { profileFor } from '../recipes/profiles.ts'
import { isDirect, localPath, type Material, openMaterial, ownFolder, type SourceTools } from '../sources/sources.ts'
import { CannotMake } from '../workshop/failure.ts'
import { type Basics, isInline, type PictureRecipe, type PicturesTask } from '../workshop/tasks.ts'
import { shape } from '../workshop/technical.ts'
import { pagesOf } from './pages.ts'

export interface MakeTools extends SourceTools {
  /** The watermark and caption for renditions of the file, and all recipes for it. */
  readonly marks: LoadedMarks
  readonly all: readonly Recipe[]
  readonly storeOf: (locationId: number) => BlobStore
  readonly db: Db
  readonly looksLater: boolean
  readonly recipePrograms: Pick<RecipePrograms, 'make'>
  /** Called with the finished part of a rendition, 0 to 1, for those that take long. */
  readonly onProgress: (name: string, part: number) => void
}

export type Output = (
  | { readonly path: string }
  /** For a small picture: to write it to a file and read it again would take longer. */
  | { readonly content: Uint8Array }
) & {
  readonly extension: string
  readonly mimeType: string
  readonly metadata: Readonly<Record<string, unknown>>
}

export type Outcome =
  | { readonly recipe: Recipe; readonly output: Output }
  | { readonly recipe: Recipe; readonly tooSmall: true }
  | { readonly recipe: Recipe; readonly unmarked: true }
  | { readonly recipe: Recipe; readonly problem: CannotMake }

export interface Produced {
  readonly outcomes: readonly Outcome[]
  /** The metadata found by reading the original. */
  readonly basics: Basics | null
  /** The perceptual hash of a picture; null where none can be computed; undefined: it was not computed. */
  readonly perceptualHash?: bigint | null | undefined
}

/** Makes renditions of a file, each from its source, even if the source is a rendition that is made in this run, too. */
export async function makeAll(tools: MakeTools, file: StoredFile, recipes: readonly Recipe[]): Promise<Produced> {
  const without = recipes.filter((recipe) => isUnmarked(recipe, tools.all, tools.marks))
  const outcomes: Outcome[] = without.map((recipe) => ({ recipe, unmarked: true }))
  const told: Basics[] = []
  let perceptualHash: bigint | null | undefined
  const materials = new Map<FileVersion | Output, Material>()

  function materialOf({ source }: Recipe): Material {
    const made = outcomes.find((one) => one.recipe.name === source)
    const version = file.versions.find(({ name }) => source !== '' && name === source) ?? originalOf(file)
    const content = made && 'output' in made ? made.output : version
    const material = materials.get(content) ?? openContent(tools, file, content)
    materials.set(content, material)
    return material
  }

  for (let rest = recipes.filter((recipe) => !without.includes(recipe)); rest.length > 0; ) {
    const names = new Set(rest.map(({ name }) => name))
    const now = rest.filter(({ source }) => !names.has(source))
    rest = rest.filter(({ source }) => names.has(source))
    for (const [material, group] of Map.groupBy(now, materialOf)) {
      const made = await makeOf(tools, file, material, group)
      outcomes.push(...made.outcomes)
      if (made.basics) told.push(made.basics)
      if (made.perceptualHash !== undefined) perceptualHash = made.perceptualHash
    }
  }
  return { outcomes, basics: told.length > 0 ? Object.assign({}, ...told) : null, perceptualHash }
}

function openContent(tools: MakeTools, file: StoredFile, content: FileVersion | Output): Material {
  if (!('sha256' in content)) {
    const type = { extension: content.extension, class: classOf(content.extension) }
    return openMaterial(type, { isOriginal: false, path: () => pathOfOutput(tools, content) }, tools)
  }
  const path = (): Promise<string> => localPath(content, tools.storeOf(content.locationId), tools.folder)
  return openMaterial(content, { isOriginal: content === originalOf(file), path }, tools)
}

async function pathOfOutput(tools: MakeTools, output: Output): Promise<string> {
  if ('path' in output) return output.path
  const path = join(await ownFolder(tools), `made.${output.extension}`)
  await writeFile(path, output.content)
  return path
}

/** Recipes with the same source share one decoding of it. */
async function makeOf(
  tools: MakeTools,
  file: StoredFile,
  material: Material,
  recipes: readonly Recipe[],
): Promise<Produced> {
  const outcomes: Outcome[] = []
  let basics: Basics | null = null
  let perceptualHash: bigint | null | undefined
  const { class: kind } = originalOf(file)
  try {
    const pictures = recipes.filter(({ recipe }) => recipe === 'image' || recipe === 'pyramid')
    if (pictures.length > 0) {
      const isNew = material.isOriginal && originalOf(file).metadata.blurhash === undefined
      const made = await makePictures(
        tools,
        material,
        pictures,
        isNew ? (tools.looksLater ? 'head' : 'all') : 'nothing',
      )
      outcomes.push(...made.outcomes)
      basics = made.basics
      if (isNew && kind === 'image') perceptualHash = made.perceptualHash
    }
    for (const recipe of recipes) {
      if (pictures.includes(recipe)) continue
      const outcome = await convert(tools, material, recipe)
      // The other recipes would take as long.
      if ('problem' in outcome && outcome.problem.late) throw outcome.problem
      outcomes.push(outcome)
    }
  } catch (error) {
    if (!(error instanceof CannotMake)) throw error
    const done = new Set(outcomes.map(({ recipe }) => recipe))
    outcomes.push(...recipes.filter((recipe) => !done.has(recipe)).map((recipe) => ({ recipe, problem: error })))
  }
  if (!material.isOriginal || (kind !== 'video' && kind !== 'audio')) return { outcomes, basics, perceptualHash }
  const facts = await material.facts().catch((error: unknown) => {
    if (error instanceof CannotMake) return null
    throw error
  })
  return { outcomes, basics: facts ? { ...basics, ...technicalOf(facts) } : basics }
}

async function makePictures(
  { workers, who, signal, folder, marks, all, storeOf, db }: MakeTools,
  material: Material,
  recipes: readonly Recipe[],
  inspect: PicturesTask['inspect'],
): Promise<Produced> {
  const { tells, ...source } = await material.picture()
  let made: Promise<string> | null = null
  const own = (): Promise<string> => {
    made ??= ownFolder({ folder })
    return made
  }
  const profiles = await Promise.all(recipes.map(({ colorprofile }) => profileFor(colorprofile, { db, storeOf }, own)))
  const drawn = await Promise.all(recipes.map((recipe) => marksForWorkshop(drawnMarks(recipe, marks), storeOf, own)))
  const orders = recipes.map((recipe, index) => ({
    ...pictureRecipe(recipe),
    colorprofile: profiles[index] ?? ('srgb' as const),
    marks: drawn[index],
  }))
  const task = {
    kind: 'pictures',
    source,
    folder: orders.every(isInline) ? null : await own(),
    inspect,
    recipes: orders,
  } as const
  const { made: pictures, tooSmall, failed, basics, perceptualHash } = await workers.run(task, signal, who)
  const outcomes = recipes.map((recipe): Outcome => {
    const picture = pictures.find(({ name }) => name === recipe.name)
    if (picture) {
      const { extension, mimeType, width, height } = picture
      const bytes = 'content' in picture ? { content: picture.content } : { path: picture.path }
      const pyramid = recipe.recipe === 'pyramid' ? { pyramid: true } : {}
      const metadata = { ...dimensions(width, height), ...pyramid, ...borne(recipe, all, marks) }
      return { recipe, output: { ...bytes, extension, mimeType, metadata } }
    }
    if (tooSmall.includes(recipe.name)) return { recipe, tooSmall: true }
    return { recipe, problem: new CannotMake('unreadable', failed[recipe.name] ?? 'nothing was made') }
  })
  const look = basics?.blurhash === undefined ? {} : { blurhash: basics.blurhash }
  return { outcomes, basics: basics && tells === 'look' ? look : basics, perceptualHash }
}

/** The stored metadata of a rendition with a watermark or a caption. */
function borne(recipe: Recipe, all: readonly Recipe[], marks: LoadedMarks): Record<string, unknown> {
  const { watermark, caption } = marksOn(recipe, all, marks)
  return { ...(watermark ? { watermark: true } : {}), ...(caption ? { caption: caption.text } : {}) }
}

function pictureRecipe(recipe: Recipe): Omit<PictureRecipe, 'colorprofile'> {
  const rest = omit(recipe, ['displayname', 'watermark', 'caption', 'colorprofile', 'group', 'program'])
  return { ...rest, recipe: recipe.recipe === 'pyramid' ? 'pyramid' : 'image' }
}

/** Runs a program that is installed beside the service; the type of its output is found by the content. */
async function makeByProgram(tools: MakeTools, material: Material, program: RecipeProgram): Promise<Output> {
  const { workers, recipePrograms, signal, who } = tools
  const source = { path: await material.path(), extension: material.extension }
  const folder = await ownFolder(tools)
  const path = await recipePrograms.make(program, source, folder, signal)
  const { extension, class: kind, mimeType } = await fileTypeOf(path, await headOf(path))
  if (kind === 'unknown' && classOf(extension) !== 'unknown') {
    throw new CannotMake('unreadable', `${program.name}: what its program has written is no ${extension}`)
  }
  if (extension === 'pdf') return { path, extension, mimeType, metadata: await pagesIn(tools, path) }
  if (kind !== 'image' || !isDirect(extension)) return { path, extension, mimeType, metadata: {} }
  const look = { kind: 'pictures', source: { path, extension }, folder, recipes: [], inspect: 'head' } as const
  const { basics } = await workers.run(look, signal, who)
  const { width, height } = basics ?? {}
  const metadata = typeof width === 'number' && typeof height === 'number' ? dimensions(width, height) : {}
  return { path, extension, mimeType, metadata }
}

/** Bytes by which the type of a file is recognised. */
const headBytes = 4100

async function headOf(path: string): Promise<Buffer> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes)
  return buffer.subarray(0, bytesRead)
}

/** Runs programs of the machine. */
async function convert(tools: MakeTools, material: Material, recipe: Recipe): Promise<Outcome> {
  try {
    if (recipe.program) return { recipe, output: await makeByProgram(tools, material, recipe.program) }
    if (recipe.recipe === 'pdf') {
      const path = await material.pdf()
      const metadata = await pagesIn(tools, path)
      return { recipe, output: { path, extension: 'pdf', mimeType: 'application/pdf', metadata } }
    }
    const { film } = tools.programs
    const facts = await material.facts()
    const step = { path: await material.path(), folder: await ownFolder(tools), signal: tools.signal }
    const onProgress = (part: number): void => tools.onProgress(recipe.name, part)
    if (recipe.recipe === 'audio') {
      const path = await film.audio(step, facts, onProgress)
      const made = technicalOf(await film.facts({ ...step, path }))
      return { recipe, output: { path, extension: 'm4a', mimeType: 'audio/mp4', metadata: made } }
    }
    if (facts.height !== undefined && facts.height < recipe.size_minimum) return { recipe, tooSmall: true }
    const path = await film.video(step, recipe.size, facts, onProgress)
    const made = technicalOf(await film.facts({ ...step, path }))
    return { recipe, output: { path, extension: 'mp4', mimeType: 'video/mp4', metadata: made } }
  } catch (error) {
    if (error instanceof CannotMake) return { recipe, problem: error }
    throw error
  }
}

const pagesIn = ({ workers, signal, who }: MakeTools, path: string) =>
  pagesOf((task) => workers.run(task, signal, who), path)

function dimensions(width: number, height: number) {
  return { width, height, aspect_ratio: Math.round((1000 * width) / height) / 1000 }
}

/** In the form of `technical_metadata`. */
function technicalOf({ width, height, duration, videoCodecs, audioCodecs }: MediaFacts): Basics {
  return {
    ...(width && height ? { width, height, ...shape(width, height) } : {}),
    ...(duration === undefined ? {} : { duration }),
    ...(videoCodecs.length > 0 ? { video_codec: videoCodecs } : {}),
    ...(audioCodecs.length > 0 ? { audio_codec: audioCodecs } : {}),
  }
}

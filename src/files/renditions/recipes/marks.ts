import type { Queryable } from '../../../platform/postgres/db.ts'
import type { BlobStore, Sha256 } from '../../blobs/blob-store.ts'
import { originalOf } from '../../model.ts'
import { readFiles } from '../../records/store.ts'
import type { Recipe } from '../model.ts'
import { localPath, type WorkFolder } from '../sources/sources.ts'
import type { PictureMarks } from '../workshop/tasks.ts'

type Gravity = 'nw' | 'n' | 'ne' | 'w' | 'c' | 'e' | 'sw' | 's' | 'se'

/** A watermark and how it is drawn on a picture. */
interface Watermark {
  /** The file of its picture. */
  readonly imageId: number
  readonly gravity: Gravity
  /** Percent: 0 is invisible, 100 hides everything below it. */
  readonly dissolve: number
  /** `200`, `30%`, `200x100`, `20%x10%`; empty: its own size. */
  readonly size: string
  readonly tile: boolean
}

/** A text on a picture. */
interface Caption {
  readonly text: string
  /** `24`, or percent of the height; empty: default. */
  readonly size: string
  /** Pixels; null: default. */
  readonly padding: number | null
  readonly multiline: boolean
  /** True: on the picture; false: below it. */
  readonly overlay: boolean
}

/** The marks for renditions of a file, from the settings of the objects that have the file. */
interface Marks {
  readonly watermark: Watermark | null
  readonly caption: Caption | null
}

/** The same with the content of the watermark. */
export interface LoadedMarks {
  readonly watermark: (Watermark & KnownImage) | null
  readonly caption: Caption | null
}

interface KnownImage {
  readonly sha256: Sha256
  readonly locationId: number
  readonly extension: string
}

/** The interface to the capability that knows objects and their settings. */
export interface Marking {
  /** Whether any watermark or caption is configured, as far as this process knows. */
  any(): boolean
  /** Marks for files of objects; other files have none. */
  of(from: Queryable, fileIds: readonly number[]): Promise<ReadonlyMap<number, Marks>>
}

export const noMarks: LoadedMarks = { watermark: null, caption: null }

/** Marks of files with their contents, by file; files that do not exist have none. */
export async function readMarks(
  marking: Marking,
  from: Queryable,
  fileIds: readonly number[],
): Promise<ReadonlyMap<number, LoadedMarks>> {
  if (fileIds.length === 0) return new Map()
  const marks = await marking.of(from, fileIds)
  const imageIds = new Set([...marks.values()].flatMap(({ watermark }) => watermark?.imageId ?? []))
  const images = imageIds.size === 0 ? [] : await readFiles(from, [...imageIds])
  const known = new Map(images.map((file) => [file.id, originalOf(file)]))
  return new Map(
    [...marks].map(([id, { watermark, caption }]): [number, LoadedMarks] => {
      const image = watermark ? known.get(watermark.imageId) : undefined
      if (!watermark || !image) return [id, { watermark: null, caption }]
      const { sha256, locationId, extension } = image
      return [id, { watermark: { ...watermark, sha256, locationId, extension }, caption }]
    }),
  )
}

/** The recipe and all recipes that it is derived from, directly or not. */
function chain(recipe: Recipe, all: readonly Recipe[]): Recipe[] {
  const from = recipe.source === '' ? undefined : all.find(({ name }) => name === recipe.source)
  return from ? [recipe, ...chain(from, all)] : [recipe]
}

/** Whether the look of a rendition depends on the marks of the file. */
export function bearsMarks(recipe: Recipe, all: readonly Recipe[]): boolean {
  return chain(recipe, all).some(({ watermark, caption }) => watermark || caption)
}

/**
 * Whether a rendition with a watermark cannot be made: without a watermark it would show the picture that should be
 * protected.
 */
export function isUnmarked(recipe: Recipe, all: readonly Recipe[], { watermark }: LoadedMarks): boolean {
  return watermark === null && chain(recipe, all).some((one) => one.watermark)
}

/** The marks visible on a rendition, drawn on it or on its source. */
export function marksOn(recipe: Recipe, all: readonly Recipe[], { watermark, caption }: LoadedMarks): LoadedMarks {
  const line = chain(recipe, all)
  return {
    watermark: line.some((one) => one.watermark) ? watermark : null,
    caption: line.some((one) => one.caption) ? caption : null,
  }
}

/** The marks that the recipe draws itself, and that the hash of a rendition covers; null: none. */
export function drawnMarks(recipe: Recipe, marks: LoadedMarks): LoadedMarks | null {
  const watermark = recipe.watermark ? marks.watermark : null
  const caption = recipe.caption ? marks.caption : null
  return recipe.watermark || caption ? { watermark, caption } : null
}

/** The members of the marks that change how a rendition looks: not the location of the watermark's picture. */
export function visible({ watermark, caption }: LoadedMarks): unknown {
  if (!watermark) return { watermark, caption }
  const { imageId: _, locationId: __, ...seen } = watermark
  return { watermark: seen, caption }
}

/** The marks in the form for the workshop: with a path of the picture. */
export async function marksForWorkshop(
  marks: LoadedMarks | null,
  storeOf: (locationId: number) => BlobStore,
  folder: WorkFolder,
): Promise<PictureMarks | undefined> {
  if (!marks || (!marks.watermark && !marks.caption)) return undefined
  const { watermark, caption } = marks
  if (!watermark) return { watermark: null, caption }
  const { gravity, dissolve, size, tile, extension } = watermark
  const path = await localPath(watermark, storeOf(watermark.locationId), folder)
  return { watermark: { source: { path, extension }, gravity, dissolve, size, tile }, caption }
}

import { createWriteStream } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { BlobMissing, type BlobStore } from '../../blobs/blob-store.ts'
import type { FileVersion } from '../../model.ts'
import type { MediaFacts } from '../programs/ffmpeg.ts'
import { isDocument } from '../programs/office.ts'
import type { Programs } from '../programs/programs.ts'
import { CannotMake } from '../workshop/failure.ts'
import type { MediaSource } from '../workshop/tasks.ts'
import type { Workers } from '../workshop/workers.ts'

/** A folder, or a function that makes it when it is needed. */
export type WorkFolder = string | (() => Promise<string>)

export interface SourceTools {
  readonly programs: Programs
  readonly workers: Pick<Workers, 'run'>
  /** The user whose share of the processes this uses. */
  readonly who: string
  readonly signal: AbortSignal
  /** The folder for intermediate files. */
  readonly folder: WorkFolder
}

/** A source for pictures. */
export interface PictureSource extends MediaSource {
  /** The metadata that it gives about the original: everything, or only its look. */
  readonly tells: 'all' | 'look'
}

/** The source of renditions; intermediate results for several of them are made once. */
export interface Material {
  readonly extension: string
  readonly isOriginal: boolean
  path(): Promise<string>
  /** @throws {CannotMake} */
  picture(): Promise<PictureSource>
  /** The path of the document as PDF. @throws {CannotMake} */
  pdf(): Promise<string>
  /** Facts about a film or a sound. @throws {CannotMake} */
  facts(): Promise<MediaFacts>
}

/** Formats that the processes of the workshop can read by themselves. */
const direct = new Set('jpg jpeg jfif png webp gif tif tiff svg avif heic heif pdf ai'.split(' '))

export function isDirect(extension: string): boolean {
  return direct.has(extension)
}

/** Formats with an embedded preview. */
const withEmbeddedPreview = new Set('arw cr2 cr3 crw dng nef raf rw2 psd eps indd'.split(' '))

/**
 * A path at which programs find a content: its own, if it is stored in a local folder, or that of a copy.
 * @throws {CannotMake} where a content that would be copied is missing.
 */
export async function localPath(
  version: Pick<FileVersion, 'sha256'>,
  store: Pick<BlobStore, 'read' | 'local'>,
  folder: WorkFolder,
): Promise<string> {
  const own = store.local?.(version.sha256)
  if (own !== undefined) return own
  const path = join(await pathOf(folder), version.sha256)
  const content = await store.read(version.sha256).catch((cause: unknown) => {
    throw cause instanceof BlobMissing ? new CannotMake('unreadable', 'its content is missing', { cause }) : cause
  })
  await pipeline(content, createWriteStream(path))
  return path
}

export function openMaterial(
  { extension, class: kind }: Pick<FileVersion, 'extension' | 'class'>,
  given: { readonly isOriginal: boolean; readonly path: () => Promise<string> },
  tools: SourceTools,
): Material {
  const { programs, workers, signal, who } = tools
  const path = once(given.path)
  const pdf = once(async () => {
    if (!isDocument(extension)) throw unknownType(extension)
    return programs.office.pdf(await path(), extension, await ownFolder(tools), signal)
  })
  const step = async () => ({ path: await path(), folder: await ownFolder(tools), signal })

  async function picture(): Promise<PictureSource> {
    if (direct.has(extension)) return { path: await path(), extension, tells: 'all' }
    if (withEmbeddedPreview.has(extension)) {
      const task = {
        kind: 'embedded',
        source: { path: await path(), extension },
        folder: await ownFolder(tools),
      } as const
      return { path: await workers.run(task, signal, who), extension: 'jpg', tells: 'look' }
    }
    if (isDocument(extension)) return { path: await pdf(), extension: 'pdf', tells: 'all' }
    if (kind === 'video') return { path: await programs.film.frame(await step()), extension: 'png', tells: 'look' }
    if (kind === 'audio') {
      const cover = await programs.film.cover(await step())
      return { path: cover.path, extension: 'png', tells: 'look' }
    }
    throw unknownType(extension)
  }

  return {
    extension,
    isOriginal: given.isOriginal,
    path,
    pdf,
    picture: once(picture),
    facts: once(async () => programs.film.facts(await step())),
  }
}

/** A folder for one step: programs choose the names of their output. */
export async function ownFolder({ folder }: Pick<SourceTools, 'folder'>): Promise<string> {
  return mkdtemp(join(await pathOf(folder), 'step-'))
}

async function pathOf(place: WorkFolder): Promise<string> {
  return typeof place === 'string' ? place : place()
}

function unknownType(extension: string): CannotMake {
  return new CannotMake('unavailable', `nothing here makes pictures of files of the type ${extension}`)
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make()
    return made
  }
}

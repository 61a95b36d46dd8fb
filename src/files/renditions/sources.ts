import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { FileVersion } from '../model.ts'
import type { Programs } from './programs.ts'
import type { Tags } from './tags.ts'
import { CannotMake } from './workshop/failure.ts'
import type { MediaSource } from './workshop/tasks.ts'

export interface SourceTools {
  readonly programs: Programs
  readonly tags: Pick<Tags, 'embedded'>
  readonly signal: AbortSignal
  /** Where whatever comes in between may lie. */
  readonly folder: string
}

/** What the processes of the workshop read by themselves. */
const direct = new Set('jpg jpeg jfif png webp gif tif tiff svg avif heic heif pdf ai'.split(' '))

/** Documents that LibreOffice opens. */
const documents = new Set('csv doc docx odp ods odt ppsx ppt pptx rtf txt xls xlsx'.split(' '))

/** Files that carry a picture of themselves. */
const carriers = new Set('arw cr2 cr3 crw dng nef raf rw2 psd eps indd'.split(' '))

/** A path at which programs find a content: its own, where it lies in a folder, else that of a copy. */
export async function localPath(
  version: Pick<FileVersion, 'sha256'>,
  store: Pick<BlobStore, 'read' | 'local'>,
  folder: string,
): Promise<string> {
  const own = store.local?.(version.sha256)
  if (own !== undefined) return own
  const path = join(folder, version.sha256)
  await pipeline(await store.read(version.sha256), createWriteStream(path))
  return path
}

/** Something that pictures of an original can be made of. @throws {CannotMake} */
export async function pictureSource(
  { extension, class: kind }: Pick<FileVersion, 'extension' | 'class'>,
  path: string,
  { programs, tags, signal, folder }: SourceTools,
): Promise<MediaSource> {
  if (direct.has(extension)) return { path, extension }
  if (carriers.has(extension)) return { path: await tags.embedded(path, folder), extension: 'jpg' }
  if (documents.has(extension)) return { path: await programs.pdf(path, extension, folder, signal), extension: 'pdf' }
  if (kind === 'video') return { path: await programs.frame(path, folder, signal), extension: 'png' }
  if (kind === 'audio') return { path: await programs.cover(path, folder, signal), extension: 'png' }
  throw new CannotMake('unavailable', `nothing here makes pictures of files of the type ${extension}`)
}

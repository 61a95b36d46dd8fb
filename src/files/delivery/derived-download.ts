import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { namesProfile } from '../../config/service.ts'
import { AppError } from '../../platform/errors.ts'
import { currentDeadline } from '../../platform/limits/deadline.ts'
import { createRequestLimiter } from '../../platform/limits/request-limiter.ts'
import { transferAll } from '../../platform/memory/buffer-ownership.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { isViewable } from '../images/service.ts'
import { type FileVersion, original, type StoredFile } from '../model.ts'
import { type ColourRequest, coloursOf } from '../renditions/recipes/colours.ts'
import { type LoadedMarks, marksForWorkshop, visible } from '../renditions/recipes/marks.ts'
import { localPath } from '../renditions/sources/sources.ts'
import type { WorkFolders } from '../renditions/sources/work-folders.ts'
import { CannotMake } from '../renditions/workshop/failure.ts'
import {
  type ColourProfile,
  type MetadataToWrite,
  pictureFormats,
  type SizedTask,
} from '../renditions/workshop/tasks.ts'
import type { Workers } from '../renditions/workshop/workers.ts'
import type { Content } from './deliver.ts'
import { partFor } from './part.ts'
import { type PictureTransform, refuse, type TransformRequest } from './transform-request.ts'

export interface DerivedDownloadDeps {
  readonly folders: WorkFolders
  readonly workers: Pick<Workers, 'run'>
  readonly storeOf: (locationId: number) => BlobStore
  /** Most bytes of a content that may be copied for a download. */
  readonly mostBytes: number
  readonly profiles: {
    /** The definition of a colour profile that presets name; undefined: there is no profile of that name. */
    named(name: string): string | undefined
    /** The profile in the form for the workshop. @throws {CannotMake} */
    load(named: string, folder: string): Promise<ColourProfile>
  }
}

/** A content that is made for a download. */
export interface DerivedDownload {
  readonly content: Omit<Content, 'size'>
  readonly extension: string
  /** Makes the content; it exists until `end`. @throws {AppError} */
  make(signal: AbortSignal): Promise<{ readonly size: number; readonly store: Pick<BlobStore, 'read'> }>
  end(): void
}

/** In these formats, metadata is stored apart from the picture, and ExifTool can write it. */
export const strippable: ReadonlySet<string> = new Set('jpg jpeg jfif png tif tiff webp gif heic heif avif'.split(' '))
const mimeTypes = {
  jpg: 'image/jpeg',
  png: 'image/png',
  tif: 'image/tiff',
  gif: 'image/gif',
  webp: 'image/webp',
  bmp: 'image/bmp',
}
/** The output format for pictures that keep their format. */
const written: Readonly<Record<string, NonNullable<PictureTransform['format']>>> = { ...pictureFormats, jfif: 'jpg' }
const usualCompression = 85

/** The extension of a copy in a format of a preset, made of a version with this extension. */
export function extensionOfCopy(format: string, extension: string): string {
  return Object.hasOwn(pictureFormats, format)
    ? pictureFormats[format as keyof typeof pictureFormats]
    : (written[extension] ?? 'jpg')
}

/** Copies for downloads: of another size or format, or without embedded metadata. */
export function createDerivedDownloads({ folders, workers, storeOf, mostBytes, profiles }: DerivedDownloadDeps) {
  // Tiles for viewers use the same processes, and must not wait behind whole pictures.
  const limiter = createRequestLimiter({ concurrency: 1, waiting: 50 })

  /** @throws {AppError} `UrlParameterNotSupported` naming the wrong parameter. */
  function pictured(
    file: StoredFile,
    version: FileVersion,
    {
      transform,
      preset,
      marks,
      metadata,
      tag,
    }: Readonly<{
      transform: PictureTransform
      preset: string | null
      marks: LoadedMarks
      metadata: MetadataToWrite | null
      tag: string
    }>,
  ): DerivedDownload {
    const pyramid = version.name === original ? file.versions.find((one) => one.metadata.pyramid === true) : undefined
    const source = isViewable(version) ? version : pyramid
    const { width, height } = source?.metadata ?? {}
    if (!source || typeof width !== 'number' || typeof height !== 'number') {
      throw refuse('version', version.name, 'it is no picture that others can be made of, or not yet')
    }
    const format = transform.format ?? written[version.extension] ?? 'jpg'
    const { density, compression } = transform
    // A preset applies to pictures of all formats.
    if (compression !== null && preset === null && format !== 'jpg' && format !== 'webp') {
      throw refuse('quality', `${compression}`, `the format ${format} has none`)
    }
    if (metadata && !strippable.has(format)) {
      throw refuse('metadata', 'mapping', `nothing can be written into pictures in the format ${format}`)
    }
    if (transform.watermark && !marks.watermark) throw refuse('preset', preset ?? '', 'the file has no watermark')
    const { mirror, turn } = transform
    const size = partFor({ width, height }, transform)
    const task = { ...size, format, density, mirror, turn, compression: compression ?? usualCompression }
    const watermark = transform.watermark ? { watermark: marks.watermark, caption: null } : null
    return making(version, { tag, extension: format, mimeType: mimeTypes[format] }, async (folder, signal) => {
      const path = await localPath(source, storeOf(source.locationId), folder)
      const from = { path, extension: source.extension }
      const drawn = await marksForWorkshop(watermark, storeOf, folder)
      const colours = transform.colours && (await coloursFor(transform.colours, folder))
      const made = await workers.run({ kind: 'sized', source: from, folder, marks: drawn, colours, ...task }, signal)
      if (metadata)
        await workers.run({ kind: 'write', source: { path: made.path, extension: format }, folder, metadata }, signal)
      return made.path
    })
  }

  /** A copy without embedded metadata, or with metadata to be written into it. @throws {AppError} as above. */
  function changed(
    version: FileVersion,
    { metadata, wish, tag }: { readonly metadata: MetadataToWrite | null; readonly wish: string; readonly tag: string },
  ): DerivedDownload {
    const { extension, mimeType, size } = version
    if (!strippable.has(extension)) {
      const what = metadata ? 'nothing can be written into' : 'it cannot be taken out of'
      throw refuse('metadata', wish, `${what} files of the type ${extension}`)
    }
    if (size > mostBytes) throw refuse('metadata', wish, 'the file is too large')
    return making(version, { tag, extension, mimeType }, async (folder, signal) => {
      const path = join(folder, `copy.${extension}`)
      await pipeline(await storeOf(version.locationId).read(version.sha256), createWriteStream(path), { signal })
      const source = { path, extension }
      if (metadata) await workers.run({ kind: 'write', source, folder, metadata }, signal)
      else await workers.run({ kind: 'strip', source, folder }, signal)
      return path
    })
  }

  async function coloursFor(
    { colorspace, colorprofile }: ColourRequest,
    folder: string,
  ): Promise<NonNullable<SizedTask['colours']>> {
    if (!namesProfile(colorprofile)) return coloursOf(colorspace, null)
    const named = profiles.named(colorprofile)
    if (named === undefined) throw new CannotMake('unreadable', `there is no profile ${colorprofile}`)
    const profile = await profiles.load(named, folder)
    return coloursOf(colorspace, typeof profile === 'string' ? null : profile)
  }

  function making(
    { createdAt }: FileVersion,
    { tag, extension, mimeType }: { readonly tag: string; readonly extension: string; readonly mimeType: string },
    work: (folder: string, signal: AbortSignal) => Promise<string>,
  ): DerivedDownload {
    const ending = Promise.withResolvers<void>()
    return {
      content: { sha256: tag, mimeType, createdAt },
      extension,
      async make(signal) {
        const folder = await folders.make()
        ending.promise.then(() => folder[Symbol.asyncDispose]()).catch(() => {})
        try {
          const path = await limiter.run(currentDeadline(), () => work(folder.path, signal))
          const { size } = await stat(path)
          return { size, store: { read: async (_: string, part) => transferAll(createReadStream(path, part)) } }
        } catch (error) {
          if (!(error instanceof CannotMake)) throw error
          throw failure(error)
        }
      },
      end: ending.resolve,
    }
  }

  /** `marks`: those that pictures of the file may have. */
  return (
    file: StoredFile,
    version: FileVersion,
    transform: TransformRequest,
    { metadata, marks }: { readonly metadata: MetadataToWrite | null; readonly marks: LoadedMarks },
  ): DerivedDownload => {
    const { picture, preset } = transform
    const tag = createHash('sha256')
      .update(
        JSON.stringify([
          version.sha256,
          transform,
          metadata,
          visible(marks),
          profiles.named(picture?.colours?.colorprofile ?? ''),
        ]),
      )
      .digest('hex')
    if (picture) return pictured(file, version, { transform: picture, preset, marks, metadata, tag })
    return changed(version, { metadata, wish: transform.mapping ?? 'remove', tag })
  }
}

function failure(error: CannotMake): AppError {
  const message = `The copy cannot be made: ${error.message}.`
  if (error.kind === 'unavailable') return new AppError('ServiceUnavailable', {}, { message, cause: error })
  return new AppError('UrlParameterNotSupported', { param: 'version' }, { message, cause: error })
}

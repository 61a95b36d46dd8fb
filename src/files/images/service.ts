import { createHash } from 'node:crypto'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { currentDeadline } from '../../platform/limits/deadline.ts'
import { createRequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { type FileVersion, original, type StoredFile } from '../model.ts'
import type { WorkFolders } from '../renditions/sources/work-folders.ts'
import { CannotMake } from '../renditions/workshop/failure.ts'
import type { MediaSource, RegionTask } from '../renditions/workshop/tasks.ts'
import type { Workers } from '../renditions/workshop/workers.ts'
import { type ImageReference, readIiifAddress, readZoomAddress } from './address.ts'
import { type IiifVersion, imageInfo, readTransformRequest, type Size } from './iiif.ts'
import { createLocalCopies } from './local-copies.ts'
import { pageAt, readPageName } from './pages.ts'
import { tileOf } from './zoom.ts'

export interface ImageDeps {
  readonly externalUrl: string
  readonly folders: WorkFolders
  readonly workers: Workers
  readonly storeOf: (locationId: number) => BlobStore
  /** Opens the version at an address for a caller; `keep`: seconds for which it may be cached. @throws {AppError} */
  readonly open: (
    actor: Actor | null,
    place: Pick<ImageReference, 'fileId' | 'hash' | 'version' | 'objUuid'>,
    signature: string | undefined,
  ) => Promise<{ readonly file: StoredFile; readonly version: FileVersion; readonly keep: number }>
}

/** An image that is made for a request. */
export interface Cut {
  readonly tag: string
  readonly keep: number
  make(signal: AbortSignal): Promise<{ readonly content: Uint8Array; readonly mimeType: string }>
}

/** The addresses for `info.json`. A client that gets the description of version 2 uses the rules of version 2 from then on. */
const bases: Readonly<Record<IiifVersion, string>> = { 2: '/api/v1/eas/iiif2', 3: '/api/v1/eas/iiif' }

/** The members of a request besides its path. */
export interface IiifRequest {
  readonly signature: string | undefined
  readonly version: IiifVersion
}

export type IiifAnswer =
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'info'; readonly info: Record<string, unknown>; readonly keep: number }
  | { readonly kind: 'image'; readonly image: Cut }

/** Images that are made at the same time, and requests that may wait; one caller may have half of the waiting places. */
const atATime = 8
const mostWaiting = 200

/** Formats that the image processes can read directly. For other originals, clients ask for a rendition. */
const readable = new Set('jpg jpeg jfif png webp gif tif tiff avif'.split(' '))

/** Whether viewers can get parts of a version. */
export function isViewable({ extension, metadata }: FileVersion): boolean {
  return readable.has(extension) && metadata.width !== undefined && metadata.height !== undefined
}

/** The source from which parts are cut out. */
interface Pictured {
  readonly source: FileVersion
  readonly size: Size
  readonly page?: NonNullable<MediaSource['page']>
}

/** Parts of pictures for viewers, cut by processes of the workshop, from pyramids where they exist. */
export function createImages({ externalUrl, folders, workers, storeOf, open }: ImageDeps) {
  const copies = createLocalCopies(folders)
  const limiter = createRequestLimiter({ concurrency: atATime, waiting: mostWaiting, waitingOfCaller: mostWaiting / 2 })

  /** @param page number of a document's page, counted from 1; null: the version is a picture. */
  function pictureOf(file: StoredFile, version: FileVersion, page: number | null = null): Pictured {
    if (page !== null) {
      const size = pageAt(version, page)
      return { source: version, size, page: { number: page, ...size } }
    }
    const pyramid = file.versions.find(
      ({ metadata: { pyramid, watermark, caption } }) => pyramid === true && !watermark && !caption,
    )
    const source = version.name === original && pyramid ? pyramid : version
    const { width, height } = source.metadata
    if (typeof width !== 'number' || typeof height !== 'number' || !isViewable(source)) {
      const message = 'The version is no picture, or not yet.'
      throw new AppError('ResourceNotFound', { version: version.name }, { message })
    }
    return { source, size: { width, height } }
  }

  function cut({ source, page }: Pictured, keep: number, wish: Omit<RegionTask, 'kind' | 'source'>): Cut {
    const tag = createHash('sha256')
      .update(JSON.stringify([source.sha256, wish, ...(page ? [page] : [])]))
      .digest('hex')
      .slice(0, 32)
    return {
      tag,
      keep,
      async make(signal) {
        try {
          return await limiter.run(currentDeadline(), async () => {
            const path = await copies.path(source, storeOf(source.locationId))
            const media = { path, extension: source.extension, ...(page ? { page } : {}) }
            return workers.run({ kind: 'region', source: media, ...wish }, signal)
          })
        } catch (error) {
          if (!(error instanceof CannotMake)) throw error
          throw new AppError('ResourceNotFound', { version: source.name }, { message: `No picture: ${error.message}.` })
        }
      },
    }
  }

  return {
    /** @throws {AppError} `ResourceNotFound`, `InsufficientRights`, `UrlParameterNotSupported`. */
    async iiif(actor: Actor | null, path: string, { signature, version }: IiifRequest): Promise<IiifAnswer> {
      const address = readIiifAddress(path)
      if (!address) throw new AppError('ResourceNotFound', { path: path.slice(0, 200) })
      const { version: name, page } = readPageName(address.version)
      const found = await open(actor, { ...address, version: name }, address.signature ?? signature)
      const picture = pictureOf(found.file, found.version, page)
      const { size } = picture
      const id = `${externalUrl}${bases[version]}/${address.segments.map(encodeURIComponent).join('/')}`
      if (address.wanted === 'image') {
        const wish = { ...readTransformRequest(address, size, version), sharpPixels: false }
        return { kind: 'image', image: cut(picture, found.keep, wish) }
      }
      if (address.wanted === 'base') return { kind: 'redirect', to: `${id}/info.json` }
      return { kind: 'info', info: imageInfo(id, size, version), keep: found.keep }
    },

    /** @throws {AppError} as above. */
    async zoom(
      actor: Actor | null,
      path: string,
      { signature, objUuid }: { readonly signature: string | undefined; readonly objUuid: string | undefined },
    ): Promise<Cut> {
      const address = readZoomAddress(path)
      if (!address) throw new AppError('ResourceNotFound', { path: path.slice(0, 200) })
      if (objUuid !== undefined && address.objUuid !== null && objUuid !== address.objUuid) {
        throw new AppError('UrlParameterNotSupported', { param: 'obj_uuid', value: objUuid })
      }
      const place = { ...address, objUuid: address.objUuid ?? objUuid ?? null }
      const found = await open(actor, place, address.signature ?? signature)
      const picture = pictureOf(found.file, found.version)
      return cut(picture, found.keep, tileOf(address, picture.size))
    },

    close(): void {
      copies.close()
    },
  }
}

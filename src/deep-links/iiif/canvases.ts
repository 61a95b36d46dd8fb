/** Files as canvases: a picture has pixels, a film and a sound have seconds, a document has pages. */
import { pageName, pageSizesOf } from '../../files/service.ts'
import type { Wire } from '../../objects/service.ts'
import type { FileWire } from '../files.ts'

interface VersionWire extends Wire {
  readonly class: string
  readonly extension: string
  readonly hash: string
  readonly url: string
  readonly iiif_url?: string
  readonly width?: string
  readonly height?: string
  readonly duration?: string
  readonly page_sizes?: unknown
}

/** How addresses of versions are made. */
export interface CanvasContext {
  readonly externalUrl: string
  /** Base of the canvases' addresses. */
  readonly base: string
  /**
   * Strangers get addresses without a signature, since they have access without one; these addresses are the same for all
   * callers. Others get signed addresses.
   */
  readonly isStranger: boolean
  /** The address of the original for downloads. */
  readonly originalOf: (file: FileWire) => string
}

interface Body {
  readonly resource: Wire
  readonly size: { readonly width: number; readonly height: number } | null
  readonly duration: number | null
}

/** Extensions that browsers play, with their types. */
const films: Readonly<Record<string, string>> = {
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  webm: 'video/webm',
  ogv: 'video/ogg',
}
const sounds: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
}

/** The version that was uploaded. */
const original = 'original'
/** Pages of one document that are shown. */
const mostPages = 2000

/**
 * None: nothing of the file can be shown to the reader. Each canvas is made when it is read.
 * @param number number of the file, used in the ids of its canvases
 */
export function* canvasesOf(file: FileWire, number: number, context: CanvasContext): Generator<Wire> {
  const versions = shownVersions(file)
  const thumbnail = thumbnailOf(file, versions, context)
  const name = `${file.original_filename ?? number}`
  const pages = pageBodies(file, versions, context)
  if (pages.length > 1) {
    for (const [index, makeBody] of pages.entries()) {
      const body = makeBody()
      const label = `${name}, ${index + 1}`
      yield canvas(`${number}-${index + 1}`, body, { context, file, label, thumbnail: smallOf(body) })
    }
    return
  }
  const body = pages[0]?.() ?? bodyOf(file, versions, context)
  if (body) yield canvas(`${number}`, body, { context, file, label: name, thumbnail })
}

interface Shown {
  readonly context: CanvasContext
  readonly file: FileWire
  readonly label: string
  readonly thumbnail: Wire | null
}

function canvas(name: string, body: Body, { context, file, label, thumbnail }: Shown): Wire {
  const id = `${context.base}/canvas/${name}`
  const takesOriginal = (file.versions as Wire | undefined)?.original as
    | { readonly _download_allowed?: boolean }
    | undefined
  return {
    id,
    type: 'Canvas',
    label: { none: [label] },
    ...(body.size ?? {}),
    ...(body.duration === null ? {} : { duration: body.duration }),
    ...(thumbnail ? { thumbnail: [thumbnail] } : {}),
    ...(takesOriginal?._download_allowed
      ? {
          rendering: [
            {
              id: context.originalOf(file),
              type: kindOf(file),
              label: { none: [`${file.original_filename ?? label}`] },
            },
          ],
        }
      : {}),
    items: [
      {
        id: `${id}/page`,
        type: 'AnnotationPage',
        items: [{ id: `${id}/painting`, type: 'Annotation', motivation: 'painting', body: body.resource, target: id }],
      },
    ],
  }
}

/**
 * The pages of a document, where they are known: of the original that is a PDF, for readers who may look at it, else of a
 * rendition that is one, which documents of other kinds have.
 */
function pageBodies(file: FileWire, versions: readonly Named[], context: CanvasContext): readonly (() => Body)[] {
  const { page_sizes: ofOriginal } = (file.technical_metadata ?? {}) as Wire
  const [paged] = versions
    .map(([name, version]) => {
      const runs = name === original ? ofOriginal : version.page_sizes
      return { name, version, sizes: pageSizesOf(runs).slice(0, mostPages) }
    })
    .filter(({ sizes }) => sizes.length > 0)
    .toSorted((a, b) => Number(b.name === original) - Number(a.name === original))
  if (!paged) return []
  const { name, version, sizes } = paged
  const signature = new URL(version.url).searchParams.get('x-svc-signature')
  const signed = context.isStranger || signature === null ? '' : `/${encodeURIComponent(signature)}`
  const place = `${context.externalUrl}/api/v1/eas/iiif/${file._id}/${version.hash}${signed}`
  return sizes.map((size, index) => () => ({
    resource: imageAt(`${place}/${encodeURIComponent(pageName(name, index + 1))}`, size),
    size,
    duration: null,
  }))
}

/** The same picture as a thumbnail: made by its image service. */
function smallOf({ resource, size }: Body): Wire | null {
  const [service] = (resource.service ?? []) as readonly [{ readonly id: string }?]
  if (!service || !size) return null
  const scale = Math.min(1, thumbnailSide / Math.max(size.width, size.height))
  const [width, height] = [Math.max(1, Math.round(size.width * scale)), Math.max(1, Math.round(size.height * scale))]
  return {
    ...resource,
    id: `${service.id}/full/${width},${height}/0/default.jpg`,
    width,
    height,
  }
}

function kindOf(file: FileWire): string {
  const kinds: Readonly<Record<string, string>> = { image: 'Image', video: 'Video', audio: 'Sound', office: 'Text' }
  return kinds[`${file.class}`] ?? 'Dataset'
}

type Named = readonly [name: string, version: VersionWire]

/** Existing versions that the reader may see. */
function shownVersions(file: FileWire): Named[] {
  const versions = (file.versions ?? {}) as Readonly<Record<string, VersionWire & { readonly _show_allowed?: boolean }>>
  return Object.entries(versions).filter(([, one]) => one._show_allowed === true && typeof one.url === 'string')
}

function bodyOf(file: FileWire, versions: readonly Named[], context: CanvasContext): Body | null {
  if (file.class === 'video')
    return playedBody(file, versions, films, 'Video', context) ?? pictureBody(file, versions, context)
  if (file.class === 'audio') return playedBody(file, versions, sounds, 'Sound', context)
  return pictureBody(file, versions, context)
}

/** The largest version that browsers can play. */
function playedBody(
  file: FileWire,
  versions: readonly Named[],
  types: Readonly<Record<string, string>>,
  type: 'Video' | 'Sound',
  { externalUrl, isStranger }: CanvasContext,
): Body | null {
  const found = versions
    .filter(([, { extension, duration }]) => Object.hasOwn(types, extension) && Number(duration) > 0)
    .sort(([, a], [, b]) => Number(b.height ?? 0) - Number(a.height ?? 0))[0]
  if (!found) return null
  const [name, version] = found
  const duration = Number(version.duration)
  const size = type === 'Video' ? sizeOf(version) : null
  if (type === 'Video' && !size) return null
  const id = isStranger
    ? `${externalUrl}/api/v1/eas/download/${file._id}/${version.hash}/${encodeURIComponent(name)}`
    : version.url
  return { resource: { id, type, format: types[version.extension], ...(size ?? {}), duration }, size, duration }
}

/** The largest picture of it with an image service. */
function pictureBody(file: FileWire, versions: readonly Named[], context: CanvasContext): Body | null {
  const [largest] = pictures(versions).toSorted(([, a], [, b]) => Number(b.width) - Number(a.width))
  if (!largest) return null
  const size = sizeOf(largest[1])
  return size && { resource: pictureResource(file, largest, size, context), size, duration: null }
}

const pictures = (versions: readonly Named[]): Named[] =>
  versions.filter(([, one]) => one.iiif_url !== undefined && sizeOf(one) !== null)

/** A picture that fits into a square of this many pixels is small enough for lists. */
const thumbnailSide = 400

function thumbnailOf(file: FileWire, versions: readonly Named[], context: CanvasContext): Wire | null {
  const small = pictures(versions)
    .filter(([, { width, height }]) => Math.max(Number(width), Number(height)) <= thumbnailSide)
    .toSorted(([, a], [, b]) => Number(b.width) - Number(a.width))[0]
  if (!small) return null
  const size = sizeOf(small[1])
  return size && pictureResource(file, small, size, context)
}

function pictureResource(
  file: FileWire,
  [name, version]: Named,
  size: { readonly width: number; readonly height: number },
  { externalUrl, isStranger }: CanvasContext,
): Wire {
  const address = isStranger
    ? `${externalUrl}/api/v1/eas/iiif/${file._id}/${version.hash}/${encodeURIComponent(name)}`
    : (version.iiif_url as string)
  return imageAt(address, size)
}

/** A picture with an image service at an address. */
function imageAt(address: string, size: { readonly width: number; readonly height: number }): Wire {
  return {
    id: `${address}/full/max/0/default.jpg`,
    type: 'Image',
    format: 'image/jpeg',
    ...size,
    service: [{ id: address, type: 'ImageService3', profile: 'level2' }],
  }
}

function sizeOf({ width, height }: Pick<VersionWire, 'width' | 'height'>) {
  const size = { width: Number(width), height: Number(height) }
  return size.width > 0 && size.height > 0 ? size : null
}

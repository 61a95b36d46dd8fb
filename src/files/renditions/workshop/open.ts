import { readFile } from 'node:fs/promises'
import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp'
import { CannotMake, reasonOf } from './failure.ts'
import { decodeHeif } from './heif.ts'
import { drawPage } from './pdf.ts'
import { displayP3, saysDisplayP3, withProfile } from './profiled.ts'
import type { MediaSource } from './tasks.ts'

/** An opened source, from which any number of pictures can be made. */
export interface Opened {
  readonly metadata: Metadata
  /** Pages of a document, where it is one. */
  readonly pages: number | null
  open(options?: SharpOptions): Sharp
}

/** Longest side of a vector drawing. */
const largestDrawing = 4000

/** @param longest longest side of a page to be drawn. @throws {CannotMake} when the type cannot be read here. */
export async function openSource(
  { path, extension, page }: MediaSource,
  pixels: number,
  longest = largestDrawing / 2,
): Promise<Opened> {
  const limits: SharpOptions = { limitInputPixels: pixels, failOn: 'none', sequentialRead: true }
  if (extension === 'pdf' || extension === 'ai') {
    const { raw, pages } = await drawPage(path, longest, pixels, page?.number)
    return { ...(await opened((options) => sharp(raw.data, { ...limits, ...options, raw }))), pages }
  }
  if (extension === 'svg') {
    // From memory: a drawing that is opened by its path could include files beside it.
    const content = await readFile(path)
    const { width = 1, height = 1 } = await sharp(content, limits).metadata().catch(unreadable)
    const density = Math.max(1, Math.min(2400, (72 * largestDrawing) / 2 / Math.max(width, height, 1)))
    return { ...(await opened((options) => sharp(content, { ...limits, ...options, density }))), pages: null }
  }
  const plain = (options?: SharpOptions): Sharp => sharp(path, { ...limits, ...options })
  const direct = await opened(plain).catch((error: unknown) => {
    if (['heic', 'heif', 'avif'].includes(extension)) return null
    throw error
  })
  if (direct && !isHevc(direct.metadata)) return { ...direct, pages: null }
  return { ...(await openedHeif(await readFile(path), direct?.metadata.icc, limits)), pages: null }
}

/** Decoded here; its profile defines its colours. */
async function openedHeif(content: Buffer, icc: Uint8Array | undefined, limits: SharpOptions) {
  const raw = await decodeHeif(content, Number(limits.limitInputPixels))
  const profile = icc ?? (saysDisplayP3(content) ? await displayP3() : null)
  if (profile === null) return opened((options) => sharp(raw.data, { ...limits, ...options, raw }))
  const picture = withProfile(raw, profile)
  return opened((options) => sharp(picture, { ...limits, ...options }))
}

async function opened(open: Opened['open']): Promise<Omit<Opened, 'pages'>> {
  return { open, metadata: await open().metadata().catch(unreadable) }
}

function unreadable(cause: unknown): never {
  throw new CannotMake('unreadable', reasonOf(cause), { cause })
}

/** The prebuilt libvips reads only the container of these files, not the picture in it. */
function isHevc({ format, compression }: Metadata): boolean {
  return format === 'heif' && compression === 'hevc'
}

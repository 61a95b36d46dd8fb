import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../platform/errors.ts'
import { whenClosed } from '../../platform/limits/when-closed.ts'
import { isTransferredStream, release, transfer } from '../../platform/memory/buffer-ownership.ts'
import type { BlobStore, ByteRange } from '../blobs/blob-store.ts'
import type { FileVersion } from '../model.ts'
import { contentHeaders } from './headers.ts'
import { readRange } from './ranges.ts'

/** The known members of a content before it is read. */
export type Content = Pick<FileVersion, 'sha256' | 'size' | 'mimeType' | 'createdAt'>

export interface Delivery {
  readonly version: Omit<Content, 'size'>
  /** The store and size of the content: called when it is to be sent, since it may have to be made first. @throws {AppError} */
  readonly ready: () => Promise<{ readonly size: number; readonly store: Pick<BlobStore, 'read'> }>
  readonly fileName: string
  /** Seconds for which the client may cache it without asking again; `never`: no cache stores it. */
  readonly keep: number | 'never'
  /** Replaces the header made from `keep`. */
  readonly cacheControl?: string
  /** How browsers show it; absent: by its type. @see contentHeaders */
  readonly disposition?: 'inline' | 'attachment'
  /** Bytes before a range that may be read and dropped; for a later range, the whole content is answered. Absent: no limit. */
  readonly mostSkipped?: number
  /** Called at the end, also of a broken download. */
  readonly delivered: (bytes: number, status: number) => void
}

/** Answers with a content or a part of it (RFC 9110: conditions and ranges). @throws {AppError} before anything is sent. */
export async function deliver(request: FastifyRequest, reply: FastifyReply, delivery: Delivery): Promise<FastifyReply> {
  const { fileName, keep } = delivery
  const tag = `"${delivery.version.sha256}"`
  if (isOutdated(request, tag, delivery.version.createdAt)) throw new AppError('PreconditionFailed', { etag: tag })
  reply.headers({
    ...contentHeaders(delivery.version.mimeType, fileName, delivery.disposition),
    ETag: tag,
    'Last-Modified': delivery.version.createdAt.toUTCString(),
    'Cache-Control': delivery.cacheControl ?? cacheControl(keep),
  })
  if (isKnown(request, tag, delivery.version.createdAt)) return reply.status(304).send()
  const { size, store } = await delivery.ready()
  const version: Content = { ...delivery.version, size }
  const range = wantedRange(request, version, tag, delivery.mostSkipped)
  if (range === 'none') {
    // Headers of the content do not apply to the refusal.
    for (const name of ['Content-Disposition', 'ETag', 'Last-Modified', 'Cache-Control']) reply.removeHeader(name)
    reply.header('Content-Range', `bytes */${version.size}`)
    throw new AppError('RangeNotSatisfiable', { size: version.size })
  }
  const part = range === 'whole' ? undefined : range
  const length = part ? part.end - part.start + 1 : version.size
  if (part) reply.header('Content-Range', `bytes ${part.start}-${part.end}/${version.size}`)
  reply.status(part ? 206 : 200).header('Content-Length', length)
  if (request.method === 'HEAD') return reply.send()
  const source = await open(store, version, part)
  const sent = countSent(reply.raw)
  whenClosed(reply.raw, () => {
    source.destroy()
    delivery.delivered(sent(), part ? 206 : 200)
  })
  return reply.send(source)
}

function cacheControl(keep: Delivery['keep']): string {
  if (keep === 'never') return 'no-store'
  return keep > 0 ? `private, max-age=${keep}, immutable` : 'private, no-cache'
}

async function open(store: Pick<BlobStore, 'read'>, { sha256, size }: Content, part?: ByteRange): Promise<Readable> {
  try {
    return await store.read(sha256, size === 0 ? undefined : part)
  } catch (cause) {
    throw new AppError('ServiceUnavailable', {}, { message: 'The content of the file cannot be read now.', cause })
  }
}

/**
 * Counts the bytes that a stream writes into the answer, without another stream between them. Releases the memory of
 * written pieces: otherwise V8 finds it only by searching the whole heap, which takes a third of the time of a large
 * download.
 */
function countSent(answer: ServerResponse): () => number {
  let bytes = 0
  answer.once('pipe', (source: Readable) => {
    // Only a socket reports when data is written.
    const isOwn = isTransferredStream(source) && answer.socket instanceof Socket
    const written: Buffer[] = []
    answer.once('finish', () => release(written))
    // Runs before the piece itself is written.
    source.prependListener('data', (piece: Buffer) => {
      bytes += piece.length
      if (!isOwn) return
      if (answer.writableLength === 0) release(written.splice(0))
      written.push(transfer(piece))
    })
  })
  return () => bytes
}

/** Whether the client asks for another state: `If-Match` compares strongly (RFC 9110, 13.1.1), and has precedence over a date. */
function isOutdated({ headers }: FastifyRequest, tag: string, at: Date): boolean {
  const tags = headers['if-match']
  if (tags !== undefined) return !tags.split(',').some((one) => ['*', tag].includes(one.trim()))
  return isOlder(headers['if-unmodified-since'], at) === true
}

/** Whether the client has the content already. */
function isKnown({ headers }: FastifyRequest, tag: string, at: Date): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) return tags.split(',').some((one) => ['*', tag, `W/${tag}`].includes(one.trim()))
  return isOlder(headers['if-modified-since'], at) === false
}

/** Whether the date of a header is before the date of the content, which HTTP knows to the second; null for an invalid date. */
function isOlder(header: string | undefined, at: Date): boolean | null {
  const date = Date.parse(header ?? '')
  return Number.isNaN(date) ? null : date < Math.floor(at.getTime() / 1000) * 1000
}

function wantedRange(
  { headers, method }: FastifyRequest,
  version: Content,
  tag: string,
  mostSkipped = Number.POSITIVE_INFINITY,
) {
  const condition = headers['if-range']
  if (method !== 'GET') return 'whole'
  if (condition !== undefined && condition !== tag && condition !== version.createdAt.toUTCString()) return 'whole'
  const range = readRange(headers.range, version.size)
  return typeof range === 'object' && range.start > mostSkipped ? 'whole' : range
}

/** Sends the files of an export as an archive, to a reader who may be slow or leave. */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { disposition } from '../../files/service.ts'
import { AppError } from '../../platform/errors.ts'
import { callerOf } from '../../platform/limits/callers.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import { whenClosed } from '../../platform/limits/when-closed.ts'
import { archiveName } from '../render.ts'
import { type ArchiveKind, archiveOf, archives } from './archive.ts'
import type { Fetched } from './model.ts'
import type { PackageKind } from './packages/model.ts'
import type { Deliveries } from './service.ts'

export interface ArchiveSenderDeps {
  readonly deliveries: Pick<Deliveries, 'has' | 'entriesOf' | 'packageOf' | 'logDownload' | 'logFailure'>
  /** Archives that one caller may download at the same time. */
  readonly mostArchives: number
}

export interface WantedArchive {
  readonly kind: ArchiveKind
  /** Empty: all files. */
  readonly folder: string
  readonly packed?: PackageKind
}

export function createArchiveSender({ deliveries, mostArchives }: ArchiveSenderDeps) {
  /** Archives that callers take now. */
  const taking = new Map<string, number>()

  /** Takes one of the caller's places for archives, until it is given back. @throws {AppError} `TooManyHeavyRequests` */
  function take(who: string): () => void {
    const count = taking.get(who) ?? 0
    if (count >= mostArchives) {
      throw new AppError('TooManyHeavyRequests', { quota: 'svc.quotas.archives', most: mostArchives, retry_after: 30 })
    }
    taking.set(who, count + 1)
    return () => {
      const left = (taking.get(who) ?? 1) - 1
      if (left > 0) taking.set(who, left)
      else taking.delete(who)
    }
  }

  /** @throws {AppError} `FileNotFound`, `TooManyHeavyRequests`, and the error of the first file */
  return async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    from: Fetched,
    { kind, folder, packed }: WantedArchive,
  ): Promise<FastifyReply> {
    if (folder !== '' && !(await deliveries.has(from, folder))) throw new AppError('FileNotFound', { path: folder })
    const what = `${kind}/${folder}${packed ? `?package=${packed}` : ''}`
    const gone = new AbortController()
    whenClosed(reply.raw, take(callerOf(from.caller, request.ip)))
    const entries = () =>
      packed
        ? deliveries.packageOf(from, { kind: packed, part: folder, folder: archiveName(from.stored) }, gone.signal)
        : deliveries.entriesOf(from, folder, gone.signal)
    const archive = outsideDeadlines(() => archiveOf(kind, entries()))
    whenClosed(reply.raw, () => {
      gone.abort()
      if (!archive.readableEnded) archive.destroy(new AppError('ClientClosedRequest'))
    })
    try {
      await begun(archive)
    } catch (error) {
      deliveries.logFailure(from, what, kind, error as Error)
      throw error
    }
    const { contentType, extension } = archives[kind]
    reply.headers({
      'Content-Type': contentType,
      'Content-Disposition': disposition('attachment', `${from.stored.name}.${extension}`),
      'Cache-Control': 'private, no-store',
      'X-Content-Type-Options': 'nosniff',
    })
    if (request.method === 'HEAD') {
      archive.destroy()
      return reply.send(Readable.from([]))
    }
    const counted = countedOf(archive)
    whenClosed(reply.raw, () => {
      if (counted.failure) deliveries.logFailure(from, what, kind, counted.failure)
      else if (archive.readableEnded)
        deliveries.logDownload(from, { what, bytes: counted.bytes, taken: { format: kind, folder } })
      else deliveries.logFailure(from, what, kind, new Error('the archive was not taken to its end'))
    })
    return reply.send(archive)
  }
}

/** Resolves when a stream has data, so that an earlier error can be answered. @throws the error of the stream */
function begun(stream: Readable): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  stream.once('readable', resolve)
  stream.once('error', reject)
  return promise.finally(() => {
    stream.off('readable', resolve)
    stream.off('error', reject)
  })
}

/** Counts the bytes that are read from a stream. */
function countedOf(source: Readable): { bytes: number; failure: Error | null } {
  const counted = { bytes: 0, failure: null as Error | null }
  source.pause()
  source.on('data', (piece: Buffer) => {
    counted.bytes += piece.length
  })
  source.pause()
  source.once('error', (error) => {
    counted.failure = error
  })
  return counted
}

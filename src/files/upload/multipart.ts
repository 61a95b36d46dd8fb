import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import { AppError, badRequest } from '../../platform/errors.ts'

/** A file being uploaded: its name as sent, and its content. */
export interface Incoming {
  readonly name: string
  readonly content: AsyncIterable<Buffer>
  /** The number of bytes to come, if it was sent. */
  readonly bytes?: number
}

export const mostFiles = 100

/**
 * The files of a multipart body in their order; each must be read before the next one. Other fields are skipped. An error
 * of the body is also an error of the file being read.
 */
export async function* filesOfMultipart(contentType: string, source: AsyncIterable<Buffer>): AsyncGenerator<Incoming> {
  const parser = parserOf(contentType)
  const waiting: { name: string; content: Readable }[] = []
  const stop = new AbortController()
  let current: Readable | undefined
  let state: { readonly ended: boolean; readonly failure: unknown } = { ended: false, failure: null }
  let news = Promise.withResolvers<void>()
  parser.on('file', (_field, content, name) => {
    content.on('error', () => {})
    waiting.push({ name: name ?? '', content })
    news.resolve()
  })
  const fail = (failure: unknown): void => {
    state = { ended: true, failure }
    for (const part of [current, ...waiting.map(({ content }) => content)]) part?.destroy(failure as Error)
    news.resolve()
  }
  parser.on('filesLimit', () => stop.abort(badRequest(`At most ${mostFiles} files at a time.`)))
  parser.on('partsLimit', () => stop.abort(badRequest('The body has too many parts.')))
  pipeline(source, parser, { signal: stop.signal }).then(
    () => {
      state = { ended: true, failure: null }
      news.resolve()
    },
    (error: unknown) => fail(stop.signal.aborted ? stop.signal.reason : failureOf(error)),
  )
  try {
    for (;;) {
      const next = waiting.shift()
      if (next) {
        current = next.content
        yield next
        continue
      }
      if (state.failure) throw state.failure
      if (state.ended) return
      await news.promise
      news = Promise.withResolvers()
    }
  } finally {
    if (!state.ended) stop.abort(new Error('nobody takes the rest'))
  }
}

function parserOf(contentType: string) {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true,
      isPartAFile: (_field, _type, name) => name !== undefined,
      limits: { files: mostFiles, fields: 100, parts: 2 * mostFiles, fieldSize: 64 * 1024, headerPairs: 100 },
    })
  } catch (cause) {
    throw new AppError('ServerGeneric', {}, { message: 'The content type has no boundary.', cause })
  }
}

function failureOf(cause: unknown): AppError {
  if (cause instanceof AppError) return cause
  return new AppError('ServerGeneric', {}, { message: 'The multipart body cannot be read.', cause })
}

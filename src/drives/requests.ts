/** Reads headers and bodies of WebDAV requests, for all kinds of shares. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, badRequest } from '../platform/errors.ts'
import { streamedBody } from '../platform/http/body/streamed.ts'
import { type IfHeader, readIf } from './if-header.ts'
import { longestLock } from './locks.ts'

/** Most bytes of an XML body. */
const longestBody = 65_536

/** Checks `If-Match` and `If-None-Match` (RFC 9110, 13.1). */
export function assertTags({ headers }: FastifyRequest, etag: string | null): void {
  const listed = (header: string | undefined): boolean | null =>
    header === undefined ? null : header.split(',').some((one) => ['*', etag].includes(one.trim()) && etag !== null)
  if (listed(headers['if-match']) === false || listed(headers['if-none-match']) === true) {
    throw new AppError('PreconditionFailed', { etag: etag ?? '' })
  }
}

/** Whether the request depends on what is there. */
export const isConditional = ({ headers }: FastifyRequest): boolean =>
  ['if', 'if-match', 'if-none-match', 'if-unmodified-since'].some((name) => headers[name] !== undefined)

export const ifOf = ({ headers }: FastifyRequest): IfHeader => readIf(headers.if as string | undefined)

/** The seconds of a lock (`Second-600`); the longest allowed time where the header is missing or unreadable. */
export function secondsOf(header: string | string[] | undefined): number {
  const seconds = Number(/^\s*Second-(\d{1,9})/.exec(String(header ?? ''))?.[1] ?? longestLock)
  return Math.max(1, Math.min(seconds, longestLock))
}

/** @throws {AppError} for an impossible path: empty steps, `..`, slashes and NUL within a step */
export function stepsOf(address: string, key: string): string[] {
  const path = address.split('?', 1)[0] ?? ''
  const below = path.slice(path.indexOf(key) + key.length)
  const steps = below.split('/').slice(1)
  if (steps.at(-1) === '') steps.pop()
  return steps.map((step) => {
    let name: string
    try {
      name = decodeURIComponent(step)
    } catch {
      throw badRequest('The path cannot be read.', {})
    }
    if (name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name))
      throw badRequest('The path cannot be read.', {})
    return name
  })
}

/** The target of a MOVE, within the same share. @throws {AppError} */
export function destinationOf(request: FastifyRequest, share: string): string[] {
  const header = request.headers.destination
  if (typeof header !== 'string') throw badRequest('MOVE needs the header Destination.', { header: 'Destination' })
  const { key } = request.params as { readonly key: string }
  // At the address with or without the prefix of the interface.
  const at = header.indexOf(`${share.slice(share.lastIndexOf('/'))}/${key}/`)
  if (at < 0) throw new AppError('PathConflict')
  return stepsOf(header.slice(at), key)
}

/** The address of an entry as a path, below the address that the client has sent; that of a folder ends with a slash. */
export function hrefOf(
  { params, originalUrl }: FastifyRequest,
  share: string,
  steps: readonly string[],
  isFolder: boolean,
): string {
  const { key } = params as { readonly key: string }
  const at = originalUrl.indexOf(`/${key}`)
  const path = [at < 0 ? share : originalUrl.slice(0, at), key, ...steps.map(encodeURIComponent)].join('/')
  return isFolder ? `${path}/` : path
}

/**
 * The same bytes, after the first ones have arrived; null: there are none. Many clients first send a name, and its
 * content later.
 */
export async function beginningOf(body: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer> | null> {
  for (;;) {
    const first = await body.next()
    if (first.done) return null
    if (first.value.length > 0) return withFirst(first.value, body)
  }
}

async function* withFirst(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}

export async function textOf(request: FastifyRequest): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of streamedBody(request)) {
    bytes += piece.length
    if (bytes > longestBody) throw new AppError('PayloadTooLarge', { bytes: longestBody })
    pieces.push(piece)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces))
  } catch {
    throw badRequest('The body is not UTF-8.', {})
  }
}

export const sendXml = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type('application/xml; charset=utf-8').send(text)

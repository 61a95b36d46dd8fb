import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { atPace, type Pace } from '../limits/pace.ts'
import { type AddressRules, RefusedAddress } from './addresses.ts'
import { ask } from './ask.ts'

/**
 * Downloads the content of an address that a user sent. Every address on the way is checked (`ask.ts`), also behind each redirect.
 * The content is read as a stream: none of it is kept in memory.
 */
export interface DownloadRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly rules: AddressRules
  /** Milliseconds until an answer begins, for each address on the way. */
  readonly patience: number
  /** Milliseconds for the whole download. */
  readonly most: number
  readonly pace: Pace
}

export interface Download {
  /** The final address, after redirects. */
  readonly url: URL
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** May be read once. @throws when it breaks off or arrives too slowly. */
  content(): AsyncGenerator<Buffer>
  /** Closes the connection. */
  close(): void
}

/** Maximum number of redirects. */
const mostRedirects = 5

/** @throws {RefusedAddress} when an address on the way is not allowed, any other error when there is no answer. */
export async function openDownload(request: DownloadRequest): Promise<Download> {
  const headers = { 'user-agent': 'svc', accept: '*/*', 'accept-encoding': 'identity', ...request.headers }
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(new Error(`not done within ${request.most} ms`)), request.most)
  timer.unref()
  try {
    let url = new URL(request.url)
    for (let redirects = 0; ; redirects++) {
      const response = await ask(url, { ...request, method: 'GET', headers, signal: stop.signal })
      const next = redirectOf(response, url)
      if (!next) return opened(url, response, request.pace, stop, timer)
      response.destroy()
      if (redirects === mostRedirects) throw new Error(`more than ${mostRedirects} redirects`)
      if (next.username || next.password) throw new RefusedAddress('a redirect carries a password')
      url = next
    }
  } catch (error) {
    clearTimeout(timer)
    throw error
  }
}

function redirectOf({ statusCode, headers }: IncomingMessage, from: URL): URL | null {
  if (![301, 302, 303, 307, 308].includes(statusCode ?? 0) || headers.location === undefined) return null
  const next = URL.parse(headers.location, from)
  if (!next) throw new Error('a redirect leads nowhere')
  return next
}

function opened(
  url: URL,
  response: IncomingMessage,
  pace: Pace,
  stop: AbortController,
  timer: NodeJS.Timeout,
): Download {
  function close(): void {
    clearTimeout(timer)
    response.destroy()
  }
  response.on('error', () => {})
  return {
    url,
    status: response.statusCode ?? 0,
    headers: response.headers,
    async *content() {
      const chunks = response.iterator() as AsyncIterator<Buffer>
      try {
        yield* atPace(
          () => chunks.next(),
          pace,
          () => new Error('the content comes too slowly'),
        )
        // A content without a length ends with its connection, also when this service has closed it.
        stop.signal.throwIfAborted()
        if (!response.complete) throw new Error('the content broke off')
      } catch (error) {
        throw stop.signal.aborted ? stop.signal.reason : error
      } finally {
        close()
      }
    },
    close,
  }
}

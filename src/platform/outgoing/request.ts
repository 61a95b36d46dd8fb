import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type Address, checkedAddresses, pinnedLookup } from './addresses.ts'
import { bytesWithin } from './limits.ts'

export { RefusedAddress } from './addresses.ts'

/**
 * Requests to addresses that administrators type in. They must not reach what only this machine or its network can
 * see (cloud metadata, databases, other services): every address of the name is checked before anything is sent, and
 * the connection goes to a checked address, so that a name that changes its mind meanwhile changes nothing. Redirects
 * are answers like any other: nothing follows them.
 */
export interface OutgoingRequest {
  readonly url: string
  readonly method: 'POST' | 'PUT'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Milliseconds for the whole exchange. */
  readonly timeout: number
  /** Bytes of the answer that are read; a longer one is an error. */
  readonly maxResponse: number
  /** Lets requests reach private addresses, too. */
  readonly allowPrivate: boolean
  /** Ends the request early. */
  readonly signal?: AbortSignal
}

export interface OutgoingResponse {
  readonly status: number
  readonly body: Buffer
}

/** Sends one request. @throws {RefusedAddress} before anything is sent; any other error when the exchange fails. */
export async function sendOutgoing(request: OutgoingRequest): Promise<OutgoingResponse> {
  const url = new URL(request.url)
  const timeout = AbortSignal.timeout(request.timeout)
  const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout
  const addresses = await checkedAddresses(url, request)
  return exchange(url, request, addresses, signal)
}

function exchange(
  url: URL,
  request: OutgoingRequest,
  addresses: readonly Address[],
  signal: AbortSignal,
): Promise<OutgoingResponse> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  const body = Buffer.from(request.body)
  return new Promise((resolve, reject) => {
    const sent = send(
      url,
      {
        method: request.method,
        headers: { ...request.headers, 'content-length': body.byteLength },
        lookup: pinnedLookup(addresses),
        // A connection of its own: one that is kept open was checked for another name.
        agent: false,
        signal,
      },
      (response) => {
        bytesWithin(response, request.maxResponse).then((content) => {
          resolve({ status: response.statusCode ?? 0, body: content })
        }, reject)
      },
    )
    sent.on('error', (error) => {
      const late = signal.aborted && signal.reason?.name === 'TimeoutError'
      reject(late ? new Error(`no answer within ${request.timeout} ms`, { cause: error }) : error)
    })
    sent.end(body)
  })
}

import type { AddressRules } from './addresses.ts'
import { ask } from './ask.ts'
import { bytesWithin } from './limits.ts'

export { RefusedAddress } from './addresses.ts'

/** A request to an address from an administrator, with an answer that is read as a whole. */
export interface OutgoingRequest extends AddressRules {
  readonly url: string
  readonly method: 'POST' | 'PUT'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Milliseconds for the whole exchange. */
  readonly timeout: number
  /** Bytes of the answer that are read; a longer one is an error. */
  readonly maxResponse: number
  /** Ends the request early. */
  readonly signal?: AbortSignal
}

export interface OutgoingResponse {
  readonly status: number
  readonly body: Buffer
}

/** Sends one request. @throws {RefusedAddress} before anything is sent; any other error when the exchange fails. */
export async function sendOutgoing(request: OutgoingRequest): Promise<OutgoingResponse> {
  const timeout = AbortSignal.timeout(request.timeout)
  const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout
  try {
    const response = await ask(new URL(request.url), { ...request, rules: request, signal })
    const body = await bytesWithin(response, request.maxResponse)
    // An answer without a length ends with its connection, also when this service has closed it.
    signal.throwIfAborted()
    if (!response.complete) throw new Error('the answer broke off')
    return { status: response.statusCode ?? 0, body }
  } catch (error) {
    throw timeout.aborted ? new Error(`no answer within ${request.timeout} ms`, { cause: error }) : error
  }
}

import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { pipeline, type Readable } from 'node:stream'
import { type SpanFacts, traced } from '../tracing/spans.ts'
import { type AddressRules, checkedAddresses, pinnedLookup } from './addresses.ts'

export interface OutgoingRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** A stream is sent as it arrives, and ends with the exchange. */
  readonly body?: string | Readable
  readonly rules: AddressRules
  /** Ends the exchange, also while the answer is being read. */
  readonly signal: AbortSignal
  /** Milliseconds until the answer begins; absent: only the signal ends the wait. */
  readonly patience?: number
}

/**
 * Sends a request to an address that a user typed in. It must not reach services that only this machine or its network can see
 * (cloud metadata, databases, other services): every address of the name is checked before anything is sent, and the connection
 * goes to a checked address, so that a name that resolves differently a moment later has no effect (DNS rebinding). Redirects are
 * returned like any other answer.
 * @throws {RefusedAddress} before anything is sent; any other error when there is no answer, including the reason of the signal.
 */
export async function ask(url: URL, request: OutgoingRequest): Promise<IncomingMessage> {
  return traced(
    () => outgoingFacts(request.method, url),
    async (span) => {
      const answer = await send(url, request)
      span?.set({ 'http.response.status_code': answer.statusCode ?? 0 })
      return answer
    },
  )
}

/** Without the path, which may be a secret. */
export function outgoingFacts(method: string, { hostname, port }: URL): SpanFacts {
  const attributes = {
    'http.request.method': method,
    'server.address': hostname,
    ...(port ? { 'server.port': Number(port) } : {}),
  }
  return { name: method, kind: 'client', attributes }
}

async function send(url: URL, request: OutgoingRequest): Promise<IncomingMessage> {
  const { method, rules, signal, patience } = request
  const addresses = await checkedAddresses(url, rules)
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  const streamed = typeof request.body === 'object' ? request.body : null
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : undefined
  const headers = { ...request.headers, ...(body ? { 'content-length': String(body.byteLength) } : {}) }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // A new connection: a kept-alive connection was checked for another name.
  const sent = open(url, { method, headers, lookup: pinnedLookup(addresses), agent: false, signal }, resolve)
  const late = setTimeout(() => sent.destroy(new Error(`no answer within ${patience} ms`)), patience ?? 2 ** 31 - 1)
  sent.on('error', (error) => reject(signal.aborted ? signal.reason : error))
  if (streamed) pipeline(streamed, sent, (error) => error && reject(signal.aborted ? signal.reason : error))
  else sent.end(body)
  return promise.finally(() => clearTimeout(late))
}

/** Agents for an HTTP client that reach these addresses alone, whatever name it uses. */
export function pinnedAgents(addresses: Parameters<typeof pinnedLookup>[0]) {
  const lookup = pinnedLookup(addresses)
  return { httpAgent: new Agent({ lookup }), httpsAgent: new HttpsAgent({ lookup }) }
}

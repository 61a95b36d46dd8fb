import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

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

/** The request was not sent: its address is not allowed, and never will be. */
export class RefusedAddress extends Error {}

/** Sends one request. @throws {RefusedAddress} before anything is sent; any other error when the exchange fails. */
export async function sendOutgoing(request: OutgoingRequest): Promise<OutgoingResponse> {
  const url = new URL(request.url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new RefusedAddress(`${url.protocol} is not allowed`)
  const timeout = AbortSignal.timeout(request.timeout)
  const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout
  const addresses = await checkedAddresses(url.hostname, request.allowPrivate)
  return exchange(url, request, addresses, signal)
}

interface Address {
  readonly address: string
  readonly family: number
}

async function checkedAddresses(hostname: string, allowPrivate: boolean): Promise<Address[]> {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const family = isIP(host)
  const addresses = family > 0 ? [{ address: host, family }] : await lookup(host, { all: true })
  if (addresses.length === 0) throw new Error(`${host} has no address`)
  const refused = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address))
  if (refused) throw new RefusedAddress(`${host} has the address ${refused.address}, which is not public`)
  return addresses
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
        read(response, request.maxResponse).then((content) => {
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

/** Answers with the checked addresses whatever name is asked for. */
function pinnedLookup(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
}

async function read(response: IncomingMessage, max: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > max) {
      response.destroy()
      throw new Error(`the answer is longer than ${max} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Special-purpose IPv4 networks (RFC 6890 and its registry), multicast and reserved ones. */
const privateIPv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const

/** Within the global unicast space 2000::/3: special purposes, documentation, and addresses that embed IPv4 ones. */
const privateIPv6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const

const blocked = new BlockList()
for (const [network, prefix] of privateIPv4) blocked.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of privateIPv6) blocked.addSubnet(network, prefix, 'ipv6')
const globalIPv6 = new BlockList()
globalIPv6.addSubnet('2000::', 3, 'ipv6')

/** Whether an address belongs to the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !blocked.check(address, 'ipv4')
  // IPv4 addresses in IPv6 form (::ffff:10.0.0.1, 64:ff9b::a00:1) lie outside of 2000::/3.
  return family === 6 && globalIPv6.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}

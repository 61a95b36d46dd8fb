import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** The request was not sent: its address is not allowed, and never will be. */
export class RefusedAddress extends Error {}

export interface Address {
  readonly address: string
  readonly family: number
}

export interface AddressRules {
  /** Lets requests reach private addresses, too. */
  readonly allowPrivate: boolean
  /** Hosts that no request may reach. */
  readonly blocked?: BlockedHosts
}

/**
 * The addresses of a host, each of them allowed. @throws {RefusedAddress} when one is not allowed, any other error when there is
 * none.
 */
export async function checkedAddresses({ protocol, hostname }: URL, rules: AddressRules): Promise<Address[]> {
  if (protocol !== 'http:' && protocol !== 'https:') throw new RefusedAddress(`${protocol} is not allowed`)
  return checkedHost(hostname, rules)
}

/** The same for a host that is reached by another protocol. */
export async function checkedHost(hostname: string, rules: AddressRules): Promise<Address[]> {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  if (rules.blocked?.name(host)) throw new RefusedAddress(`${host} is blocked`)
  const family = isIP(host)
  const addresses = family > 0 ? [{ address: host, family }] : await lookup(host, { all: true })
  if (addresses.length === 0) throw new Error(`${host} has no address`)
  for (const { address } of addresses) {
    if (rules.blocked?.address(address)) throw new RefusedAddress(`${host} is blocked`)
    if (rules.allowPrivate || isPublicAddress(address)) continue
    throw new RefusedAddress(`${host} has the address ${address}, which is not public`)
  }
  return addresses
}

/** Answers with the checked addresses for any name. */
export function pinnedLookup(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
}

/** Hosts by name, by `*.` and the end of the name, by address or by network (`10.1.0.0/16`). */
export interface BlockedHosts {
  name(host: string): boolean
  address(address: string): boolean
}

export function blockedHosts(list: readonly string[]): BlockedHosts {
  const names = new Set<string>()
  const ends: string[] = []
  const networks = new BlockList()
  for (const entry of list) {
    const [address = '', prefix] = entry.split('/')
    const family = isIP(address)
    const kind = family === 6 ? 'ipv6' : 'ipv4'
    if (family > 0) networks.addSubnet(address, prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix), kind)
    else if (entry.startsWith('*.')) ends.push(entry.slice(1).toLowerCase())
    else names.add(entry.toLowerCase())
  }
  return {
    name(host) {
      const plain = host.toLowerCase().replace(/\.$/, '')
      return names.has(plain) || ends.some((end) => plain.endsWith(end))
    },
    address: (address) => networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'),
  }
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
  // IPv4 addresses in IPv6 form (::ffff:10.0.0.1, 64:ff9b::a00:1) are outside of 2000::/3.
  return family === 6 && globalIPv6.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}

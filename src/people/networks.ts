import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Tells whether an address is in one of the networks of a group. */
export interface Networks {
  contains(address: string): boolean
}

/** `192.168.0.0/16`, `2001:db8::/32` or a single address; `null` when it is none of them. */
export function parseNetwork(cidr: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } | null {
  const [address = '', bits, ...rest] = cidr.trim().split('/')
  const family = isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : null
  if (family === null || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return null
  const longest = family === 'ipv4' ? 32 : 128
  const prefix = bits === undefined ? longest : Number(bits)
  return prefix <= longest ? { address, prefix, family } : null
}

export function createNetworks(cidrs: readonly string[]): Networks {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const network = parseNetwork(cidr)
    if (network) list.addSubnet(network.address, network.prefix, network.family)
  }
  return {
    contains(address) {
      const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
      if (isIPv4(plain)) return list.check(plain, 'ipv4')
      return isIPv6(plain) && list.check(plain, 'ipv6')
    },
  }
}

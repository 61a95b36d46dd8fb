import { BlockList, isIPv4, isIPv6 } from 'node:net'

const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/**
 * Whether an address is that of a proxy whose `X-Forwarded-*` headers are trusted. Entries are addresses, networks with a prefix
 * (`10.0.0.0/8`) or a mask (`10.0.0.0/255.0.0.0`), and the names above, as in `trustProxy` of Fastify.
 */
export function trustedProxies(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const entry of entries.flatMap((one) => named[one] ?? one)) {
    const [address = '', size] = entry.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (size === undefined) list.addAddress(address, family)
    else list.addSubnet(address, prefixOf(size), family)
  }
  return (address) => {
    const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
    return isIPv4(plain) ? list.check(plain, 'ipv4') : isIPv6(plain) && list.check(plain, 'ipv6')
  }
}

function prefixOf(size: string): number {
  if (!isIPv4(size)) return Number(size)
  const bits = size.split('.').map((part) => Number(part).toString(2).padStart(8, '0'))
  return bits.join('').lastIndexOf('1') + 1
}

/**
 * The rule for redirect URIs: an absolute http or https address, or the address of a program on a device, whose scheme is a
 * reversed domain name (RFC 8252, 7.1). Without a fragment (RFC 6749, 3.1.2), a user name, or characters that browsers change.
 * Returns the description of a valid URI when this one is invalid, else null.
 */
export function redirectUriRule(uri: string): string | null {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase() ?? ''
  const parsed = URL.parse(uri)
  // Characters that browsers repair (spaces, backslashes, control characters) are invalid: the compared address would differ from
  // the opened one.
  if (!parsed || /[^\x21-\x7e]|[\\"<>^`{|}#]/.test(uri) || parsed.username || parsed.password || uri.includes('@')) {
    return 'an absolute address without fragment, user name, spaces and backslashes'
  }
  if (scheme === 'http' || scheme === 'https') {
    return /^https?:\/\/[^/]/i.test(uri) ? null : 'an absolute http or https address'
  }
  return scheme.includes('.') ? null : 'an http or https address, or one with a scheme such as org.example.app'
}

const originPattern = /^(https?):\/\/((?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:]+\])(?::(\d{1,5}|\*))?$/i
const schemePattern = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/i

/** Whether a text names origins: `https://*.example.org`, `http://localhost:*`, or a scheme: `org.example.app:`. */
export function isOriginPattern(pattern: string): boolean {
  return originPattern.test(pattern) || schemePattern.test(pattern)
}

/**
 * Whether a pattern names the origin of an address. `*` is the whole first label and matches exactly one label, as in the names of
 * certificates (RFC 6125); `:*` matches any port.
 */
export function matchesOrigin(pattern: string, address: URL): boolean {
  if (schemePattern.test(pattern)) return address.protocol === pattern.toLowerCase()
  const [, scheme = '', host = '', port = ''] = originPattern.exec(pattern) ?? []
  if (address.protocol !== `${scheme.toLowerCase()}:`) return false
  const standard = scheme.toLowerCase() === 'https' ? '443' : '80'
  if (port !== '*' && (port || standard) !== (address.port || standard)) return false
  if (!host.startsWith('*.')) return address.hostname === host.toLowerCase()
  const dot = address.hostname.indexOf('.')
  return dot > 0 && address.hostname.slice(dot) === host.slice(1).toLowerCase()
}

import type { IncomingHttpHeaders } from 'node:http'

/** Used in place of a product word in header and cookie names (SVC-005); sites may accept further words. */
export const identifierWord = 'svc'

/** The headers that can identify the caller or its browser: answers depend on all of them. */
export const carryingHeaders = (aliases: readonly string[]): string[] => [
  'Authorization',
  ...[identifierWord, ...aliases].map((word) => `X-${titled(word)}-Authorization`),
  'Cookie',
]

const titled = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()

interface Carrier {
  headers: IncomingHttpHeaders
  query: unknown
}

/**
 * The access token of a request: `Authorization`, then `X-Svc-Authorization` (also with the words of `aliases`), then the query
 * parameter `access_token` (decision 13). `null` when none contains a bearer token: another scheme in `Authorization`, such as the
 * Basic of a proxy in front, is ignored, and the next place is looked at.
 */
export function tokenOf({ headers, query }: Carrier, aliases: readonly string[]): string | null {
  return bearer(headers.authorization) ?? fallbackHeader(headers, aliases) ?? queryToken(query)
}

function fallbackHeader(headers: IncomingHttpHeaders, aliases: readonly string[]): string | null {
  for (const word of [identifierWord, ...aliases]) {
    const value = headers[`x-${word.toLowerCase()}-authorization`]
    const token = bearer(Array.isArray(value) ? value[0] : value)
    if (token !== null) return token
  }
  return null
}

function queryToken(query: unknown): string | null {
  const value = (query as Record<string, unknown> | null | undefined)?.access_token
  const token = Array.isArray(value) ? value[0] : value
  return typeof token === 'string' && token !== '' ? token : null
}

/** @see RFC 6750 section 2.1; the scheme's name is not case-sensitive. */
function bearer(header: string | undefined): string | null {
  if (header === undefined || header.length < 8 || header.slice(0, 7).toLowerCase() !== 'bearer ') return null
  return header.slice(7).trim() || null
}

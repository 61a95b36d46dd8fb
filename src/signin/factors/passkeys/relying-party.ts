import { isIP } from 'node:net'

/** The relying party of passkeys (WebAuthn): passkeys work for this host name only. */
export interface RelyingParty {
  readonly id: string
  /** The origin of the page in the browser. */
  readonly origin: string
}

/** Derived from the external address. Null: browsers create no passkeys for it, since it has no host name, or is not secure. */
export function relyingPartyOf(externalUrl: string): RelyingParty | null {
  const url = URL.parse(externalUrl)
  if (!url) return null
  const { hostname, origin, protocol } = url
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null
  if (protocol !== 'https:' && hostname !== 'localhost' && !hostname.endsWith('.localhost')) return null
  return { id: hostname, origin }
}

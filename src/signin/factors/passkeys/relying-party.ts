import { isIP } from 'node:net'

/** This service as passkeys know it (WebAuthn, "relying party"): they work for this host name and no other. */
export interface RelyingParty {
  readonly id: string
  /** The origin of the page in the browser. */
  readonly origin: string
}

/** From the external address. Null: browsers make no passkeys for it, since it is no name, or not safe. */
export function relyingPartyOf(externalUrl: string): RelyingParty | null {
  const url = URL.parse(externalUrl)
  if (!url) return null
  const { hostname, origin, protocol } = url
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null
  if (protocol !== 'https:' && hostname !== 'localhost' && !hostname.endsWith('.localhost')) return null
  return { id: hostname, origin }
}

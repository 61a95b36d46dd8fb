import { parseXml, type XmlNode } from '../../../platform/xml/document.ts'
import { assertHarmlessXml, messageLimits, metadataLimits } from './harmless-xml.ts'

/** An identity provider, as its metadata (SAML 2.0) describe it. */
export interface IdentityProvider {
  readonly entityId: string
  /** The address for requests of browsers (HTTP-Redirect). */
  readonly signOnUrl: string
  /** The addresses for sign-out requests, and for answers to sign-out requests from there (HTTP-Redirect); null: none. */
  readonly signOut: { readonly url: string; readonly responseUrl: string } | null
  /** Certificates for checking its signatures. */
  readonly certificates: readonly string[]
}

/** The content of another server's message that was signed as a whole. */
export interface SignOutMessage {
  readonly kind: 'request' | 'response'
  readonly id: string
  readonly issuer: string
  readonly destination: string | null
  readonly issuedAt: Date
  readonly validTo: Date | null
  /** The person in a request; empty: not readable. */
  readonly nameId: string
  readonly sessionIndexes: readonly string[]
  /** The result in a response. */
  readonly success: boolean
}

const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'
const assertionSpace = 'urn:oasis:names:tc:SAML:2.0:assertion'
const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'
/** @throws {Error} that names the missing part */
export function readIdentityProvider(xml: string, entityId: string): IdentityProvider {
  assertHarmlessXml(xml, metadataLimits)
  const document = parseXml(xml)
  const found = byName(document, 'EntityDescriptor').flatMap((entity) =>
    byName(entity, 'IDPSSODescriptor').map((descriptor) => ({ id: entity.getAttribute('entityID') ?? '', descriptor })),
  )
  const named = entityId === '' ? found : found.filter(({ id }) => id === entityId)
  const [only, second] = named
  if (!only) throw new Error(`the metadata have no identity provider ${entityId}`)
  if (second) throw new Error('the metadata have several identity providers: say which one')
  const service = (name: string): XmlNode | undefined =>
    byName(only.descriptor, name).find((one) => one.getAttribute('Binding') === redirectBinding)
  const signOnUrl = addressOf(service('SingleSignOnService'), 'Location')
  if (signOnUrl === null) throw new Error('the metadata have no address for HTTP-Redirect')
  const leaving = service('SingleLogoutService')
  const url = addressOf(leaving, 'Location')
  const signOut = url === null ? null : { url, responseUrl: addressOf(leaving, 'ResponseLocation') ?? url }
  const certificates = byName(only.descriptor, 'KeyDescriptor')
    .filter((key) => key.getAttribute('use') !== 'encryption')
    .flatMap((key) => byName(key, 'X509Certificate').map((one) => (one.textContent ?? '').replaceAll(/\s+/g, '')))
    .filter((one) => one !== '')
  if (certificates.length === 0) throw new Error('the metadata have no certificate')
  return { entityId: only.id, signOnUrl, signOut, certificates }
}

function byName(from: XmlNode, name: string): XmlNode[] {
  return Array.from(from.getElementsByTagNameNS('urn:oasis:names:tc:SAML:2.0:metadata', name)).concat(
    Array.from(from.getElementsByTagNameNS('http://www.w3.org/2000/09/xmldsig#', name)),
  )
}

function addressOf(service: XmlNode | undefined, attribute: string): string | null {
  const url = service?.getAttribute(attribute)
  return url && /^https?:$/.test(URL.parse(url)?.protocol ?? '') ? url : null
}

/** The claimed sender of a message: not proved by anything. @throws {Error} */
export function issuerIn(xml: string): string {
  assertHarmlessXml(xml, messageLimits)
  return textOf(Array.from(parseXml(xml).getElementsByTagNameNS(assertionSpace, 'Issuer'))[0])
}

/** @throws {Error} when it is no message about signing out */
export function readSignOutMessage(xml: string): SignOutMessage {
  assertHarmlessXml(xml, messageLimits)
  const document = parseXml(xml)
  const [request] = Array.from(document.getElementsByTagNameNS(protocol, 'LogoutRequest'))
  const [response] = Array.from(document.getElementsByTagNameNS(protocol, 'LogoutResponse'))
  const root = request ?? response
  const issuedAt = new Date(root?.getAttribute('IssueInstant') ?? '')
  const id = root?.getAttribute('ID') ?? ''
  if (!root || (request && response) || id === '' || Number.isNaN(issuedAt.getTime())) {
    throw new Error('this is no message about signing out')
  }
  const inside = (space: string, name: string): string[] =>
    Array.from(root.getElementsByTagNameNS(space, name)).map(textOf)
  const end = root.getAttribute('NotOnOrAfter')
  const status = Array.from(root.getElementsByTagNameNS(protocol, 'StatusCode'))[0]?.getAttribute('Value')
  return {
    kind: request ? 'request' : 'response',
    id,
    issuer: inside(assertionSpace, 'Issuer')[0] ?? '',
    destination: root.getAttribute('Destination') || null,
    issuedAt,
    validTo: end ? new Date(end) : null,
    nameId: inside(assertionSpace, 'NameID')[0] ?? '',
    sessionIndexes: inside(protocol, 'SessionIndex'),
    success: status === 'urn:oasis:names:tc:SAML:2.0:status:Success',
  }
}

const textOf = (node: XmlNode | undefined): string => (node?.textContent ?? '').trim()

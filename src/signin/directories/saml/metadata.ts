import { parseXml, type XmlNode } from '../../../platform/xml/document.ts'
import { assertHarmlessXml, messageLimits, metadataLimits } from './harmless-xml.ts'

/** An identity provider, as its metadata (SAML 2.0) describe it. */
export interface IdentityProvider {
  readonly entityId: string
  /** Where browsers go with a request (HTTP-Redirect). */
  readonly signOnUrl: string
  /** Where they go to sign out there, and with the answer to having been signed out here (HTTP-Redirect); null: nowhere. */
  readonly signOut: { readonly url: string; readonly responseUrl: string } | null
  /** Certificates that its signatures are checked with. */
  readonly certificates: readonly string[]
}

/** What another server has sent, in a message that was signed as a whole. */
export interface SignOutMessage {
  readonly kind: 'request' | 'response'
  readonly id: string
  readonly issuer: string
  readonly destination: string | null
  readonly issuedAt: Date
  readonly validTo: Date | null
  /** Whom a request is about; empty: not said in a way that can be read. */
  readonly nameId: string
  readonly sessionIndexes: readonly string[]
  /** Of a response. */
  readonly success: boolean
}

const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'
const assertionSpace = 'urn:oasis:names:tc:SAML:2.0:assertion'
const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'
/** @throws {Error} that says what is missing */
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

/** Who says to have sent a message: not proved by anything. @throws {Error} */
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

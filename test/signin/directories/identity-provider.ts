import { createSign, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ofProvider, ofService } from './certificates.ts'

const require = createRequire(import.meta.url)
// The types of both packages bring those of browsers along.
interface Signature {
  addReference(options: object): void
  computeSignature(xml: string, options: object): void
  getSignedXml(): string
}
const { SignedXml } = require('xml-crypto') as { SignedXml: new (options: object) => Signature }
const { encrypt } = require('xml-encryption') as {
  encrypt(xml: string, options: object, done: (error: Error | null, result?: string) => void): void
}

export const entityId = 'https://idp.example.org/entity'
export const acs = 'http://localhost:8080/api/saml/acs'
export const audience = 'http://localhost:8080/api/saml/metadata'

const bare = (pem: string): string => pem.replaceAll(/-----[^-]+-----|\s/g, '')

/** Metadata of an identity provider; several make a federation. */
export function metadataOf(...providers: { id?: string; cert?: string; location?: string; leave?: boolean }[]): string {
  const entities = providers.map(
    ({ id = entityId, cert = ofProvider.cert, location = 'https://idp.example.org/sso', leave = true }) =>
      `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}"><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${bare(cert)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>${leave ? '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example.org/slo" ResponseLocation="https://idp.example.org/slo-done"/>' : ''}<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${location}"/></md:IDPSSODescriptor></md:EntityDescriptor>`,
  )
  if (entities.length === 1) return entities[0] ?? ''
  return `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${entities.join('')}</md:EntitiesDescriptor>`
}

export const signOutUrl = 'http://localhost:8080/api/saml/logout'

/** A message about signing out, as the provider puts it into an address. */
export function signOutMessage(
  kind: 'Request' | 'Response',
  inner: string,
  { id = `_${randomUUID()}`, issuer = entityId, destination = signOutUrl, issued = 0, ends = 60_000 } = {},
): string {
  const at = (offset: number): string => new Date(Date.now() + offset).toISOString()
  const end = kind === 'Request' ? ` NotOnOrAfter="${at(ends)}"` : ''
  return `<samlp:Logout${kind} xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${id}" Version="2.0" IssueInstant="${at(issued)}"${end} Destination="${destination}"><saml:Issuer ${ns}>${issuer}</saml:Issuer>${inner}</samlp:Logout${kind}>`
}

export const aboutName = (name: string, index?: string): string =>
  `<saml:NameID ${ns}>${name}</saml:NameID>${index === undefined ? '' : `<samlp:SessionIndex>${index}</samlp:SessionIndex>`}`

export const succeeded =
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>'

/** The query of a signed message (SAML bindings, 3.4.4.1). */
export function signedQuery(
  kind: 'SAMLRequest' | 'SAMLResponse',
  xml: string,
  { relayState = '', by = ofProvider, hash = 'sha256' } = {},
): string {
  const content = new URLSearchParams({
    [kind]: deflateRawSync(xml).toString('base64'),
    ...(relayState === '' ? {} : { RelayState: relayState }),
    SigAlg: `http://www.w3.org/2001/04/xmldsig-more#rsa-${hash}`,
  }).toString()
  return `${content}&Signature=${encodeURIComponent(createSign(hash).update(content).sign(by.key, 'base64'))}`
}

/** The request in the address that a browser is sent to. */
export function requestIn(address: URL): { xml: string; id: string; relayState: string } {
  const xml = inflateRawSync(Buffer.from(address.searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
  return { xml, id: / ID="([^"]+)"/.exec(xml)?.[1] ?? '', relayState: address.searchParams.get('RelayState') ?? '' }
}

export interface Said {
  name: string
  inResponseTo: string
  id?: string
  issuer?: string
  audience?: string | null
  recipient?: string
  /** Of the confirmation; undefined: the same as that of the response, null: none. */
  confirms?: string | null
  /** Milliseconds from now. */
  ends?: number
  /** Of the session there; absent: not said. */
  sessionEnds?: string
  attributes?: Record<string, readonly string[]>
}

const ns = 'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'

export function assertion(said: Said): string {
  const { name, inResponseTo, id = `_${randomUUID()}`, issuer = entityId, recipient = acs, ends = 60_000 } = said
  const { confirms = inResponseTo, attributes = { mail: [`${name}@example.org`], role: ['staff'] } } = said
  const [now, end] = [new Date().toISOString(), new Date(Date.now() + ends).toISOString()]
  const to = said.audience === undefined ? audience : said.audience
  const restriction =
    to === null ? '' : `<saml:AudienceRestriction><saml:Audience>${to}</saml:Audience></saml:AudienceRestriction>`
  const statements = Object.entries(attributes).map(
    ([key, values]) =>
      `<saml:Attribute Name="${key}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
  )
  return `<saml:Assertion ${ns} Version="2.0" ID="${id}" IssueInstant="${now}"><saml:Issuer>${issuer}</saml:Issuer><saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">${name}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${end}" Recipient="${recipient}"${confirms === null ? '' : ` InResponseTo="${confirms}"`}/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotOnOrAfter="${end}">${restriction}</saml:Conditions><saml:AuthnStatement AuthnInstant="${now}" SessionIndex="_s"${said.sessionEnds === undefined ? '' : ` SessionNotOnOrAfter="${said.sessionEnds}"`}><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>${statements.join('')}</saml:AttributeStatement></saml:Assertion>`
}

export function response(
  inner: string,
  { inResponseTo, issuer = entityId }: Pick<Said, 'inResponseTo' | 'issuer'>,
  status = succeeded,
): string {
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_${randomUUID()}" Version="2.0" IssueInstant="${new Date().toISOString()}" Destination="${acs}" InResponseTo="${inResponseTo}"><saml:Issuer ${ns}>${issuer}</saml:Issuer>${status}${inner}</samlp:Response>`
}

const modern = {
  signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  digest: 'http://www.w3.org/2001/04/xmlenc#sha256',
}

/** Signs an element where its issuer ends. */
export function signed(
  xml: string,
  element: 'Assertion' | 'Response',
  by: { cert: string; key: string } = ofProvider,
  { signature: signatureAlgorithm, digest: digestAlgorithm } = modern,
): string {
  const path = `//*[local-name(.)='${element}']`
  const signature = new SignedXml({
    privateKey: by.key,
    publicCert: by.cert,
    signatureAlgorithm,
    canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  })
  signature.addReference({
    xpath: path,
    digestAlgorithm,
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', 'http://www.w3.org/2001/10/xml-exc-c14n#'],
  })
  signature.computeSignature(xml, { location: { reference: `${path}/*[local-name(.)='Issuer']`, action: 'after' } })
  return signature.getSignedXml()
}

/** An assertion that only the service can read. */
export async function encrypted(
  xml: string,
  {
    content = 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
    key = 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  } = {},
): Promise<string> {
  const result = await promisify(encrypt)(xml, {
    rsa_pub: ofService.cert,
    pem: ofService.cert,
    encryptionAlgorithm: content,
    keyEncryptionAlgorithm: key,
    warnInsecureAlgorithm: false,
  })
  return `<saml:EncryptedAssertion ${ns}>${result}</saml:EncryptedAssertion>`
}

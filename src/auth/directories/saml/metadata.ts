import { createRequire } from 'node:module'
import { assertHarmlessXml } from './harmless-xml.ts'

/** What is used of the parser: its own types would bring those of browsers into the whole project. */
interface Node {
  readonly textContent: string | null
  getAttribute(name: string): string | null
  getElementsByTagNameNS(namespace: string, name: string): ArrayLike<Node>
}
interface Parser {
  readonly DOMParser: new (options: object) => { parseFromString(xml: string, type: string): Node }
}

const require = createRequire(import.meta.url)
const { DOMParser } = require('@xmldom/xmldom') as Parser

/** An identity provider, as its metadata (SAML 2.0) describe it. */
export interface IdentityProvider {
  readonly entityId: string
  /** Where browsers go with a request (HTTP-Redirect). */
  readonly signOnUrl: string
  /** Certificates that its signatures are checked with. */
  readonly certificates: readonly string[]
}

const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'
/** @throws {Error} that says what is missing */
export function readIdentityProvider(xml: string, entityId: string): IdentityProvider {
  assertHarmlessXml(xml)
  const document = new DOMParser({
    errorHandler: {
      warning: () => {},
      error: (message: string) => {
        throw new Error(message)
      },
      fatalError: (message: string) => {
        throw new Error(message)
      },
    },
  }).parseFromString(xml, 'text/xml')
  const found = byName(document, 'EntityDescriptor').flatMap((entity) =>
    byName(entity, 'IDPSSODescriptor').map((descriptor) => ({ id: entity.getAttribute('entityID') ?? '', descriptor })),
  )
  const named = entityId === '' ? found : found.filter(({ id }) => id === entityId)
  const [only, second] = named
  if (!only) throw new Error(`the metadata have no identity provider ${entityId}`)
  if (second) throw new Error('the metadata have several identity providers: say which one')
  const signOnUrl = byName(only.descriptor, 'SingleSignOnService')
    .find((service) => service.getAttribute('Binding') === redirectBinding)
    ?.getAttribute('Location')
  if (!signOnUrl || !/^https?:$/.test(URL.parse(signOnUrl)?.protocol ?? '')) {
    throw new Error('the metadata have no address for HTTP-Redirect')
  }
  const certificates = byName(only.descriptor, 'KeyDescriptor')
    .filter((key) => key.getAttribute('use') !== 'encryption')
    .flatMap((key) => byName(key, 'X509Certificate').map((one) => (one.textContent ?? '').replaceAll(/\s+/g, '')))
    .filter((one) => one !== '')
  if (certificates.length === 0) throw new Error('the metadata have no certificate')
  return { entityId: only.id, signOnUrl, certificates }
}

function byName(from: Node, name: string): Node[] {
  return Array.from(from.getElementsByTagNameNS('urn:oasis:names:tc:SAML:2.0:metadata', name)).concat(
    Array.from(from.getElementsByTagNameNS('http://www.w3.org/2000/09/xmldsig#', name)),
  )
}

import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { parseXml, type XmlNode } from '../../../platform/xml/document.ts'
import { assertHarmlessXml, messageLimits } from './harmless-xml.ts'

type Decrypt = (xml: string, options: { key: string; warnInsecureAlgorithm: boolean }) => Promise<string>

const require = createRequire(import.meta.url)

/** Older algorithms that a provider may be allowed, each by its name in the configuration. */
export type OlderAlgorithm = 'sha1' | 'rsa-1_5' | 'cbc' | '3des'

const [dsig, more, enc, enc11] = [
  'http://www.w3.org/2000/09/xmldsig#',
  'http://www.w3.org/2001/04/xmldsig-more#',
  'http://www.w3.org/2001/04/xmlenc#',
  'http://www.w3.org/2009/xmlenc11#',
]

const signatures = new Set([`${more}rsa-sha256`, `${more}rsa-sha384`, `${more}rsa-sha512`])
const digests = new Set([`${enc}sha256`, `${more}sha384`, `${enc}sha512`])
/** The security of RSA-OAEP does not depend on collisions of the digest, and SHA-1 is its default (RFC 8017, B.1). */
const oaepDigests = new Set([...digests, `${dsig}sha1`, `${dsig}sha256`, `${dsig}sha512`])
const encryptions = new Set([
  `${enc11}aes128-gcm`,
  `${enc11}aes192-gcm`,
  `${enc11}aes256-gcm`,
  `${enc}rsa-oaep-mgf1p`,
  `${enc11}rsa-oaep`,
])

const older: Readonly<Record<string, OlderAlgorithm>> = {
  [`${dsig}rsa-sha1`]: 'sha1',
  [`${dsig}sha1`]: 'sha1',
  [`${enc}rsa-1_5`]: 'rsa-1_5',
  [`${enc}aes128-cbc`]: 'cbc',
  [`${enc}aes192-cbc`]: 'cbc',
  [`${enc}aes256-cbc`]: 'cbc',
  [`${enc}tripledes-cbc`]: '3des',
}

const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'

/**
 * The conditions for a response before its keys and signatures are tried: a success, signed and encrypted by secure algorithms,
 * within the encrypted part, too. Every element that names an algorithm is checked, wherever it is, so that no other code reads one
 * that was overlooked here.
 * @throws {Error} that names the refused part
 */
export async function assertWithinPolicy(
  xml: string,
  { key, allowed }: { readonly key: string; readonly allowed: readonly OlderAlgorithm[] },
): Promise<void> {
  const document = parseXml(xml)
  assertSucceeded(document.documentElement)
  assertAlgorithms(document, allowed)
  const encrypted = elements(document, 'EncryptedAssertion')
  const [one, second] = encrypted
  // Each part requires an attempt with a separate key, and there is only one.
  if (second || elements(document, 'EncryptedKey').length > 1) throw new Error('there is more than one encrypted part')
  if (!one || key === '') return
  const inner = await decryption()(one.toString(), { key, warnInsecureAlgorithm: false })
  assertHarmlessXml(inner, messageLimits)
  assertAlgorithms(parseXml(inner), allowed)
}

/** A failure has no person, even if the message names one (SAML core, 3.2.2.2). */
function assertSucceeded(root: XmlNode | null): void {
  if (root?.localName !== 'Response') throw new Error('this is no response')
  const children = (of: XmlNode, name: string): XmlNode[] =>
    Array.from(of.childNodes).filter((one) => one.localName === name && one.namespaceURI === protocol)
  const codes = children(root, 'Status').flatMap((status) => children(status, 'StatusCode'))
  const [only, second] = codes
  const status = only?.getAttribute('Value') ?? ''
  if (second || status !== success)
    throw new Error(`the provider reports no success: ${status || 'there is no status'}`)
}

function assertAlgorithms(document: XmlNode, allowed: readonly OlderAlgorithm[]): void {
  const assertAllowed = (of: XmlNode, known: ReadonlySet<string>): void => {
    const algorithm = of.getAttribute('Algorithm') ?? ''
    const setting = older[algorithm]
    if (known.has(algorithm) || (setting && allowed.includes(setting))) return
    const hint = setting ? ` (older_algorithms: ${setting})` : ''
    throw new Error(`the algorithm ${algorithm || 'without a name'} of ${of.localName} is refused${hint}`)
  }
  for (const one of elements(document, 'SignatureMethod')) assertAllowed(one, signatures)
  for (const one of elements(document, 'EncryptionMethod')) assertAllowed(one, encryptions)
  for (const one of elements(document, 'DigestMethod')) {
    assertAllowed(one, one.parentNode?.localName === 'EncryptionMethod' ? oaepDigests : digests)
  }
}

/** In any namespace: the code that reads the message may ignore it. */
const elements = (from: XmlNode, name: string): XmlNode[] => Array.from(from.getElementsByTagNameNS('*', name))

/** The package with which the SAML package decrypts: it is a dependency of that. */
function decryption(): Decrypt {
  const ofSaml = createRequire(require.resolve('@node-saml/node-saml'))
  const { decrypt } = ofSaml('xml-encryption') as {
    decrypt(xml: string, options: object, done: (error: Error | null, result?: string) => void): void
  }
  return promisify(decrypt) as Decrypt
}

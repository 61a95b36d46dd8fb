import { verify, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'

const inflate = promisify(inflateRaw)

/** Maximum number of characters of a message, and of its unpacked bytes. */
const [longest, largest] = [16 * 1024, 64 * 1024]
/** Accepted signature algorithms with their digests; SHA-1 can be forged. */
const algorithms: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384': 'sha384',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'sha512',
}

/** A message that a browser has brought in its query (SAML bindings, 3.4). */
export interface RedirectMessage {
  readonly xml: string
  readonly relayState: string
  isSignedBy(certificates: readonly string[]): boolean
}

/** @throws {Error} when there is no message, more than one, or one that is too large to unpack */
export async function readRedirectMessage(query: string): Promise<RedirectMessage> {
  const given = new Map<string, string>()
  for (const pair of query.split('&')) {
    const [name = ''] = pair.split('=', 1)
    if (given.has(name)) throw new Error('a parameter comes twice')
    given.set(name, pair.slice(name.length + 1))
  }
  const kinds = ['SAMLRequest', 'SAMLResponse'].filter((name) => given.has(name))
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) throw new Error('there is no message')
  const text = (name: string): string => decodeURIComponent((given.get(name) ?? '').replaceAll('+', ' '))
  if (text(kind).length > longest) throw new Error('the message is too long')
  const unpacked = await inflate(Buffer.from(text(kind), 'base64'), { maxOutputLength: largest })
  // The signature covers these parameters as they were sent, in this order, whatever else is in the query.
  const signed = [kind, 'RelayState', 'SigAlg'].filter((name) => given.has(name))
  const content = Buffer.from(signed.map((name) => `${name}=${given.get(name)}`).join('&'))
  const algorithm = algorithms[text('SigAlg')]
  const signature = Buffer.from(text('Signature'), 'base64')
  return {
    xml: unpacked.toString('utf8'),
    relayState: text('RelayState'),
    isSignedBy: (certificates) =>
      algorithm !== undefined &&
      signature.length > 0 &&
      certificates.some((one) => {
        const key = new X509Certificate(Buffer.from(one, 'base64')).publicKey
        return key.asymmetricKeyType === 'rsa' && verify(algorithm, content, key, signature)
      }),
  }
}

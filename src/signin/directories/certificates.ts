import { X509Certificate } from 'node:crypto'
import type { BaseConfig } from '../../config/service.ts'
import { certificateTexts } from '../../platform/values/certificate-texts.ts'

/** A certificate that sign-ins depend on. */
export interface KnownCertificate {
  /** The place of its configuration. */
  readonly of: string
  readonly subject: string
  readonly validTo: string
  /** It expires within a month, or has expired. */
  readonly expiring: boolean
}

const month = 30 * 24 * 3_600_000

/** PEM, or the base64 of metadata; null: it is no certificate. */
function certificateIn(text: string): X509Certificate | null {
  try {
    return new X509Certificate(text.includes('BEGIN') ? text : Buffer.from(text, 'base64'))
  } catch {
    return null
  }
}

export function certificateText(text: string): string {
  const certificate = certificateIn(text)
  if (!certificate) return 'that cannot be read'
  const { subject, validToDate } = certificate
  const ends = validToDate.getTime() < Date.now() + month ? ', which ends soon or has ended' : ''
  return `${subject.replaceAll('\n', ', ')}, valid to ${validToDate.toISOString()}${ends}`
}

function known(of: string, text: string): KnownCertificate[] {
  const certificate = certificateIn(text)
  if (!certificate) return []
  const { subject, validToDate } = certificate
  const expiring = validToDate.getTime() < Date.now() + month
  return [{ of, subject: subject.replaceAll('\n', ', '), validTo: validToDate.toISOString(), expiring }]
}

/** The part of a provider that concerns certificates. */
interface MetadataOf {
  readonly name: string
  readonly metadata: string
  readonly idp_entity_id: string
}

/** The certificate of the service, and those in metadata that are part of the configuration: no server is asked. */
export async function samlCertificates(
  { cert }: BaseConfig['saml'],
  providers: readonly MetadataOf[],
): Promise<readonly KnownCertificate[]> {
  const own = cert === '' ? [] : known('saml.cert', cert)
  const texts = providers.filter(({ metadata }) => metadata !== '')
  if (texts.length === 0) return own
  const { readIdentityProvider } = await import('./saml/metadata.ts')
  const theirs = texts.flatMap(({ name, metadata, idp_entity_id }) => {
    try {
      const { certificates } = readIdentityProvider(metadata, idp_entity_id)
      return certificates.flatMap((one) => known(`saml provider ${name}`, one))
    } catch {
      // The error is reported at a sign-in with this provider.
      return []
    }
  })
  return [...own, ...theirs]
}

/** Certificate authorities that are trusted for LDAP servers. */
export function ldapCertificates({ connections }: BaseConfig['ldap']): readonly KnownCertificate[] {
  return connections.flatMap(({ url, tls_ca_cert: pem }) =>
    certificateTexts(pem).flatMap((one) => known(`ldap ${url}`, one)),
  )
}

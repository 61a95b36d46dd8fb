import { randomUUID } from 'node:crypto'
import { stringify } from 'node:querystring'
import type { Profile, SAML, SamlConfig as SamlOptions } from '@node-saml/node-saml'
import type { BaseConfig } from '../../../config/service.ts'
import { createOutgoingFetch, type OutgoingFetch } from '../../../platform/outgoing/fetch.ts'
import { AnswerTooLong, type OutgoingLimits } from '../../../platform/outgoing/limits.ts'
import { opened, type Secret } from '../../../platform/secrets/sealed-texts.ts'
import { scrubAddress } from '../../../platform/secrets/secrets.ts'
import { attributeTemplate, type ValuesOf } from '../../../platform/values/attribute-templates.ts'
import { certificateText } from '../certificates.ts'
import { knownProviders, reasonOf } from '../known-providers.ts'
import {
  attributesOf,
  DirectoryRefusal,
  DirectoryUnavailable,
  type Mapping,
  type Person,
  type Steps,
  vouchedBy,
} from '../model.ts'
import { metadataLimits } from './harmless-xml.ts'
import type { IdentityProvider } from './metadata.ts'
import type { OlderAlgorithm } from './policies.ts'
import { createSamlReader } from './reader.ts'

type SamlConfig = BaseConfig['saml']

/** One configured identity provider. */
export interface SamlProvider extends Mapping {
  readonly name: string
  readonly url: Secret
  readonly metadata: string
  readonly idp_entity_id: string
  /** The target for people who begin at the provider; empty: they are refused. */
  readonly idp_initiated: string
  readonly older_algorithms: readonly OlderAlgorithm[]
}

export interface SamlProof {
  readonly person: Person
  /** The id of the assertion, which may be used once. */
  readonly assertionId: string
  /** The time until which it could be used again. */
  readonly expiresAt: Date
  /** The identification of the sign-in at the provider. */
  readonly session: SamlSession
}

/** A sign-in as its provider knows it, for sign-out there. */
export interface SamlSession {
  readonly idp: string
  readonly nameId: string
  readonly format: string
  readonly nameQualifier: string
  readonly spNameQualifier: string
  readonly index: string
}

/** The same in its stored form. */
export function samlSessionOf(details: Readonly<Record<string, string>>): SamlSession {
  const { idp = '', nameId = '', format = '', nameQualifier = '', spNameQualifier = '', index = '' } = details
  return { idp, nameId, format, nameQualifier, spNameQualifier, index }
}

/** Milliseconds for an answer of a provider, and for which its metadata is kept. */
const [timeout, kept] = [8_000, 60 * 60_000]
/** Milliseconds by which clocks may differ. */
const skew = 60_000
const mostNames = 1000

/** The parts of an assertion that are read: in the form of xml2js, without prefixes. */
interface Assertion {
  $?: { ID?: string }
  Subject?: { SubjectConfirmation?: { $?: { Method?: string }; SubjectConfirmationData?: { $?: Confirmation }[] }[] }[]
  Conditions?: { AudienceRestriction?: { Audience?: Text[] }[] }[]
  AuthnStatement?: { $?: { SessionIndex?: string; SessionNotOnOrAfter?: string } }[]
  AttributeStatement?: { Attribute?: { $?: { Name?: string; FriendlyName?: string }; AttributeValue?: Text[] }[] }[]
}
type Text = string | { _?: string }
interface Confirmation {
  InResponseTo?: string
  Recipient?: string
  NotOnOrAfter?: string
}

export type Saml = ReturnType<typeof createSaml>

/** Loaded at the first sign-in that needs it. A configuration may exist without the package. */
async function loadSaml() {
  try {
    return await import('@node-saml/node-saml')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new DirectoryUnavailable('The package @node-saml/node-saml is not installed beside the service.')
  }
}

/** SAML 2.0, web browser single sign-on: a request by HTTP-Redirect, the answer by HTTP-POST. */
export function createSaml({ base, limits }: { base: string; limits: OutgoingLimits }) {
  const fetch = createOutgoingFetch({
    answer: Math.min(limits.answer, metadataLimits.characters),
    time: Math.min(limits.time, timeout),
  })
  const acs = `${base}/api/saml/acs`
  const metadataUrl = `${base}/api/saml/metadata`
  const signOutUrl = `${base}/api/saml/logout`
  const entityIdOf = (config: SamlConfig): string => config.sp_entity_id || metadataUrl

  const reader = createSamlReader()
  const read = async ({ url, metadata, idp_entity_id: entityId }: SamlProvider): Promise<IdentityProvider> => {
    const address = (): string => opened(url, 'The address of the metadata of the provider')
    return reader('metadata', { xml: metadata === '' ? await download(address(), fetch) : metadata, entityId })
  }
  const open = knownProviders<SamlProvider, IdentityProvider>({
    ttl: kept,
    keyOf: ({ url, metadata, idp_entity_id }) => [JSON.stringify(url), metadata, idp_entity_id],
    ask: read,
  })

  async function samlOf(
    config: SamlConfig,
    provider: SamlProvider,
    id: string,
    leavingTo: 'url' | 'responseUrl' | null = null,
  ): Promise<SAML> {
    const { SAML } = await loadSaml()
    const { options } = await optionsOf(config, provider, leavingTo)
    return new SAML({ ...options, generateUniqueId: () => id })
  }

  async function optionsOf(
    config: SamlConfig,
    provider: SamlProvider,
    leavingTo: 'url' | 'responseUrl' | null = null,
  ): Promise<{ options: SamlOptions; entityId: string }> {
    const { ValidateInResponseTo } = await loadSaml()
    const key = keyOf(config)
    const idp = await open(provider)
    const leaves = leavingTo === null ? null : (idp.signOut?.[leavingTo] ?? null)
    const signs = config.signrequest !== '' || (leaves !== null && config.key !== '')
    const options: SamlOptions = {
      callbackUrl: acs,
      entryPoint: idp.signOnUrl,
      ...(leaves === null ? {} : { logoutUrl: leaves }),
      issuer: entityIdOf(config),
      audience: entityIdOf(config),
      idpIssuer: idp.entityId,
      idpCert: [...idp.certificates],
      identifierFormat: null,
      disableRequestedAuthnContext: true,
      acceptedClockSkewMs: skew,
      // Either response or assertion must be signed; the provider decides which.
      wantAssertionsSigned: false,
      wantAuthnResponseSigned: false,
      // Checked below, in the signed part.
      validateInResponseTo: ValidateInResponseTo.never,
      ...(signs ? { privateKey: key, signatureAlgorithm: algorithmOf(config) } : {}),
      ...(key === '' ? {} : { decryptionPvk: key }),
    }
    return { options, entityId: idp.entityId }
  }

  return {
    /** The address for the browser, with a request of this id. @throws {DirectoryUnavailable} */
    async begin(config: SamlConfig, provider: SamlProvider, relayState: string, id: string): Promise<string> {
      const saml = await samlOf(config, provider, id)
      return saml.getAuthorizeUrlAsync(relayState, undefined, {})
    },

    /**
     * The person in the provider's answer to the request of this id; null: an answer without a request, for people who began there.
     * @throws {DirectoryUnavailable} {DirectoryRefusal}
     */
    async finish(
      config: SamlConfig,
      provider: SamlProvider,
      response: string,
      id: string | null,
      steps: Steps,
    ): Promise<SamlProof> {
      const { options, entityId } = await optionsOf(config, provider)
      try {
        const key = keyOf(config)
        const signed = await reader('response', { response, options, key, allowed: provider.older_algorithms })
        const assertion = signed.assertion as Assertion
        if (signed.issuer !== entityId) throw new Error('the assertion is of another issuer')
        const expiresAt = assertMeant(assertion, { id, acs, audience: entityIdOf(config) })
        const assertionId = assertion.$?.ID
        if (!assertionId) throw new Error('the assertion has no id')
        const attributes = attributesIn(assertion, signed.nameID)
        steps.note(`${entityId} has signed for somebody; attributes: ${[...attributes.keys()].join(', ')}`)
        const valuesOf = attributesOf(attributes)
        const groupNames = namesOf(provider, valuesOf)
        steps.note(`names of groups: ${groupNames.join(', ') || 'none'}`)
        const { nameID: nameId, nameIDFormat: format, nameQualifier, spNameQualifier } = signed
        const index = assertion.AuthnStatement?.[0]?.$?.SessionIndex ?? ''
        const session = { idp: entityId, nameId, format, nameQualifier, spNameQualifier, index }
        const person = { attributes: valuesOf, groupNames, vouched: vouchedBy(valuesOf) }
        return { person, assertionId: `${entityId} ${assertionId}`, expiresAt, session }
      } catch (error) {
        throw new DirectoryRefusal('unproved', `The answer of the provider was not accepted: ${reasonOf(error)}`)
      }
    },

    /** Reads messages of other servers, in another thread. */
    reader,

    /** The metadata of a provider. @throws {DirectoryUnavailable} */
    identityOf: open,

    signOutUrl,

    /** Whether sign-out includes the provider: this requires signed messages. */
    signsOut: (config: SamlConfig): boolean => config.key !== '',

    /** Requests everything from the provider that a sign-in needs, and reports the answers. @throws {DirectoryUnavailable} */
    async check(config: SamlConfig, provider: SamlProvider, steps: Steps): Promise<void> {
      const { entityId, signOnUrl, signOut, certificates } = await read(provider).catch((error: unknown) => {
        throw new DirectoryUnavailable(`The provider cannot be asked: ${reasonOf(error)}`)
      })
      steps.note(`the metadata name the identity provider ${entityId}`)
      steps.note(`sign-ins go to ${signOnUrl}`)
      steps.note(signOut ? `signing out goes to ${signOut.url}` : 'the provider has no address to sign out')
      for (const one of certificates) steps.note(`signed with the certificate ${certificateText(one)}`)
      if (config.cert !== '') steps.note(`the service has the certificate ${certificateText(config.cert)}`)
      steps.note(`the service is ${entityIdOf(config)}, assertions are taken at ${acs}`)
      await samlOf(config, provider, '_test')
    },

    /** The address at which the browser signs out there, too; null: none. @throws {DirectoryUnavailable} */
    async leave(config: SamlConfig, provider: SamlProvider, session: SamlSession): Promise<string | null> {
      if (config.key === '' || (await open(provider)).signOut === null) return null
      const saml = await samlOf(config, provider, `_${randomUUID()}`, 'url')
      const { nameId, format, nameQualifier, spNameQualifier, index, idp } = session
      const user = {
        issuer: idp,
        nameID: nameId,
        nameIDFormat: format,
        ...(nameQualifier === '' ? {} : { nameQualifier }),
        ...(spNameQualifier === '' ? {} : { spNameQualifier }),
        ...(index === '' ? {} : { sessionIndex: index }),
      }
      return asSigned(await saml.getLogoutUrlAsync(user, '', {}))
    },

    /** The address for the answer to a sign-out request; null: none. @throws {DirectoryUnavailable} */
    async answer(config: SamlConfig, provider: SamlProvider, requestId: string, relayState: string) {
      if ((await open(provider)).signOut === null) return null
      const saml = await samlOf(config, provider, `_${randomUUID()}`, 'responseUrl')
      return asSigned(await saml.getLogoutResponseUrlAsync({ ID: requestId } as Profile, relayState, {}, true))
    },

    /** The metadata of this service for identity providers. */
    async metadata(config: SamlConfig): Promise<string> {
      const { generateServiceProviderMetadata } = await loadSaml()
      const key = keyOf(config)
      const signs = config.signrequest !== '' || key !== ''
      const metadata = generateServiceProviderMetadata({
        issuer: entityIdOf(config),
        callbackUrl: acs,
        identifierFormat: null,
        wantAssertionsSigned: true,
        generateUniqueId: () => '_metadata',
        ...(key === '' ? {} : { decryptionPvk: key, decryptionCert: config.cert }),
        ...(signs
          ? {
              privateKey: key,
              publicCerts: config.cert,
              signatureAlgorithm: algorithmOf(config),
              logoutCallbackUrl: signOutUrl,
            }
          : {}),
      })
      // The package supports only one binding, which this service does not use.
      return metadata
        .replace(/(<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2\.0:bindings:HTTP-)POST"/, '$1Redirect"')
        .replace('AuthnRequestsSigned="true"', `AuthnRequestsSigned="${config.signrequest !== ''}"`)
    },
  }
}

/** @throws {AppError} `ServiceUnavailable` when it is sealed with a key that is not here. */
function keyOf(config: SamlConfig): string {
  return opened(config.key, 'The key for SAML')
}

/** The package signs a query in one spelling and sends it in another: this returns the signed spelling. */
function asSigned(address: string): string {
  const url = new URL(address)
  const parameters = stringify(Object.fromEntries(url.searchParams))
  url.search = ''
  return `${url.href}?${parameters}`
}

interface Meant {
  readonly id: string | null
  readonly acs: string
  readonly audience: string
}

const algorithmOf = ({ signrequest }: SamlConfig): 'sha256' | 'sha512' =>
  signrequest === 'sha512' ? 'sha512' : 'sha256'

/**
 * The signed assertion is for this service, in answer to this request, and now (SAML profiles, 4.1.4.2 and 4.1.4.3): parts outside
 * of it may be unsigned. Returns the end of its validity.
 */
function assertMeant({ Subject, Conditions, AuthnStatement = [] }: Assertion, meant: Meant): Date {
  const confirmed = (Subject?.[0]?.SubjectConfirmation ?? [])
    .filter(({ $ }) => $?.Method === 'urn:oasis:names:tc:SAML:2.0:cm:bearer')
    .flatMap(({ SubjectConfirmationData: [data] = [] }) => data?.$ ?? [])
    .find((data) => (data.InResponseTo ?? null) === meant.id && data.Recipient === meant.acs)
  if (!confirmed) throw new Error('the assertion answers no request of this sign-in')
  const end = Date.parse(confirmed.NotOnOrAfter ?? '')
  if (Number.isNaN(end) || end + skew <= Date.now()) throw new Error('the assertion is not valid any more')
  const restrictions = (Conditions ?? []).flatMap(({ AudienceRestriction = [] }) => AudienceRestriction)
  const forUs = restrictions.every(({ Audience = [] }) => Audience.some((one) => textIn(one) === meant.audience))
  if (restrictions.length === 0 || !forUs) throw new Error('the assertion is for another audience')
  for (const { $: { SessionNotOnOrAfter: over } = {} } of AuthnStatement) {
    // A value that cannot be read as a time counts as ended.
    if (over !== undefined && !(Date.parse(over) + skew > Date.now())) throw new Error('the session there has ended')
  }
  return new Date(end + 2 * skew)
}

function attributesIn({ AttributeStatement = [] }: Assertion, nameId: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>([['nameID', nameId ? [nameId] : []]])
  for (const { $, AttributeValue = [] } of AttributeStatement.flatMap(({ Attribute = [] }) => Attribute)) {
    // Values are not trimmed: two values that differ by a space are different.
    const values = AttributeValue.map(rawIn).filter((text) => text.trim() !== '')
    for (const name of [$?.Name, $?.FriendlyName]) {
      if (name) found.set(name, [...(found.get(name) ?? []), ...values])
    }
  }
  return found
}

const rawIn = (text: Text): string => (typeof text === 'string' ? text : (text._ ?? ''))
const textIn = (text: Text): string => rawIn(text).trim()

function namesOf({ groupmapping }: Mapping, attributes: ValuesOf): string[] {
  const names = groupmapping.flatMap(({ group }) => attributeTemplate(group).expandAll(attributes, mostNames))
  return [...new Set(names.map((name) => name.trim()))]
}

/** Only configured addresses are requested; redirects are not followed. */
async function download(url: string, fetch: OutgoingFetch): Promise<string> {
  const response = await fetch(url).catch((error: unknown) => {
    if (!(error instanceof AnswerTooLong)) throw error
    throw new Error(`the metadata are larger than ${metadataLimits.characters} bytes: use those of one provider`)
  })
  if (!response.ok) throw new Error(`${scrubAddress(url)} answers ${response.status}`)
  return response.text()
}

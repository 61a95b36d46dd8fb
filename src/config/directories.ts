import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isInstalled } from '../platform/process/optional-packages.ts'
import type { Secret } from '../platform/secrets/sealed-texts.ts'
import { attributeTemplate, partsOf } from '../platform/values/attribute-templates.ts'
import { certificateTexts } from '../platform/values/certificate-texts.ts'
import { table, waiting } from './fields/forms.ts'
import { address, secret } from './fields/secrets.ts'
import { bool, int, list, localized, select, text } from './fields/values.ts'
import { unavailableForm } from './unavailable.ts'

/** Members of the sections about directories, external systems in which people have accounts. */

/** User fields that a directory may fill. */
const mappedFields = [
  'address_supplement',
  'company',
  'country',
  'department',
  'displayname',
  'email',
  'first_name',
  'house_number',
  'last_name',
  'login',
  'phone',
  'postal_code',
  'reference',
  'state',
  'street',
  'town',
] as const

const template = (required: boolean) => text('', { required, maxLength: 2000, rule: templateRule })

/** The mapping of attributes to users of this instance: the same for all kinds of directories. */
export function mappingMembers(matchedBy: 'reference' | 'login') {
  return {
    usermapping: table(
      { key: select(mappedFields, 'login'), value: template(true) },
      { key: 'key', maxRows: mappedFields.length },
    ),
    /** The field by which the user is found again; it must be mapped. */
    userupdatecolumn: select(['reference', 'login', 'email'], matchedBy),
    /** Texts that the rules of groups are compared with. */
    groupmapping: table({ group: template(true) }, { maxRows: 100 }),
  }
}

interface Mapping {
  readonly usermapping: readonly { readonly key: string }[]
  readonly userupdatecolumn: string
}

interface Broken {
  readonly path: string
  readonly expected: string
}

function mappingRule({ usermapping, userupdatecolumn }: Mapping, path = ''): Broken | null {
  const mapped = (key: string): boolean => usermapping.some((row) => row.key === key)
  if (!mapped(userupdatecolumn)) {
    return { path: `${path}/usermapping`, expected: `a list with the field of userupdatecolumn (${userupdatecolumn})` }
  }
  if (mapped('login') || mapped('email')) return null
  return { path: `${path}/usermapping`, expected: 'a list with login or email, since users need one of them' }
}

export const ldapMembers = {
  /** The servers, tried in turn. Without any, sign-in by LDAP is off. */
  connections: table(
    {
      url: text('', { required: true, maxLength: 500, rule: ldapUrlRule }),
      /** Whether an `ldap://` connection is encrypted before anything is sent. */
      tls_start: bool(false),
      /** Whether any certificate is accepted, and unencrypted `ldap://` is allowed. */
      tls_insecure: bool(false),
      /** Trusted certificates (PEM), instead of those of the system. */
      tls_ca_cert: text('', { maxLength: 100_000, rule: certificatesRule }),
    },
    { maxRows: 10 },
  ),
  /** The account that searches; empty: an anonymous search. */
  bindusername: text('', { maxLength: 1000 }),
  bindpassword: secret(),
  userbasedn: text('', { maxLength: 1000 }),
  /** Finds the one entry of the user who signs in: `(uid=%(login)s)`. */
  userfilter: text('', { maxLength: 5000, rule: filterRule }),
  /** Empty: the groups are read from the user's own entry. */
  groupbasedn: text('', { maxLength: 1000 }),
  /** Finds the entries of the user's groups by attributes of the user: `(member=%(DN)s)`. */
  groupfilter: text('', { maxLength: 5000, rule: filterRule }),
  ...mappingMembers('login'),
  /** Minutes during which refreshes of tokens do not check again whether the directory still has the user. */
  recheck_minutes: int(15, { max: 1440 }),
  /** Minutes during which the last answer counts while no server can be reached. 0: nobody can sign in without an answer. */
  unreachable_minutes: int(0, { max: 10_080 }),
  /** Whether each attempt is logged, step by step. */
  debug: bool(false),
}

interface LdapConnection {
  readonly url: string
  readonly tls_start: boolean
  readonly tls_insecure: boolean
  readonly tls_ca_cert: string
}

/** The targets of the bind password. The accepted certificates are part of a server's identity. */
export function ldapServers({ connections }: { readonly connections: readonly LdapConnection[] }): string[] {
  return connections.map(({ url, tls_start, tls_insecure, tls_ca_cert }) =>
    JSON.stringify([url, tls_start, tls_insecure, tls_ca_cert]),
  )
}

interface LdapValues extends Mapping {
  readonly connections: readonly LdapConnection[]
  readonly bindusername: string
  readonly bindpassword: Secret
  readonly userbasedn: string
  readonly userfilter: string
  readonly groupbasedn: string
  readonly groupfilter: string
}

export function ldapRule(values: LdapValues): Broken | null {
  const { connections, bindusername, bindpassword, userbasedn, userfilter, groupbasedn, groupfilter } = values
  if (connections.length === 0) return null
  for (const [index, { url, tls_start, tls_insecure }] of connections.entries()) {
    const path = `/connections/${index}`
    if (url.startsWith('ldaps:') && tls_start) return { path: `${path}/tls_start`, expected: 'off with ldaps://' }
    if (url.startsWith('ldap:') && !tls_start && !tls_insecure) {
      const expected = 'ldaps://, or tls_start on: passwords would be sent as they are (tls_insecure allows it)'
      return { path: `${path}/url`, expected }
    }
  }
  // LDAP servers treat a name without a password as an anonymous bind, which succeeds.
  if (bindusername !== '' && bindpassword === '') return { path: '/bindpassword', expected: 'given with bindusername' }
  if (userbasedn === '') return { path: '/userbasedn', expected: 'given' }
  if (!userfilter.includes('%(login)s')) return { path: '/userfilter', expected: 'a filter with %(login)s' }
  if ((groupbasedn === '') !== (groupfilter === '')) {
    return { path: groupbasedn === '' ? '/groupbasedn' : '/groupfilter', expected: 'given: the two belong together' }
  }
  return mappingRule(values)
}

function templateRule(source: string): string | null {
  try {
    attributeTemplate(source)
    return null
  } catch (error) {
    return `a text with placeholders such as %(mail)s: ${error instanceof Error ? error.message : ''}`
  }
}

function filterRule(filter: string): string | null {
  const wrong = 'an LDAP filter in parentheses, such as (uid=%(login)s)'
  const problem = templateRule(filter)
  if (problem !== null) return problem
  // Parentheses in placeholders are not part of the filter.
  const outline = partsOf(filter)
    .map((part) => (typeof part === 'string' ? part : 'x'))
    .join('')
  let depth = 0
  for (const [index, character] of [...outline].entries()) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (depth < 0 || depth > 50 || (depth === 0 && index < outline.length - 1)) return wrong
  }
  return depth === 0 && outline.startsWith('(') ? null : wrong
}

function ldapUrlRule(url: string): string | null {
  const parsed = URL.parse(url)
  const plain = parsed && /^ldaps?:$/.test(parsed.protocol) && parsed.hostname !== '' && /^\/?$/.test(parsed.pathname)
  const more = parsed && (parsed.username !== '' || parsed.search !== '' || parsed.hash !== '')
  return plain && !more ? null : 'an address such as ldaps://ldap.example.org:636'
}

function certificatesRule(pem: string): string | null {
  const found = certificateTexts(pem)
  if (found.length > 0 && found.every(isCertificate)) return null
  return 'one or more certificates in PEM (-----BEGIN CERTIFICATE-----)'
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

/** Hours during which a sign-in at a provider counts. After that, passkeys and refresh tokens of its users are not accepted. */
const validHours = int(24, { min: 1, max: 8760 })

export const openidMembers = {
  /** Servers whose users may sign in here; each has a button on the sign-in page. */
  providers: table(
    {
      /** The name in addresses; letters, digits, `-` and `_`. */
      name: text('', { required: true, maxLength: 100, rule: nameRule }),
      /** Its address. `/.well-known/openid-configuration` below it has the other settings. */
      issuer: text('', { required: true, maxLength: 2000, rule: issuerRule }),
      client_id: text('', { required: true, maxLength: 1000 }),
      /** None: a public client. */
      client_secret: secret(),
      /** Whether addresses count even without `email_verified`: users of the provider cannot enter addresses of others. */
      trust_email: bool(false),
      scopes: text('openid profile email', { maxLength: 1000, rule: scopesRule }),
      /** The label of its button; none: its name. */
      loginlink: localized(),
      ...mappingMembers('reference'),
      valid_hours: validHours,
      /** Whether each attempt is logged, step by step. */
      debug: bool(false),
    },
    { key: 'name', maxRows: 20, sentTo: ({ issuer }) => [issuer] },
  ),
}

export function openidRule({ providers }: { readonly providers: readonly Mapping[] }): Broken | null {
  return providers.map((row, index) => mappingRule(row, `/providers/${index}`)).find((broken) => broken) ?? null
}

function nameRule(name: string): string | null {
  return /^[\w-]+$/.test(name) ? null : 'letters, digits, - and _'
}

function scopesRule(scopes: string): string | null {
  return scopes.split(' ').includes('openid') ? null : 'scopes separated by spaces, openid among them'
}

/** Data that is sent to the issuer must be encrypted, except on this machine, where others cannot read it. */
function issuerRule(issuer: string): string | null {
  const url = URL.parse(issuer)
  const local = url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  const plain = url && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  return plain && (url.protocol === 'https:' || local) ? null : 'an https address'
}

/** The description of an identity provider: by an address, or as a text. */
const providerMembers = {
  url: address({ maxLength: 2000, rule: metadataUrlRule }),
  metadata: text('', { maxLength: 200_000 }),
  /** The entity id of the provider, if the metadata describe several. */
  idp_entity_id: text('', { maxLength: 1000 }),
  /** The page for users who start at the provider: there they are signed in. None: such sign-ins are refused. */
  idp_initiated: text('', { maxLength: 2000, rule: metadataUrlRule }),
  /**
   * Algorithms that are accepted besides RSA with SHA-256 or more, RSA-OAEP and AES-GCM. `sha1`: an attacker who computes a
   * collision can sign as the provider; `rsa-1_5`, `cbc`, `3des`: an attacker who has recorded an assertion can decrypt it with
   * many requests to this service.
   */
  older_algorithms: list([], { choices: ['sha1', 'rsa-1_5', 'cbc', '3des'] }),
  /** The label of its button; none: its name. */
  loginlink: localized(),
  ...mappingMembers('reference'),
  valid_hours: validHours,
}

export const samlMembers = {
  ...providerMembers,
  /** Name of this service at its providers; none: the address of its metadata. */
  sp_entity_id: text('', { maxLength: 1000 }),
  /** Certificate and key (PEM) for signing requests, and for the encryption of assertions to this service. */
  cert: text('', { maxLength: 20_000, rule: certificatesRule }),
  key: secret(keyRule, 20_000),
  signrequest: select(['', 'sha1', 'sha256', 'sha512'], ''),
  /** Further identity providers, each with a button. */
  providers: table(
    { name: text('', { required: true, maxLength: 100, rule: nameRule }), ...providerMembers },
    { key: 'name', maxRows: 20 },
  ),
  /** Whether each attempt is logged, step by step. */
  debug: bool(false),
  /** The heading of the form for accounts of this instance. */
  loginlink_internal: localized(),
  /** Whether its button is above that form. */
  loginpreferred: bool(false),
  /** Whether the sign-in page redirects to it at once, unless the client asks for another way (`auth_method=native`). */
  loginredirect: bool(false),
  /** The directory for the groups of its users, by the data of the provider. */
  ldap: unavailableForm('groups come from what the provider says; `groupmapping` names the attributes'),
  entry_js: waiting(text(''), 'programs of the configuration are not run; templates replace and join values'),
}

interface ProviderValues extends Mapping {
  readonly url: Secret
  readonly metadata: string
}

interface SamlValues extends ProviderValues {
  readonly cert: string
  readonly key: Secret
  readonly signrequest: string
  readonly providers: readonly (ProviderValues & { readonly name: string })[]
}

/** An optional package, which is not installed with the service (platform/process/optional-packages.ts). */
const samlPackage = '@node-saml/node-saml'

export function samlRule(values: SamlValues): Broken | null {
  const { cert, key, signrequest, providers } = values
  if (signrequest === 'sha1') return { path: '/signrequest', expected: 'sha256 or sha512: sha1 can be forged' }
  if ((cert === '') !== (key === ''))
    return { path: cert === '' ? '/cert' : '/key', expected: 'given: the two belong together' }
  if (typeof key === 'string' && key !== '' && !belong(cert, key))
    return { path: '/key', expected: 'the key of the certificate' }
  if (signrequest !== '' && key === '') return { path: '/key', expected: 'given, to sign requests' }
  if (providers.some(({ name }) => name === 'saml')) {
    return { path: '/providers', expected: 'a list of other names than saml, which is the first provider' }
  }
  const first = values.url === '' && values.metadata === '' ? [] : [['', values] as const]
  const further = providers.map((row, index) => [`/providers/${index}`, row] as const)
  if (first.length + further.length > 0 && !isInstalled(samlPackage)) {
    return { path: first.length > 0 ? '' : '/providers', expected: `empty, or the package ${samlPackage} beside ours` }
  }
  for (const [path, row] of [...first, ...further]) {
    if ((row.url === '') === (row.metadata === '')) return { path: `${path}/url`, expected: 'given, or metadata' }
    const broken = mappingRule(row, path)
    if (broken) return broken
  }
  return null
}

function metadataUrlRule(url: string): string | null {
  return issuerRule(url.split('?')[0] ?? '') === null && !url.includes('#') ? null : 'an https address'
}

function keyRule(pem: string): string | null {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa' ? null : 'a private RSA key (PEM)'
  } catch {
    return 'a private RSA key (PEM)'
  }
}

function belong(cert: string, key: string): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
}

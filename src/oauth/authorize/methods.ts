import { OAuthError } from '../../platform/http/oauth-error.ts'
import { type PasswordMethod, passwordMethods } from '../../signin/service.ts'

/** All values of `auth_method`; an unknown one means `native` (CLIENT-021). `passkey` and `openid` are our own. */
const known = [
  'native',
  'ldap',
  'email',
  'collection',
  'saml',
  'action_code',
  'anonymous',
  'auto',
  'passkey',
  'openid',
] as const
export type Method = (typeof known)[number]

/** The methods that an administrator may switch off. */
export interface Switches {
  readonly guests: boolean
  readonly passkeys: boolean
  /** Whether a directory checks passwords. */
  readonly ldap: boolean
  /** A provider of OpenID Connect is configured. */
  readonly openid: boolean
  readonly saml: boolean
}

/**
 * The methods to try, in order. A method that does not exist yet, or that is off, is skipped in a list, since clients name all
 * methods that they know; if none is left, the request is refused.
 * @throws {OAuthError} `invalid_request` that names them.
 */
export function methodsToTry(asked: readonly string[], switches: Switches): readonly Method[] {
  const { guests, passkeys, ldap, openid, saml } = switches
  const available: Readonly<Partial<Record<Method, boolean>>> = {
    native: true,
    collection: true,
    email: true,
    ldap,
    action_code: true,
    anonymous: guests,
    auto: true,
    passkey: passkeys,
    openid,
    saml,
  }
  const named = asked.map((name): Method => known.find((one) => one === name) ?? 'native')
  const tried = [...new Set(named)].filter((name) => available[name] === true)
  if (tried.length > 0) return tried
  throw new OAuthError('invalid_request', `The auth_method ${named.join(',')} is not available on this instance.`)
}

/** The methods to check a password, in the order in which they are named; all of them when none is named (`auto`). */
export function passwordMethodsOf(methods: readonly Method[]): readonly PasswordMethod[] {
  const named = methods.flatMap((method) =>
    method === 'auto' ? passwordMethods : passwordMethods.filter((one) => one === method),
  )
  return named.length === 0 ? passwordMethods : [...new Set(named)]
}

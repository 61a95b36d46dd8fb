import { OAuthError } from '../errors.ts'

/** All values of `auth_method`; an unknown one means `native` (CLIENT-021). `passkey` is one of our own. */
const known = ['native', 'ldap', 'email', 'collection', 'saml', 'action_code', 'anonymous', 'auto', 'passkey'] as const
type Method = (typeof known)[number]

/** Those that work here. */
const available: readonly Method[] = ['native', 'action_code', 'anonymous', 'auto', 'passkey']

/** Those that an administrator may switch off. */
export interface Switches {
  readonly guests: boolean
  readonly passkeys: boolean
}

/**
 * The methods to try, in order. One that there is not yet, or that is off, is passed over in a list, since clients name
 * all they know; where none is left, the request is refused.
 * @throws {OAuthError} `invalid_request` that names them.
 */
export function methodsToTry(asked: readonly string[], { guests, passkeys }: Switches): readonly Method[] {
  const off: readonly Method[] = [
    ...(guests ? [] : (['anonymous'] as const)),
    ...(passkeys ? [] : (['passkey'] as const)),
  ]
  const named = asked.map((name): Method => known.find((one) => one === name) ?? 'native')
  const tried = [...new Set(named)].filter((name) => available.includes(name) && !off.includes(name))
  if (tried.length > 0) return tried
  throw new OAuthError('invalid_request', `The auth_method ${named.join(',')} is not available on this instance.`)
}

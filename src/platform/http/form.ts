import { OAuthError } from './oauth-error.ts'

/** Parameters of a form body; parameters without a value are left out. */
export type Form = ReadonlyMap<string, string>

/**
 * Reads the body of an OAuth2 request. A parameter may occur only once, a parameter without a value counts as omitted, and unknown
 * ones are ignored.
 * @see RFC 6749 section 3.2
 */
export function readForm(contentType: string | undefined, body: unknown): Form {
  if (!contentType?.toLowerCase().startsWith('application/x-www-form-urlencoded')) {
    throw new OAuthError('invalid_request', 'The body must be application/x-www-form-urlencoded.')
  }
  return readParameters(body)
}

/** The same for the query of an address. */
export function readParameters(values: unknown): Form {
  const form = new Map<string, string>()
  for (const [name, value] of Object.entries((values ?? {}) as Record<string, unknown>)) {
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `The parameter ${name} is repeated.`)
    if (value.includes('\0')) throw new OAuthError('invalid_request', `The parameter ${name} has a NUL character.`)
    if (value !== '') form.set(name, value)
  }
  return form
}

/** A parameter that must be given. */
export function required(form: Form, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing.`)
  return value
}

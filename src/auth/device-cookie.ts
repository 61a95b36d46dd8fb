import type { IncomingHttpHeaders } from 'node:http'
import { identifierWord } from './carriers.ts'

const name = `${identifierWord}-device`
/** Seconds: a year. */
const lifetime = 31_536_000

/** What a browser keeps from an earlier sign-in. It proves nobody: it only keeps the failures of others apart. */
export function deviceOf({ cookie }: IncomingHttpHeaders): string | null {
  for (const pair of cookie?.split(';') ?? []) {
    const [key, value] = pair.trim().split('=', 2)
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value
  }
  return null
}

/** The header that lets the browser keep it, for the token endpoint alone. */
export function deviceCookie(device: string, { secure }: { secure: boolean }): string {
  const attributes = [
    `Max-Age=${lifetime}`,
    'Path=/api/oauth2',
    'HttpOnly',
    'SameSite=Lax',
    ...(secure ? ['Secure'] : []),
  ]
  return [`${name}=${device}`, ...attributes].join('; ')
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { identifierWord } from '../carriers.ts'
import { cookieValues, setCookie } from '../cookies.ts'

/** Somebody begins at their provider: the next sign-in in this browser goes there by itself. It proves nobody. */
const name = `${identifierWord}-provider`
const path = '/api/oauth2'
/** Seconds. */
const lifetime = 120

export function hintProvider(reply: FastifyReply, provider: string): void {
  setCookie(reply, name, provider, { maxAge: lifetime, path })
}

/** The provider that the browser was hinted at, once. */
export function takeProviderHint(request: FastifyRequest, reply: FastifyReply): string | null {
  const [hint] = cookieValues(request, name).filter((value) => /^[\w-]{1,100}$/.test(value))
  if (hint === undefined) return null
  setCookie(reply, name, '', { maxAge: 0, path })
  return hint
}

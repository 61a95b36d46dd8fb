import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues, hostCookieName, setCookie } from '../cookies.ts'
import { identifierWord } from '../request-token.ts'

/** A person begins at their provider: the next sign-in in this browser is redirected there automatically. It proves no identity. */
const nameIn = (request: FastifyRequest): string => hostCookieName(request, `${identifierWord}-provider`)
/** Seconds. */
const lifetime = 120

export function hintProvider(reply: FastifyReply, provider: string): void {
  setCookie(reply, nameIn(reply.request), provider, { maxAge: lifetime })
}

/** The provider in the hint of the browser, which is used once. */
export function takeProviderHint(request: FastifyRequest, reply: FastifyReply): string | null {
  const name = nameIn(request)
  const [hint] = cookieValues(request, name).filter((value) => /^[\w-]{1,100}$/.test(value))
  if (hint === undefined) return null
  setCookie(reply, name, '', { maxAge: 0 })
  return hint
}

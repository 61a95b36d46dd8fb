import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues, hostCookieName, hostCookieValues, setCookie } from './cookies.ts'
import { identifierWord } from './request-token.ts'

const name = `${identifierWord}-device`
/** Seconds: a year. */
const lifetime = 31_536_000

/**
 * A token that a browser keeps from an earlier sign-in. It proves no identity: it only keeps the failures of other browsers apart.
 * A token that a neighbouring host has set does not hide ours.
 */
export function deviceOf(request: Pick<FastifyRequest, 'headers'>): string | null {
  const all = [...hostCookieValues(request, name), ...cookieValues(request, name)]
  return all.find((value) => /^[\w-]{43}$/.test(value)) ?? null
}

/** Stores it in the browser. */
export function keepDevice(reply: FastifyReply, device: string): void {
  const own = hostCookieName(reply.request, name)
  // A name that begins with __Host- requires the path `/`.
  setCookie(reply, own, device, { maxAge: lifetime, ...(own === name ? { path: '/api/oauth2' } : {}) })
}

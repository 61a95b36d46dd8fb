import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues, hostCookieName, hostCookieValues, setCookie } from './cookies.ts'
import { identifierWord } from './request-token.ts'
import { newToken, tokenHash } from './sessions/token.ts'

/** Seconds: 400 days, the longest that browsers keep a cookie. */
const lifetime = 400 * 86_400

/**
 * The browser ids that a request carries, hashed: of the cookie `svc-browser-id` (over https `__Host-svc-browser-id`), and of those of other words of the site
 * (decision 16). Tokens that are bound to one count only together with it (SESS-002).
 */
export function browserHashesOf(request: Pick<FastifyRequest, 'headers'>, aliases: readonly string[]): Buffer[] {
  return browserIdsOf(request, aliases).map(tokenHash)
}

const isId = (value: string): boolean => /^[\w-]{43}$/.test(value)

/** Those that only this host can have put there first; the others are from before, from http, or planted. */
function browserIdsOf(request: Pick<FastifyRequest, 'headers'>, aliases: readonly string[]): string[] {
  const words = [identifierWord, ...aliases]
  return [
    ...words.flatMap((word) => hostCookieValues(request, `${word}-browser-id`)),
    ...words.flatMap((word) => cookieValues(request, `${word}-browser-id`)),
  ].filter(isId)
}

/** Of requests whose browser has just been given one. */
const minted = new WeakMap<FastifyRequest, string>()

/**
 * The id of the browser that signs in, made and kept for a long time where it has none. Over https one of the bare name is
 * none: a neighbouring host may know it. What was bound to that goes on, as the browser still sends it.
 */
export function mintBrowserId(request: FastifyRequest, reply: FastifyReply, aliases: readonly string[]): Buffer {
  const known = minted.get(request)
  if (known !== undefined) return tokenHash(known)
  const name = `${identifierWord}-browser-id`
  const kept =
    request.protocol === 'https' ? hostCookieValues(request, name).find(isId) : browserIdsOf(request, aliases)[0]
  const id = kept ?? newToken()
  minted.set(request, id)
  setCookie(reply, hostCookieName(request, name), id, { maxAge: lifetime })
  return tokenHash(id)
}

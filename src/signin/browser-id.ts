import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues, hostCookieName, hostCookieValues, setCookie } from './cookies.ts'
import { identifierWord } from './request-token.ts'
import { newToken, tokenHash } from './sessions/token.ts'

/** Seconds: 400 days, the longest that browsers keep a cookie. */
const lifetime = 400 * 86_400

/**
 * The browser ids of a request, hashed: of the cookie `svc-browser-id` (over https `__Host-svc-browser-id`), and of those of other
 * words of the site (decision 16). A token that is bound to a browser id is only valid together with it (SESS-002).
 */
export function browserHashesOf(request: Pick<FastifyRequest, 'headers'>, aliases: readonly string[]): Buffer[] {
  return browserIdsOf(request, aliases).map(tokenHash)
}

const isId = (value: string): boolean => /^[\w-]{43}$/.test(value)

/** First the cookies that only this host can have set; the others are older, from http, or planted. */
function browserIdsOf(request: Pick<FastifyRequest, 'headers'>, aliases: readonly string[]): string[] {
  const words = [identifierWord, ...aliases]
  return [
    ...words.flatMap((word) => hostCookieValues(request, `${word}-browser-id`)),
    ...words.flatMap((word) => cookieValues(request, `${word}-browser-id`)),
  ].filter(isId)
}

/** Requests whose browser was given a new id a moment ago. */
const minted = new WeakMap<FastifyRequest, string>()

/**
 * The id of the browser that signs in. A browser without an id gets one, which it keeps for a long time. Over https an id under the
 * bare cookie name does not count: a neighbouring host may know it. Tokens that are bound to it remain valid, as the browser still
 * sends it.
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

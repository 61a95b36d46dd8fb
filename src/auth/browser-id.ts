import type { FastifyReply, FastifyRequest } from 'fastify'
import { identifierWord } from './carriers.ts'
import { cookieValues, setCookie } from './cookies.ts'
import { newToken, tokenHash } from './sessions/token.ts'

/** Seconds: 400 days, the longest that browsers keep a cookie. */
const lifetime = 400 * 86_400

/**
 * The browser ids that a request carries, hashed: of the cookie `svc-browser-id`, and of those of other words of the site
 * (decision 16). Tokens that are bound to one count only together with it (SESS-002).
 */
export function browserHashesOf(request: Pick<FastifyRequest, 'headers'>, aliases: readonly string[]): Buffer[] {
  return browserIdsOf(request, aliases).map(tokenHash)
}

function browserIdsOf(request: Pick<FastifyRequest, 'headers'>, aliases: readonly string[]): string[] {
  return [identifierWord, ...aliases]
    .flatMap((word) => cookieValues(request, `${word}-browser-id`))
    .filter((value) => /^[\w-]{43}$/.test(value))
}

/** Of requests whose browser has just been given one. */
const minted = new WeakMap<FastifyRequest, string>()

/** The id of the browser that signs in, made and kept for a long time where it has none. */
export function mintBrowserId(request: FastifyRequest, reply: FastifyReply, aliases: readonly string[]): Buffer {
  const known = minted.get(request)
  if (known !== undefined) return tokenHash(known)
  const id = browserIdsOf(request, aliases)[0] ?? newToken()
  minted.set(request, id)
  setCookie(reply, `${identifierWord}-browser-id`, id, { maxAge: lifetime })
  return tokenHash(id)
}

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues, hostCookieName, setCookie } from '../cookies.ts'
import { identifierWord } from '../request-token.ts'
import { newToken, tokenHash } from '../sessions/token.ts'

/**
 * The browser of a page, as long as it runs: a random secret in a cookie. Forms contain a value that is derived from it, so that no
 * other site can send them (it knows neither), and a sign-in in progress belongs to the browser that began it. It does not identify
 * the user.
 */
export interface PageBrowser {
  /** The value for forms. */
  readonly csrf: string
  /** Its stored form. */
  readonly hash: Buffer
  /** The cookie was sent with the request: a form can be from this browser. */
  readonly known: boolean
}

/** The browser of a request. A new browser gets the cookie as soon as something is stored for it, not for just opening a page. */
export function pageBrowser(request: FastifyRequest, reply: FastifyReply): PageBrowser {
  const name = hostCookieName(request, `${identifierWord}-page`)
  const kept = cookieValues(request, name).find((value) => /^[\w-]{43}$/.test(value))
  let secret = kept
  const own = (): string => {
    if (secret !== undefined) return secret
    secret = newToken()
    setCookie(reply, name, secret, { maxAge: null })
    return secret
  }
  return {
    get csrf() {
      return createHmac('sha256', own()).update('csrf').digest('base64url')
    },
    get hash() {
      return tokenHash(own())
    },
    known: kept !== undefined,
  }
}

/** Whether a form was made for this browser. */
export function isOwnForm(browser: PageBrowser, csrf: string | undefined): boolean {
  if (!browser.known) return false
  const expected = Buffer.from(browser.csrf)
  const given = Buffer.from(csrf ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

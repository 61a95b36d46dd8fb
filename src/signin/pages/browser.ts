import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues, hostCookieName, setCookie } from '../cookies.ts'
import { identifierWord } from '../request-token.ts'
import { newToken, tokenHash } from '../sessions/token.ts'

/**
 * The browser in front of a page, as long as it runs: a random secret in a cookie. Forms carry a value made from it, so
 * that no other site can send them (it knows neither), and a sign-in in progress belongs to the browser that began it.
 * It says nothing about who sits there.
 */
export interface PageBrowser {
  /** What forms carry. */
  readonly csrf: string
  /** What is stored of it. */
  readonly hash: Buffer
  /** It came with the request: a form can be from here. */
  readonly known: boolean
}

/** The browser of a request. Who is new gets the cookie as soon as something is made for it, not for looking in. */
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

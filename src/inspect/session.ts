import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Codes, consoleClient } from '../oauth/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError, missingSystemRight } from '../platform/errors.ts'
import type { Form } from '../platform/http/form.ts'
import { browserHashesOf, cookieValues, identifierWord, newToken, type Sessions, setCookie } from '../signin/service.ts'
import { formLifetime } from './forms.ts'

export interface ConsoleSessionDeps {
  readonly codes: Codes
  readonly sessions: Sessions
  readonly aliases: readonly string[]
  readonly externalUrl: string
  readonly basePath: string
}

/** A user who has signed in to the console in this browser. */
export interface ConsoleSession {
  readonly actor: Actor
  /** The value of the cookie: the tokens of forms are derived from it. */
  readonly token: string
}

const sessionCookie = `${identifierWord}-inspect`
/** The cookie of a sign-in in progress. */
const flowCookie = `${identifierWord}-inspect-login`
const flowLifetime = 900

/**
 * Sessions of the console: a sign-in by `/oauth2/auth` with a separate client. Its access token is valid for eight hours. It is in
 * a cookie that only the console receives and that no other site can cause to be sent, and is only valid in the same browser.
 */
export function createConsoleSessions({ codes, sessions, aliases, externalUrl, basePath }: ConsoleSessionDeps) {
  const path = `${basePath}/inspect`

  async function resolve(request: FastifyRequest, token: string): Promise<ConsoleSession | null> {
    const session = await sessions.resolve(token, () => browserHashesOf(request, aliases)).catch(noSession)
    if (!session || session.clientId !== consoleClient || session.access.user.requirePasswordChange) return null
    return { actor: sessions.actorOf(session, request.ip), token }
  }

  return {
    /** The session of a request; null: there is no valid one. */
    async of(request: FastifyRequest): Promise<ConsoleSession | null> {
      // A neighbouring host may have set another cookie of this name.
      for (const token of cookieValues(request, sessionCookie).slice(0, 3)) {
        const found = await resolve(request, token)
        if (found) return found
      }
      return null
    },

    /** Redirects the browser to the sign-in, and afterwards to its original target. */
    begin(request: FastifyRequest, reply: FastifyReply): FastifyReply {
      const [state, verifier] = [newToken(), newToken()]
      const wanted = Buffer.from(request.url.slice(0, 1500)).toString('base64url')
      setCookie(reply, flowCookie, `${state}.${verifier}.${wanted}`, { maxAge: flowLifetime, path })
      const query = new URLSearchParams({
        client_id: consoleClient,
        response_type: 'code',
        state,
        redirect_uri: `${originOf(request, externalUrl)}${path}/login/`,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      })
      return reply.header('Cache-Control', 'no-store').redirect(`${basePath}/api/oauth2/auth?${query}`, 302)
    },

    /**
     * Takes the code of a sign-in that this browser began; returns its original target.
     * @throws {AppError} `PageExpired`, `SystemRightRequired` for a user without `system.root`: no session is opened then.
     */
    async finish(request: FastifyRequest, reply: FastifyReply, query: Form): Promise<string> {
      const [state = '', verifier = '', wanted = ''] = cookieValues(request, flowCookie)[0]?.split('.') ?? []
      if (!isSame(state, query.get('state') ?? '')) throw new AppError('PageExpired', { what: 'login' })
      setCookie(reply, flowCookie, '', { maxAge: 0, path })
      const issued = await codes
        .redeem({
          code: query.get('code') ?? '',
          clientId: consoleClient,
          redirectUri: `${originOf(request, externalUrl)}${path}/login/`,
          codeChallenge: createHash('sha256').update(verifier).digest('base64url'),
          browserHashes: browserHashesOf(request, aliases),
          remoteAddr: request.ip,
          accessSeconds: formLifetime,
        })
        .catch(noSession)
      const session = issued && (await resolve(request, issued.accessToken))
      if (!session) throw new AppError('PageExpired', { what: 'login' })
      if (!session.actor.isRoot) {
        await sessions.revoke(session.token, consoleClient, request.ip)
        throw missingSystemRight('system.root')
      }
      setCookie(reply, sessionCookie, session.token, { maxAge: formLifetime, path, sameSite: 'Strict' })
      return inside(Buffer.from(wanted, 'base64url').toString(), path)
    },

    /** Ends the session of this browser. */
    async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      // A form of another site comes without the cookies, and cannot sign a user out.
      const tokens = cookieValues(request, sessionCookie).slice(0, 3)
      if (tokens.length === 0) return
      for (const token of tokens) await sessions.revoke(token, consoleClient, request.ip)
      setCookie(reply, sessionCookie, '', { maxAge: 0, path, sameSite: 'Strict' })
    },
  }
}

/** An invalid token counts as no session; other errors are passed on. */
function noSession(error: unknown): null {
  if (error instanceof AppError && error.code === 'InvalidToken') return null
  throw error
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length > 0 && a.length === b.length && timingSafeEqual(a, b)
}

/** The path, if it is one of the console; else the start page of the console. */
function inside(wanted: string, path: string): string {
  const found = URL.parse(wanted, 'http://here')
  const at = found?.origin === 'http://here' ? found.pathname.indexOf('/inspect/') : -1
  const below = at === -1 ? '' : (found?.pathname.slice(at + '/inspect/'.length) ?? '')
  return below.startsWith('log') ? `${path}/` : `${path}/${below}${found?.search ?? ''}`
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)

/** The origin from the view of the browser: the configured one, or on the machine itself the address that was called. */
function originOf({ protocol, host }: FastifyRequest, externalUrl: string): string {
  const called = URL.parse(`${protocol}://${host}`)
  return called && isLoopback(called.hostname) ? called.origin : new URL(externalUrl).origin
}

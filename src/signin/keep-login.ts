import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BaseConfigService } from '../config/service.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import { browserHashesOf, mintBrowserId } from './browser-id.ts'
import { cookieValues, hostCookieName, hostCookieValues, setCookie } from './cookies.ts'
import { identifierWord } from './request-token.ts'
import { newToken, tokenHash } from './sessions/token.ts'

/** Seconds for the values of the base configuration. */
const spans = { off: 0, '7d': 7 * 86_400, '30d': 30 * 86_400 } as const

export type KeepLogins = ReturnType<typeof createKeepLogins>

export interface KeepLoginOptions {
  db: Db
  baseConfig: BaseConfigService
  aliases: readonly string[]
}

/**
 * Browsers that stay signed in: the cookie `svc-keep-login` proves the user on the sign-in page, as long as it is sent with the
 * browser id for which it was created (SESS-003, -005).
 */
export function createKeepLogins({ db, baseConfig, aliases }: KeepLoginOptions) {
  const name = `${identifierWord}-keep-login`

  const words = [identifierWord, ...aliases]
  const valuesOf = (
    request: Pick<FastifyRequest, 'headers'>,
    read: (from: typeof request, name: string) => string[],
  ): string[] =>
    words.flatMap((word) => read(request, `${word}-keep-login`)).filter((value) => /^[\w-]{43}$/.test(value))

  /** Removes cookies with the bare name: over https they are from an earlier release. */
  function dropBare(reply: FastifyReply): void {
    for (const word of words) setCookie(reply, `${word}-keep-login`, '', { maxAge: 0 })
  }

  return {
    /**
     * The user of the kept sign-in of the browser, or null. Each use extends it. A kept sign-in that was stored under a protected
     * cookie (`__Host-`) is not accepted under the bare name.
     */
    async use(request: FastifyRequest, reply: FastifyReply): Promise<number | null> {
      const span = spans[baseConfig.get().login.keep_login]
      const [own, bare] = [valuesOf(request, hostCookieValues), valuesOf(request, cookieValues)]
      const browsers = browserHashesOf(request, aliases)
      if (span === 0 || own.length + bare.length === 0 || browsers.length === 0) return null
      const secure = request.protocol === 'https'
      const { rows } = await db.query<{ userId: number; hash: Buffer }>(
        `update keep_login set expires_at = now() + make_interval(secs => $4), host_cookie = host_cookie or $5
         where (hash = any($1::bytea[]) or hash = any($2::bytea[]) and not host_cookie)
           and browser_hash = any($3::bytea[]) and expires_at > now()
         returning user_id as "userId", hash`,
        [own.map(tokenHash), bare.map(tokenHash), browsers, span, secure],
        'keep_login_use',
      )
      const [found] = rows
      if (!found) return null
      const value = [...own, ...bare].find((one) => tokenHash(one).equals(found.hash))
      if (value !== undefined) setCookie(reply, hostCookieName(request, name), value, { maxAge: span })
      if (secure && bare.length > 0) dropBare(reply)
      return found.userId
    },

    /** Keeps the user signed in in this browser, if the base configuration allows it. Joins the transaction of the sign-in. */
    async keep(tx: Queryable, request: FastifyRequest, reply: FastifyReply, userId: number): Promise<void> {
      const span = spans[baseConfig.get().login.keep_login]
      if (span === 0) return
      const token = newToken()
      await tx.query(
        `insert into keep_login (hash, browser_hash, user_id, expires_at, host_cookie)
         values ($1, $2, $3, now() + make_interval(secs => $4), $5)`,
        [tokenHash(token), mintBrowserId(request, reply, aliases), userId, span, request.protocol === 'https'],
        'keep_login_insert',
      )
      await tx.query(
        `delete from keep_login where hash in
           (select hash from keep_login where expires_at < now() limit 10 for update skip locked)`,
        [],
        'keep_login_clean',
      )
      setCookie(reply, hostCookieName(request, name), token, { maxAge: span })
    },

    /** The browser no longer stays signed in (SESS-004). */
    async forget(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const hashes = [hostCookieValues, cookieValues].flatMap((read) => valuesOf(request, read)).map(tokenHash)
      await db.query('delete from keep_login where hash = any($1::bytea[])', [hashes], 'keep_login_forget')
      if (request.protocol === 'https') setCookie(reply, hostCookieName(request, name), '', { maxAge: 0 })
      dropBare(reply)
    },
  }
}

/** Users that must sign in again everywhere. `except`: not in the browsers with these ids. */
export async function endKeptLogins(
  tx: Queryable,
  userIds: readonly number[],
  except: readonly Buffer[] = [],
): Promise<void> {
  await tx.query(
    'delete from keep_login where user_id = any($1) and not browser_hash = any($2::bytea[])',
    [userIds, except],
    'keep_login_end',
  )
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BaseConfigService } from '../config/service.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { browserHashesOf, mintBrowserId } from './browser-id.ts'
import { identifierWord } from './carriers.ts'
import { cookieValues, setCookie } from './cookies.ts'
import { newToken, tokenHash } from './sessions/token.ts'

/** Seconds by the words of the base configuration. */
const spans = { off: 0, '7d': 7 * 86_400, '30d': 30 * 86_400 } as const

export type KeepLogins = ReturnType<typeof createKeepLogins>

export interface KeepLoginOptions {
  db: Db
  baseConfig: BaseConfigService
  aliases: readonly string[]
}

/**
 * Browsers that stay signed in: the cookie `svc-keep-login` proves the user on the sign-in page, as long as it comes with
 * the browser id that it was given to (SESS-003, -005).
 */
export function createKeepLogins({ db, baseConfig, aliases }: KeepLoginOptions) {
  const name = `${identifierWord}-keep-login`

  function hashesOf(request: Pick<FastifyRequest, 'headers'>): Buffer[] {
    return [identifierWord, ...aliases]
      .flatMap((word) => cookieValues(request, `${word}-keep-login`))
      .filter((value) => /^[\w-]{43}$/.test(value))
      .map(tokenHash)
  }

  return {
    /** The user whom the browser has kept, or null. Each use moves the end on. */
    async use(request: FastifyRequest, reply: FastifyReply): Promise<number | null> {
      const span = spans[baseConfig.get().login.keep_login]
      const hashes = hashesOf(request)
      const browsers = browserHashesOf(request, aliases)
      if (span === 0 || hashes.length === 0 || browsers.length === 0) return null
      const { rows } = await db.query<{ userId: number; hash: Buffer }>(
        `update keep_login set expires_at = now() + make_interval(secs => $3)
         where hash = any($1::bytea[]) and browser_hash = any($2::bytea[]) and expires_at > now()
         returning user_id as "userId", hash`,
        [hashes, browsers, span],
        'keep_login_use',
      )
      const [found] = rows
      if (!found) return null
      const value = cookieValues(request, name).find((one) => tokenHash(one).equals(found.hash))
      if (value !== undefined) setCookie(reply, name, value, { maxAge: span })
      return found.userId
    },

    /** Keeps the user in this browser, where the base configuration allows it. Joins the transaction of the sign-in. */
    async keep(tx: Queryable, request: FastifyRequest, reply: FastifyReply, userId: number): Promise<void> {
      const span = spans[baseConfig.get().login.keep_login]
      if (span === 0) return
      const token = newToken()
      await tx.query(
        `insert into keep_login (hash, browser_hash, user_id, expires_at) values ($1, $2, $3, now() + make_interval(secs => $4))`,
        [tokenHash(token), mintBrowserId(request, reply, aliases), userId, span],
        'keep_login_insert',
      )
      await tx.query(
        `delete from keep_login where hash in
           (select hash from keep_login where expires_at < now() limit 10 for update skip locked)`,
        [],
        'keep_login_clean',
      )
      setCookie(reply, name, token, { maxAge: span })
    },

    /** The browser no longer stays signed in (SESS-004). */
    async forget(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      await db.query('delete from keep_login where hash = any($1::bytea[])', [hashesOf(request)], 'keep_login_forget')
      for (const word of [identifierWord, ...aliases]) setCookie(reply, `${word}-keep-login`, '', { maxAge: 0 })
    },
  }
}

/** Users who must prove themselves anew everywhere. `except`: not in the browsers with these ids. */
export async function forgetKept(
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

import type { BaseConfigService } from '../config/service.ts'
import { rootUserId } from '../people/model.ts'
import type { FreshSignIn } from '../people/service.ts'
import { AppError } from '../platform/errors.ts'

/** Minutes after a sign-in in which users may change their passwords and factors. */
const freshMinutes = 10

/** The methods of sessions that prove no identity now: a kept browser, a token of ours for a receiver, a guest. */
const provesNobody: readonly string[] = ['keep_login', 'webhook', 'plugin', 'anonymous']

/**
 * Users change their own factors, password, login and addresses within ten minutes of a sign-in that has proved every factor that
 * can be asked of them. A token alone is not enough: a thief of the token could take over the account.
 */
export function createFreshSignIn({ baseConfig }: { baseConfig: BaseConfigService }): FreshSignIn {
  return async (tx, actor) => {
    const { enabled, methods } = baseConfig.get().two_factor
    const asks = enabled && actor.userId !== rootUserId
    const { rows } = await tx.query<{ fresh: boolean; enrolled: boolean }>(
      `select u.enrolled, exists (select from oauth_session s where s.id = $2
         and s.user_id = $1 and s.revoked_at is null and s.authenticated_at > now() - make_interval(mins => $3)
         and not s.method = any($4) and (s.two_factor is not null or not u.enrolled)) as fresh
       from (select $5 and exists (select from user_factor f where f.user_id = $1 and f.totp_secret is not null)
         or $6 and exists (select from passkey p where p.user_id = $1) as enrolled) u`,
      [
        actor.userId,
        actor.session?.id ?? null,
        freshMinutes,
        provesNobody,
        asks && methods.includes('totp'),
        asks && methods.includes('passkey'),
      ],
      'session_is_fresh',
    )
    const [row] = rows
    if (row?.fresh) return
    const factor = row?.enrolled ?? false
    const message = `Sign in anew${factor ? ' with your second factor' : ''} first: what proves you is changed within ${freshMinutes} minutes of a sign-in.`
    throw new AppError('FreshSignInRequired', { minutes: freshMinutes, second_factor: factor }, { message })
  }
}

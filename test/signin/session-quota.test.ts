import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { createUsers, eventsOf, requestToken, statusWith } from '../signin/support.ts'
import { startService } from '../support/service.ts'

const most = 12

test('signing in over and over keeps as many sessions as the quota says: the one unused for the longest time ends, nobody else’s', async () => {
  await using svc = await startService({ quotaSessions: most })
  await createUsers(svc, { user: { login: 'robot' } }, { user: { login: 'anna' } })
  const tokenOf = async (login: string): Promise<string> => {
    const form = {
      grant_type: 'password',
      client_id: 'web-client',
      username: login,
      password: login,
      scope: 'offline read',
    }
    return (await requestToken(svc, form)).body.access_token
  }
  const anna = await tokenOf('anna')
  const first = await tokenOf('robot')
  const used = await tokenOf('robot')
  // Whoever works with an old one keeps it.
  const hash = createHash('sha256').update(used).digest()
  await svc.db.query(
    `update oauth_session set last_used_at = now() + interval '1 minute'
     where id = (select session_id from oauth_token where hash = $1)`,
    [hash],
  )
  const later: string[] = []
  for (let number = 0; number < 2 * most; number++) later.push(await tokenOf('robot'))
  const { rows } = await svc.db.query<{ sessions: number }>(
    `select count(*)::int as sessions from oauth_session s join "user" u on u.id = s.user_id where u.login = 'robot'`,
  )
  assert.equal(rows[0]?.sessions, most)
  assert.equal(await statusWith(svc, first), 401)
  assert.equal(await statusWith(svc, used), 200)
  assert.equal(await statusWith(svc, later.at(-1) ?? ''), 200)
  assert.equal(await statusWith(svc, later[0] ?? ''), 401)
  assert.equal(await statusWith(svc, anna), 200)
  const ended = (await eventsOf(svc, 'USER_LOGOUT')).filter(({ event }) => event.info.reason === 'too_many_sessions')
  assert.equal(ended.length, 2 + 2 * most - most)
  // At once, too, and those that were ended count.
  await svc.db.query('update oauth_session set revoked_at = now() where id in (select id from oauth_session limit 5)')
  await Promise.all(Array.from({ length: 8 }, () => tokenOf('robot')))
  await tokenOf('robot')
  const left = await svc.db.query<{ sessions: number }>(
    `select count(*)::int as sessions from oauth_session s join "user" u on u.id = s.user_id where u.login = 'robot'`,
  )
  assert.equal(left.rows[0]?.sessions, most)
})

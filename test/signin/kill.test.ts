import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { spawnService, temporaryFolder } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { clientCodeOf, codeAt, enrol, follow, keyIn, laterOn } from './authenticator.ts'
import { type BrowserAnswer, TestVisitor } from './sign-in-browser.ts'
import { askedIn, SoftPasskey } from './soft-passkey.ts'
import { createGroups, createUsers, type Reachable, requestToken } from './support.ts'

/** The same requests over sockets, to a service that may die. */
function reach(url: string): Reachable {
  return {
    async inject({ method = 'GET', url: path, headers, payload }: InjectOptions) {
      const response = await fetch(`${url}${String(path)}`, {
        method,
        redirect: 'manual',
        headers: { ...(headers as Record<string, string>), connection: 'close' },
        ...(payload === undefined ? {} : { body: String(payload) }),
      })
      const body = await response.text()
      const all = Object.fromEntries(response.headers)
      return {
        statusCode: response.status,
        headers: { ...all, 'set-cookie': response.headers.getSetCookie() },
        body,
        json: () => JSON.parse(body),
      }
    },
  }
}

/** What was acknowledged. */
interface Seen {
  readonly sessions: string[]
  readonly refreshed: { token: string; cookie: string }[]
}

const linkToPasskey = ({ body }: BrowserAnswer): string =>
  body
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .match(/href="([^"]*twoFactorSetupPasskey[^"]*)"/)?.[1] ?? ''

/** Signs in for the first time, sets up a second factor, stays signed in, refreshes. Ends where the service dies. */
async function live(to: Reachable, login: string, seen: Seen): Promise<void> {
  const visitor = new TestVisitor(to)
  const more = { scope: 'offline' }
  const first = await follow(visitor, await visitor.signIn(login, login, more, { keep_login: '1' }))
  const byPasskey = login.endsWith('1') || login.endsWith('3')
  const page = byPasskey ? await visitor.get(linkToPasskey(first)) : first
  const answer: Record<string, string> = byPasskey
    ? { passkey: new SoftPasskey().create(askedIn(page)) }
    : { code: codeAt(keyIn(page)) }
  const shown = await visitor.submit(page, answer)
  const done = await follow(visitor, await visitor.submit(shown, {}))
  const opened = await visitor.redeem(clientCodeOf(done) ?? '')
  if (opened.status !== 200) return
  seen.sessions.push(opened.body.access_token)
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  for (let token = opened.body.refresh_token; ; ) {
    const form = { grant_type: 'refresh_token', client_id: 'web-client', refresh_token: token }
    const next = await requestToken(to, form, { cookie })
    if (next.status !== 200) return
    token = next.body.refresh_token
    seen.refreshed.push({ token, cookie })
  }
}

/** What is stored half: each row a finding. */
const half: Record<string, string> = {
  'a used code without a session': 'select 1 from oauth_code where (used_at is null) <> (session_id is null)',
  'a session without an access token':
    "select 1 from oauth_session s where not exists (select from oauth_token t where t.session_id = s.id and kind = 'a')",
  'a session that can be refreshed by none or by two tokens': `select 1 from oauth_session s where 'offline' = any(scopes)
     and (select count(*) from oauth_token t where t.session_id = s.id and kind = 'r' and used_at is null) <> 1`,
  'a session that the log does not know, or the other way round': `select 1
     where (select count(*) from oauth_session where user_id <> 1)
       <> (select count(*) from event where type = 'USER_LOGIN' and info ->> 'login' like 'r_p_')`,
  'a second factor without recovery codes, or the other way round': `select 1 from user_factor f
     where (cardinality(recovery_hashes) = 10) <> (totp_secret is not null
       or exists (select from passkey p where p.user_id = f.user_id))`,
  'a code without the second factor that was asked for':
    'select 1 from oauth_code c join user_factor f on f.user_id = c.user_id where c.two_factor is null',
}

test('kill -9 in the middle of sign-ins: no half session, code or second factor; what was acknowledged holds, and all can sign in', async () => {
  await using svc = await startService()
  const [group] = await createGroups(svc, { group: { name: 'careful' }, _two_fa_required: true })
  const _groups = [{ group: { _id: group.group._id } }]
  await svc.as('root').post('/config/system/config/login', { keep_login: '7d' })
  await using folder = await temporaryFolder()
  for (const round of [0, 1]) {
    const people = Array.from({ length: 4 }, (_, index) => `r${round}p${index}`)
    await createUsers(svc, ...people.map((login) => ({ user: { login }, _groups })))
    const killed = await spawnService(folder.path, {
      SVC_DB_DSN: svc.dsn,
      SVC_EXTERNAL_URL: 'http://localhost:8080',
      SVC_SECRET_KEY: svc.config.secretKey ?? '',
      SVC_ROOT_PASSWORD: 'root-test-password',
    })
    const seen: Seen = { sessions: [], refreshed: [] }
    const to = reach(killed.url)
    const lives = people.map((login) => live(to, login, seen).catch(() => {}))
    // In the middle of whatever the others do: of setting up, of codes, of refreshing.
    await until(async () => (round === 0 ? seen.sessions.length >= 1 : seen.refreshed.length >= 8))
    killed.child.kill('SIGKILL')
    await Promise.all([killed.exited, ...lives])

    for (const [what, query] of Object.entries(half)) {
      assert.deepEqual((await svc.db.query(query)).rows, [], `round ${round}: ${what}`)
    }
    const last = seen.refreshed.at(-1)
    if (last) {
      const form = { grant_type: 'refresh_token', client_id: 'web-client', refresh_token: last.token }
      const next = await requestToken(svc, form, { cookie: last.cookie })
      assert.equal(next.status, 200, 'the last token that was handed out')
    }
    await laterOn(svc)
    for (const login of people) {
      const page = (await new TestVisitor(svc).signIn(login, login)).location?.pathname
      if (page === '/api/page/twoFactorSetup') await enrol(svc, login)
      else assert.equal(page, '/api/page/twoFactor', login)
    }
  }
})

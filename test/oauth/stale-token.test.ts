import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createUsers } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
let me: Json
before(async () => {
  svc = await startService()
  const rights = { 'system.user': {}, 'system.user.change_password': {} }
  ;[me] = await createUsers(
    svc,
    { user: { login: 'manager', email: 'manager@example.org' }, _system_rights: rights },
    { user: { login: 'other', email: 'other@example.org' } },
  )
})
after(() => svc[Symbol.asyncDispose]())

const manager = () => svc.as('manager')
const sessionsOf = (set: string, ...more: unknown[]) =>
  svc.db.query(`update oauth_session set ${set} where user_id = $1`, [me._id ?? me.user._id, ...more])

async function own(): Promise<Json> {
  const { body } = await manager().get('/user/session')
  return body.user
}

/** Changes of oneself, by what is sent. */
const changes: Record<string, Json> = {
  password: { _password: 'Another password 1' },
  address: { user: { email: 'elsewhere@example.org' } },
  login: { user: { login: 'thief' } },
  reference: { user: { reference: 'thief' } },
  'authenticator app': { _two_factor_reset_totp: true },
  passkeys: { _two_factor_reset_passkey: true },
}

const stale: Record<string, string> = {
  'eleven minutes ago': `authenticated_at = now() - interval '11 minutes'`,
  'a kept browser': `authenticated_at = now(), method = 'keep_login'`,
  'a token for a receiver': `authenticated_at = now(), method = 'webhook'`,
}
const fresh = `authenticated_at = now(), method = 'native', two_factor = null`

async function save(change: Json, method: 'post' | 'put' = 'post') {
  const { user } = await own()
  const members = { _id: user._id, _version: user._version, ...change.user }
  return manager()[method]('/user', [{ _basetype: 'user', ...change, user: members }])
}

test('a token that was stolen later changes nothing that proves its user, by no way', async () => {
  for (const [when, set] of Object.entries(stale)) {
    await manager().get('/user/session')
    await sessionsOf(set)
    for (const [what, change] of Object.entries(changes)) {
      for (const method of ['post', 'put'] as const) {
        const before = await own()
        const refused = await save(change, method)
        assert.deepEqual([refused.status, refused.body.code], [403, 'FreshSignInRequired'], `${what}, ${when}`)
        assert.deepEqual(refused.body.parameters, { minutes: 10, second_factor: false })
        assert.deepEqual(await own(), before, 'nothing has changed')
      }
    }
    assert.equal((await save({ user: { first_name: when } })).status, 200, 'a name proves nobody')
  }
  await sessionsOf(fresh)
  for (const what of ['address', 'authenticator app', 'passkeys', 'reference']) {
    assert.equal((await save(changes[what] as Json)).status, 200, what)
  }
})

test('who has a second factor must have proved it, too', async () => {
  await sessionsOf(fresh)
  await svc.db.query(
    `insert into passkey (user_id, credential_id, public_key, sign_count, transports, name, backed_up)
     values ($1, 'one', 'key', 0, '{}', 'one', false)`,
    [me._id ?? me.user._id],
  )
  await svc.as('root').post('/config/system/config/two_factor', { enabled: true, methods: ['totp', 'passkey'] })
  const refused = await save({ user: { email: 'further@example.org' } })
  assert.deepEqual([refused.status, refused.body.parameters?.second_factor], [403, true])
  await sessionsOf(`two_factor = 'passkey'`)
  assert.equal((await save({ user: { email: 'further@example.org' } })).status, 200)
  await svc.db.query('delete from passkey')
})

test('others are changed by whoever manages them, however old the sign-in', async () => {
  await sessionsOf(stale['eleven minutes ago'] as string)
  const [other] = (await svc.as('root').get('/user')).body.filter(({ user }: Json) => user.login === 'other')
  const { _id, _version } = other.user
  const user = { _id, _version, email: 'new@example.org' }
  const saved = await manager().post('/user', [{ _basetype: 'user', user }])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
})

/** What each operation that writes asks for, where it is about oneself. */
const operations: Record<string, 'fresh sign-in' | 'present password' | 'changes no proof' | 'never oneself'> = {
  'POST /api/v1/user': 'fresh sign-in',
  'PUT /api/v1/user': 'fresh sign-in',
  'POST /api/v1/user/change_password': 'present password',
  'DELETE /api/v1/user/{id}': 'never oneself',
  'POST /api/v1/user/passkey/list/{id}': 'changes no proof',
  'DELETE /api/v1/user/passkey/list/{id}': 'fresh sign-in',
  'DELETE /api/v1/user/session/list': 'changes no proof',
  'DELETE /api/v1/user/session/list/{id}': 'changes no proof',
}

test('each operation of /user that writes is known here, with what it asks for', async () => {
  const { body: document } = await svc.as(null).get('/system/openapi/spec.json')
  const found: string[] = []
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    if (!/^\/api\/v1\/user(\/|$)/.test(path)) continue
    for (const method of ['post', 'put', 'patch', 'delete'])
      if (item[method]) found.push(`${method.toUpperCase()} ${path}`)
  }
  assert.deepEqual(found.sort(), Object.keys(operations).sort())
  for (const [operation, asks] of Object.entries(operations)) {
    const [method = '', path = ''] = operation.split(' ')
    const told = document.paths[path][method.toLowerCase()]
    assert.equal(JSON.stringify(told).includes('FreshSignInRequired'), asks === 'fresh sign-in', operation)
  }
  const wrong = await manager().post('/user/change_password', { password: 'wrong', new_password: 'Another password 1' })
  assert.equal(wrong.body.code, 'WrongPassword')
  assert.equal(
    (await manager().delete(`/user/${me._id ?? me.user._id}`, undefined, { delete_policy: 'delete' })).body.code,
    'UserDeleteSelf',
  )
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runCommand } from '../support/process.ts'
import { startService, type TestService } from '../support/service.ts'
import { clientCodeOf, codeAt, enrol, follow, keyIn } from './authenticator.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createGroups, createUsers, eventsOf, requestToken, signIn, statusWith, type TokenAnswer } from './support.ts'

let svc: TestService
let careful: number
before(async () => {
  svc = await startService({ trustedProxies: ['loopback'] })
  const [group, fromOutside] = await createGroups(
    svc,
    { group: { name: 'careful' }, _two_fa_required: true },
    {
      group: { name: 'outside' },
      _two_fa_required: true,
      _ip_subnet_filter: ['10.0.0.0/8'],
      _ip_subnet_filter_exclude: true,
    },
  )
  careful = group.group._id
  const inGroups = (...groups: { group: { _id: number } }[]) => groups.map(({ group: { _id } }) => ({ group: { _id } }))
  await createUsers(
    svc,
    ...['ada', 'ben', 'cem', 'dora', 'eva'].map((login) => ({ user: { login }, _groups: inGroups(group) })),
    { user: { login: 'nomad' }, _groups: inGroups(fromOutside) },
    { user: { login: 'plain' } },
    { user: { login: 'manager' }, _system_rights: { 'system.user': {} } },
    { user: { login: 'boss' }, _system_rights: { 'system.user': {}, 'system.config': {} } },
  )
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')
const configure = async (values: object) => {
  const all = { enabled: true, methods: ['totp'], allow_password_grant: false, ...values }
  const answer = await root().post('/config/system/config/two_factor', all)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}
const told = ({ status, body, headers }: TokenAnswer) => {
  const { date: _, 'x-request-id': __, 'x-svc-request-id': ___, ...others } = headers
  return { status, body, headers: Object.keys(others).toSorted() }
}
const recordOf = async (login: string, as = root()) =>
  (await as.get('/user')).body.find(({ user }: { user: { login: string } }) => user.login === login)

test('CLIENT-017 the password grant refuses who needs a second factor as it refuses a wrong password, unless two_factor.allow_password_grant is on', async () => {
  const wrong = await signIn(svc, 'ada', 'wrong')
  assert.deepEqual([wrong.status, wrong.body.error], [400, 'invalid_grant'])
  assert.deepEqual(told(await signIn(svc, 'ada', 'ada')), told(wrong))
  await configure({ allow_password_grant: true })
  assert.equal((await signIn(svc, 'ada', 'ada')).status, 200)
  assert.equal((await signIn(svc, 'ada', 'wrong')).status, 400)
  await configure({})

  // Both count alike: the fourth is blocked, whatever the password.
  await root().post('/config/system/config/password/blockclient', { attempts: 3, minutes: 5 })
  const from = (address: string, password: string) =>
    requestToken(
      svc,
      { grant_type: 'password', client_id: 'web-client', username: 'ben', password },
      { 'x-forwarded-for': address },
    )
  const statuses = async (address: string, password: string) => {
    const answers: number[] = []
    for (let n = 0; n < 4; n++) answers.push((await from(address, password)).status)
    return answers
  }
  assert.deepEqual(await statuses('192.0.2.1', 'ben'), [400, 400, 400, 429])
  assert.deepEqual(await statuses('192.0.2.2', 'wrong'), [400, 400, 400, 429])
  await root().post('/config/system/config/password/blockclient', { attempts: 10, minutes: 5 })
  const reasons = (await eventsOf(svc, 'USER_LOGIN_FAILED'))
    .filter(({ event }) => event.info.login === 'ben')
    .map(({ event }) => event.info.error)
  assert.deepEqual([...new Set(reasons)], ['second factor required', 'wrong password'])
})

test('a right and a wrong password take the same work where a second factor is needed', async () => {
  // Time itself is noise here: the statements are what would make a difference.
  const statementsOf = async (login: string, password: string) => {
    const seen: string[] = []
    const original = svc.db.query
    svc.db.query = ((text: string, values?: readonly unknown[], name?: string) => {
      // What runs in the background comes in between.
      if (/^(sign_in|user_|known_)/.test(name ?? '')) seen.push(name ?? '')
      return original.call(svc.db, text, values, name)
    }) as typeof original
    await signIn(svc, login, password)
    svc.db.query = original
    return seen
  }
  const right = await statementsOf('cem', 'cem')
  assert.ok(right.length > 2, right.join())
  assert.deepEqual(right, await statementsOf('cem', 'wrong'))
  assert.deepEqual(right, await statementsOf('nobody at all', 'wrong'))
})

test('CLIENT-018 root is exempt, whatever allow_password_grant says', async () => {
  const [all] = (await root().get('/group')).body.filter(
    ({ group }: { group: { reference: string } }) => group.reference === ':all',
  )
  const require = (version: number, required: boolean) =>
    root().post('/group', [{ group: { _id: all.group._id, _version: version }, _two_fa_required: required }])
  assert.equal((await require(all.group._version, true)).status, 200)
  for (const allow_password_grant of [false, true]) {
    await configure({ allow_password_grant })
    assert.equal((await signIn(svc, 'root', svc.config.rootPassword ?? '')).status, 200)
    assert.equal((await signIn(svc, 'plain', 'plain')).status, allow_password_grant ? 200 : 400)
  }
  // Guests are many people and have no password.
  await root().post('/config/system/config/login/guest', true)
  assert.ok(clientCodeOf(await new TestVisitor(svc).authorize()))
  await root().post('/config/system/config/login/guest', false)
  await configure({})
  assert.equal((await require(all.group._version + 1, false)).status, 200)
})

test('a group counts where its networks say so; sessions that are open go on', async () => {
  const at = (address: string) => {
    const form = { grant_type: 'password', client_id: 'web-client', username: 'nomad', password: 'nomad' }
    return requestToken(svc, form, { 'x-forwarded-for': address })
  }
  const inside = await at('10.1.2.3')
  assert.equal(inside.status, 200)
  assert.equal((await at('192.0.2.7')).status, 400)
  assert.equal(await statusWith(svc, inside.body.access_token), 200)
})

test('two_factor.enabled switches all of it off; a list of methods has at least one that there is', async () => {
  await configure({ enabled: false })
  assert.ok(clientCodeOf(await new TestVisitor(svc).signIn('ada', 'ada')))
  assert.equal((await signIn(svc, 'ada', 'ada')).status, 200)
  await configure({})
  assert.equal((await new TestVisitor(svc).signIn('ada', 'ada')).location?.pathname, '/api/page/twoFactorSetup')
  for (const methods of [[], ['sms'], 'totp']) {
    const refused = await root().post('/config/system/config/two_factor', { methods })
    assert.equal(refused.status, 400, JSON.stringify(methods))
  }
  assert.equal((await root().get('/settings')).body.capabilities.two_factor, true)
})

test('who has set up an app is asked for it, also when no group asks any more', async () => {
  await enrol(svc, 'dora')
  const { user } = await recordOf('dora')
  await root().post('/user', [{ user: { _id: user._id, _version: user._version }, _groups: [] }])
  assert.equal((await new TestVisitor(svc).signIn('dora', 'dora')).location?.pathname, '/api/page/twoFactor')
  assert.equal((await signIn(svc, 'dora', 'dora')).status, 400)
})

test('administrators see who has an app and take it away; others do neither', async () => {
  const { headers, key } = await enrol(svc, 'eva')
  const own = await svc.inject({ url: '/api/v1/user/session', headers })
  assert.equal(own.json().user._two_factor_totp_enrolled, true)
  const { user } = await recordOf('eva')
  const body = (_version: number, value: boolean | null = true) => [
    { user: { _id: user._id, _version }, _two_factor_reset_totp: value },
  ]
  // The user itself, with what may be a stolen session, does not; nor who manages no users.
  const byItself = await svc.inject({
    method: 'POST',
    url: '/api/v1/user',
    headers,
    payload: body(user._version),
  })
  assert.deepEqual(
    [byItself.statusCode, byItself.json().code],
    [403, 'SystemRightRequired'].with(0, byItself.statusCode),
  )
  assert.ok(byItself.statusCode >= 400)
  assert.ok((await svc.as('plain').post('/user', body(user._version))).status >= 400)
  assert.equal((await root().post('/user', body(user._version, false))).status, 200)
  assert.equal((await recordOf('eva'))._two_factor_totp_enrolled, true)
  const reset = await svc.as('manager').post('/user', body(user._version + 1))
  assert.deepEqual([reset.status, reset.body[0]?._two_factor_totp_enrolled], [200, false])
  const events = (await eventsOf(svc, 'USER_UPDATE')).filter(({ event }) => event.object_id === user._id)
  assert.ok(events.length >= 2)
  const visitor = new TestVisitor(svc)
  const page = await follow(visitor, await visitor.signIn('eva', 'eva'))
  assert.notDeepEqual(keyIn(page), key, 'another app is set up')

  // Nobody gets hold of an account with more rights in this way.
  const [group] = (await root().get(`/group/${careful}`)).body
  const { user: boss } = await recordOf('boss')
  await root().post('/user', [
    { user: { _id: boss._id, _version: boss._version }, _groups: [{ group: { _id: group.group._id } }] },
  ])
  await enrol(svc, 'boss')
  const { user: nowBoss } = await recordOf('boss')
  const above = await svc
    .as('manager')
    .post('/user', [{ user: { _id: nowBoss._id, _version: nowBoss._version }, _two_factor_reset_totp: true }])
  assert.equal(above.body.code, 'ColumnNeedsSystemRoot')
  assert.equal((await recordOf('boss'))._two_factor_totp_enrolled, true)
})

test('the record of a user may be sent back with what it tells of its second factor', async () => {
  const before = await recordOf('boss')
  assert.equal(before._two_factor_last_method, 'totp')
  const back = await root().post('/user', [before])
  assert.equal(back.status, 200, JSON.stringify(back.body))
  assert.equal(back.body[0]._two_factor_totp_enrolled, true)
  const other = await recordOf('boss', svc.as('plain'))
  assert.equal(other?._two_factor_totp_enrolled, undefined)
})

test('strongroom user reset-factors takes them away beside the running service, and what blocks their codes', async () => {
  const before = await recordOf('boss')
  assert.equal(before._two_factor_totp_enrolled, true)
  const { code, stdout, stderr } = await runCommand(['user', 'reset-factors', 'BOSS'], { SVC_DB_DSN: svc.dsn })
  assert.deepEqual([code, stdout], [0, 'the second factors of BOSS are gone\n'], stderr)
  const after = await recordOf('boss')
  assert.deepEqual([after._two_factor_totp_enrolled, after.user._version], [false, before.user._version + 1])
  const last = (await eventsOf(svc, 'USER_UPDATE')).at(-1)
  assert.deepEqual([last?.event.object_id, last?.event.object_version], [before.user._id, after.user._version])
  const { rows } = await svc.db.query(
    "select recovery_hashes from user_factor where user_id = $1 and (totp_secret is not null or recovery_hashes <> '{}')",
    [before.user._id],
  )
  assert.equal(rows.length, 0)
})

test('a browser that stays signed in is asked for the code all the same', async () => {
  await root().post('/config/system/config/login/keep_login', '7d')
  const visitor = new TestVisitor(svc)
  const page = await follow(visitor, await visitor.signIn('cem', 'cem', {}, { keep_login: '1' }))
  const shown = await visitor.submit(page, { code: codeAt(keyIn(page)) })
  assert.ok(clientCodeOf(await follow(visitor, await visitor.submit(shown, {}))))
  assert.ok(visitor.cookies.has('svc-keep-login'))
  const next = await visitor.authorize()
  assert.deepEqual([next.status, next.location?.pathname], [303, '/api/page/twoFactor'])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { createSeal } from '../../../src/platform/secrets/seal.ts'
import type { Json } from '../../support/client.ts'
import { startService, type TestService } from '../../support/service.ts'
import { statementsOf } from '../../support/statements.ts'
import { TestVisitor } from '../sign-in-browser.ts'
import { createGroups, createUsers, eventsOf, requestToken, signIn, statusWith } from '../support.ts'
import { ofServer, ofStranger } from './certificates.ts'
import { type DirectoryEntry, type LdapTestServer, searcher, startLdapServer, startTlsProxy } from './ldap-server.ts'

const person = (uid: string, more: Record<string, string | string[]> = {}): DirectoryEntry => ({
  dn: `uid=${uid},ou=people,dc=example,dc=org`,
  password: `pw-${uid}`,
  attributes: { objectClass: 'person', uid, cn: `Name of ${uid}`, mail: `${uid}@example.org`, sn: uid, ...more },
})
const group = (cn: string, ...members: string[]): DirectoryEntry => ({
  dn: `cn=${cn},ou=groups,dc=example,dc=org`,
  attributes: { objectClass: 'group', cn, member: members.map((uid) => person(uid).dn) },
})

let svc: TestService
let server: LdapTestServer
let secure: LdapTestServer
const path = '/config/system/config/ldap'
const root = () => svc.as('root')

before(async () => {
  const entries = [
    ...['anna', 'ben', 'eve', 'gone', 'off', 'two', 'late', 'forced'].map((uid) => person(uid)),
    person('twin', { sn: 'shared' }),
    person('twin2', { uid: 'twin' }),
    person('bare', { mail: [] }),
    group('editors', 'anna', 'ben'),
    group('students-alumni', 'anna'),
    group('factor', 'two'),
  ]
  ;[svc, server, secure] = await Promise.all([
    startService(),
    startLdapServer(entries),
    startLdapServer(entries, { secure: true }),
  ])
})
after(async () => {
  await svc[Symbol.asyncDispose]()
  await Promise.all([server[Symbol.asyncDispose](), secure[Symbol.asyncDispose]()])
})

const configured = (more: Json = {}): Json => ({
  connections: [{ url: server.url, tls_insecure: true }],
  bindusername: searcher.dn,
  bindpassword: searcher.password,
  userbasedn: 'ou=people,dc=example,dc=org',
  userfilter: '(&(objectClass=person)(uid=%(login)s))',
  groupbasedn: 'ou=groups,dc=example,dc=org',
  groupfilter: '(member=%(DN)s)',
  groupmapping: [{ group: '%(cn)s' }],
  usermapping: [
    { key: 'login', value: '%(uid)s' },
    { key: 'email', value: '%(mail)s' },
    { key: 'displayname', value: '%(CN||^Name of ||)s' },
  ],
  userupdatecolumn: 'login',
  debug: false,
  ...more,
})

async function configure(more: Json = {}): Promise<void> {
  const { status, body } = await root().post(path, configured(more))
  assert.equal(status, 200, JSON.stringify(body))
}

async function userOf(login: string): Promise<Json> {
  const { body } = await root().get('/user', { type: 'ldap' })
  return body.find(({ user }: Json) => user.login === login)
}

test('the bind password is never shown again, and what cannot work is refused with its place', async () => {
  await configure()
  const shown = (await root().get(path)).body
  assert.equal(shown.bindpassword, '***')
  assert.doesNotMatch(JSON.stringify(await eventsOf(svc, 'BASE_CONFIG_UPDATE')), /s3archer/)
  const wrong: [more: Json, place: string][] = [
    [{ connections: [{ url: 'ldap://ldap.example.org' }] }, '/connections/0/url'],
    [{ connections: [{ url: 'http://ldap.example.org' }] }, '/connections/0/url'],
    [{ connections: [{ url: 'ldaps://ldap.example.org', tls_start: true }] }, '/connections/0/tls_start'],
    [{ connections: [{ url: 'ldaps://ldap.example.org', tls_ca_cert: 'abc' }] }, '/connections/0/tls_ca_cert'],
    [{ bindpassword: '' }, '/bindpassword'],
    [{ userbasedn: '' }, '/userbasedn'],
    [{ userfilter: '(uid=*)' }, '/userfilter'],
    [{ userfilter: '(uid=%(login)s' }, '/userfilter'],
    [{ userfilter: '(uid=%(login)s)(a=b)' }, '/userfilter'],
    [{ groupbasedn: '' }, '/groupbasedn'],
    [{ usermapping: [] }, '/usermapping'],
    [{ usermapping: [{ key: 'login', value: '%(uid||(||)s' }] }, '/usermapping/0/value'],
    [{ userupdatecolumn: 'reference' }, '/usermapping'],
  ]
  for (const [more, place] of wrong) {
    const { status, body } = await root().post(path, configured(more))
    assert.deepEqual([status, body.parameters?.path], [400, `system/config/ldap${place}`], JSON.stringify(more))
  }
})

test('an unknown user is made at the first sign-in and put into groups, anew at each', async () => {
  await configure({ debug: true })
  const [editors, alumni, other] = await createGroups(
    svc,
    { group: { name: 'Editors here' }, _auth_method_group_maps: { ldap: [{ method: 'eq', value: 'editors' }] } },
    { group: { name: 'Alumni' }, _auth_method_group_maps: { ldap: [{ method: 'regexp', value: 'students.*' }] } },
    { group: { name: 'Other' }, _auth_method_group_maps: { sso: [{ method: 'eq', value: 'editors' }] } },
    { group: { name: 'By hand' } },
  )
  assert.deepEqual(editors._auth_method_group_maps, { ldap: [{ method: 'eq', value: 'editors' }] })
  const first = await signIn(svc, 'anna', 'pw-anna')
  assert.equal(first.status, 200, JSON.stringify(first.body))
  const made = await userOf('anna')
  assert.deepEqual([made.user.type, made.user.email, made.user.displayname], ['ldap', 'anna@example.org', 'anna'])
  const names = async () => (await userOf('anna'))._groups.map((one: Json) => one.group.name).filter(Boolean)
  assert.ok((await names()).includes('Editors here') && (await names()).includes('Alumni'))
  assert.ok(!(await names()).includes('Other'), JSON.stringify(other))
  const shown = made._groups.find((one: Json) => one.group._id === alumni.group._id)
  assert.equal(shown._automatic_auth.type, 'ldap')
  // By hand into a group; and out of one in the directory.
  const put = [
    ...made._groups,
    { group: { _id: (await root().get('/group')).body.find((one: Json) => one.group.name === 'By hand').group._id } },
  ]
  const saved = await root().post('/user', [
    { user: { _id: made.user._id, _version: made.user._version }, _groups: put },
  ])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const [alumniEntry] = server.entries.splice(
    server.entries.findIndex(({ dn }) => dn.startsWith('cn=students')),
    1,
  )
  const second = await signIn(svc, 'anna', 'pw-anna')
  assert.equal(second.status, 200)
  const now = await names()
  assert.ok(now.includes('By hand') && now.includes('Editors here') && !now.includes('Alumni'), JSON.stringify(now))
  if (alumniEntry) server.entries.push(alumniEntry)
  const logins = await eventsOf(svc, 'USER_LOGIN')
  assert.equal(logins.findLast(({ event }) => event.object_id === made.user._id)?.event.info.method, 'ldap')
  const debug = JSON.stringify(await eventsOf(svc, 'LDAP_DEBUG'))
  assert.match(debug, /uid=anna,ou=people/)
  assert.doesNotMatch(debug, /pw-anna|s3archer/)
  assert.equal(await statusWith(svc, second.body.access_token), 200)
})

test('the test of a directory says step by step what happens, whom it finds and what would become of them', async () => {
  await configure()
  const check = async (more: Json = {}) => {
    const { status, body } = await root().post('/system/directory/test', { kind: 'ldap', ...more })
    return status === 200 ? body : { ...body, status }
  }
  const connected = await check()
  assert.deepEqual([connected.ok, connected.user], [true, undefined], JSON.stringify(connected))
  const found = await check({ login: 'eve' })
  assert.match(found.steps.join('\n'), /finds uid=eve[\s\S]*names of groups/)
  assert.deepEqual([found.ok, found.user.fields.login, found.user._id], [true, 'eve', undefined])
  const right = await check({ login: 'anna', password: 'pw-anna' })
  assert.equal(right.user.fields.email, 'anna@example.org')
  assert.ok(right.user._id > 0 && right.user.group_names.includes('editors'))
  assert.ok(right.user.groups.some(({ name }: Json) => name === 'Editors here'))
  const wrong = await check({ login: 'anna', password: 'typed-wrong' })
  assert.deepEqual([wrong.ok, wrong.user], [false, undefined])
  assert.equal((await check({ login: 'nobody' })).ok, false)
  assert.equal(await userOf('eve'), undefined, 'nobody is made by it')
  assert.equal((await check({ password: 'x' })).parameters.path, 'login')
  await configure({ connections: [{ url: 'ldap://127.0.0.1:9', tls_insecure: true }] })
  const lost = await check()
  assert.deepEqual([lost.ok, /No server of the directory/.test(lost.steps.at(-1))], [false, true])
  const logged = JSON.stringify([connected, found, right, wrong, await eventsOf(svc, 'LDAP_DEBUG')])
  assert.match(logged, /"test":true/)
  assert.doesNotMatch(logged, /pw-anna|typed-wrong|s3archer/)
  await configure()
  await root().post('/config/system/config/password/blockclient', { attempts: 3, minutes: 5 })
  for (const status of [undefined, undefined, 429]) {
    assert.equal(
      (await check({ login: 'anna', password: 'typed-wrong' })).status,
      status,
      'guessing is slowed here, too',
    )
  }
  await root().post('/config/system/config/password/blockclient', { attempts: 10, minutes: 5 })
})

test('users are found again by the configured field, brought up to date, and not written when nothing is new', async () => {
  await configure({ userupdatecolumn: 'email' })
  await signIn(svc, 'ben', 'pw-ben')
  const before = await userOf('ben')
  await signIn(svc, 'ben', 'pw-ben')
  assert.equal((await userOf('ben')).user._version, before.user._version)
  const at = server.entries.findIndex(({ dn }) => dn.startsWith('uid=ben,'))
  server.entries[at] = person('ben', { cn: 'Name of Benjamin' })
  await signIn(svc, 'ben', 'pw-ben')
  const changed = await userOf('ben')
  assert.deepEqual([changed.user._id, changed.user.displayname], [before.user._id, 'Benjamin'])
})

test('an entry with another spelling of a name is another person: a conflict, whatever is typed; nothing is cut', async () => {
  const long = `long${'g'.repeat(600)}`
  const entries = [
    person('carl'),
    ...['Carl', 'ｃarl', 'ⓒarl'].map((uid, index) => person(`spelling${index}`, { uid, sn: `other${index}` })),
    person('space', { uid: 'carl ', sn: 'other3' }),
    person('long', { uid: `${long}1`, sn: 'other4' }),
    person('carla', { mail: 'CARL@example.org', sn: 'other5' }),
  ]
  await using other = await startLdapServer(entries)
  const connections = [{ url: other.url, tls_insecure: true }]
  const byLogin = { connections, userfilter: '(sn=%(login)s)', usermapping: [{ key: 'login', value: '%(uid)s' }] }
  const byEmail = {
    ...byLogin,
    userupdatecolumn: 'email',
    usermapping: [
      { key: 'login', value: '%(uid)s' },
      { key: 'email', value: '%(mail)s' },
    ],
  }
  await configure(byEmail)
  assert.equal((await signIn(svc, 'carl', 'pw-carl')).status, 200)
  const { user: carl } = await userOf('carl')
  const passwords = ['pw-spelling0', 'pw-spelling1', 'pw-spelling2', 'pw-space', 'pw-long', 'pw-carla']
  for (const config of [byLogin, byEmail]) {
    await configure(config)
    for (const [index, password] of passwords.entries()) {
      if (config === byLogin && index > 4) continue
      const before = (await eventsOf(svc, 'LDAP_ERROR')).length
      // From another network than the tests that count failures.
      const form = { grant_type: 'password', client_id: 'web-client', username: `other${index}`, password }
      const refused = await requestToken(svc, form, { 'x-forwarded-for': '198.51.100.7' })
      assert.equal(refused.status, 400, `${index} ${JSON.stringify(refused.body)}`)
      assert.equal((await eventsOf(svc, 'LDAP_ERROR')).length, before + 1, password)
    }
  }
  const [{ user: now }] = (await root().get(`/user/${carl._id}`)).body
  assert.deepEqual([now.login, now.email, now._version], ['carl', 'carl@example.org', carl._version])
  // An administrator says that both are the same person.
  await configure(byLogin)
  const { _id, _version } = now
  assert.equal((await root().post('/user', [{ user: { _id, _version, login: 'Carl' } }])).status, 200)
  assert.equal((await signIn(svc, 'other0', 'pw-spelling0')).status, 200)
})

test('two first sign-ins at once make one user', async () => {
  await configure()
  const answers = await Promise.all([1, 2, 3].map(() => signIn(svc, 'late', 'pw-late')))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  const { rows } = await svc.db.query<{ count: number }>(`select count(*)::int from "user" where login = 'late'`)
  assert.equal(rows[0]?.count, 1)
})

test('unknown users, wrong passwords and those who may not sign in are answered alike, with as many questions', async () => {
  await configure()
  await signIn(svc, 'off', 'pw-off')
  await signIn(svc, 'gone', 'pw-gone')
  const [off, gone] = [await userOf('off'), await userOf('gone')]
  await root().post('/user', [{ user: { _id: off.user._id, _version: off.user._version, login_disabled: true } }])
  await root().post('/user', [
    { user: { _id: gone.user._id, _version: gone.user._version, login_valid_to: '2020-01-01' } },
  ])
  const bodies = new Set<string>()
  for (const [login, password] of [
    ['nobody', 'x'],
    ['eve', 'x'],
    ['off', 'pw-off'],
    ['gone', 'pw-gone'],
    ['root', 'x'],
    ['twin', 'pw-twin'],
  ] as const) {
    const before = [server.binds.length, server.filters.length] as const
    const { status, body } = await signIn(svc, login, password)
    assert.equal(status, 400, login)
    bodies.add(JSON.stringify(body))
    const asked = server.binds.slice(before[0])
    // The searcher, then somebody, then the searcher again; the user and the groups, also where no password was right.
    assert.deepEqual([asked.length, asked[1]?.split(',').slice(1).join(',')], [3, 'ou=people,dc=example,dc=org'], login)
    assert.equal(server.filters.length - before[1], 2, login)
    const visitor = new TestVisitor(svc)
    const page = await visitor.signIn(login, password)
    assert.match(page.body, /The login or the password is wrong/, login)
  }
  assert.equal(bodies.size, 1)
  assert.equal(
    (await userOf('off'))._groups.every((one: Json) => !one._automatic_auth),
    true,
  )
})

test('what belongs to an account of this instance stays its own; the page says so, and an administrator hands it over', async () => {
  await configure()
  await createUsers(svc, { user: { login: 'eve' } })
  assert.equal((await signIn(svc, 'eve', 'pw-eve')).status, 400)
  const page = await new TestVisitor(svc).signIn('eve', 'pw-eve')
  assert.match(page.body, /belongs to another account here/)
  const [error] = (await eventsOf(svc, 'LDAP_ERROR')).slice(-1)
  assert.match(JSON.stringify(error?.event.info.log), /account of type native/)
  // The password of this instance does, until the account goes over.
  assert.equal((await signIn(svc, 'eve', 'eve')).status, 200)
  const [eve] = (await root().get('/user')).body.filter(({ user }: Json) => user.login === 'eve')
  const over = await root().post('/user', [{ user: { _id: eve.user._id, _version: eve.user._version, type: 'ldap' } }])
  assert.equal(over.status, 200, JSON.stringify(over.body))
  assert.equal((await signIn(svc, 'eve', 'eve')).status, 400)
  assert.equal((await signIn(svc, 'eve', 'pw-eve')).status, 200)
  // Another account has the address.
  await createUsers(svc, { user: { login: 'taken', email: 'fay@example.org' } })
  server.entries.push(person('fay'))
  const taken = await new TestVisitor(svc).signIn('fay', 'pw-fay')
  assert.match(taken.body, /belongs to another account here/)
})

test('a directory keeps its passwords: nobody is asked for a new one here', async () => {
  await configure()
  await signIn(svc, 'forced', 'pw-forced')
  const { _id, _version } = (await userOf('forced')).user
  const told = await root().post('/user', [{ user: { _id, _version, require_password_change: true } }])
  assert.equal(told.status, 200, JSON.stringify(told.body))
  assert.equal((await new TestVisitor(svc).signIn('forced', 'pw-forced')).location?.pathname, '/app/callback')
})

test('a second factor that a group asks for is asked of its users, too', async () => {
  await configure()
  await createGroups(svc, {
    group: { name: 'Factor' },
    _two_fa_required: true,
    _auth_method_group_maps: { ldap: [{ method: 'eq', value: 'factor' }] },
  })
  const visitor = new TestVisitor(svc)
  const page = await visitor.signIn('two', 'pw-two')
  assert.equal(page.location?.pathname, '/api/page/twoFactorSetup')
  const [refused, wrong] = [await signIn(svc, 'two', 'pw-two'), await signIn(svc, 'two', 'x')]
  assert.deepEqual([refused.status, refused.body], [wrong.status, wrong.body])
})

test('the database is asked as much for a wrong password as for a right one of somebody who may not sign in', async () => {
  await configure()
  await createGroups(svc, {
    group: { name: 'Factor of the few' },
    _two_fa_required: true,
    _auth_method_group_maps: { ldap: [{ method: 'eq', value: 'factor' }] },
  })
  await new TestVisitor(svc).signIn('two', 'pw-two')
  const statements = (login: string, password: string): Promise<number> =>
    statementsOf(svc, () => signIn(svc, login, password))
  await root().post('/config/system/config/password/blockclient/attempts', 0)
  const wrong = await statements('two', 'x')
  assert.equal(await statements('two', 'pw-two'), wrong, 'a second factor is lacking')

  assert.equal(await statements('nobody', 'x'), wrong, 'nobody has the login')
  const { _id, _version } = (await userOf('two')).user
  await root().post('/user', [{ user: { _id, _version, login_disabled: true } }])
  assert.equal(await statements('two', 'pw-two'), await statements('two', 'x'), 'the account is disabled')
})

test('CLIENT-016 the password grant asks passwords, links to collections, UUIDs of mail users and the directory in turn', async () => {
  await configure()
  await createUsers(svc, { user: { login: 'turn-native' } })
  const made = await root().post('/collection', {
    collection: {},
    _acl: [
      { who: { _basetype: 'user', user: { type: 'collection' } }, rights: { bag_read: {} } },
      { who: { _basetype: 'user', user: { type: 'email', email: 'turn@example.org' } }, rights: { bag_read: {} } },
    ],
  })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const [link, mail] = made.body._acl
  const { rows } = await svc.db.query('select account_uuid as sealed from "user" where id = $1', [mail.who.user._id])
  const { sealed } = rows[0] as { sealed: Buffer }
  const { dataDir, secretKey, secretKeyBefore } = svc.config
  const seal = createSeal({ dataDir, secretKey, secretKeyBefore })
  const uuid = (await seal.open(sealed, `account uuid ${mail.who.user._id}`))?.toString() ?? ''
  const methods: string[] = []
  for (const [login, password, asksDirectory] of [
    ['turn-native', 'turn-native', false],
    [link.who.user.login, made.body.collection.uuid, false],
    ['turn@example.org', uuid, false],
    ['anna', 'pw-anna', true],
  ] as const) {
    server.binds.length = 0
    const { status, body } = await signIn(svc, login, password)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(server.binds.length > 0, asksDirectory, 'what was right before is not asked further on')
    const session = await svc.inject({
      method: 'GET',
      url: '/api/v1/user/session',
      headers: { authorization: `Bearer ${body.access_token}` },
    })
    methods.push(session.json().authenticated.method)
  }
  assert.deepEqual(methods, ['native', 'collection', 'email', 'ldap'])
  // What is wrong everywhere has been asked of all, the directory last.
  server.binds.length = 0
  assert.equal((await signIn(svc, 'anna', 'wrong')).status, 400)
  assert.ok(server.binds.includes(person('anna').dn))
})

test('CLIENT-020 auth_method says who is asked, in the order of the list; without a directory there is no ldap', async () => {
  await configure()
  await createUsers(svc, { user: { login: 'here' } })
  const asked = async (login: string, password: string, method: string) => {
    const before = server.binds.length
    const done = await new TestVisitor(svc).post(
      '/api/oauth2/auth',
      new TestVisitor(svc).parameters({ login, password, auth_method: method }),
    )
    return [done.status, server.binds.length > before]
  }
  assert.deepEqual(await asked('here', 'here', 'native'), [303, false])
  assert.deepEqual(await asked('here', 'here', 'ldap'), [200, true])
  assert.deepEqual(await asked('anna', 'pw-anna', 'native'), [200, false])
  assert.deepEqual(await asked('anna', 'pw-anna', 'ldap,native'), [303, true])
  assert.deepEqual(await asked('here', 'here', 'ldap,native'), [303, true], 'the directory first')
  assert.deepEqual(await asked('here', 'here', 'native,ldap'), [303, false])
  assert.deepEqual(await asked('anna', 'pw-anna', 'native,ldap'), [303, true])
  assert.deepEqual(await asked('here', 'wrong', 'ldap,native'), [200, true])
  const failed = (await eventsOf(svc, 'USER_LOGIN_FAILED')).filter(({ event }) => event.info.login === 'here')
  assert.equal(failed.length, 2, 'one for each sign-in, whoever was asked')
  assert.deepEqual(await asked('anna', 'pw-anna', 'auto'), [303, true])
  assert.deepEqual(await asked('here', 'here', 'auto'), [303, false])
  await root().post(`${path}/connections`, [])
  assert.equal((await new TestVisitor(svc).authorize({ auth_method: 'ldap' })).status, 400)
  assert.equal((await signIn(svc, 'anna', 'pw-anna')).status, 400)
})

test('CLIENT-022 auth_method=ldap is available while an LDAP connection is configured, and only then; there are no licences', async () => {
  const page = async (auth_method: string): Promise<readonly [number, boolean]> => {
    const { status, body } = await new TestVisitor(svc).authorize({ auth_method })
    return [status, body.includes('ldap is not available')]
  }
  await configure()
  await root().post(`${path}/connections`, [])
  assert.deepEqual(await page('ldap'), [400, true])
  assert.equal((await page('ldap,native'))[0], 200, 'in a list it is passed over')
  await configure()
  assert.deepEqual(await page('ldap'), [200, false])
  assert.equal((await signIn(svc, 'anna', 'pw-anna')).status, 200)
  await root().post(`${path}/connections`, [])
  assert.deepEqual(await page('ldap'), [400, true])
})

test('no login gets into a filter: what arrives is one entry by its name, or nobody', async () => {
  await configure()
  await root().post('/config/system/config/password/blockclient/attempts', 0)
  const expected = JSON.stringify([
    'AndFilter',
    ['EqualityFilter', 'objectclass'],
    ['EqualityFilter', 'uid'],
  ]).toLowerCase()
  const hostile = [
    '*',
    '*)(uid=*',
    'anna)(|(uid=*',
    'a*',
    '\\2a',
    'anna\\00',
    '(',
    ')',
    'anna,dc=x',
    '\u202eanna',
    'an\u00adna',
    'anna ',
    'ＡＮＮＡ',
    '&',
    '|(a=b)',
    '!(a=b)',
    '\\',
    'ä',
    '\u{1f600}',
  ]
  const login = fc.oneof(
    fc.constantFrom(...hostile),
    fc
      .string({ minLength: 1, maxLength: 30, unit: fc.constantFrom(...'anbuid*()\\&|!=<>~: \u0001é,+"#;/') })
      // The server of the test writes out what has arrived and reads it again: a value with one of these as another filter.
      .filter((typed) => !/\\[()*]|:=/.test(typed)),
  )
  await fc.assert(
    fc.asyncProperty(login, async (typed) => {
      const before = server.filters.length
      // The right password of somebody: whoever else is found would be let in as nobody.
      const { status } = await signIn(svc, typed, 'pw-anna')
      const [filter = ''] = server.filters.slice(before)
      assert.equal(filter.toLowerCase(), expected)
      if (status === 200) assert.equal(typed.trim().toLowerCase(), 'anna')
    }),
    { numRuns: 60, examples: hostile.map((one) => [one]) },
  )
})

test('an empty password is nobody, and one that is long no more', async () => {
  await configure()
  for (const password of ['', 'x'.repeat(1001)]) assert.equal((await signIn(svc, 'anna', password)).status, 400)
  assert.ok(!server.binds.includes(''))
})

test('TLS: the certificate must be of the configured authority, from the first byte or after StartTLS', async () => {
  await using proxy = await startTlsProxy(server.url)
  await using dropping = await startTlsProxy(server.url, { drops: true })
  const ca = { tls_ca_cert: ofServer.cert }
  const cases: [connection: Json, works: boolean][] = [
    [{ url: secure.url, ...ca }, true],
    [{ url: secure.url }, false],
    [{ url: secure.url, tls_ca_cert: ofStranger.cert }, false],
    [{ url: secure.url.replace('localhost', '127.0.0.1'), ...ca }, false],
    [{ url: secure.url, tls_insecure: true }, true],
    [{ url: proxy.url, tls_start: true, ...ca }, true],
    [{ url: proxy.url, tls_start: true }, false],
    [{ url: proxy.url.replace('localhost', '127.0.0.1'), tls_start: true, ...ca }, false],
    [{ url: dropping.url, tls_start: true, ...ca }, false],
  ]
  for (const [connection, works] of cases) {
    await configure({ connections: [connection] })
    const { status } = await signIn(svc, 'anna', 'pw-anna')
    assert.equal(status, works ? 200 : 503, JSON.stringify(connection))
  }
  const plain = Buffer.concat([...proxy.plain, ...dropping.plain]).toString('latin1')
  assert.doesNotMatch(plain, /anna|s3archer|searcher/)
})

test('servers are tried in turn; when none answers, everybody is told the same, and nobody locks others out', async () => {
  await configure({ connections: [{ url: 'ldap://127.0.0.1:9', tls_insecure: true }, ...configured().connections] })
  assert.equal((await signIn(svc, 'anna', 'pw-anna')).status, 200)
  await configure({ connections: [{ url: 'ldap://127.0.0.1:9', tls_insecure: true }] })
  const answers = [
    await signIn(svc, 'anna', 'pw-anna'),
    await signIn(svc, 'nobody', 'x'),
    await signIn(svc, 'root', 'x'),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [503, 503, 503],
  )
  const page = await new TestVisitor(svc).signIn('anna', 'pw-anna')
  assert.equal(page.status, 503)
  assert.match(page.body, /cannot be asked at the moment/)
  assert.equal((await signIn(svc, 'here', 'here')).status, 200)
  const [error] = (await eventsOf(svc, 'LDAP_ERROR')).slice(-1)
  assert.match(JSON.stringify(error?.event.info), /No server of the directory can be reached/)
  await configure({ bindpassword: 'wrong' })
  assert.equal((await signIn(svc, 'anna', 'pw-anna')).status, 503)
})

test('wrong passwords of a directory are counted and block', async () => {
  await configure()
  await root().post('/config/system/config/password/blockclient', { attempts: 3, minutes: 5 })
  for (let attempt = 0; attempt < 3; attempt++) assert.equal((await signIn(svc, 'ben', 'x')).status, 400)
  assert.equal((await signIn(svc, 'ben', 'pw-ben')).status, 429)
  const failed = await eventsOf(svc, 'USER_LOGIN_FAILED')
  assert.equal(failed.at(-1)?.event.info.attempt, 3)
})

test('all spellings by which a directory finds an entry count together, and its password is not tried once it is blocked', async () => {
  server.entries.push(person('spelt'))
  const filter = '(&(objectClass=person)(|(uid=%(login)s)(mail=%(login)s)(cn=%(login)s)))'
  assert.equal((await root().post(path, configured({ userfilter: filter }))).status, 200)
  const limits = '/config/system/config/password/blockclient'
  assert.equal((await root().post(limits, { attempts: 3, minutes: 5 })).status, 200)
  await svc.db.query('delete from sign_in_failure')
  try {
    for (const login of ['spelt', 'spelt@example.org', 'Name of spelt']) {
      assert.equal((await signIn(svc, login, 'wrong')).status, 400)
    }
    server.binds.length = 0
    for (const login of ['Name of spelt', 'spelt@example.org', 'spelt']) {
      assert.equal((await signIn(svc, login, 'pw-spelt')).status, 429, login)
    }
    assert.deepEqual(
      server.binds.filter((dn) => dn.includes('spelt')),
      [],
    )
  } finally {
    await root().delete(limits)
    await svc.db.query('delete from sign_in_failure')
  }
})

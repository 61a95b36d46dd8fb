import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSeal } from '../../src/platform/secrets/seal.ts'
import { createSealedTexts } from '../../src/platform/secrets/sealed-texts.ts'
import type { Json } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'

let svc: TestService
before(async () => {
  svc = await startService()
  const users = [
    { user: { login: 'admin' }, _password: 'admin', _system_rights: { 'system.config': {} } },
    { user: { login: 'reader' }, _password: 'reader' },
  ]
  assert.equal((await svc.as('root').post('/user', users)).status, 200)
})
after(() => svc[Symbol.asyncDispose]())

const admin = () => svc.as('admin')

async function events(...types: string[]): Promise<Json[]> {
  return (await svc.as('root').get('/event/list', { type: types.join(','), sort: '_id.ASC' })).body.objects
}

test('without any setting the defaults hold', async () => {
  const { status, body } = await admin().get('/config')
  assert.equal(status, 200)
  const { languages, oauth2, user, email_server: server } = body.system.config
  assert.deepEqual(
    languages.database.map(({ value }: Json) => value),
    ['en-US', 'de-DE'],
  )
  assert.deepEqual(languages.frontend, ['en-US', 'de-DE'])
  assert.deepEqual(oauth2.expirations, { access_token: '24h', refresh_token: '720h' })
  assert.deepEqual(user, { default_delete_policy: 'ask', user_in_event_group: [], copy_to_event: [] })
  assert.equal(server.plain_auth.password, '')
  assert.deepEqual(body.plugin, {})
})

test('POST /config replaces the sections that it names, and only those', async () => {
  await admin().post('/config/system/config/name/title', 'Museum')
  const body = { system: { config: { login: { info: { 'en-US': 'Hi' }, label: { 'en-US': 'Your login' } } } } }
  const answer = await admin().post('/config', body)
  assert.equal(answer.status, 200)
  assert.deepEqual(
    [answer.body.system.config.login.label, answer.body.system.config.name.title],
    [{ 'en-US': 'Your login' }, 'Museum'],
  )
  const again = await admin().post('/config', { system: { config: { login: { info: { 'de-DE': 'Hallo' } } } } })
  assert.deepEqual(again.body.system.config.login, {
    keep_login: 'off',
    guest: false,
    label: {},
    placeholder: {},
    info: { 'de-DE': 'Hallo' },
  })
  assert.deepEqual((await admin().get('/config')).body, again.body)
})

test('a path reads, sets and resets one value', async () => {
  const path = '/config/system/config/password/blockclient'
  assert.deepEqual((await admin().get(path)).body, { attempts: 10, minutes: 5 })
  assert.deepEqual((await admin().post(path, { minutes: 30 })).body, { attempts: 10, minutes: 30 }, 'forms are merged')
  assert.equal((await admin().post(`${path}/attempts`, 7)).body, 7)
  assert.equal((await admin().get(`${path}/minutes/`)).body, 30)
  assert.deepEqual((await admin().delete(`${path}/minutes`)).body, 5)
  assert.deepEqual((await admin().delete('/config/system/config/password')).body.blockclient, {
    attempts: 10,
    minutes: 5,
  })
  assert.equal((await admin().get('/config/system/config/login/keep_login')).body, 'off')
  assert.equal((await admin().get('/config/system/config/languages/database/1/value')).body, 'de-DE')
  await admin().post('/config/system/config', { name: { internal_name: 'm' }, login: { keep_login: 'off' } })
  assert.deepEqual((await admin().get('/config/system/config/name')).body.internal_name, 'm')
})

test('what does not exist is 404 when read and 400 in a body, with the path', async () => {
  for (const path of [
    'x',
    'system/x',
    'system/config/x',
    'system/config/login/x',
    'system/config/login/keep_login/x',
    'plugin/x',
    'system/config/constructor',
  ]) {
    const read = await admin().get(`/config/${path}`)
    assert.deepEqual([read.status, read.body.code, read.body.parameters.path], [404, 'ResourceNotFound', path])
    assert.equal((await admin().post(`/config/${path}`, 'x')).status, 404, path)
    assert.equal((await admin().delete(`/config/${path}`)).status, 404, path)
  }
  const bodies: [Json, string][] = [
    [{ nonsense: {} }, 'nonsense'],
    [{ system: { nonsense: {} } }, 'system/nonsense'],
    [{ plugin: { x: {} } }, 'plugin/x'],
    [{ system: { config: { nonsense: {} } } }, 'system/config/nonsense'],
    [{ system: { config: { login: { nonsense: 1 } } } }, 'system/config/login/nonsense'],
    [
      { system: { config: { languages: { database: [{ value: 'en-US', x: 1 }] } } } },
      'system/config/languages/database/0/x',
    ],
  ]
  for (const [body, path] of bodies) {
    const answer = await admin().post('/config', body)
    assert.deepEqual([answer.status, answer.body.parameters.path], [400, path])
  }
})

test('wrong values are refused with their path, and nothing is changed', async () => {
  const before = (await svc.as('root').get('/config')).body
  const cases: [path: string, value: unknown, place?: string][] = [
    ['login/keep_login', 'for ever'],
    ['login/keep_login', true],
    ['login/label', { 'en-US': 5 }, 'login/label/en-US'],
    ['name/title', 'x'.repeat(201)],
    ['name/title', 'a\0b'],
    ['languages/frontend', []],
    ['languages/frontend', ['xx'], 'languages/frontend/0'],
    ['languages/database', []],
    ['languages/database', 'en-US'],
    ['languages/database', [{}], 'languages/database/0/value'],
    ['languages/database', [{ value: 'no language' }], 'languages/database/0/value'],
    ['languages/database', [{ value: 'en-us' }], 'languages/database/0/value'],
    ['languages/database', [{ value: 'en-US' }, { value: 'en-US' }], 'languages/database/1/value'],
    ['oauth2/expirations/access_token', 'soon'],
    ['oauth2/expirations/access_token', '1s'],
    ['oauth2/expirations/access_token', ''],
    ['oauth2/expirations/access_token', 86_400],
    ['oauth2/expirations/access_token', '999999999d'],
    ['oauth2/clients', [{ name: 'x', secret: 'plain' }], 'oauth2/clients/0/secret'],
    ['password/check', [{ regexp: '(' }], 'password/check/0/regexp'],
    ['password/blockclient/attempts', 1.5],
    ['password/blockclient/attempts', -1],
    ['user/user_in_event_group', ['NONE'], 'user/user_in_event_group/0'],
    ['user/user_in_event_group', { 0: 'ADMIN' }],
    ['email/from', 'nobody'],
    ['email_server/server_addr', 'no port'],
    ['email_server', { plain_auth: { username: 'a' }, login_auth: { username: 'b' } }],
    ['transition_webhook/webhooks', [{ name: 'w', url: 'ftp://x/' }], 'transition_webhook/webhooks/0/url'],
    ['transition_webhook/webhooks', [{ name: 'w' }], 'transition_webhook/webhooks/0/url'],
    ['transition_webhook/webhooks', [{ url: 'https://x/' }], 'transition_webhook/webhooks/0/name'],
    ['file_url_expire/default_days', 31],
    ['file_url_expire/deep_link_days', 31],
    ['file_url_expire/oai_pmh_days', 31],
    ['deep_link_access/merge_max_depth', 10],
    ['publish/collectors', [{ internalname: '' }], 'publish/collectors/0/internalname'],
  ]
  for (const [path, value, place = path] of cases) {
    const answer = await svc.as('root').post(`/config/system/config/${path}`, value)
    assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], `${path} ${JSON.stringify(value)}`)
    assert.equal(answer.body.parameters.path, `system/config/${place}`)
  }
  assert.deepEqual((await svc.as('root').get('/config')).body, before)
})

const waiting: [path: string, value: unknown][] = [['saml/entry_js', 'return 1']]

test('what nothing reads yet is refused with the reason, except its default', async () => {
  const root = svc.as('root')
  for (const [path, value] of waiting) {
    const whole = `system/config/${path}`
    const before = (await root.get(`/config/${whole}`)).body
    const [section, member] = path.split('/') as [string, string]
    for (const answer of [
      await root.post(`/config/${whole}`, value),
      await root.post(`/config/system/config/${section}`, { [member]: value }),
      await root.post('/config', { system: { config: { [section]: { [member]: value } } } }),
    ]) {
      assert.deepEqual([answer.status, answer.body.parameters.path], [400, whole])
      assert.ok(answer.body.parameters.reason.length > 10, whole)
    }
    assert.equal((await root.post(`/config/${whole}`, before)).status, 200, `${whole}: its default`)
    assert.deepEqual((await root.get(`/config/${whole}`)).body, before)
  }
  const document = (await root.get('/config')).body
  const answer = await root.post('/config', document)
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body, document)
})

test('what an earlier release stored there is shown and may be sent back, and goes with a reset', async () => {
  await using first = await startService()
  await first.db.query(
    `insert into base_config (section, value) values
     ('file_url_expire', '{"default_days": 3}'), ('saml', '{"entry_js": "return 1"}')`,
  )
  await using later = await attachService(first.dsn)
  const root = later.as('root')
  const document = (await root.get('/config')).body
  assert.equal(document.system.config.file_url_expire.default_days, 3)
  assert.deepEqual((await root.post('/config', document)).body, document)
  assert.equal((await root.get('/config/system/config/saml/entry_js')).body, 'return 1')
  assert.equal((await root.delete('/config/system/config/saml/entry_js')).body, '')
  assert.equal((await root.post('/config/system/config/saml/entry_js', 'return 2')).status, 400)
  assert.equal((await root.post('/config/system/config/file_url_expire', { default_days: 7 })).status, 200)
})

test('reading leaves out what the session may not see; writing and the list of definitions need system.config', async () => {
  const { config } = (await svc.as('reader').get('/config')).body.system
  assert.deepEqual(Object.keys(config).sort(), [
    'appearance',
    'colorprofiles',
    'custom_version_presets',
    'deep_link_access',
    'detail_deep_link',
    'export',
    'file_url_expire',
    'languages',
    'login',
    'name',
    'oai_pmh',
    'password',
    'produce_config',
    'publish',
    'registration',
    'sitemaps',
    'user',
    'webdav',
  ])
  assert.equal((await svc.as('reader').get('/config/system/config/oauth2')).status, 404)
  assert.equal((await svc.as(null).get('/config')).body.code, 'UserRequired')
  for (const answer of [
    await svc.as('reader').post('/config', {}),
    await svc.as('reader').post('/config/system/config/name/title', 'x'),
    await svc.as('reader').delete('/config/system/config/name'),
    await svc.as('reader').get('/config/list'),
  ]) {
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.parameters.right],
      [403, 'SystemRightRequired', 'system.config'],
    )
  }
})

test('secrets are never returned; rows keep them by their name, - removes them', async () => {
  const path = '/config/system/config/transition_webhook/webhooks'
  const rows = [
    { name: 'a', url: 'https://a.org/', secret: 'secret of a' },
    { name: 'b', url: 'https://b.org/', secret: 'secret of b', method: 'PUT', timeout: 5 },
  ]
  const set = await admin().post(path, rows)
  assert.deepEqual(
    set.body.map(({ name, secret }: Json) => [name, secret]),
    [
      ['a', '***'],
      ['b', '***'],
    ],
  )
  const [a, b] = set.body
  const back = await admin().post(path, [b, { ...a, method: 'PUT' }, { name: 'c', url: 'https://c.org/' }])
  assert.deepEqual(
    back.body.map(({ name, secret }: Json) => [name, secret]),
    [
      ['b', '***'],
      ['a', '***'],
      ['c', ''],
    ],
  )
  const { rows: stored } = await svc.db.query<{ value: Json }>(
    `select value from base_config where section = 'transition_webhook'`,
  )
  const texts = createSealedTexts(createSeal(svc.config))
  const open = (row: Json) => texts.open(row.secret, 'base configuration transition_webhook/webhooks/secret')
  assert.deepEqual(await Promise.all(stored[0]?.value.webhooks.map(open)), ['secret of b', 'secret of a', undefined])
  await admin().post(path, [{ ...a, secret: '-' }])
  assert.equal((await admin().get(path)).body[0].secret, '')
  const server = '/config/system/config/email_server'
  await admin().post(`${server}/login_auth`, { username: 'u', password: 'smtp secret' })
  await admin().post('/config', { system: { config: { email_server: { login_auth: { username: 'u2' } } } } })
  assert.deepEqual(
    (await admin().get(`${server}/login_auth`)).body,
    { username: 'u2', password: '***' },
    'a section without its secret keeps it',
  )
  const everything = JSON.stringify([(await svc.as('root').get('/config')).body, await events('BASE_CONFIG_UPDATE')])
  for (const secret of ['secret of a', 'secret of b', 'smtp secret']) assert.ok(!everything.includes(secret))
})

test('a secret is not kept for another address than it was given for, whichever way that is set', async () => {
  const at = (section: string) => `/config/system/config/${section}`
  const stored = async () => {
    const { rows } = await svc.db.query<{ text: string }>(
      `select json_agg(value order by section)::text as text from base_config
       where section in ('email_server', 'ldap', 'openid_connect', 'transition_webhook')`,
    )
    return rows[0]?.text
  }
  const usermapping = [{ key: 'login', value: '%(uid)s' }]
  const connection = { url: 'ldaps://ldap.example.org' }
  const ldap = {
    ...{ connections: [connection, { url: 'ldaps://second.example.org' }], bindusername: 'cn=reader' },
    ...{ bindpassword: 'bind secret', userbasedn: 'o=all', userfilter: '(uid=%(login)s)', usermapping },
  }
  const provider = {
    ...{ name: 'campus', issuer: 'https://idp.example.org', client_id: 'us', client_secret: 'client secret' },
    ...{ usermapping, userupdatecolumn: 'login' },
  }
  const server = { server_addr: 'smtp.example.org:587', login_auth: { username: 'u', password: 'smtp secret' } }
  const hook = { name: 'a', url: 'https://a.org/', secret: 'hook secret' }
  const config = {
    ...{ ldap, openid_connect: { providers: [provider] }, email_server: server },
    transition_webhook: { webhooks: [hook] },
  }
  const set = await admin().post('/config', { system: { config } })
  assert.equal(set.status, 200, JSON.stringify(set.body))
  const before = await stored()
  const { bindpassword: _, ...silent } = ldap
  const evil = { url: 'ldaps://evil.example.org' }
  const refused: [path: string, value: unknown, place: string][] = [
    [at('ldap'), { ...ldap, bindpassword: '***', connections: [evil] }, 'ldap/bindpassword'],
    [at('ldap'), { ...ldap, bindpassword: true, connections: [connection, evil] }, 'ldap/bindpassword'],
    [at('ldap/connections'), [evil], 'ldap/bindpassword'],
    [at('ldap/connections'), [{ ...connection, tls_insecure: true }], 'ldap/bindpassword'],
    ['/config', { system: { config: { ldap: { ...silent, connections: [evil] } } } }, 'ldap/bindpassword'],
    [at('email_server/server_addr'), 'evil.example.org:25', 'email_server/login_auth/password'],
    [at('email_server'), { type: 'off' }, 'email_server/login_auth/password'],
    [at('email_server/insecure_skip_verify'), true, 'email_server/login_auth/password'],
    [
      '/config',
      { system: { config: { email_server: { server_addr: 'evil.example.org:25', login_auth: { username: 'u' } } } } },
      'email_server/login_auth/password',
    ],
    [
      at('openid_connect/providers'),
      [{ ...provider, issuer: 'https://evil.example.org', client_secret: '***' }],
      'openid_connect/providers/0/client_secret',
    ],
    [
      at('transition_webhook/webhooks'),
      [{ name: 'a', url: 'https://evil.example.org/' }],
      'transition_webhook/webhooks/0/secret',
    ],
  ]
  for (const [path, value, place] of refused) {
    const { status, body } = await admin().post(path, value)
    assert.deepEqual([status, body.parameters?.path], [400, `system/config/${place}`], JSON.stringify([path, value]))
  }
  assert.equal(await stored(), before, 'nothing was changed')

  const post = async (path: string, value: unknown) => {
    const { status, body } = await admin().post(path, value)
    assert.equal(status, 200, JSON.stringify(body))
  }
  await post(at('ldap/connections'), [connection])
  await post(at('ldap'), { ...ldap, connections: [evil], bindpassword: 'another' })
  await post(at('ldap'), { ...ldap, connections: [connection], bindusername: '', bindpassword: null })
  // Neither is there a way round it, by an address that is taken away first.
  assert.equal((await admin().delete(at('email_server/server_addr'))).status, 200)
  const { status, body } = await admin().post(at('email_server/server_addr'), 'evil.example.org:25')
  assert.deepEqual([status, body.parameters?.path], [400, 'system/config/email_server/login_auth/password'])
  await post(at('email_server'), { server_addr: 'evil.example.org:25', login_auth: { username: 'u', password: '-' } })
  for (const section of Object.keys(config)) assert.equal((await admin().delete(at(section))).status, 200)
})

test('a save is logged in its transaction with sections, method and path', async () => {
  const before = (await events('BASE_CONFIG_UPDATE')).length
  await admin().post('/config', { system: { config: { name: {}, login: {} } } })
  await admin().post('/config/system/config/name/title', 'T')
  await admin().delete('/config/system/config/name')
  const infos = (await events('BASE_CONFIG_UPDATE')).slice(before).map(({ event }) => event.info)
  assert.deepEqual(infos, [
    { ScopedNames: ['system.name', 'system.login'], Method: 'POST', Path: '/' },
    { ScopedNames: ['system.name'], Method: 'PATCH', Path: '/system/config/name/title' },
    { ScopedNames: ['system.name'], Method: 'PATCH', Path: '/system/config/name' },
  ])
})

test('a refused save of an administrator is logged as an error', async () => {
  await admin().post('/config/system/config/login/keep_login', 'never')
  const { event } = (await events('BASE_CONFIG_ERROR')).at(-1)
  assert.deepEqual(
    [event.info.Method, event.info.Path, event.pollable],
    ['PATCH', '/system/config/login/keep_login', false],
  )
  assert.match(event.info.Error, /keep_login must be one of off, 7d, 30d/)
})

test('the definitions name groups, kinds, defaults and who may see a section', async () => {
  const { body } = await admin().get('/config/list')
  const definition = (name: string) => body.system.defs.find((def: Json) => def.name === name)
  assert.deepEqual(definition('login').parameters.keep_login, {
    name: 'keep_login',
    position: 0,
    type: 'select',
    default: 'off',
    options: ['off', '7d', '30d'],
  })
  assert.equal(definition('login').unauthenticated_visible, true)
  assert.equal(definition('oauth2').require_system_right, 'system.config')
  assert.equal(
    definition('transition_webhook').parameters.webhooks.fields.find((f: Json) => f.name === 'secret').type,
    'secret',
  )
})

test('a change holds in every process a moment later', async () => {
  await using other = await attachService(svc.dsn)
  assert.equal((await other.as('root').get('/config/system/config/name/title')).body, '')
  await svc.as('root').post('/config/system/config/name/title', 'Shared')
  assert.equal((await svc.as('root').get('/config/system/config/name/title')).body, 'Shared')
  let title = ''
  for (let round = 0; round < 100 && title !== 'Shared'; round++) {
    title = (await other.as('root').get('/config/system/config/name/title')).body
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.equal(title, 'Shared')
  await svc.as('root').delete('/config/system/config/name')
})

test('saves of different sections at once do not overwrite each other', async () => {
  const saves = [
    svc.as('root').post('/config/system/config/name/title', 'A'),
    svc.as('root').post('/config/system/config/name/internal_name', 'B'),
    svc.as('root').post('/config/system/config/login/label', { 'en-US': 'C' }),
  ]
  for (const answer of await Promise.all(saves)) assert.equal(answer.status, 200)
  const { name, login } = (await svc.as('root').get('/config')).body.system.config
  assert.deepEqual([name.title, name.internal_name, login.label], ['A', 'B', { 'en-US': 'C' }])
})

test('stored values that no longer fit give way to their defaults, the others stay', async () => {
  await svc.db.query(
    `insert into base_config (section, value) values ('gone', '{}'),
       ('password', '{"gone": 1, "hint": {"en-US": "kept"}, "blockclient": {"attempts": "many", "minutes": 9}}')
     on conflict (section) do update set value = excluded.value`,
  )
  await using other = await attachService(svc.dsn)
  const path = '/config/system/config/password'
  const { hint, blockclient } = (await other.as('root').get(path)).body
  assert.deepEqual([hint, blockclient], [{ 'en-US': 'kept' }, { attempts: 10, minutes: 9 }])
  assert.equal((await other.as('root').post(`${path}/blockclient`, { attempts: 5 })).status, 200)
  assert.deepEqual((await other.as('root').get(`${path}/blockclient`)).body, { attempts: 5, minutes: 9 })
})

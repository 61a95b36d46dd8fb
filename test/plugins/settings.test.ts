import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { install, remove, switched } from './support.ts'

const base_config = [
  {
    name: 'dotted.name',
    group: 'words',
    parameters: {
      on: { type: 'bool', default: true, position: 3 },
      hour: { type: 'int', default: 4, min: 0, max: 24 },
      word: { type: 'text', plugin_type: 'special', store_as_json: true },
      key: { type: 'secret' },
      choice: { type: 'select', options: ['a', 'b'] },
      label: { type: 'text-loca' },
      data: { type: 'json' },
      rows: {
        type: 'table',
        fields: [
          { name: 'name', type: 'text' },
          { name: 'inner', type: 'table', fields: [{ name: 'deep', type: 'int' }] },
        ],
      },
      who: { type: 'user' },
    },
  },
  { name: 'second', parameters: { word: { type: 'text', default: 'usual' } } },
]
const show = {
  exec: {
    service: 'node',
    commands: [{ prog: 'node', stdout: { type: 'body' }, args: ['-e', 'console.log(process.argv[1])', '%info.json%'] }],
  },
}
const files = {
  'manifest.yml': JSON.stringify({
    plugin: { name: 'settled' },
    base_config,
    extensions: { show },
    custom_events: { SETTLED_DONE: { user: true }, SETTLED_QUIET: {} },
  }),
}

let svc: TestService
let root: Client
let plugin: Json
before(async () => {
  svc = await startService()
  root = svc.as('root')
  plugin = await install(svc, 'settled', files)
  for (const [login, rights] of [
    ['clerk', { 'system.config': {} }],
    ['keeper', { 'system.message': {} }],
    ['plain', {}],
  ] as const) {
    await root.post('/user', [{ user: { login }, _system_rights: rights, _password: login }], {
      confirm: 'ignore_password_requirements',
    })
  }
})
after(() => svc[Symbol.asyncDispose]())

const section = 'plugin/settled/config/dotted.name'
const defaults = {
  ...{ on: true, hour: 4, word: '', key: '', choice: 'a', label: {}, data: null, rows: [], who: null },
}
const shown = async (client = root): Promise<Json> => (await client.get(`/config/${section}`)).body
const told = async (): Promise<Json> =>
  (await root.get('/plugin/extension/settled/show')).body.config.plugin.settled.config

test('sections of plugins are listed, shown with their defaults, set and put back', async () => {
  const list = (await root.get('/config/list')).body.plugin
  assert.deepEqual(Object.keys(list), ['settled'])
  const [first] = list.settled.defs
  assert.deepEqual(
    [first.name, first.group, first.require_system_right, first.unavailable],
    ['dotted.name', 'words', '', false],
  )
  assert.deepEqual(first.parameters.word, { name: 'word', position: 2, ...base_config[0]?.parameters.word })
  assert.deepEqual(first.parameters.on.position, 3)
  assert.deepEqual((await root.get('/config')).body.plugin, {
    settled: { config: { 'dotted.name': defaults, second: { word: 'usual' } } },
  })
  assert.deepEqual(await shown(svc.as('plain')), defaults)

  const values = {
    ...{ on: false, hour: 24, word: '{"a":1}', choice: 'b', label: { 'de-DE': 'Wort' }, data: { any: [1, null] } },
    rows: [
      { name: 'x', inner: [{ deep: 1 }, { deep: 0 }] },
      { name: '', inner: [] },
    ],
    who: { _basetype: 'user', user: { _id: 1 } },
  }
  const posted = await root.post('/config', {
    plugin: { settled: { config: { 'dotted.name': { ...values, key: 'hush-hush' } } } },
  })
  assert.equal(posted.status, 200, JSON.stringify(posted.body))
  assert.deepEqual(posted.body.plugin.settled.config, {
    'dotted.name': { ...values, key: '***' },
    second: { word: 'usual' },
  })
  assert.deepEqual((await told())['dotted.name'], { ...values, key: 'hush-hush' })
  const { rows } = await svc.db.query<{ value: Json }>('select value from plugin_config')
  assert.deepEqual([rows.length, JSON.stringify(rows).includes('hush-hush')], [1, false])
  // As it was read it can be sent back.
  assert.deepEqual((await root.post('/config', (await root.get('/config')).body)).body.plugin, posted.body.plugin)
  assert.equal((await told())['dotted.name'].key, 'hush-hush')
  // A path into it changes what stands there; another process sees it, and opens the secret.
  assert.deepEqual((await root.post(`/config/${section}/hour`, 7)).body, 7)
  assert.deepEqual((await root.post(`/config/${section}`, { on: true })).body, {
    ...values,
    on: true,
    hour: 7,
    key: '***',
  })
  await using other = await attachService(svc.dsn)
  assert.equal((await other.as('root').get(`/config/${section}/hour`)).body, 7)
  await until(
    async () =>
      (await other.as('root').get('/plugin/extension/settled/show')).body.config.plugin.settled.config['dotted.name']
        .key === 'hush-hush',
  )
  const events = await svc.db.query<{ names: Json }>(
    `select info->'ScopedNames' as names from event where type = 'BASE_CONFIG_UPDATE' order by id desc limit 1`,
  )
  assert.deepEqual(events.rows[0]?.names, ['plugin.settled.dotted.name'])

  assert.deepEqual((await root.delete(`/config/${section}/hour`)).body, 4)
  assert.deepEqual((await root.delete(`/config/${section}`)).body, defaults)
  assert.equal((await root.delete('/config/plugin/settled/config/second')).body.word, 'usual')
  assert.equal((await svc.db.query('select from plugin_config')).rows.length, 0)
})

test('what does not fit is refused by its place, and nothing of the request is stored', async () => {
  const wrong: [object, string][] = [
    [{ settled: { config: { 'dotted.name': { on: 1 } } } }, `${section}/on`],
    [{ settled: { config: { 'dotted.name': { hour: 25 } } } }, `${section}/hour`],
    [{ settled: { config: { 'dotted.name': { choice: 'c' } } } }, `${section}/choice`],
    [{ settled: { config: { 'dotted.name': { rows: [{ name: 1 }] } } } }, `${section}/rows/0/name`],
    [
      { settled: { config: { 'dotted.name': { rows: [{ inner: [{ deep: 'x' }] }] } } } },
      `${section}/rows/0/inner/0/deep`,
    ],
    [{ settled: { config: { 'dotted.name': { who: { user: {} } } } } }, `${section}/who`],
    [{ settled: { config: { 'dotted.name': { nothing: 1 } } } }, `${section}/nothing`],
    [{ settled: { config: { 'dotted.name': { data: { $sealed: 'x' } } } } }, `${section}/data`],
    [{ settled: { config: { third: {} } } }, 'plugin/settled/config/third'],
    [{ settled: { other: {} } }, 'plugin/settled/other'],
    [{ nobody: { config: { a: {} } } }, 'plugin/nobody'],
  ]
  for (const [sent, path] of wrong) {
    const answer = await root.post('/config', { system: { config: { name: { title: 'Not stored' } } }, plugin: sent })
    assert.deepEqual([answer.status, answer.body.parameters.path], [400, path], JSON.stringify(answer.body))
  }
  assert.ok(!JSON.stringify((await root.get('/config/system/config/name')).body).includes('Not stored'))
  assert.equal((await root.post('/config/plugin/settled/config/second/word/deeper', 'x')).status, 404)
  assert.equal((await root.get('/config/plugin/nobody')).status, 404)
  assert.equal((await svc.as('plain').post('/config', { plugin: {} })).status, 403)
})

test('nobody lets a program act for a user who may do more than they', async () => {
  const users: Json[] = (await root.get('/user')).body
  const idOf = (login: string): number => users.find(({ user }) => user.login === login).user._id
  const set = (login: string) =>
    svc.as('clerk').post(`/config/${section}/who`, { _basetype: 'user', user: { _id: idOf(login) } })
  for (const login of ['root', 'keeper']) {
    const refused = await set(login)
    assert.deepEqual(
      [login, refused.status, refused.body.code],
      [login, 400, 'ColumnNeedsSystemRoot'],
      JSON.stringify(refused.body),
    )
  }
  for (const login of ['plain', 'clerk']) assert.equal((await set(login)).status, 200)
  // What root has set stays as it is when others save the section.
  await root.post(`/config/${section}/who`, { user: { _id: 1 } })
  assert.equal((await svc.as('clerk').post(`/config/${section}`, { word: 'x' })).status, 200)
  assert.equal((await shown()).who.user._id, 1)
})

test('settings go with the plugin, and are not there while it is off', async () => {
  await switched(svc, plugin.id, false)
  assert.deepEqual((await root.get('/config')).body.plugin, {})
  assert.deepEqual((await root.get('/config/list')).body.plugin, {})
  assert.equal((await root.post('/config', { plugin: { settled: { config: { second: {} } } } })).status, 400)
  await switched(svc, plugin.id, true)
  assert.equal((await shown()).who.user._id, 1)
  await remove(svc, plugin.id)
  assert.equal((await svc.db.query('select from plugin_config')).rows.length, 0)
  plugin = await install(svc, 'settled', files)
  assert.deepEqual(await shown(), defaults)
})

test('EVAPI-004 any user writes the types of events that plugins declare, and front ends their own', async () => {
  const plain = svc.as('plain')
  const write = (type: string) => plain.post('/event', { event: { type, info: { a: 1 } } })
  for (const type of [
    'SEARCH',
    'DETAIL_VIEW',
    'FRONTEND_ERROR',
    'ASSET_DOWNLOAD_CONFIRMATION_MESSAGE',
    'SETTLED_DONE',
    'SETTLED_QUIET',
  ]) {
    const { status, body } = await write(type)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.event.type, type)
  }
  for (const type of ['USER_LOGIN', 'OBJECT_INSERT', 'NO_SUCH_TYPE']) {
    const { status, body } = await write(type)
    assert.deepEqual([status, body.code], [400, 'EventTypeNotAllowed'])
  }
  await root.post('/config/system/config/user/user_in_event_group', ['PLUGIN'])
  const done = (await write('SETTLED_DONE')).body.event._id
  const quiet = (await write('SETTLED_QUIET')).body.event._id
  const [named, unnamed] = [(await root.get(`/event/${done}`)).body, (await root.get(`/event/${quiet}`)).body]
  assert.deepEqual([named.user.user._generated_displayname, unnamed.user], ['plain', undefined])
  await switched(svc, plugin.id, false)
  assert.equal((await write('SETTLED_DONE')).body.code, 'EventTypeNotAllowed')
  await switched(svc, plugin.id, true)
})

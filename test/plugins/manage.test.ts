import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { zip } from '../files/documents.ts'
import type { Client, Json } from '../support/client.ts'
import { assertCommonParameters, assertNamed, pageText } from '../support/documented.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { archive, install, putArchive, remove, switched, uploadArchive } from './support.ts'

let svc: TestService
let root: Client
before(async () => {
  svc = await startService()
  root = svc.as('root')
})
after(() => svc[Symbol.asyncDispose]())

const named = (name: string, more: object = {}): string => JSON.stringify({ plugin: { name, version: '1.0' }, ...more })
const plain = (name: string, more: object = {}): Buffer => archive(name, { 'manifest.yml': named(name, more) })

const full = `
plugin:
  name: whole
  version: 1.0
  url: https://example.org/whole
  displayname: { de-DE: Ganz, en-US: Whole }
  info: { en-US: Everything }
  l10n: l10n/texts.csv
  server: { api-version: { require: 1 } }
  webfrontend: { url: whole.js, css: whole.css, html: whole.html, other: [1] }
  custom: { a: 1 }
base_url_prefix: web
custom_types:
  term: { mapping: { name: { type: text } } }
callbacks:
  export: { md5: { exec: { service: node, commands: [{ prog: node, args: [] }] } } }
fas_config: {}
collection_upload:
  copy: { config: [], callbacks: { objects: { exec: { service: exec, commands: [{ prog: 'true' }] } } } }
`
const wholeFiles = {
  'manifest.yml': full,
  'build-info.json': JSON.stringify({ repository: 'whole', rev: 'abc', release: null, lastchanged: 'then', other: 1 }),
  'l10n/texts.csv':
    '\ufeffkey,de-DE,en-US\nwhole.title,Ganz,Whole\nwhole.only,,Only\n"whole.quote","er sagte ""ja""",x\n',
  'web/whole.js': 'one()',
  'web/whole.css': 'a{}',
  'web/whole.html': '<b>whole</b>',
  'web/pictures/a b.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'server/secret.js': 'secret()',
}

test('REC-014 a plugin is installed from an uploaded archive, is off, and is switched on', async () => {
  const put = await putArchive(svc, archive('whole', wholeFiles))
  const { id, created_at, updated_at, zip_file, manifest, unsupported, ...rest } = put.body
  assert.deepEqual(rest, {
    ...{ name: 'whole', enabled: false, auto_added: false, path: null, url: null, type: 'zip' },
    ...{ update_policy: 'never', last_checked_at: null, last_failure: null },
  })
  assert.ok(Date.parse(created_at) <= Date.parse(updated_at) && zip_file._id > 0)
  assert.deepEqual(unsupported, [])
  assertNamed('plugins.md', Object.keys(put.body))
  assert.deepEqual(manifest, {
    ...{ name: 'whole', version: '1.0', url: 'https://example.org/whole' },
    displayname: { 'de-DE': 'Ganz', 'en-US': 'Whole' },
    info: { 'en-US': 'Everything' },
    l10n: 'l10n/texts.csv',
    server: { 'api-version': { require: 1 } },
    webfrontend: { url: 'whole.js', css: 'whole.css', html: 'whole.html', other: [1] },
    custom: { a: 1 },
    base_url: 'http://localhost:8080/api/v1/plugin/static/whole',
    plugin_url: 'http://localhost:8080/api/v1/plugin/extension/whole',
    build_info: { repository: 'whole', rev: 'abc', lastchanged: 'then' },
    collection_upload: {
      copy: { config: [], callbacks: { objects: { exec: { service: 'exec', commands: [{ prog: 'true' }] } } } },
    },
  })
  assert.deepEqual((await root.get('/plugin')).body.plugins, [])
  assert.equal((await switched(svc, id, true)).enabled, true)
  assert.deepEqual((await root.get(`/plugin/manage/${id}`)).body.enabled, true)
  assert.deepEqual(
    (await root.get('/plugin/manage')).body.plugins.map(({ name }: Json) => name),
    ['whole'],
  )
  const { rows } = await svc.db.query(
    `select type, info from event where info->'ScopedNames' ? 'plugin.whole' order by id`,
  )
  assert.deepEqual(
    rows.map(({ type, info }: Json) => [type, info.Method]),
    [
      ['BASE_CONFIG_UPDATE', 'POST'],
      ['BASE_CONFIG_UPDATE', 'PATCH'],
    ],
  )
  await remove(svc, id)
  assert.equal((await root.get(`/plugin/manage/${id}`)).body.code, 'PluginNotFound')
})

test('READ-003 front ends are told the installed plugins, as far as these are on, in their order', async () => {
  const listed = async (): Promise<string[]> => (await root.get('/plugin')).body.plugins.map(({ name }: Json) => name)
  const before = await listed()
  const first = await install(svc, 'read-one', { 'manifest.yml': named('read-one') })
  const second = await install(svc, 'read-two', { 'manifest.yml': named('read-two') })
  assert.deepEqual(await listed(), [...before, 'read-one', 'read-two'])
  // What is off does nothing, so there is nothing to be told of it; whoever manages plugins sees it.
  await switched(svc, first.id, false)
  assert.deepEqual(await listed(), [...before, 'read-two'])
  const managed = (await root.get('/plugin/manage')).body.plugins.map(({ name }: Json) => name)
  assert.ok(managed.includes('read-one'))
  await switched(svc, first.id, true)
  assert.deepEqual(await listed(), [...before, 'read-one', 'read-two'])
  for (const { id } of [first, second]) await remove(svc, id)
  assert.deepEqual(await listed(), before)
})

test('READ-004 READ-005 READ-006 READ-007 READ-008 READ-009 READ-010 what front ends load of plugins that are on', async () => {
  const other = {
    'manifest.yml': named('another', {
      plugin: { name: 'another', l10n: 't.csv', webfrontend: { url: 'x.js', css: 'x.css', html: 'x.html' } },
    }),
    'x.js': 'two()',
    'x.css': 'b{}',
    'x.html': '<i>another</i>',
    't.csv': 'key,en-US\nanother.title,Another\n',
  }
  await assertCommonParameters(
    svc,
    'get /plugin',
    ...['js', 'css', 'html', 'l10n/{lang}.json'].map(
      (end) => `get /plugin/bundle${end.includes('/') ? '/' : '.'}${end}`,
    ),
    'get /plugin/static/{plugin}/{path}',
  )
  assertNamed('plugins.md', ['bundle', 'plugins', 'javascript', 'css', 'html', 'l10n'])
  assertNamed('plugins.md', ['/api/v1/plugin/bundle/l10n/<language>.json', '/api/v1/plugin/static/<plugin>/<path>'])
  assert.match(pageText('plugins.md'), /None of these takes parameters of its own\./)
  const whole = await install(svc, 'whole', wholeFiles)
  const another = await install(svc, 'another', other)
  const { bundle, plugins, ...rest } = (await root.get('/plugin')).body
  const prefix = 'http://localhost:8080/api/v1/plugin/bundle'
  const ends = { javascript: '.js', css: '.css', html: '.html', l10n: '/l10n' }
  assert.deepEqual(
    [bundle, rest],
    [Object.fromEntries(Object.entries(ends).map(([key, end]) => [key, prefix + end])), {}],
  )
  assert.deepEqual(plugins[1], whole.manifest)
  assert.deepEqual(
    plugins.map(({ name }: Json) => name),
    ['another', 'whole'],
  )
  const get = (url: string, headers: Record<string, string> = {}) =>
    svc.inject({ url: new URL(url, 'http://localhost').pathname, headers })
  const js = await get(bundle.javascript)
  assert.equal(js.body, 'two()\n;\none()\n;\n')
  assert.match(String(js.headers['content-type']), /^text\/javascript/)
  assert.equal((await get(bundle.css)).body, 'b{}\na{}\n')
  assert.equal((await get(bundle.html)).body, '<i>another</i>\n<b>whole</b>\n')
  const known = await get(bundle.javascript, { 'if-none-match': String(js.headers.etag) })
  assert.deepEqual([known.statusCode, known.body], [304, ''])
  assert.deepEqual((await get(`${bundle.l10n}/en-US.json`)).json(), {
    'whole.title': 'Whole',
    'whole.only': 'Only',
    'whole.quote': 'x',
    'another.title': 'Another',
  })
  assert.deepEqual((await get(`${bundle.l10n}/de-DE.json`)).json(), {
    'whole.title': 'Ganz',
    'whole.quote': 'er sagte "ja"',
  })
  assert.deepEqual((await get(`${bundle.l10n}/xx.json`)).json(), {})
  const at = '/api/v1/plugin/static/whole'
  const svg = await get(`${at}/pictures/a%20b.svg`)
  assert.deepEqual(
    [svg.statusCode, svg.headers['content-type'], svg.body],
    [200, 'image/svg+xml', wholeFiles['web/pictures/a b.svg']],
  )
  for (const path of [
    'server/secret.js',
    '..%2fserver%2fsecret.js',
    '%2e%2e/server/secret.js',
    'pictures',
    'no',
    'manifest.yml',
    'a%00b',
  ]) {
    const answer = await get(`${at}/${path}`)
    assert.equal(answer.statusCode, 404, `${path} ${answer.body.slice(0, 100)}`)
  }
  await switched(svc, whole.id, false)
  assert.deepEqual(
    [(await get(`${at}/whole.js`)).json().code, (await get('/api/v1/plugin/static/nobody/a')).json().code],
    ['PluginDisabled', 'PluginNotFound'],
  )
  assert.equal((await get(bundle.javascript)).body, 'two()\n;\n')
  await remove(svc, whole.id)
  await remove(svc, another.id)
})

test('plugins are managed by holders of system.plugin, where the configuration lets them', async () => {
  await using closed = await attachService(svc.dsn, { allowPluginInstall: false })
  const file = await uploadArchive(svc, plain('somebody'))
  const body = { type: 'zip', zip_file: { _id: file } }
  for (const login of ['keeper', 'stranger'] as const) {
    const rights = login === 'keeper' ? { 'system.plugin': {} } : {}
    await root.post('/user', [{ user: { login }, _system_rights: rights, _password: login }], {
      confirm: 'ignore_password_requirements',
    })
  }
  for (const client of [svc.as('stranger'), svc.as(null)]) {
    for (const answer of [
      await client.get('/plugin/manage'),
      await client.get('/plugin/manage/1'),
      await client.put('/plugin/manage', body),
      await client.post('/plugin/manage/1', {}),
      await client.delete('/plugin/manage/1'),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [403, 'SystemRightRequired'])
    }
  }
  const refused = await closed.as('root').put('/plugin/manage', body)
  assert.deepEqual([refused.status, refused.body.parameters.setting], [400, 'svc.plugins.allowInstall'])
  // The file is root's: who manages plugins has no right on it.
  const foreign = await svc.as('keeper').put('/plugin/manage', body)
  assert.equal(foreign.body.code, 'InsufficientRights')
  const put = await root.put('/plugin/manage', body)
  assert.equal(put.status, 200, JSON.stringify(put.body))
  const on = await svc.as('keeper').post(`/plugin/manage/${put.body.id}`, { enabled: true })
  assert.equal(on.body.enabled, true)
  assert.equal((await closed.as('root').post(`/plugin/manage/${put.body.id}`, { enabled: false })).body.enabled, false)
  await remove(svc, put.body.id)
})

test('an update has the same id, name and kind, and another archive takes its place', async () => {
  const first = await putArchive(svc, plain('again'))
  const { id } = first.body
  const twice = await putArchive(svc, plain('again'))
  assert.deepEqual([twice.status, twice.body.code], [400, 'PluginDuplicateName'])
  const post = async (body: object): Promise<Json> => root.post(`/plugin/manage/${id}`, body)
  const second = await uploadArchive(
    svc,
    archive('again', { 'manifest.yml': JSON.stringify({ plugin: { name: 'again', version: '2' } }) }),
  )
  const updated = await post({ ...first.body, zip_file: { _id: second } })
  assert.deepEqual([updated.body.manifest.version, updated.body.zip_file._id, updated.body.id], ['2', second, id])
  const other = await uploadArchive(svc, plain('quite-another'))
  for (const body of [
    { id: id + 1 },
    { type: 'url' },
    { url: 'https://example.org/a.zip' },
    { update_policy: 'daily' },
    { zip_file: { _id: other } },
    { zip_file: { _id: 99_999_999 } },
    { enabled: 'yes' },
  ]) {
    const answer = await post(body)
    assert.ok([400, 403].includes(answer.status), `${JSON.stringify(body)} ${JSON.stringify(answer.body)}`)
  }
  assert.equal((await root.get(`/plugin/manage/${id}`)).body.manifest.version, '2')
  const bad = [{}, { type: 'zip' }, { type: 'disk', path: '/tmp' }, { type: 'zip', zip_file: { _id: second }, id: 5 }]
  for (const body of [
    ...bad,
    { type: 'zip', zip_file: { _id: other }, enabled: true },
    { type: 'zip', zip_file: { _id: other }, update_policy: 'daily' },
  ]) {
    assert.equal((await root.put('/plugin/manage', body)).status, 400, JSON.stringify(body))
  }
  assert.deepEqual((await root.get('/plugin/manage')).body.plugins.length, 1)
  await remove(svc, id)
})

test('what cannot be a plugin is refused by its place, and nothing of it stays', async () => {
  const entry = { exec: { service: 'node', commands: [{ prog: 'node' }] } }
  const body = { type: 'body' }
  const stays = { service: 'node', keep: true, commands: [{ prog: 'node', stdin: body, stdout: body }] }
  const callback = (program: object) => ({ callbacks: { db_pre_save: { steps: [], callbacks: { a: program } } } })
  const wrong: [string | object, RegExp][] = [
    ['plugin: [', /line 1/],
    ['a: 1\na: 2', /line 2/],
    ['- 1', /must be an object/],
    ['a: b', /plugin must be there/],
    [{ plugin: {} }, /plugin\.name must be/],
    [{ plugin: { name: 'Upper' } }, /plugin\.name must be/],
    [{ plugin: { name: 'ends-' } }, /plugin\.name must be/],
    [{ plugin: { name: 'other' } }, /plugin\.name must be wrong/],
    [{ plugin: { name: 'wrong', l10n: '../x' } }, /plugin\.l10n must be a path inside/],
    [{ plugin: { name: 'wrong', l10n: 'not-there.csv' } }, /there is no such file/],
    [{ plugin: { name: 'wrong' }, base_url_prefix: '/etc' }, /base_url_prefix/],
    [{ plugin: { name: 'wrong' }, extensions: { a: {} } }, /extensions\.a\.exec must be there/],
    [{ plugin: { name: 'wrong' }, extensions: { '/a': entry } }, /extensions\.\/a/],
    [
      { plugin: { name: 'wrong' }, ...callback({ exec: { service: 'node' } }) },
      /db_pre_save\.callbacks\.a\.exec\.commands/,
    ],
    [
      { plugin: { name: 'wrong' }, ...callback({ exec: { ...entry.exec, timeout: 'soon' } }) },
      /timeout must be a duration/,
    ],
    [{ plugin: { name: 'wrong' }, ...callback({ ...entry, plugin_user: {} }) }, /plugin_user must be/],
    [{ plugin: { name: 'wrong' }, ...callback({ exec: { ...entry.exec, keep: true } }) }, /keep must be left out/],
    [
      { plugin: { name: 'wrong' }, extensions: { a: { exec: stays } } },
      /extensions\.a\.exec\.keep must be left out: only/,
    ],
    [
      {
        plugin: { name: 'wrong' },
        callbacks: { db_pre_save: { steps: [{ callback: 'a', filter: { type: 'pool' } }] } },
      },
      /steps\.0\.filter\.type/,
    ],
    [{ plugin: { name: 'wrong' }, base_config: [{ name: 'a' }, { name: 'a' }] }, /base_config\.1\.name/],
    [{ plugin: { name: 'wrong' }, custom_events: { small: {} } }, /custom_events\.small/],
    [
      `plugin: {name: wrong}\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]`,
      /lias/,
    ],
    ['plugin: {name: wrong}\na: &a\n  b: *a', /nested|lias|depth/],
    [`a: ${'['.repeat(5000)}`, /too many/],
    [`plugin: {name: wrong}\nx: ${'y'.repeat(70_000)}`, /longer than/],
    [{ plugin: { name: 'wrong', custom: { a: 'x\0' } } }, /cannot be stored/],
  ]
  for (const [manifest, message] of wrong) {
    const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest)
    const { status, body } = await putArchive(svc, archive('wrong', { 'manifest.yml': text }))
    assert.equal(status, 400, text.slice(0, 200))
    assert.match(body.message, message, text.slice(0, 200))
  }
  const file = { 'wrong/manifest.yml': named('wrong') }
  const archives: [Buffer, RegExp][] = [
    [Buffer.from('no archive'), /no ZIP archive/],
    [zip({}), /one folder at the top/],
    [zip({ 'manifest.yml': named('wrong') }), /one folder at the top/],
    [zip({ ...file, 'other/x': '' }), /one folder at the top/],
    [zip({ 'wrong/x': '' }), /has none/],
    [zip({ ...file, 'wrong/../../x': 'out' }), /invalid relative path|no path inside/],
    [zip({ ...file, '/etc/x': 'out' }), /absolute path|no path inside/],
    [zip({ ...file, 'wrong\\x': 'out' }), /invalid characters|no path inside/],
    [zip({ ...file, 'wrong/./x': 'out' }), /no path inside/],
    [zip({ ...file, 'wrong/A': '1', 'wrong/a': '2' }), /there twice/],
    [zip({ ...file, 'wrong/x': '1', 'wrong/x/y': '2' }), /cannot be used/],
    [linkIn(zip({ ...file, 'wrong/link': '/etc/passwd' })), /neither a file nor a folder/],
    [sized(zip({ ...file, 'wrong/big': 'x' }), 1_100_000_000), /more than/],
    [sized(zip({ ...file, 'wrong/big': 'x'.repeat(1000) }), 10), /cannot be used/],
    [zip(file).subarray(0, -30), /no ZIP archive|cannot be used/],
    [
      archive('wrong', {
        'manifest.yml': JSON.stringify({ plugin: { name: 'wrong', l10n: 'x.csv' } }),
        'x.csv': 'key,en-US\n"a',
      }),
      /texts of the plugin/,
    ],
  ]
  for (const [content, message] of archives) {
    const { status, body } = await putArchive(svc, content)
    assert.equal(status, 400, `${message}`)
    assert.match(body.message, message)
  }
  assert.deepEqual((await root.get('/plugin/manage')).body.plugins, [])
  const { rows } = await svc.db.query('select from plugin_package')
  assert.equal(rows.length, 0)
})

/** Lets the last entry say that it has so many bytes. */
function sized(content: Buffer, bytes: number): Buffer {
  content.writeUInt32LE(bytes, content.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1')) + 24)
  return content
}

/** Makes the last entry a symbolic link, as its mode says. */
function linkIn(content: Buffer): Buffer {
  const at = content.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1'))
  content.writeUInt8(3, at + 5)
  content.writeUInt32LE((0o120_777 << 16) >>> 0, at + 38)
  return content
}

test('a plugin from an address is updated from there', async () => {
  let version = 1
  let asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers['if-none-match'])
    const etag = `"v${version}"`
    if (request.url === '/broken.zip') return response.end('broken')
    if (request.url === '/gone.zip') return response.writeHead(404).end()
    if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
    response
      .setHeader('etag', etag)
      .end(archive('remote', { 'manifest.yml': JSON.stringify({ plugin: { name: 'remote', version } }) }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    for (const wrong of [
      'ftp://example.org/a.zip',
      'http://a:b@example.org/',
      `${url}/broken.zip`,
      `${url}/gone.zip`,
      'http://127.0.0.1:1/',
    ]) {
      assert.equal((await root.put('/plugin/manage', { type: 'url', url: wrong })).status, 400, wrong)
    }
    await using fenced = await attachService(svc.dsn, { allowPrivatePlugins: false })
    const refused = await fenced.as('root').put('/plugin/manage', { type: 'url', url: `${url}/a.zip` })
    assert.match(refused.body.message, /not allowed/)
    const put = await root.put('/plugin/manage', { type: 'url', url: `${url}/a.zip`, update_policy: 'always' })
    assert.deepEqual(
      [put.status, put.body.manifest.version, put.body.update_policy],
      [200, '1', 'always'],
      JSON.stringify(put.body),
    )
    assert.ok(put.body.last_checked_at)
    const { id } = put.body
    const due = () =>
      svc.db.query(`update plugin set last_checked_at = now() - interval '11 seconds' where id = $1`, [id])
    const read = async (): Promise<Json> => (await root.get(`/plugin/manage/${id}`)).body
    asked = []
    await due()
    await svc.app.tidy()
    assert.deepEqual([asked, (await read()).manifest.version], [['"v1"'], '1'])
    version = 2
    await due()
    await svc.app.tidy()
    assert.equal((await read()).manifest.version, '2')
    asked = []
    await svc.app.tidy()
    assert.deepEqual(asked, [], 'it is not due')
    await root.post(`/plugin/manage/${id}`, { update_policy: 'never' })
    await due()
    await svc.app.tidy()
    assert.deepEqual(asked, [], 'it is never due')
    await root.post(`/plugin/manage/${id}`, { update_policy: 'daily' })
    await svc.db.query(`update plugin set last_checked_at = now() - interval '25 hours' where id = $1`, [id])
    server.closeAllConnections()
    version = 3
    await svc.app.tidy()
    assert.equal((await read()).manifest.version, '3')
    await svc.db.query(`update plugin set last_checked_at = now() - interval '25 hours', url = $2 where id = $1`, [
      id,
      `${url}/broken.zip`,
    ])
    await svc.app.tidy()
    assert.match((await read()).last_failure, /no ZIP archive/)
    assert.equal((await read()).manifest.version, '3')
    await remove(svc, id)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('plugins in folders of the configuration, several processes, and a process that starts later', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  const write = async (path: string, content: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  try {
    await write('a/deep/on-disk/manifest.yml', named('on-disk', { base_url_prefix: 'web' }))
    await write('a/deep/on-disk/web/x.txt', 'here')
    await write('a/deep/on-disk/below/manifest.yml', named('not-searched'))
    await write('.hidden/manifest.yml', named('hidden'))
    await write('broken/manifest.yml', 'plugin: [')
    await using first = await attachService(svc.dsn, { pluginPaths: [folder, join(folder, 'missing')] })
    const listed = (await first.as('root').get('/plugin/manage')).body.plugins
    assert.deepEqual(
      listed.map(({ name, type, path, auto_added, enabled }: Json) => [name, type, path, auto_added, enabled]),
      [['on-disk', 'disk', join(folder, 'a/deep/on-disk'), true, false]],
    )
    await switched(first, listed[0].id, true)
    assert.equal((await first.inject({ url: '/api/v1/plugin/static/on-disk/x.txt' })).body, 'here')
    assert.equal((await first.as('root').delete(`/plugin/manage/${listed[0].id}`)).status, 400)
    // Another process sees what this one has switched on, and what it has installed, with its files.
    const uploaded = await install(first, 'packed', {
      'manifest.yml': named('packed', { base_url_prefix: 'web' }),
      'web/y.txt': 'unpacked',
    })
    await until(async () => (await root.get('/plugin')).body.plugins.length === 2)
    assert.equal((await svc.inject({ url: '/api/v1/plugin/static/packed/y.txt' })).body, 'unpacked')
    await using late = await attachService(svc.dsn, {})
    assert.equal((await late.inject({ url: '/api/v1/plugin/static/packed/y.txt' })).body, 'unpacked')
    await remove(first, uploaded.id)
    await until(async () => (await late.inject({ url: '/api/v1/plugin/static/packed/y.txt' })).statusCode === 404)
    // Two of one name: nobody could say which is meant.
    await write('b/manifest.yml', named('on-disk'))
    await assert.rejects(attachService(svc.dsn, { pluginPaths: [folder] }), /two plugins are called on-disk/)
    // Taken away from the folder it can be removed.
    assert.deepEqual((await root.delete(`/plugin/manage/${listed[0].id}`)).body, { acknowledged: true })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('a plugin whose programs cannot run here cannot be switched on', async () => {
  const uses = (service: string, prog: string) => ({
    extensions: { a: { exec: { service, commands: [{ prog, stdout: { type: 'body' } }] } } },
  })
  for (const [service, prog, message] of [
    ['ruby', 'ruby', /no service ruby/],
    ['gone', 'gone', /not on this machine/],
    ['node', 'npm', /runs node only/],
  ] as const) {
    await using node = await attachService(svc.dsn, { pluginServices: ['gone=/no/such/program'] })
    const put = await putArchive(node, plain('missing', uses(service, prog)))
    assert.equal(put.status, 200)
    const on = await node.as('root').post(`/plugin/manage/${put.body.id}`, { enabled: true })
    assert.equal(on.status, 400)
    assert.match(on.body.message, message)
    await remove(node, put.body.id)
  }
})

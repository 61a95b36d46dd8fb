import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { after, before, test } from 'node:test'
import { assertCommonParameters, assertNamed } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { install, switched } from './support.ts'

const scripts: Record<string, string> = {
  echo: `
    const chunks = []
    process.stdin.on('data', (chunk) => chunks.push(chunk))
    process.stdin.on('end', () => process.stdout.write(JSON.stringify({ info: JSON.parse(process.argv[2]), body: Buffer.concat(chunks).toString() })))`,
  copy: 'process.stdin.pipe(process.stdout)',
  text: `process.stdout.write('Grüße')`,
  page: `process.stdout.write('<!doctype html><p>hi')`,
  picture: `process.stdout.write(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'))`,
  empty: `console.error('nothing to say')`,
  code: `process.stdout.write('<svg/>'); process.exitCode = 50`,
  bare: `process.stdout.write(JSON.stringify({ code: 'own.error', statuscode: 402, error: 'Own – error', parameters: { a: 1 } })); process.exitCode = 1`,
  wrapped: `process.stdout.write(JSON.stringify({ error: { code: 'own.wrapped' } }))`,
  late: `for (let i = 0; i < 1000; i++) console.log('some data ' + i); process.exitCode = 1`,
  endless: `
    require('node:fs').writeFileSync(process.argv[2], String(process.pid))
    const write = () => { while (process.stdout.write('x'.repeat(65536))); process.stdout.once('drain', write) }
    write()`,
  slow: `require('node:fs').writeFileSync(process.argv[2], String(process.pid)); setTimeout(() => {}, 60000)`,
  first: `require('node:fs').writeFileSync('passed', 'from the first')`,
  second: `process.stdout.write(require('node:fs').readFileSync('passed', 'utf8') + ' in ' + (process.cwd() === process.argv[2]) + require('node:fs').readdirSync('.'))`,
  environment: `process.stdout.write(JSON.stringify(process.env))`,
}

const body = { type: 'body' }
const extension = (script: string, ...args: string[]) => ({
  exec: {
    service: 'node',
    commands: [{ prog: 'node', stdin: body, stdout: body, args: [`%_exec.pluginDir%/${script}.js`, ...args] }],
  },
})

let svc: TestService
let token: string
let id: number
let base: string
const pidFile = `/tmp/strongroom-extension-${process.pid}`
before(async () => {
  svc = await startService({ pluginSeconds: 20 })
  token = await svc.as('root').token()
  base = await svc.listen()
  const own = {
    exec: {
      service: 'exec',
      commands: [{ prog: '%_exec.pluginDir%/bin/hello-%_exec.GOOS%-%_exec.GOARCH%.sh', stdout: body, args: ['World'] }],
    },
  }
  const arch = { x64: 'amd64' }[process.arch as string] ?? process.arch
  const manifest = {
    plugin: { name: 'speaks', version: '1' },
    extensions: {
      'dump/info': extension('echo', '%info.json%'),
      ...Object.fromEntries(Object.keys(scripts).map((name) => [name, extension(name, pidFile)])),
      html: { ...extension('page'), content_type: 'text/html; charset=utf-8' },
      both: {
        exec: {
          service: 'node',
          commands: [
            { prog: 'node', args: ['%_exec.pluginDir%/first.js'] },
            { prog: 'node', stdout: body, args: ['%_exec.pluginDir%/second.js', '%_exec.workDir%'] },
          ],
        },
      },
      python: {
        exec: {
          service: 'python3',
          commands: [{ prog: 'python3', stdin: body, stdout: body, args: ['%_exec.pluginDir%/upper.py'] }],
        },
      },
      own,
      away: { exec: { service: 'exec', commands: [{ prog: '/bin/sh', stdout: body, args: ['-c', 'echo out'] }] } },
      short: { exec: { ...extension('slow', pidFile).exec, timeout: '300ms' } },
      hungry: { exec: { ...extension('hungry').exec } },
    },
  }
  const plugin = await install(svc, 'speaks', {
    'manifest.yml': JSON.stringify(manifest),
    ...Object.fromEntries(Object.entries(scripts).map(([name, script]) => [`${name}.js`, script])),
    'hungry.js': `const kept = []; setInterval(() => kept.push(Buffer.alloc(50e6, 1)), 10)`,
    'upper.py': 'import sys\nsys.stdout.write(sys.stdin.read().upper())\n',
    [`bin/hello-${process.platform}-${arch}.sh`]: '#!/bin/sh\necho "hello $1"\n',
  })
  id = plugin.id
})
after(() => svc[Symbol.asyncDispose]())

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
const call = (name: string, method: Method = 'GET', payload?: string) =>
  svc.inject({
    method,
    url: `/api/v1/plugin/extension/speaks/${name}`,
    headers: { authorization: `Bearer ${token}`, ...(payload === undefined ? {} : { 'content-type': 'text/plain' }) },
    ...(payload === undefined ? {} : { payload }),
  })

test('READ-011 READ-012 an extension is called with every method, what is sent goes in and what it says comes out', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const answer = await call('dump/info?a=1&b=2&b=3&pretty=x', method, 'to it')
    assert.equal(answer.statusCode, 200, answer.body)
    const { info, body: sent } = answer.json()
    assert.deepEqual(
      [sent, info.request.method, info.request.query],
      ['to it', method, { a: '1', b: ['2', '3'], pretty: 'x' }],
    )
    assert.ok(!JSON.stringify(info).includes(token))
    assert.equal(info.request.header['content-type'], 'text/plain')
    assert.deepEqual(
      [info.api_url, info.api_user.user.login, Object.keys(info.config.plugin)],
      [base, 'root', ['speaks']],
    )
    assert.equal(info.plugin_user, undefined)
  }
  const got = (await call('dump/info?a=1')).json()
  assert.deepEqual([got.body, got.info.request.method, got.info.request.query], ['', 'GET', { a: '1' }])
  const methods = ['get', 'post', 'put', 'patch', 'delete']
  await assertCommonParameters(svc, ...methods.map((method) => `${method} /plugin/extension/{plugin}/{path}`))
  assertNamed('plugins.md', ['/api/v1/plugin/extension/<plugin>/<name>', ...methods.map((name) => name.toUpperCase())])
  assert.equal((await call('python', 'POST', 'loud')).body, 'LOUD')
  assert.equal((await call('both')).body, 'from the first in truepassed')
  // Tokens are taken back behind the answer.
  await until(async () => {
    const { rows } = await svc.db.query(`select from oauth_session where client_id = 'plugin'`)
    return rows.length === 0
  })
})

test('a program of the plugin itself is run, and no other of the machine', async () => {
  const [own, away] = [await call('own'), await call('away')]
  assert.deepEqual([own.statusCode, own.body], [200, 'hello World\n'])
  assert.deepEqual([away.statusCode, away.headers['x-execserver-error']], [500, 'the plugin has no program /bin/sh'])
})

test('the content type follows from what is said, or from the manifest', async () => {
  const types = {
    text: 'text/plain; charset=utf-8',
    page: 'text/plain; charset=utf-8',
    html: 'text/html; charset=utf-8',
    picture: 'image/png',
    'dump/info': 'application/json; charset=utf-8',
  }
  for (const [name, type] of Object.entries(types)) {
    const answer = await call(name)
    assert.deepEqual([name, answer.statusCode, answer.headers['content-type']], [name, 200, type])
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  }
  const empty = await call('empty')
  assert.deepEqual([empty.statusCode, empty.body], [200, ''])
})

test('a failure is told by status and headers while nothing was sent, and breaks off afterwards', async () => {
  const code = await call('code')
  assert.deepEqual(
    [code.statusCode, code.headers['x-execserver-error'], code.headers['x-svc-error-code']],
    [500, 'the program ended with the code 50', undefined],
  )
  const bare = await call('bare')
  assert.equal(bare.statusCode, 402)
  assert.deepEqual([bare.headers['x-svc-error-code'], bare.headers['x-svc-error']], ['own.error', 'Own   error'])
  assert.ok(bare.headers['x-execserver-error'])
  const { code: named, statuscode, parameters, error } = bare.json()
  assert.deepEqual([named, statuscode, parameters, error], ['own.error', 402, { a: 1 }, 'Own – error'])
  const wrapped = await call('wrapped')
  assert.deepEqual(
    [wrapped.statusCode, wrapped.json().code, wrapped.headers['x-svc-error-code']],
    [400, 'own.wrapped', 'own.wrapped'],
  )
  const late = fetch(`${base}/api/v1/plugin/extension/speaks/late`, { headers: { authorization: `Bearer ${token}` } })
  await assert.rejects(late.then((answer) => answer.text()))
  const short = await call('short')
  assert.deepEqual(
    [short.statusCode, /took more than 0\.3 seconds/.test(String(short.headers['x-execserver-error']))],
    [500, true],
  )
  const hungry = await call('hungry')
  assert.match(String(hungry.headers['x-execserver-error']), /MB of memory/)
})

test('it is told first whether the plugin is on, then whether somebody calls', async () => {
  const at = (path: string) => svc.inject({ url: `/api/v1/plugin/extension/${path}` })
  assert.equal((await at('nobody/x')).json().code, 'PluginNotFound')
  assert.deepEqual([(await at('speaks/text')).statusCode, (await at('speaks/text')).json().code], [401, 'UserRequired'])
  assert.equal((await call('not/there')).json().code, 'PluginNotFound')
  await switched(svc, id, false)
  assert.deepEqual(
    [(await at('speaks/text')).statusCode, (await at('speaks/text')).json().code],
    [400, 'PluginDisabled'],
  )
  await switched(svc, id, true)
})

test('large bodies stream both ways', async () => {
  const length = 30_000_000
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let sent = 0; sent < length; sent += 1_000_000) yield Buffer.alloc(1_000_000, 'a')
  }
  const sent = httpRequest(`${base}/api/v1/plugin/extension/speaks/copy`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  const answered = once(sent, 'response')
  const written = pipeline(chunks(), sent)
  const [response] = (await answered) as [IncomingMessage]
  let received = 0
  for await (const some of response) received += some.length
  await written
  assert.equal(received, length)
})

test('a program ends when nobody waits any more', async () => {
  for (const name of ['endless', 'slow']) {
    await rm(pidFile, { force: true })
    const stop = new AbortController()
    const answer = fetch(`${base}/api/v1/plugin/extension/speaks/${name}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
    }).catch(() => null)
    let pid = 0
    await until(async () => {
      pid = Number(await readFile(pidFile, 'utf8').catch(() => 0))
      return pid > 0
    })
    stop.abort()
    await answer
    await until(async () => !runs(pid))
  }
  await rm(pidFile, { force: true })
})

test('a program has nothing of the service’s environment', async () => {
  process.env.SVC_TEST_SECRET = 'of the service'
  const environment = (await call('environment')).json()
  delete process.env.SVC_TEST_SECRET
  assert.deepEqual(
    Object.keys(environment)
      .filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name))
      .sort(),
    ['HOME', 'LANG', 'PATH', 'TMPDIR'],
  )
})

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

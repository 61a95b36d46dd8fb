import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { parse } from 'yaml'
import { configurationTable } from '../../../src/platform/config/doc.ts'
import { ConfigError } from '../../../src/platform/config/forms.ts'
import { keys } from '../../../src/platform/config/keys.ts'
import { describeConfig, loadConfig } from '../../../src/platform/config/load.ts'
import { runCommand } from '../../support/process.ts'

const hash = (rounds: number) => `$2b$${rounds}$${'a'.repeat(53)}`

suite('configuration', () => {
  let cwd = ''
  before(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'strongroom-test-config-'))
  })
  after(() => rm(cwd, { recursive: true }))

  const load = async (yaml: string, env: Record<string, string> = {}) => {
    await writeFile(join(cwd, 'given.yml'), yaml)
    return loadConfig({ file: 'given.yml', env, cwd })
  }

  test('defaults need no file', () => {
    const config = loadConfig({ env: {}, cwd })
    assert.equal(config.dataDir, join(cwd, 'data'))
    assert.equal(config.port, 8080)
    assert.equal(config.externalUrl, 'http://localhost:8080')
    assert.equal(config.dbDsn, null)
  })

  test('the environment wins over the file, the file over the defaults', async () => {
    const config = await load('svc:\n  databaseName: file\n  http: { port: 1000, host: "::1" }\n', { SVC_PORT: '2000' })
    assert.deepEqual(
      [config.port, config.host, config.databaseName, config.externalUrl],
      [2000, '::1', 'file', 'http://localhost:2000'],
    )
  })

  test('SVC_CONFIG names the file; an empty variable counts as not set', async () => {
    await writeFile(join(cwd, 'other.yml'), 'svc: { readOnly: true }')
    const config = loadConfig({ env: { SVC_CONFIG: join(cwd, 'other.yml'), SVC_PORT: '' }, cwd })
    assert.equal(config.readOnly, true)
    assert.equal(config.port, 8080)
  })

  test('text of the environment becomes booleans, numbers, lists and maps', () => {
    const config = loadConfig({
      env: {
        SVC_READ_ONLY: 'yes',
        SVC_BACKEND_PORT: '9000',
        SVC_CORS_ORIGINS: 'https://a.example, https://b.example',
        SVC_OAUTH2_CLIENTS: JSON.stringify({ portal: { secret: hash(10), redirectURIs: ['https://a.example/cb'] } }),
      },
      cwd,
    })
    assert.equal(config.readOnly, true)
    assert.equal(config.backendPort, 9000)
    assert.deepEqual(config.corsOrigins, ['https://a.example', 'https://b.example'])
    assert.deepEqual(config.oauthClients, [
      { id: 'portal', secret: hash(10), redirectURIs: ['https://a.example/cb'], scopes: null, pkce: 'required' },
    ])
  })

  const clientsWith = (secret: string) =>
    `svc: { services: { api: { oauth2Server: { clients: { x: { secret: "${secret}" } } } } } }`
  const refused: [string, Record<string, string>, RegExp][] = [
    ['svc: { prot: 1 }', {}, /^svc\.prot: there is no such setting/],
    ['svc: { http: { prot: 1 } }', {}, /^svc\.http\.prot: there is no such setting; did you mean svc\.http\.port\?$/],
    ['other: 1', {}, /^other: there is no such setting/],
    ['svc: { http: 1 }', {}, /^svc\.http: must be a map$/],
    ['svc: { http: { port: "80" } }', {}, /^svc\.http\.port: must be an integer from 0 to 65535, is "80"$/],
    ['svc: { http: { port: 65536 } }', {}, /^svc\.http\.port: must be an integer/],
    ['svc: { readOnly: 1 }', {}, /^svc\.readOnly: must be true or false \(or yes, no, on, off\), is 1$/],
    ['svc: {}', { SVC_READ_ONLY: 'maybe' }, /^SVC_READ_ONLY: must be true or false \(or .*\), is "maybe"$/],
    ['http: { port: 1 }', {}, /^http: stands below svc, as svc\.http$/],
    ['dataDir: x', {}, /^dataDir: stands below svc, as svc\.dataDir$/],
    [
      'svc: {}',
      { SVC_TRUSTED_PROXIES: 'loopback,nginx' },
      /^SVC_TRUSTED_PROXIES\[1\]: must be an address, a network .* is "nginx"$/,
    ],
    ['svc: {}', { SVC_TRUSTED_PROXIES: '10.0.0.0/33' }, /^SVC_TRUSTED_PROXIES\[0\]: must be an address/],
    [
      'svc: {}',
      { SVC_CORS_ORIGINS: 'portal.example' },
      /^SVC_CORS_ORIGINS\[0\]: must be an origin with its scheme .* is "portal\.example"$/,
    ],
    ['svc: {}', { SVC_CORS_ORIGINS: 'https://a.example/' }, /^SVC_CORS_ORIGINS\[0\]: must be an origin/],
    [
      'svc: {}',
      { SVC_LOGIN_ALLOW_REDIRECTS: 'portal.example' },
      /^SVC_LOGIN_ALLOW_REDIRECTS\[0\]: must be an origin such as/,
    ],
    [
      'svc: {}',
      { SVC_FILE_FOLDERS: 'files' },
      /^SVC_FILE_FOLDERS\[0\]: must be an absolute folder such as .* is "files"$/,
    ],
    [
      'svc: {}',
      { SVC_PORT: '81', SVC_BACKEND_PORT: '81' },
      /^svc\.http\.backendPort \(SVC_BACKEND_PORT\): is the port of the service/,
    ],
    ['svc: { logLevel: loud }', {}, /^svc\.logLevel: must be one of fatal, .* is "loud"$/],
    ['svc: { http: { corsOrigins: x } }', {}, /^svc\.http\.corsOrigins: must be a list/],
    ['svc: { http: { corsOrigins: [1] } }', {}, /^svc\.http\.corsOrigins\[0\]: must be text/],
    ['svc: { externalUrl: "ftp://x" }', {}, /^svc\.externalUrl: must be an http or https address/],
    ['svc: { rootPassword: 12345 }', {}, /^svc\.rootPassword: must be text$/],
    ['svc: { rootPassword: ab }', {}, /^svc\.rootPassword: must have at least 8 characters$/],
    ['svc: {}', { SVC_ROOT_PASSWORD: 'ab' }, /^SVC_ROOT_PASSWORD: must have at least 8 characters$/],
    ['svc: { db: { dsn: secret-password } }', {}, /^svc\.db\.dsn: must be a postgresql:\/\/ connection string$/],
    ['- svc', {}, /given\.yml: must be a map/],
    ['svc: {\n  a: 1\n', {}, /given\.yml, line \d+: /],
    ['svc: 1\nsvc: 2', {}, /given\.yml, line 2: Map keys must be unique/],
    ['svc: { }', { SVC_PROT: '1' }, /^SVC_PROT: there is no such setting; did you mean SVC_PORT\?$/],
    ['svc: { }', { SVC_PORT: 'x' }, /^SVC_PORT: must be an integer from 0 to 65535, is "x"$/],
    ['svc: { }', { SVC_OAUTH2_CLIENTS: '{' }, /^SVC_OAUTH2_CLIENTS: must be JSON$/],
    [clientsWith('plain'), {}, /clients\.x\.secret: must be a bcrypt hash$/],
  ]
  for (const [yaml, env, message] of refused) {
    test(`refuses ${JSON.stringify(yaml)} ${JSON.stringify(env)}`, async () => {
      await assert.rejects(load(yaml, env), (error) => error instanceof ConfigError && message.test(error.message))
    })
  }

  test('words of older YAML are booleans, networks are proxies, a star is any origin', async () => {
    const config = await load('svc: { readOnly: "off", objects: { allowPurge: yes } }', {
      SVC_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8, 192.0.2.1, uniquelocal',
      SVC_CORS_ORIGINS: '*,http://localhost:3000',
      SVC_BACKEND_PORT: '8080',
      SVC_BACKEND_HOST: '127.0.0.2',
    })
    assert.deepEqual([config.readOnly, config.allowPurge], [false, true])
    assert.equal(config.trustedProxies.length, 4)
    assert.deepEqual(config.corsOrigins, ['*', 'http://localhost:3000'])
  })

  test('a bcrypt hash of 14 rounds is accepted as a client secret, one of 15 is not', async () => {
    assert.equal((await load(clientsWith(hash(14)))).oauthClients[0]?.secret, hash(14))
    await assert.rejects(load(clientsWith(hash(15))), /clients\.x\.secret: .* at most 14 rounds, not of 15/)
  })

  test('aliases that grow without end are refused', async () => {
    const lines = [
      'a: &a [x,x,x,x,x,x,x,x]',
      'b: &b [*a,*a,*a,*a,*a,*a,*a,*a]',
      'c: &c [*b,*b,*b,*b,*b,*b,*b,*b]',
      'd: [*c,*c,*c,*c]',
    ]
    await assert.rejects(load(lines.join('\n')), /given\.yml: Excessive alias count/)
  })

  test('the printed configuration reads back the same, but for the secrets', async () => {
    const config = await load(clientsWith(hash(10)), {
      SVC_ROOT_PASSWORD: 'top-secret',
      SVC_DB_DSN: 'postgresql://me:pass-word@db:5432/x?password=pass-word',
    })
    const text = JSON.stringify(describeConfig(config))
    assert.doesNotMatch(text, /top-secret|pass-word|\$2b\$/)
    assert.match(text, /postgresql:\/\/me:\*\*\*@db:5432\/x\?password=\*\*\*/)
    const { rootPassword: _, dbDsn: __, oauthClients: ___, ...rest } = await load('svc: {}')
    const again = await load(JSON.stringify(describeConfig(await load('svc: {}'))))
    assert.deepEqual(again, { ...rest, rootPassword: null, dbDsn: null, oauthClients: [] })
  })

  test('each setting stands once in docs/configuration.md', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'configuration.md'), 'utf8')
    assert.ok(page.includes(configurationTable()), 'run: node scripts/docs.ts')
    const variables = Object.values(keys).map((key) => key.env)
    assert.equal(new Set(variables).size, variables.length)
  })

  test('strongroom config prints YAML; a wrong setting is one line and exit code 1', async () => {
    const good = await runCommand(['config'], { SVC_PORT: '1234', SVC_ROOT_PASSWORD: 'top-secret' })
    assert.equal(good.code, 0)
    assert.equal(parse(good.stdout).svc.http.port, 1234)
    assert.equal(parse(good.stdout).svc.rootPassword, '***')
    const bad = await runCommand(['config'], { SVC_PORT: 'x' })
    assert.deepEqual(bad, {
      code: 1,
      stdout: '',
      stderr: 'strongroom: SVC_PORT: must be an integer from 0 to 65535, is "x"\n',
    })
  })
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { type Caller, caller, signIn } from '../../fuzz/caller.ts'
import { wireOf } from '../../fuzz/request.ts'
import { assembled, type Origin, type Stage, startOrigin } from '../../fuzz/stage.ts'
import { sections } from '../../src/config/catalogue.ts'
import type { Field } from '../../src/config/fields/field.ts'
import { ofService } from '../signin/directories/certificates.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { until } from '../support/until.ts'
import { startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'

/**
 * Secrets that cannot be mistaken are put wherever one can be set or sent; then everything is read that can be: all answers,
 * the event log, the log of the service, all rows of the database. None of them is anywhere, in any usual form.
 */

/** What was planted, by where. */
const planted = new Map<string, string>()
/** Those that their owner is answered, and signatures, which are what some answers are for. */
const answered = new Set<string>()

function plant(where: string, secret = `Zq9-${randomBytes(12).toString('hex')}-planted`): string {
  planted.set(where, secret)
  return secret
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const inBase64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return text.slice(4, -4)
  })
  return [secret, encodeURIComponent(secret), bytes.toString('hex'), ...inBase64]
}

/** Where in a text something planted stands. */
function foundIn(text: string, kinds: (where: string) => boolean = () => true): string[] {
  return [...planted].flatMap(([where, secret]) => {
    const form = kinds(where) && formsOf(secret).find((one) => text.includes(one))
    if (!form) return []
    const at = text.indexOf(form)
    return [`${where}: …${text.slice(Math.max(0, at - 150), at + form.length + 20)}…`]
  })
}

/** Members of the base configuration that have secrets, without those of which a hash is kept. */
function secretMembers(field: Field<unknown>, path: string): string[] {
  if (field.hide) return [path]
  if (field.row) return secretMembers(field.row, path)
  return Object.entries(field.members ?? {}).flatMap(([name, member]) => secretMembers(member, `${path}/${name}`))
}

suite('planted secrets', () => {
  let origin: Origin
  let stage: Stage
  let receiver: WebhookServer
  let mail: MailServer
  let root: Caller
  const answers: { what: string; text: string }[] = []

  before(async () => {
    receiver = await startWebhookServer()
    mail = await startMailServer()
    // Each answer has all that was sent, as it is and in other forms.
    receiver.answer = ({ raw, headers }) => {
      const all = JSON.stringify(headers)
      const echo = { raw, all, headers, body: JSON.parse(raw), packed: Buffer.from(`a${raw}${all}`).toString('base64') }
      return {
        body: receiver.calls.length % 2 === 0 ? JSON.stringify(echo) : `${raw} ${all} ${encodeURIComponent(raw)}`,
      }
    }
    origin = await startOrigin({
      SVC_LOG_LEVEL: 'trace',
      SVC_SECRET_KEY: plant('svc.secretKey'),
      SVC_ALLOW_PRIVATE_WEBHOOKS: 'true',
    })
    stage = await origin.stage()
    root = stage.callers.root
    await plantConfig()
    await plantPeople()
    await plantRequests()
    await callWebhooks()
    await walk()
  })
  after(async () => {
    await stage?.[Symbol.asyncDispose]()
    await origin?.[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
    await mail[Symbol.asyncDispose]()
  })

  const at = (section: string) => `/config/system/config/${section}`

  async function plantConfig(): Promise<void> {
    const usermapping = [{ key: 'login', value: '%(uid)s' }]
    const auth = (path: string) => ({ username: '', password: plant(`config email_server/${path}/password`) })
    plant('config saml/key', ofService.key.trim().split('\n')[3])
    const withUser = (where: string, url: string) => url.replace('://', `://planter:${plant(where)}@`)
    const key = (where: string, url: string) => `${url}?api_key=${plant(where)}`
    await root.call('POST', '/config', {
      system: {
        config: {
          email: { from: 'archive@museum.test' },
          email_server: {
            ...{ server_addr: mail.address, type: 'off', plain_auth: { ...auth('plain_auth'), username: 'u' } },
            ...{ login_auth: auth('login_auth'), cram_md5_auth: auth('cram_md5_auth') },
          },
          transition_webhook: {
            webhooks: [
              {
                ...{ name: 'hook', url: withUser('config transition_webhook/webhooks/url', `${receiver.url}/in`) },
                ...{ secret: plant('config transition_webhook/webhooks/secret'), timeout: 5 },
                ...{ send_authorization_header: true, include_access_token: true },
              },
              { name: 'dead', url: withUser('webhook dead/url', 'http://127.0.0.1:1/in'), timeout: 1 },
              { name: 'keyed', url: key('webhook keyed/url', `${receiver.url}/keyed`), timeout: 5 },
            ],
          },
          ldap: {
            ...{ connections: [], bindusername: 'cn=reader', bindpassword: plant('config ldap/bindpassword') },
          },
          openid_connect: {
            providers: [
              {
                ...{ name: 'campus', issuer: 'https://127.0.0.1:1', client_id: 'us', usermapping },
                ...{ client_secret: plant('config openid_connect/providers/client_secret'), userupdatecolumn: 'login' },
              },
            ],
          },
          saml: {
            ...{ cert: ofService.cert, key: ofService.key, usermapping, userupdatecolumn: 'login' },
            ...{ url: `https://127.0.0.1:1/metadata?token=${plant('config saml/url')}` },
            providers: [
              {
                ...{ name: 'second', usermapping, userupdatecolumn: 'login' },
                ...{ url: `https://127.0.0.1:1/metadata?token=${plant('config saml/providers/url')}` },
              },
            ],
          },
        },
      },
    })
    await root.call('POST', '/system/location/new', {
      ...{ name: 'planted', kind: 's3' },
      config: { s3: { bucket: 'planted', endpoint: '127.0.0.1:1', accesskey: 'id', secretkey: plant('location') } },
    })
  }

  async function plantPeople(): Promise<void> {
    await root.call('POST', '/user', [
      { user: { login: 'planted', email: 'planted@museum.test' }, _password: plant('password') },
      { user: { login: 'invited', email: 'invited@museum.test', welcome_email: true } },
      { user: { login: 'mailed', type: 'email', email: 'mailed@museum.test', welcome_email: true } },
    ])
    await until(async () => mail.mails.length >= 2)
    const said = mail.mails.map(({ data }) => data.replaceAll('=\r\n', '').replaceAll('=3D', '=')).join('\n')
    plant('link of a mail', /token=([\w-]{43})/.exec(said)?.[1])
    plant('UUID of an account', /\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/.exec(said)?.[0])
    const form = { grant_type: 'password', client_id: 'web-client', username: 'planted' }
    const issued = JSON.parse(await sendForm('/api/oauth2/token', { ...form, password: planted.get('password') ?? '' }))
    plant('access token', issued.access_token)
    plant('refresh token', issued.refresh_token)
    for (const { name, token } of Object.values(stage.callers)) {
      if (token) answered.add(`token of ${name}`) && plant(`token of ${name}`, token)
    }
  }

  async function sendForm(target: string, form: Record<string, string>): Promise<string> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await root.send({
      method: 'POST',
      target,
      headers,
      body: Buffer.from(new URLSearchParams(form).toString()),
    })
    return answer.body.toString()
  }

  /** Requests that carry secrets, well and badly; whatever they are answered is kept. */
  async function plantRequests(): Promise<void> {
    const { url } = stage.service
    const token = plant('token in a query')
    const sent: [what: string, method: string, target: string, headers?: Record<string, string>, body?: unknown][] = [
      ['query', 'GET', `/api/v1/user/session?access_token=${token}`],
      ['query of a good token', 'GET', `/api/v1/user/session?access_token=${planted.get('access token')}`],
      ['unknown name', 'GET', `/api/v1/pool?access_token=${planted.get('access token')}&poool=1`],
      ['header', 'GET', '/api/v1/pool', { authorization: `Bearer ${plant('token in a header')}` }],
      ['own header', 'GET', '/api/v1/pool', { 'x-svc-authorization': `Bearer ${plant('token in another header')}` }],
      [
        'basic',
        'POST',
        '/api/oauth2/token',
        { authorization: `Basic ${Buffer.from(`web-client:${plant('client secret')}`).toString('base64')}` },
      ],
      [
        'cookie',
        'GET',
        '/api/oauth2/auth?client_id=web-client&response_type=code',
        { cookie: `svc-browser-id=${plant('cookie')}; svc-keep-login=${plant('keep-login')}` },
      ],
      ['link', 'GET', `/api/page/resetPassword?token=${plant('token of a link')}`],
      [
        'rput',
        'POST',
        '/api/v1/eas/rput',
        {},
        { url: `http://planter:${plant('user of an address')}@127.0.0.1:1/a.png` },
      ],
      [
        'rput key',
        'POST',
        '/api/v1/eas/rput',
        {},
        { url: `http://127.0.0.1:1/a.png?X-Amz-Signature=${plant('signature of an address')}` },
      ],
      [
        'rput bulk',
        'POST',
        '/api/v1/eas/rput/bulk',
        {},
        [{ url: `http://127.0.0.1:1/b.png?token=${plant('token of an address')}` }],
      ],
      [
        'event',
        'POST',
        '/api/v1/event',
        {},
        {
          event: {
            type: 'FRONTEND_ERROR',
            info: { password: plant('password in an event'), url: `https://a:${plant('address in an event')}@h/` },
          },
        },
      ],
      [
        'config error',
        'POST',
        '/api/v1/config',
        {},
        {
          system: {
            config: {
              email_server: {
                server_addr: `smtp://u:${plant('wrong address')}@h`,
                plain_auth: { pasword: plant('wrong member') },
              },
            },
          },
        },
      ],
      ['config key', 'POST', at('saml').replace('/config', '/api/v1/config'), {}, { key: plant('wrong key') }],
      [
        'config client',
        'POST',
        '/api/v1/config',
        {},
        { system: { config: { oauth2: { clients: [{ name: 'x', secret: plant('no bcrypt') }] } } } },
      ],
      [
        'location',
        'POST',
        '/api/v1/system/location/new',
        {},
        {
          name: 'x',
          kind: 's3',
          config: {
            s3: {
              bucket: 'abc',
              endpoint: `http://u:${plant('endpoint')}@h`,
              secretkey: plant('secret of a wrong location'),
            },
          },
        },
      ],
      ['user', 'POST', '/api/v1/user', {}, [{ user: { login: '' }, _password: plant('password of nobody') }]],
      [
        'no address',
        'GET',
        `/api/v1/eas/zoom/1/${'f'.repeat(64)}/${plant('signature of a wrong path', `zzz999-${randomBytes(24).toString('base64url')}`)}/original/x`,
      ],
    ]
    for (const [what, method, target, headers = {}, body] of sent) {
      const own = headers.authorization || headers['x-svc-authorization'] || what.startsWith('query')
      const answer = await root.send({
        ...{ method, target },
        headers: {
          ...(own ? {} : { authorization: `Bearer ${root.token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
      })
      // A session says its own token to whoever has it.
      if (what === 'query of a good token') continue
      answers.push({ what: `${what} (${answer.status})`, text: JSON.stringify(answer.headers) + answer.body })
    }
    for (const word of ['wrong password', 'wrong refresh token']) {
      const form: Record<string, string> =
        word === 'wrong password'
          ? { grant_type: 'password', username: 'planted', password: plant(word) }
          : { grant_type: 'refresh_token', refresh_token: plant(word) }
      answers.push({ what: word, text: await sendForm('/api/oauth2/token', { client_id: 'web-client', ...form }) })
    }
    await caller(url, 'planted', planted.get('access token') ?? '').call('GET', '/pool')
    await signIn(url, 'planted', planted.get('password') ?? '')
    // Addresses with signatures, as viewers use them.
    const { bridge } = origin.world.pictures
    const record = await root.call('GET', `/eas/${bridge.id}`)
    const address = new URL(record.versions.original.url)
    answered.add('signature')
    const signature = plant('signature', address.searchParams.get('x-svc-signature') ?? '')
    const place = `${bridge.id}/${bridge.hash}/${signature}/original`
    for (const target of [
      address.pathname + address.search,
      `/api/v1/eas/iiif/${place}/info.json`,
      `/api/v1/eas/iiif/${place.replace(signature, signature.replace('-', '%2D'))}/info.json`,
      `/api/v1/eas/zoom/${place}/zoom256/part0x0.jpg`,
      `/api/v1/eas/zoom/${place}/nothing`,
    ]) {
      await root.send({ method: 'GET', target, headers: {} })
    }
  }

  async function callWebhooks(): Promise<void> {
    const stored = await root.call('GET', '/transitions')
    const made = ['hook', 'dead', 'keyed'].map((name) => ({
      ...{ type: 'process', operations: ['INSERT'], comment: name, actions: [{ type: 'webhook', info: { name } }] },
    }))
    await root.call('POST', '/transitions', [...stored, ...made])
    for (const title of ['901', '902', '903']) {
      const body = [
        {
          _objecttype: 'work',
          _mask: '_all_fields',
          work: {
            _pool: { pool: { _id: origin.world.pools.open } },
            title: { 'en-US': title },
            inventory: `P${title}`,
          },
        },
      ]
      await root.call('POST', '/db/work', body)
    }
    await until(async () => receiver.calls.length >= 6)
    for (const { body, headers } of receiver.calls) {
      const token = body.info.api_user_access_token ?? headers.authorization?.slice(7)
      if (token) plant(`token of webhook ${token.slice(0, 6)}`, token)
    }
    await until(async () => {
      const { objects } = await root.call('GET', '/event/list?type=WEBHOOK,WEBHOOK_ERROR')
      return objects.length >= 9
    })
  }

  /** Every GET of the description, as everybody. */
  async function walk(): Promise<void> {
    for (const operation of origin.description.operations.filter(({ method }) => method === 'GET')) {
      const { request } = await stage.seedOf(operation)
      for (const by of Object.values(stage.callers)) {
        if (operation.operationId === 'streamEvents') continue
        const answer = await by.send(wireOf(assembled(operation, request, by)))
        answers.push({
          what: `${operation.operationId} as ${by.name} (${answer.status})`,
          text: JSON.stringify(answer.headers) + answer.body,
        })
      }
    }
    for (const target of [
      '/event/list',
      '/event/list?format=csv',
      '/config',
      '/system/location/list',
      '/eas/move',
      '/event/poll/0?limit=1000',
    ]) {
      const answer = await root.send({
        method: 'GET',
        target: `/api/v1${target}`,
        headers: { authorization: `Bearer ${root.token}` },
      })
      answers.push({ what: `${target} (${answer.status})`, text: answer.body.toString() })
    }
  }

  test('every member of the base configuration that has a secret was planted', () => {
    const members = Object.entries(sections).flatMap(([name, { field }]) =>
      secretMembers(field as Field<unknown>, name),
    )
    assert.deepEqual(
      members.filter((path) => !planted.has(`config ${path}`)),
      [],
    )
    assert.ok(planted.size > 45, `${planted.size}`)
    for (const [where, secret] of planted) assert.ok(secret && secret.length >= 20, `${where} was not planted`)
  })

  test('no answer has one, to anybody', () => {
    assert.ok(answers.length > 250, `${answers.length}`)
    assert.ok(answers.some(({ text }) => text.includes('transition_webhook')))
    const leaks = answers.flatMap(({ what, text }) =>
      foundIn(text, (where) => !answered.has(where)).map((found) => `${what}: ${found}`),
    )
    assert.deepEqual(leaks, [])
  })

  test('nor has the log of the service', () => {
    const output = stage.service.output()
    assert.match(output, /eas\/iiif\/\d+\/[0-9a-f]{64}\/\*\*\*\/original/)
    assert.match(output, /"user":"planted"/)
    assert.deepEqual(foundIn(output), [])
  })

  test('nor has any row of the database, so no backup', async () => {
    const client = new pg.Client({ connectionString: stage.service.database.dsn })
    await client.connect()
    try {
      const { rows: tables } = await client.query<{ name: string }>(
        `select format('%I.%I', schemaname, tablename) as name from pg_tables
         where schemaname not in ('pg_catalog', 'information_schema')`,
      )
      assert.ok(tables.length > 60)
      let all = ''
      for (const { name } of tables) {
        const { rows } = await client.query<{ text: string }>(`select t::text as text from ${name} t`)
        const text = rows.map((row) => row.text).join('\n')
        all += text
        assert.deepEqual(foundIn(text), [], name)
      }
      for (const there of ['planted@museum.test', 'WEBHOOK', '$sealed']) assert.ok(all.includes(there), there)
    } finally {
      await client.end()
    }
  })
})

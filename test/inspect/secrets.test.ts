import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { ok, type Scene, startScene } from '../collections/support.ts'
import { wireGrant } from '../rights/people.ts'
import { unescapeHtml } from '../signin/sign-in-browser.ts'
import { requestToken } from '../signin/support.ts'
import { consoleCookie, consoleOf } from './support.ts'

/** What was planted, by where. */
const planted = new Map<string, string>()

function plant(where: string, secret = `Zq9-${randomBytes(12).toString('hex')}-planted`): string {
  planted.set(where, secret)
  return secret
}

/** Where in a text something planted stands, in any usual form. */
function foundIn(text: string): string[] {
  return [...planted].flatMap(([where, secret]) => {
    const forms = [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('hex'),
      Buffer.from(secret).toString('base64'),
    ]
    return forms.some((form) => text.includes(form)) ? [where] : []
  })
}

suite('secrets in the console', () => {
  let it: Scene
  let root: ReturnType<typeof consoleOf>
  let cookie: string

  before(async () => {
    const rootPassword = plant('svc.rootPassword')
    it = await startScene({
      ...{ rootPassword, secretKey: plant('svc.secretKey'), debugSqlQuery: true },
      slowStatement: 40,
    })
    await plantSettings()
    await plantPeople()
    await plantCollection()
    await plantWork()
    cookie = await consoleCookie(it.svc)
    plant('the session of the console', cookie.split('=')[1])
    root = consoleOf(it.svc, cookie)
  })
  after(() => it?.[Symbol.asyncDispose]())

  async function plantSettings(): Promise<void> {
    const auth = (path: string) => ({ username: 'u', password: plant(`email_server/${path}`) })
    const config = {
      email_server: {
        server_addr: '127.0.0.1:1',
        type: 'off',
        plain_auth: auth('plain_auth'),
      },
      transition_webhook: {
        webhooks: [
          {
            ...{
              name: 'hook',
              url: `http://u:${plant('webhook url')}@127.0.0.1:1/in?api_key=${plant('webhook query')}`,
            },
            secret: plant('webhook secret'),
          },
        ],
      },
      ldap: { connections: [], bindusername: 'cn=reader', bindpassword: plant('ldap/bindpassword') },
      openid_connect: {
        providers: [
          {
            ...{ name: 'campus', issuer: 'https://127.0.0.1:1', client_id: 'us', userupdatecolumn: 'login' },
            ...{
              usermapping: [{ key: 'login', value: '%(uid)s' }],
              client_secret: plant('openid_connect/client_secret'),
            },
          },
        ],
      },
    }
    ok(await it.root.post('/config', { system: { config } }))
    const s3 = { bucket: 'planted', endpoint: '127.0.0.1:1', accesskey: 'id', secretkey: plant('location') }
    ok(await it.root.post('/system/location/new', { name: 'planted', kind: 's3', config: { s3 } }))
  }

  async function plantPeople(): Promise<void> {
    ok(await it.root.post('/user', [{ user: { login: 'planted' }, _password: plant('password') }]))
    const form = { grant_type: 'password', client_id: 'web-client', username: 'planted', scope: 'offline' }
    const issued = await requestToken(it.svc, { ...form, password: planted.get('password') ?? '' })
    assert.equal(issued.status, 200, JSON.stringify(issued.body))
    plant('access token', issued.body.access_token)
    plant('refresh token', issued.body.refresh_token)
    plant('token of root', await it.root.token())
  }

  async function plantCollection(): Promise<void> {
    const features = { collection: ['share_anonymous'], acl_manager: ['create_email_user'] }
    const [{ user }] = ok(await it.root.get(`/user/${it.ids.reader}`))
    const _system_rights = { 'system.frontend_features': features }
    ok(await it.root.post('/user', [{ user: { _id: it.ids.reader, _version: user._version }, _system_rights }]))
    const link = wireGrant({ _basetype: 'user', user: { type: 'collection' } }, 'bag_read link')
    const pin_code = plant('PIN')
    const made = ok(
      await it.reader.post('/collection', { collection: { pin_code, displayname: { 'en-US': 'Kit' } }, _acl: [link] }),
    )
    plant('secret of a share', made._acl[0].who.user.login)
    plant('uuid of a shared collection', made.collection.uuid)
  }

  async function plantWork(): Promise<void> {
    const search = { search: [] }
    ok(await it.root.post('/task', { task: { task_module: 'search', task_params: { search } } }, { confirm: 'yes' }))
    await it.svc.db.query(`select pg_sleep(0.05), $1::text as planted`, [plant('parameter of a slow statement')])
    const info = { url: `http://u:${plant('url of an event')}@127.0.0.1:1/`, password: plant('password of an event') }
    ok(await it.root.post('/event', { event: { type: 'SEARCH', info } }))
    await it.svc.db.query(
      `select graphile_worker.add_job('nobody.knows', json_build_object('password', $1::text), max_attempts => 1)`,
      [plant('payload of a job')],
    )
    await it.svc.db.query(`update graphile_worker._private_jobs set attempts = 1, last_error = $1`, [
      `cannot reach https://u:${plant('error of a job')}@127.0.0.1/?access_token=${plant('token in an error')}`,
    ])
  }

  /** Every page of the console that links lead to from its start, in both forms. */
  async function walk(): Promise<Map<string, string>> {
    const seen = new Map<string, string>()
    const open = ['/']
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (seen.has(path)) continue
      const page = await root.html(path)
      assert.equal(page.statusCode, 200, `${path}: ${page.body.slice(0, 200)}`)
      const data = await root.get(path, { accept: 'application/json' })
      assert.equal(data.statusCode, 200, path)
      seen.set(path, `${unescapeHtml(page.body)}\n${page.body}\n${JSON.stringify(page.headers)}\n${data.body}`)
      for (const [, href = ''] of page.body.matchAll(/href="\/inspect(\/[^"]*)"/g)) open.push(unescapeHtml(href))
    }
    return seen
  }

  test('no page has any of them, in either form', async () => {
    const seen = await walk()
    const patterns = new Set([...seen.keys()].map((path) => path.replace(/\?.*/, '').replaceAll(/\/\d+\//g, '/:id/')))
    for (const path of [
      '/config/',
      '/tokens/',
      '/queues/',
      '/events/',
      '/collections/',
      '/users/',
      '/locations/',
      '/pools/:id/',
      '/plugins/',
      '/sqlquery/',
      '/datamodel/',
      '/publish/',
      '/messages/',
      '/tasks/',
      '/tasks/:id/',
      '/statements/',
      '/mappings/',
      '/mappings/:id/',
      '/migration/',
    ])
      assert.ok(patterns.has(path), `${path}: ${[...patterns]}`)
    const leaks = [...seen].flatMap(([path, text]) => foundIn(text).map((where) => `${path}: ${where}`))
    assert.deepEqual(leaks, [])
    // They are where they were planted: a walk that looks at nothing finds nothing.
    const queues = seen.get('/queues/') ?? ''
    assert.match(queues, /nobody\.knows/)
    assert.match(seen.get('/collections/') ?? '', /Kit/)
    assert.match(seen.get('/tokens/') ?? '', /planted/)
    assert.match(seen.get('/config/') ?? '', /127\.0\.0\.1:1\/in/)
    assert.match(seen.get('/events/') ?? '', /SEARCH/)
    assert.match(seen.get('/statements/') ?? '', /as planted/)
  })
})

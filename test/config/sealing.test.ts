import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMailServer } from '../support/mail-server.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { startWebhookServer } from '../support/webhook-server.ts'

const other = 'another key, of thirty-two letters'
const words = ['Mail-Word-1', 'Hook-Word-2', 'Url-Word-3', 'Bind-Word-4', 'Client-Word-5', 'Bucket-Word-6']

/** A database that outlives each service on it. */
async function testDatabase() {
  const database = await createTestDatabase()
  return { dsn: database.dsn, [Symbol.asyncDispose]: () => database.drop() }
}

async function stored(svc: TestService): Promise<string> {
  const { rows } = await svc.db.query<{ text: string }>(
    `select (select json_agg(c) from base_config c)::text || (select json_agg(l) from file_location l)::text as text`,
  )
  return rows[0]?.text ?? ''
}

const plainWords = async (svc: TestService) => {
  const text = await stored(svc)
  return words.filter((word) => text.includes(word))
}

/** Sections as a release before has stored them. */
async function storeAsBefore(svc: TestService, hook: string, mail: string): Promise<void> {
  const usermapping = [{ key: 'login', value: '%(uid)s' }]
  const sections = {
    email: { from: 'archive@museum.test' },
    email_server: { server_addr: mail, type: 'off', plain_auth: { username: 'u', password: words[0] } },
    transition_webhook: {
      webhooks: [
        { name: 'a', url: hook, secret: words[1] },
        { name: 'b', url: `${hook.replace('://', `://u:${words[2]}@`)}/b`, secret: words[1] },
      ],
    },
    ldap: { connections: [], bindusername: 'cn=reader', bindpassword: words[3] },
    openid_connect: {
      providers: [
        {
          ...{ name: 'campus', issuer: 'https://idp.example.org', client_id: 'us', client_secret: words[4] },
          ...{ usermapping, userupdatecolumn: 'login' },
        },
      ],
    },
  }
  await svc.db.query(
    `insert into base_config (section, value, changed_by) select key, value, 1 from jsonb_each($1)
     on conflict (section) do update set value = excluded.value`,
    [JSON.stringify(sections)],
  )
  const bucket = { bucket: 'b-1', endpoint: '127.0.0.1:1', accesskey: 'a', region: '', ssl: false, secretkey: words[5] }
  await svc.db.query(`insert into file_location (name, kind, config) values ('bucket', 's3', $1)`, [
    JSON.stringify(bucket),
  ])
}

test('what a release before has stored as it is, is sealed by the next start, by one of several; nothing else changes', async () => {
  await using receiver = await startWebhookServer()
  await using mail = await startMailServer()
  await using svc = await startService()
  await storeAsBefore(svc, receiver.url, mail.address)
  assert.deepEqual(await plainWords(svc), words)
  const shown = async (at: TestService) => (await at.as('root').get('/config')).body.system.config
  {
    const [one, two] = await Promise.all([attachService(svc.dsn), attachService(svc.dsn)])
    await using _one = one
    await using _two = two
    assert.deepEqual(await plainWords(svc), [])
    for (const node of [one, two]) {
      const config = await shown(node)
      assert.equal(config.email_server.plain_auth.password, '***')
      assert.deepEqual(
        config.transition_webhook.webhooks.map(({ url, secret }: Record<string, string>) => [url, secret]),
        [
          [receiver.url, '***'],
          [`${receiver.url.replace('://', '://***@')}/b`, '***'],
        ],
      )
    }
    const { rows } = await svc.db.query<{ by: number }>('select distinct changed_by as by from base_config')
    assert.deepEqual(rows, [{ by: 1 }])
    // The document as it was read, sent back whole, keeps all of it.
    const { body } = await one.as('root').get('/config')
    const { email_server, transition_webhook, openid_connect } = body.system.config
    const back = { system: { config: { email_server, transition_webhook, openid_connect } } }
    assert.equal((await one.as('root').post('/config', back)).status, 200)
    assert.deepEqual((await shown(one)).transition_webhook, transition_webhook)
    const hooks = '/config/system/config/transition_webhook/webhooks'
    const [a, b] = (await one.as('root').get(hooks)).body
    const moved = await one.as('root').post(hooks, [a, { ...b, url: `${b.url}/elsewhere` }])
    assert.equal(moved.status, 400, 'a password is not kept for another address')
    assert.equal((await one.as('root').post(hooks, [a, { ...b, name: 'c' }])).status, 400)
    assert.deepEqual(await plainWords(svc), [])
  }
  const before = await stored(svc)
  await using again = await attachService(svc.dsn)
  assert.equal(await stored(again), before, 'nothing is sealed twice')
})

test('without the key: a start, and a word where a secret is used; with the key of before all of it again', async () => {
  await using receiver = await startWebhookServer()
  await using mail = await startMailServer()
  await using database = await testDatabase()
  const { dsn } = database
  let [sealed, key] = ['', null as string | null]
  {
    await using first = await attachService(dsn)
    await storeAsBefore(first, receiver.url, mail.address)
  }
  {
    await using first = await attachService(dsn)
    sealed = await stored(first)
    key = first.config.secretKey
  }
  {
    await using lost = await attachService(dsn, { secretKey: other })
    const root = lost.as('root')
    assert.equal(await stored(lost), sealed, 'what cannot be read stays as it is')
    const { body } = await root.get('/config')
    assert.equal(body.system.config.email_server.plain_auth.password, '***')
    const { email_server } = body.system.config
    assert.equal((await root.post('/config', { system: { config: { email_server } } })).status, 200)
    const [, bucket] = (await root.get('/system/location/list')).body
    assert.equal(bucket.status, 'not accessible')
    assert.match(bucket.status_msg, /secret key of the location is sealed with a key that is not here/)
    assert.equal((await root.put(`/system/location/${bucket.id}`, { ...bucket, read_only: true })).status, 200)
    const hooks = '/config/system/config/transition_webhook/webhooks'
    const [a] = (await root.get(hooks)).body
    assert.equal((await root.post(hooks, [{ ...a, url: 'https://evil.example.org/' }])).status, 400)
    const user = { user: { login: 'mailed', email: 'mailed@museum.test', welcome_email: true } }
    const made = await root.post('/user', [user])
    assert.equal(made.status, 200, JSON.stringify(made.body))
    await lost.app.idle({ hurry: true })
    const { objects } = (await root.get('/event/list', { type: 'EMAIL_SENT_FAILED', sort: '_id.ASC' })).body
    assert.match(
      objects[0].event?.info?.Error ?? objects[0].info?.Error,
      /password of the mail server is sealed with a key/,
    )
    assert.equal(mail.signIns.length, 0)
  }
  {
    await using back = await attachService(dsn, { secretKey: other, secretKeyBefore: key })
    assert.notEqual(await stored(back), sealed)
    assert.deepEqual(await plainWords(back), [])
  }
  await using now = await attachService(dsn, { secretKey: other })
  await now.as('root').post('/user', [{ user: { login: 'second', email: 'second@museum.test', welcome_email: true } }])
  await now.app.idle({ hurry: true })
  assert.ok(mail.signIns.some((line) => Buffer.from(line.split(' ').at(-1) ?? '', 'base64').includes(words[0] ?? '')))
})

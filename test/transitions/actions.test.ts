import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { type People, seedPeople, toGroup, toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'

let museum: Museum
let people: People
let root: Client
let mailServer: MailServer
let receiver: WebhookServer
let tag: number

before(async () => {
  mailServer = await startMailServer()
  receiver = await startWebhookServer()
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  root = people.root
  const { body } = await root.post('tags', [{ taggroup: {}, _tags: [{ reference: 'told' }] }])
  tag = body[0]._tags[0]._id
  for (const login of ['editor', 'reader'] as const) await setEmail(login)
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await mailServer[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})
beforeEach(async () => {
  mailServer.mails.length = 0
  mailServer.refuse = null
  receiver.calls.length = 0
  receiver.answer = () => ({ body: '{"ok":true}' })
  await museum.svc.db.query(`delete from event where type like 'EMAIL%' or type like 'WEBHOOK%'`)
  await configure({})
})

async function setEmail(login: 'editor' | 'reader'): Promise<void> {
  const { body } = await root.get(`user/${people.ids[login]}`)
  const [stored] = Array.isArray(body) ? body : [body]
  const user = { ...stored.user, email: `${login}@museum.test` }
  const answer = await root.post('user', [{ ...stored, user }], { confirm: 'ignore_password_requirements' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

/** When the user wants mails that can wait. */
async function setSchedule(login: 'editor' | 'reader', mail_schedule: object | null): Promise<number> {
  const [{ user }] = (await root.get(`user/${people.ids[login]}`)).body
  const change = { user: { _id: user._id, _version: user._version, mail_schedule } }
  return (await root.post('user', [change])).status
}

async function configure({ webhook = {}, server = {}, from = 'archive@museum.test' }: Json): Promise<void> {
  const answer = await root.post('config', {
    system: {
      config: {
        email: { from, signature: { 'en-US': 'The archive' } },
        email_server: { server_addr: mailServer.address, type: 'off', ...server },
        transition_webhook: {
          webhooks: [
            { name: 'hook', url: `${receiver.url}/in?x=1`, method: 'POST', secret: 'shared', timeout: 2, ...webhook },
          ],
        },
      },
    },
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

const email = (recipients: object[], more: object = {}) => ({
  type: 'email',
  info: {
    subject: { 'en-US': 'To be\r\nchecked', 'de-DE': 'Zu prüfen' },
    message: { 'en-US': 'Please <b>check</b>.' },
    recipients,
    ...more,
  },
})
const webhook = { type: 'webhook', info: { name: 'hook' } }

async function define(...list: object[]): Promise<Json[]> {
  const answer = await root.post(
    'transitions',
    list.map((entry) => ({ type: 'process', operations: ['INSERT', 'UPDATE'], comment: 'tell', ...entry })),
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function create(titles: string[], block: object = {}, rest: object = {}): Promise<Json[]> {
  const works = titles.map((title) =>
    payload('work', { ...inPool(museum.pool), title: { 'en-US': title }, ...block }, rest),
  )
  const answer = await root.post('db/work', works)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function logged(): Promise<{ type: string; info: Json; user: unknown; pollable: boolean }[]> {
  const { rows } = await museum.svc.db.query<{ type: string; info: Json; user: unknown; pollable: boolean }>(
    `select type, info, user_id as user, pollable from event
      where type like 'EMAIL%' or type like 'WEBHOOK%' order by event.id`,
  )
  return rows
}

/** Waits for the jobs, and lets failed ones have their next attempts at once. */
const drain = () => museum.svc.app.idle({ hurry: true })

test('batchable mails wait for the time that their reader has chosen, and come together', async () => {
  // Once a year: nothing of it falls into the test.
  const day = new Date(Date.now() - 86_400_000)
  const schedule = { days_of_month: [day.getUTCDate()], hours: [day.getUTCHours()], timezone: 'Europe/Lisbon' }
  assert.equal(await setSchedule('reader', { ...schedule, timezone: 'Europe/Atlantis' }), 400)
  assert.equal(await setSchedule('reader', schedule), 200)
  await define(
    { actions: [email([toUser(people.ids.reader), toUser(people.ids.editor)], { batchable: true })] },
    { actions: [email([toUser(people.ids.reader)], { subject: { 'en-US': 'At once' } })] },
  )
  await create(['The Grey Boat'])
  await create(['The Green Boat'])
  await museum.svc.app.idle()
  const to = (login: string) => mailServer.mails.filter((mail) => mail.to.includes(`${login}@museum.test`))
  assert.deepEqual([to('editor').length, to('reader').length], [2, 2])
  assert.ok(to('reader').every(({ data }) => data.includes('Subject: At once')))
  mailServer.mails.length = 0
  await drain()
  const [batch, ...others] = to('reader')
  assert.deepEqual(others, [])
  assert.match(batch?.data ?? '', /Subject: 2 messages/)
  for (const title of ['The Grey Boat', 'The Green Boat']) assert.match(batch?.data ?? '', new RegExp(title))
  const sent = (await logged()).find(({ info }) => info.Template === 'batch')
  assert.equal(sent?.info.Batched.length, 2)
  // Who takes the schedule away gets mail at once again.
  assert.equal(await setSchedule('reader', null), 200)
  mailServer.mails.length = 0
  await create(['The White Boat'])
  await museum.svc.app.idle()
  assert.equal(to('reader').length, 2)
})

test('one mail for each reader about all objects of the save, logged as EMAIL_SENT', async () => {
  await define({ actions: [email([toGroup(people.ids.staff), toUser(people.ids.editor)])] })
  await create(['The Blue Boat', 'The Red Boat'])
  await drain()
  assert.deepEqual(mailServer.mails.map((mail) => mail.to.join()).sort(), ['editor@museum.test', 'reader@museum.test'])
  const [mail] = mailServer.mails
  assert.equal(mail?.from, 'archive@museum.test')
  const text = (mail?.data ?? '').replaceAll('=\n', '')
  assert.match(text, /^Subject: To be checked$/m)
  assert.match(text, /The Blue Boat/)
  assert.match(text, /The Red Boat/)
  assert.doesNotMatch(text, /\/api\//, 'an address that answers nobody is left out')
  assert.match(text, /Please &#60;b&#62;check/, 'the message is text, not markup')
  assert.match(text, /The archive/)

  const entries = await logged()
  assert.deepEqual(
    entries.map((entry) => [entry.type, entry.user, entry.pollable]),
    [
      ['EMAIL_SENT', null, false],
      ['EMAIL_SENT', null, false],
    ],
  )
  const info = entries.find((entry) => entry.info.UserID === people.ids.editor)?.info
  assert.deepEqual(
    { ...info, TransitionID: 0 },
    {
      Template: 'transition_resolve',
      To: ['editor@museum.test'],
      Cc: [],
      Bcc: [],
      Subject: 'To be checked',
      Attachments: [],
      UserID: people.ids.editor,
      TransitionID: 0,
    },
  )
})

test('a mail links to the pages of its objects where deep links are on, by number where links may; deleted ones have none', async () => {
  const [readerMail] = [email([toUser(people.ids.reader)])]
  await define({ operations: ['INSERT', 'UPDATE', 'DELETE'], actions: [readerMail] })
  const pages = new RegExp(`${museum.svc.config.externalUrl}/api/v1/objects/[\\w/-]+`, 'g')
  const linksOf = async (work: () => Promise<unknown>): Promise<string[]> => {
    mailServer.mails.length = 0
    await work()
    await drain()
    assert.equal(mailServer.mails.length, 1)
    const text = (mailServer.mails[0]?.data ?? '').replaceAll('=\n', '').replaceAll('=3D', '=')
    return [...new Set(text.match(pages) ?? [])]
  }
  const config = async (settings: object) =>
    assert.equal((await root.post('config', { system: { config: settings } })).status, 200)
  let [made]: Json[] = []
  const make = async () => {
    ;[made] = await create(['<b>Linked</b>'])
  }
  assert.deepEqual(await linksOf(make), [])
  await config({ deep_link_access: { enabled: true }, detail_deep_link: { use_system_object_id: true } })
  const base = `${museum.svc.config.externalUrl}/api/v1/objects`
  assert.deepEqual(await linksOf(make), [`${base}/uuid/${made?._uuid}/format/html`], 'links by number are off')
  await config({ deep_link_access: { enabled: true, allow_access_by_id: true } })
  assert.deepEqual(await linksOf(make), [`${base}/id/${made?._system_object_id}/format/html`])
  await config({ detail_deep_link: { use_system_object_id: false } })
  assert.deepEqual(await linksOf(make), [`${base}/uuid/${made?._uuid}/format/html`])
  const gone = [[made?.work._id, made?.work._version, null]]
  assert.deepEqual(
    await linksOf(async () =>
      assert.equal((await root.delete('db/work', gone, { delete_policy: 'remove' })).status, 200),
    ),
    [],
  )
  await config({ deep_link_access: { enabled: false, allow_access_by_id: false } })
})

test('a mail to the owner is about the objects of each owner', async () => {
  await define({ actions: [email([{ _owner: true }])] })
  await create(['Of the editor'], {}, { _owner: toUser(people.ids.editor) })
  await create(['Of the reader'], {}, { _owner: toUser(people.ids.reader) })
  await drain()
  assert.equal(mailServer.mails.length, 2)
  for (const mail of mailServer.mails) {
    const [owner, other] = mail.to[0]?.startsWith('editor') ? ['editor', 'reader'] : ['reader', 'editor']
    assert.match(mail.data, new RegExp(`Of the ${owner}`))
    assert.doesNotMatch(mail.data, new RegExp(`Of the ${other}`))
  }
})

test('a mail that fails is logged as EMAIL_SENT_FAILED with its error and tried again', async () => {
  await define({ actions: [email([toUser(people.ids.editor)])] })
  let refusals = 1
  mailServer.refuse = () => (refusals-- > 0 ? '451 later' : undefined)
  await create(['Late'])
  await drain()
  assert.deepEqual(
    (await logged()).map((entry) => entry.type),
    ['EMAIL_SENT_FAILED', 'EMAIL_SENT'],
  )
  const [failed] = await logged()
  assert.match(failed?.info.Error, /451/)
  assert.equal(failed?.info.Template, 'transition_resolve')
  assert.equal(mailServer.mails.length, 1)

  mailServer.refuse = () => '550 no such user'
  await create(['Never'])
  await drain()
  assert.equal(
    (await logged()).filter((entry) => entry.type === 'EMAIL_SENT_FAILED').length,
    2,
    'it is not tried again',
  )
})

test('without a mail server or sender a mail fails for good', async () => {
  await define({ actions: [email([toUser(people.ids.editor)])] })
  await configure({ server: { server_addr: '' } })
  await create(['Nowhere'])
  await drain()
  await configure({ from: '' })
  await create(['From nobody'])
  await drain()
  assert.deepEqual(
    (await logged()).map((entry) => [entry.type, entry.info.Error]),
    [
      ['EMAIL_SENT_FAILED', 'no mail server is configured'],
      ['EMAIL_SENT_FAILED', 'no sender is configured'],
    ],
  )
})

test('the mail server is signed in at as configured', async () => {
  await define({ actions: [email([toUser(people.ids.editor)])] })
  mailServer.signIns.length = 0
  for (const identity of ['', 'acting']) {
    await configure({ server: { plain_auth: { identity, username: 'me', password: 'secret' } } })
    await create(['Signed in'])
    await drain()
  }
  assert.deepEqual(
    mailServer.signIns.map((line) => Buffer.from(line.split(' ')[2] ?? '', 'base64').toString()),
    ['\0me\0secret', 'acting\0me\0secret'],
  )
  assert.equal(mailServer.mails.length, 2)
})

test('a webhook is called after the commit, signed, with the objects in full; logged as WEBHOOK', async () => {
  const [transition] = await define({
    'tagfilter:after': { all: [tag] },
    actions: [webhook],
  })
  const [object] = await create(['Seen'], {}, { _tags: [{ _id: tag }] })
  await drain()
  const [call] = receiver.calls
  assert.equal(receiver.calls.length, 1)
  assert.deepEqual([call?.method, call?.path], ['POST', '/in?x=1'])
  assert.equal(call?.headers['content-type'], 'application/json')
  const hmac = (algorithm: string) =>
    createHmac(algorithm, 'shared')
      .update(call?.raw ?? '')
      .digest('hex')
  assert.equal(call?.headers['x-hub-signature-256'], `sha256=${hmac('sha256')}`)
  assert.equal(call?.headers['x-hub-signature'], `sha1=${hmac('sha1')}`)
  assert.equal(call?.headers.authorization, undefined)
  const { info, objects } = call?.body ?? {}
  assert.equal(info.api_user_access_token, undefined)
  assert.equal(info.api_user.user.login, 'root')
  assert.deepEqual(info.transition, { _id: transition._id, type: 'process', comment: 'tell' })
  assert.deepEqual(info.operations, [{ operation: 'INSERT', _system_object_id: object._system_object_id, _version: 1 }])
  assert.deepEqual(
    objects.map((each: Json) => [each._mask, each._system_object_id, each.work.title['en-US']]),
    [['_all_fields', object._system_object_id, 'Seen']],
  )
  assert.deepEqual(await logged(), [
    {
      type: 'WEBHOOK',
      user: null,
      pollable: false,
      info: { webhook: { name: 'hook', url: `${receiver.url}/in?x=1`, method: 'POST' }, response: { ok: true } },
    },
  ])
})

test('an answer that is no JSON is logged as it came; a refusal as WEBHOOK_ERROR', async () => {
  await define({ actions: [webhook] })
  receiver.answer = () => ({ body: 'thank you' })
  await create(['Text'])
  await drain()
  receiver.answer = () => ({ status: 422, body: '{"why":"not today"}' })
  await create(['Refused'])
  await drain()
  assert.equal(receiver.calls.length, 2, 'a refusal is not tried again')
  const [sent, refused] = await logged()
  assert.deepEqual([sent?.type, sent?.info.response_no_json, sent?.info.response], ['WEBHOOK', 'thank you', undefined])
  assert.equal(refused?.type, 'WEBHOOK_ERROR')
  assert.deepEqual(Object.keys(refused?.info).sort(), ['error', 'response', 'webhook'])
  assert.deepEqual(refused?.info.response, { why: 'not today' })
  assert.match(refused?.info.error, /422/)
})

test('a webhook that is in trouble is called again, with the same id, until it answers', async () => {
  await define({ actions: [webhook] })
  const answers = [{ status: 503 }, 'hang' as const, { status: 200 }]
  receiver.answer = () => answers.shift() ?? {}
  await configure({ webhook: { timeout: 1 } })
  await create(['Again'])
  await drain()
  assert.deepEqual(
    (await logged()).map((entry) => entry.type),
    ['WEBHOOK_ERROR', 'WEBHOOK_ERROR', 'WEBHOOK'],
  )
  assert.match((await logged())[1]?.info.error, /no answer within 1000 ms/)
  assert.equal(new Set(receiver.calls.map((call) => call.headers['x-svc-webhook-id'])).size, 1)
  assert.equal(new Set(receiver.calls.map((call) => call.raw)).size, 1)
})

test('a receiver that does not answer keeps no mail waiting', async () => {
  {
    await using slow = await startWebhookServer()
    slow.answer = () => 'hang'
    await configure({ webhook: { timeout: 300, url: slow.url } })
    await define({ actions: [webhook] })
    // More than the quick lane works on at the same time.
    for (let n = 0; n < 6; n++) await create([`Slow ${n}`])
    await until(() => slow.calls.length > 0)
    await define({ actions: [email([toUser(people.ids.reader)])] })
    await create(['Quick'])
    await until(() => mailServer.mails.length > 0)
    assert.deepEqual(
      (await logged()).filter(({ type }) => type.startsWith('WEBHOOK')),
      [],
    )
    await museum.svc.db.query('delete from graphile_worker._private_jobs where locked_at is null')
  }
  await museum.svc.drain()
  await museum.svc.db.query('delete from graphile_worker._private_jobs')
})

test('a receiver that does not answer keeps no call to another one waiting, and gets its own later', async () => {
  {
    await using slow = await startWebhookServer()
    slow.answer = () => 'hang'
    const { body } = await root.get('config')
    const { webhooks } = body.system.config.transition_webhook
    const both = [...webhooks, { name: 'slow', url: slow.url, method: 'POST', timeout: 300 }]
    const answer = await root.post('config', { system: { config: { transition_webhook: { webhooks: both } } } })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    await define({ actions: [{ type: 'webhook', info: { name: 'slow' } }] })
    // More than the lane works on at the same time.
    for (let n = 0; n < 6; n++) await create([`Slow ${n}`])
    await until(() => slow.calls.length > 0)
    await define({ actions: [webhook] })
    await create(['Other'])
    await until(() => receiver.calls.length > 0)
    assert.equal(slow.calls.length, 1)
    slow.answer = () => ({ body: '{}' })
    slow.drop()
    await drain()
    const ids = slow.calls.map((call) => call.headers['x-svc-webhook-id'])
    assert.equal(new Set(ids).size, 6)
    // The one that was cut off is tried again.
    assert.equal(ids.length, 7)
  }
})

test('redirects are not followed, and answers are not read without end', async () => {
  await define({ actions: [webhook] })
  receiver.answer = () => ({ status: 307, headers: { location: `${receiver.url}/elsewhere` } })
  await create(['Moved'])
  await drain()
  assert.deepEqual(
    receiver.calls.map((call) => call.path),
    ['/in?x=1'],
  )
  assert.match((await logged())[0]?.info.error, /307/)
  receiver.answer = () => ({ body: 'x'.repeat(2 * 1024 * 1024) })
  await create(['Endless'])
  await museum.svc.drain()
  assert.match((await logged())[1]?.info.error, /longer than 1048576 bytes/)
  await museum.svc.db.query('delete from graphile_worker._private_jobs')
})

test('a webhook that calls back gets a token of the user, in the header or in the body', async () => {
  await define({ actions: [webhook] })
  await configure({ webhook: { send_authorization_header: true, include_access_token: true } })
  await create(['With token'])
  await drain()
  const [call] = receiver.calls
  const token = call?.body.info.api_user_access_token
  assert.equal(call?.headers.authorization, `Bearer ${token}`)
  const answer = await museum.svc.inject({
    method: 'GET',
    url: '/api/v1/user/session',
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(answer.json().user.user.login, 'root')
})

test('private addresses are refused unless the configuration allows them, and nothing is sent', async () => {
  await using strict = await startMuseum({ allowPrivateWebhooks: false })
  const admin = strict.svc.as('root')
  const hosts = ['127.0.0.1', 'localhost', '[::1]', '0x7f.1', '169.254.169.254', '[::ffff:10.0.0.1]']
  const names = hosts.map((host, index) => ({ name: `hook ${index}`, url: receiver.url.replace('127.0.0.1', host) }))
  await admin.post('config', { system: { config: { transition_webhook: { webhooks: names } } } })
  const actions = names.map(({ name }) => ({ type: 'webhook', info: { name } }))
  const defined = await admin.post('transitions', [{ type: 'process', operations: ['INSERT'], actions }])
  assert.equal(defined.status, 200, JSON.stringify(defined.body))
  await admin.post('db/place', [payload('place', { code: 'here' })])
  await strict.svc.app.idle({ hurry: true })
  const { rows } = await strict.svc.db.query<{ type: string; info: Json }>(
    `select type, info from event where type like 'WEBHOOK%'`,
  )
  assert.equal(rows.length, hosts.length, 'and not tried again')
  for (const { type, info } of rows) {
    assert.equal(type, 'WEBHOOK_ERROR')
    assert.match(info.error, /not public/, info.webhook.url)
  }
  assert.equal(receiver.calls.length, 0)
})

test('what a rejecting transition sends goes out although the save is undone', async () => {
  await define({ type: 'reject', comment: 'no', actions: [email([toUser(people.ids.editor)]), webhook] })
  const answer = await root.post('db/work', [payload('work', { ...inPool(museum.pool), title: { 'en-US': 'No' } })])
  assert.equal(answer.body.code, 'TransitionRejected')
  await drain()
  assert.deepEqual((await logged()).map((entry) => [entry.type, entry.info.Template]).sort(), [
    ['EMAIL_SENT', 'transition_reject'],
    ['WEBHOOK', undefined],
  ])
  assert.equal(receiver.calls[0]?.body.info.rejected, true)
  assert.deepEqual(receiver.calls[0]?.body.objects, [])
})

test('a dry run sends nothing, whether the change would be made or refused', async () => {
  const dry = (title: string) => [payload('work', { ...inPool(museum.pool), title: { 'en-US': title } })]
  await define({ actions: [webhook] })
  assert.equal((await root.post('db/work', dry('Made'), { dry_run: true })).status, 200)
  await define({ type: 'reject', actions: [webhook] })
  assert.equal((await root.post('db/work', dry('Refused'), { dry_run: true })).body.code, 'TransitionRejected')
  await drain()
  assert.equal(receiver.calls.length, 0)
})

test('EVENT-025 with the notification scheduler off no mail is written; what fails in it is told, and tried again', async () => {
  const schedule = { days_of_month: [new Date(Date.now() - 86_400_000).getUTCDate()], hours: [3] }
  assert.equal(await setSchedule('reader', schedule), 200)
  await define({ actions: [email([toUser(people.ids.reader), toUser(people.ids.editor)], { batchable: true })] })
  const active = async (on: boolean) =>
    assert.equal(
      (await root.post('config', { system: { config: { notification_scheduler: { active: on } } } })).status,
      200,
    )
  await create(['Waiting'])
  await museum.svc.app.idle()
  assert.deepEqual(
    mailServer.mails.map(({ to }) => to.join()),
    ['editor@museum.test'],
  )
  mailServer.mails.length = 0
  await active(false)
  await create(['Not told'])
  // A job writes the mails, and asks then.
  await museum.svc.app.idle()
  assert.deepEqual(mailServer.mails, [])
  await active(true)
  const failed = async (): Promise<Json[]> =>
    (
      await museum.svc.db.query<Json>(
        `select info, user_id, pollable from event where type = 'NOTIFICATION_SCHEDULER_FAILED'`,
      )
    ).rows
  await museum.svc.db.query(`update mail_batch set mail = '{"subject": 1}'`)
  await museum.svc.db.query(
    `insert into mail_batch (user_id, key, mail) select user_id, 'second', mail from mail_batch`,
  )
  await museum.svc.db.query(
    `select count(*) from graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs), run_at := now())`,
  )
  await museum.svc.db.query(`select pg_notify('jobs:insert', '{"count": 100}')`)
  await until(async () => (await failed()).length > 0)
  const [event] = await failed()
  assert.deepEqual([Object.keys(event?.info), event?.user_id, event?.pollable], [['Error'], null, false])
  assert.deepEqual(mailServer.mails, [])
  await museum.svc.db.query(`delete from mail_batch`)
  await drain()
  const documented = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'events.md'), 'utf8')
  await assertEventFlags(museum.svc, ['NOTIFICATION_SCHEDULER_FAILED'], { userLogged: false, pollable: false })
  // Its cause cannot happen here: there are no licences.
  assert.match(documented, /\| SYSTEM \| `LICENSE_VALIDATION_FAILED` \| {2}\| {2}\| {2}\| `Error` \|/)
})

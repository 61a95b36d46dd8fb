import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ok, type Scene, startScene } from '../collections/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import { eventsOf } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'

let it: Scene
let server: MailServer
before(async () => {
  server = await startMailServer()
  it = await startScene()
  const settings: [string, unknown][] = [
    ['email/from', 'museum@example.org'],
    ['email_server', { server_addr: server.address, type: 'off' }],
    ['name/title', { 'en-US': 'Museum' }],
  ]
  for (const [path, value] of settings) ok(await it.root.post(`/config/system/config/${path}`, value))
  const [{ user }] = ok(await it.root.get(`/user/${it.ids.editor}`))
  const { _id, _version } = user
  ok(await it.root.post('/user', [{ user: { _id, _version, email: 'editor@example.org' } }]))
})
after(async () => {
  await it?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

const common = 'Attachments Bcc Cc Subject Template To'.split(' ')

/** Mails by hand, of a share, and of the end of a task; the blocks of the collection and the task that they are about. */
async function sendAll(status: number): Promise<{ collection: Json; task: Json }> {
  const attachments = [
    { filename: 'a.txt', 'content-type': 'text/plain', bytes: Buffer.from('Hello').toString('base64') },
  ]
  const to = { to: ['ada@example.org'], cc: ['ben@example.org'], bcc: ['cy@example.org'] }
  const sent = await it.root.post('/system/sendmail', { ...to, subject: 'By hand', text: 'Text', attachments })
  assert.equal(sent.status, status, JSON.stringify(sent.body))
  const _acl = [wireGrant(toUser(it.ids.editor), 'bag_read', { send_email_notification: { text: 'Look' } })]
  const { collection } = ok(
    await it.reader.post('/collection', { collection: { displayname: { 'en-US': 'Kit' } }, _acl }),
  )
  const { task } = ok(
    await it.root.post('/task', {
      task: {
        task_module: 'search',
        task_params: { search: {} },
        next_run_at: '2020-01-01T00:00:00Z',
        email: { recipients: [{ email: 'dee@example.org' }] },
      },
    }),
  )
  await it.svc.drain()
  return { collection, task }
}

function assertKeys(
  events: readonly Json[],
  { collection, task }: { collection: Json; task: Json },
  further: string[],
): void {
  const about = (to: string): Json => events.find(({ event }) => event.info.To[0] === to)?.event.info
  const [byHand, share, end] = [about('ada@example.org'), about('editor@example.org'), about('dee@example.org')]
  const keys = (info: Json) => Object.keys(info).toSorted()
  assert.deepEqual(keys(byHand), ['User', 'UserID', ...common, ...further].toSorted())
  assert.deepEqual(
    [byHand.To, byHand.Cc, byHand.Bcc, byHand.Subject, byHand.UserID],
    [['ada@example.org'], ['ben@example.org'], ['cy@example.org'], 'By hand', 1],
  )
  assert.deepEqual(byHand.Attachments, [{ ContentType: 'text/plain', Filename: 'a.txt', Size: 5, Filesize: 5 }])
  const cause = ['Collection', 'CollectionID', 'CollectionURL', 'User', 'UserID']
  assert.deepEqual(keys(share), [...cause, ...common, ...further].toSorted())
  assert.deepEqual(
    [share.Collection, share.CollectionID, share.CollectionURL, share.User, share.UserID],
    ['Kit', collection._id, `${it.svc.config.externalUrl}/collection/${collection.uuid}`, 'reader', it.ids.reader],
  )
  assert.deepEqual(keys(end), ['TaskID', ...common, ...further].toSorted())
  assert.equal(end.TaskID, task._id)
}

test('EVENT-016 a mail that was taken is told with whom it went to, what was with it, and what it is about', async () => {
  const about = await sendAll(200)
  assertKeys(await eventsOf(it.svc, 'EMAIL_SENT'), about, [])
  await assertEventFlags(it.svc, ['EMAIL_SENT'], { userLogged: false, pollable: false })
})

test('EVENT-017 a mail that was not taken is told in the same way, with what went wrong', async () => {
  server.refuse = () => '550 nobody here'
  const about = await sendAll(400)
  const events = await eventsOf(it.svc, 'EMAIL_SENT_FAILED')
  assertKeys(events, about, ['Error'])
  for (const { event } of events) assert.match(event.info.Error, /nobody here/)
  await assertEventFlags(it.svc, ['EMAIL_SENT_FAILED'], { userLogged: false, pollable: false })
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { linkOf, type PostedService, startWithMail, textOf } from './account-support.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createGroups, createUsers, eventsOf, signIn, statusWith } from './support.ts'

/** Mails that go with an account: welcome, confirmation of the address, registration. */
let posted: PostedService
before(async () => {
  posted = await startWithMail()
})
after(() => posted[Symbol.asyncDispose]())

const root = () => posted.svc.as('root')

async function change(stored: Json, user: Json, more: Json = {}): Promise<Json> {
  const { _id: id } = stored.user
  const [{ user: now }] = (await root().get(`/user/${id}`)).body
  const answer = await root().post('/user', [{ user: { _id: id, _version: now._version, ...user }, ...more }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}

test('welcome_email sends a welcome once, with a link for a password where there is none', async () => {
  const { svc, mailsTo } = posted
  const [stored] = await createUsers(svc, {
    user: { login: 'newcomer', email: 'newcomer@example.org', welcome_email: true, first_name: 'Nell' },
    _password: undefined,
  })
  assert.equal(stored.user.welcome_email, true)
  assert.ok(Date.parse(stored.user.welcome_email_sent_at))
  const sent = await change(stored, { ...stored.user, _version: undefined, phone: '1' }).catch(() => null)
  assert.equal(sent, null, 'a version is needed')
  const again = await change(stored, { welcome_email: true, phone: '1' })
  assert.equal(again.user.welcome_email_sent_at, stored.user.welcome_email_sent_at)
  const [mail, second] = await mailsTo('newcomer@example.org')
  assert.equal(second, undefined, 'what is sent back sends nothing')
  assert.match(mail?.data ?? '', /Subject: Your account: Museum/)
  assert.match(textOf(mail as never), /^Hello Nell,[\s\S]*You sign in as newcomer\./)
  const visitor = new TestVisitor(svc)
  const page = await visitor.get(linkOf(mail))
  assert.equal(page.status, 200)
  await visitor.submit(page, { new_password: 'my first one', again: 'my first one' })
  assert.equal((await signIn(svc, 'newcomer', 'my first one')).status, 200)
  await change(stored, { welcome_email: false })
  await change(stored, { welcome_email: true })
  const [, anew] = await mailsTo('newcomer@example.org')
  assert.doesNotMatch(textOf(anew as never), /token=/, 'who has a password needs none')
  const [logged] = (await eventsOf(svc, 'EMAIL_SENT')).filter(({ event }) => event.info.Template === 'account_welcome')
  assert.deepEqual([logged.event.info.User, logged.event.info.UserID], ['Nell', stored.user._id])
})

test('confirm_email: nobody signs in before the address is confirmed, and who is in goes out', async () => {
  const { svc, mailsTo } = posted
  const [stored] = await createUsers(svc, { user: { login: 'unsure', email: 'unsure@example.org' } })
  const token = (await signIn(svc, 'unsure', 'unsure')).body.access_token
  const asked = await change(stored, { confirm_email: true })
  assert.ok(Date.parse(asked.user.confirm_email_sent_at))
  assert.equal(asked.user.email_confirmed_at, undefined)
  assert.equal(await statusWith(svc, token), 401)
  const refused = await signIn(svc, 'unsure', 'unsure')
  const wrong = await signIn(svc, 'unsure', 'wrong')
  assert.deepEqual([refused.status, refused.body], [wrong.status, wrong.body], 'like a wrong password')
  const [logout] = (await eventsOf(svc, 'USER_LOGOUT')).slice(-1)
  assert.equal(logout.event.info.reason, 'email_unconfirmed')

  const [mail] = await mailsTo('unsure@example.org')
  const visitor = new TestVisitor(svc)
  const page = await visitor.get(linkOf(mail))
  assert.match(page.body, /Does the address unsure@example\.org belong to you\?/)
  assert.equal((await signIn(svc, 'unsure', 'unsure')).status, 400, 'looking confirms nothing')
  const done = await visitor.submit(page, {})
  assert.match(done.body, /Address confirmed/)
  assert.equal((await signIn(svc, 'unsure', 'unsure')).status, 200)
  assert.equal((await visitor.submit(page, {})).status, 400, 'once')
  const [confirmed] = (await root().get(`/user/${stored.user._id}`)).body
  assert.ok(Date.parse(confirmed.user.email_confirmed_at))
  assert.equal((await mailsTo('unsure@example.org')).length, 1)

  // Another address has to be confirmed again, and the link for the old one is void.
  await change(stored, { confirm_email: false })
  await change(stored, { confirm_email: true })
  const links = (await mailsTo('unsure@example.org')).map(linkOf)
  const moved = await change(stored, { email: 'moved@example.org' })
  assert.equal(moved.user.email_confirmed_at, undefined)
  assert.equal((await visitor.get(links[1] ?? '')).status, 400)
  const next = await visitor.get(linkOf((await mailsTo('moved@example.org'))[0]))
  assert.equal((await visitor.submit(next, {})).status, 200)
  assert.equal((await signIn(svc, 'unsure', 'unsure')).status, 200)
})

test('mails that cannot be sent are refused, and only those who manage users ask for them', async () => {
  const { svc } = posted
  const [stored] = await createUsers(svc, { user: { login: 'plain' } })
  const send = (members: Json) => root().post('/user', [{ user: { _id: stored.user._id, _version: 1, ...members } }])
  for (const name of ['confirm_email', 'welcome_email']) {
    const answer = await send({ [name]: true })
    assert.deepEqual([answer.status, answer.body.parameters.path], [400, `[0].user.${name}`], 'no address')
    const own = await svc
      .as('plain')
      .post('/user', [{ user: { _id: stored.user._id, _version: 1, [name]: true, email: 'x@y.z' } }])
    assert.equal(own.status, 403)
  }
  const [system] = (await root().get('/user/1')).body
  const locked = await root().post('/user', [
    { user: { _id: 1, _version: system.user._version, email: 'root@example.org', confirm_email: true } },
  ])
  assert.deepEqual([locked.body.code, locked.body.parameters.column], ['ColumnCanNotBeUpdated', 'user.confirm_email'])
  const { body: server } = await root().get('/config/system/config/email_server')
  await root().delete('/config/system/config/email_server')
  const none = await send({ email: 'plain@example.org', welcome_email: true })
  assert.deepEqual([none.status, none.body.code], [400, 'ServerGeneric'])
  assert.match(none.body.message, /no mail server/)
  assert.equal((await root().post('/config/system/config/email_server', server)).status, 200)
})

test('people register with their address, with what the base configuration asks for, and confirm it', async () => {
  const { svc, mailsTo } = posted
  const [group] = await createGroups(svc, { group: { name: 'Guests of the house' } })
  const visitor = new TestVisitor(svc)
  const closed = await visitor.get('/api/page/register')
  assert.match(closed.body, /Nobody can create an account/, 'off from the start')
  assert.equal((await visitor.post('/api/page/register', {})).status, 400)
  const settings = {
    active: true,
    info: { 'en-US': 'For researchers.' },
    terms: { 'en-US': 'For research only.' },
    fields: [{ name: 'last_name', required: true }, { name: 'company' }],
    // System groups and groups that are gone are not given.
    groups: [{ group_id: group.group._id }, { group_id: 3 }, { group_id: 99_999 }],
  }
  assert.equal((await root().post('/config/system/config/registration', settings)).status, 200)
  assert.match((await visitor.authorize()).body, /<a href="\/api\/page\/register">Create an account<\/a>/)
  const page = await visitor.get('/api/page/register')
  assert.match(page.body, /For researchers\.[\s\S]*For research only\./)
  assert.doesNotMatch(page.body, /name="first_name"/)
  const good = {
    email: 'Reader@Example.org',
    last_name: 'Read<er>',
    first_name: 'not asked for',
    company: '',
    terms: '1',
  }
  for (const [wrong, problem] of [
    [{ email: 'no address' }, 'Enter your e-mail address.'],
    [{ last_name: ' ' }, 'Fill in: Last name.'],
    [{ last_name: 'x'.repeat(201) }, 'This is too long: Last name.'],
    [{ terms: '' }, 'Without your agreement there is no account.'],
  ] as const) {
    const answer = await visitor.submit(page, { ...good, ...wrong }, { 'x-forwarded-for': '192.0.2.50' })
    assert.match(answer.body, new RegExp(`id="problem">${problem}`))
    assert.match(answer.body, /value="Re|value=" |value="xx/, 'what was typed stays')
  }
  const sent = await visitor.submit(page, good)
  assert.deepEqual([sent.status, /Look into your mail/.test(sent.body)], [200, true])
  const [mail] = await mailsTo('Reader@Example.org')
  assert.match(textOf(mail as never), /^Hello Reader@Example\.org,/, 'nothing that strangers have typed')
  const link = await visitor.get(linkOf(mail))
  const password = { new_password: 'long enough', again: 'long enough' }
  assert.equal((await visitor.submit(link, password)).status, 200)
  const token = (await signIn(svc, 'reader@example.org', 'long enough')).body.access_token
  const session = await svc.inject({
    method: 'GET',
    url: '/api/v1/user/session',
    headers: { authorization: `Bearer ${token}` },
  })
  const { user, groups } = session.json() as Json
  assert.deepEqual(
    [user.user.type, user.user.email, user.user.last_name, user.user.first_name, user.user.company],
    ['native_self_register', 'Reader@Example.org', 'Read<er>', undefined, undefined],
  )
  assert.deepEqual(
    groups.map((one: Json) => one.group._id),
    [1, 2, 4, group.group._id],
  )
  const [event] = (await eventsOf(svc, 'USER_INSERT')).slice(-1)
  assert.equal(event.event.object_id, user.user._id)

  // Whoever tries an address that has an account learns nothing; its user does.
  const known = await new TestVisitor(svc).get('/api/page/register')
  const other = new TestVisitor(svc)
  const again = await other.submit(await other.get('/api/page/register'), good)
  assert.equal(known.status, 200)
  assert.equal(again.body, sent.body)
  const [, told] = await mailsTo('Reader@Example.org')
  assert.match(told?.data ?? '', /Subject: You have an account: Museum/)
  assert.equal((await signIn(svc, 'reader@example.org', 'long enough')).status, 200, 'the password stays')
  await root().delete('/config/system/config/registration')
})

test('who registers twice before confirming gets the mail again, at most three an hour', async () => {
  const { svc, mailsTo } = posted
  await root().post('/config/system/config/registration', { active: true, fields: [] })
  for (let n = 1; n <= 5; n++) {
    const visitor = new TestVisitor(svc)
    const page = await visitor.get('/api/page/register')
    const form = { email: 'twice@example.org' }
    assert.equal((await visitor.submit(page, form, { 'x-forwarded-for': `192.0.2.${n}` })).status, 200)
    await svc.drain()
  }
  const mails = await mailsTo('twice@example.org')
  assert.equal(mails.length, 3)
  // Any of the mails will do, and the others are void then.
  const visitor = new TestVisitor(svc)
  const chosen = { new_password: 'chosen here', again: 'chosen here' }
  assert.equal((await visitor.submit(await visitor.get(linkOf(mails[2])), chosen)).status, 200)
  assert.equal((await signIn(svc, 'twice@example.org', 'chosen here')).status, 200)
  assert.equal((await visitor.get(linkOf(mails[0]))).status, 400)
  await root().delete('/config/system/config/registration')
})

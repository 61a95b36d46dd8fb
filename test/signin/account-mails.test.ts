import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { attachService } from '../support/service.ts'
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
    terms_version: 'May',
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
    [{ terms_version: 'April' }, 'Without your agreement there is no account.'],
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
  assert.equal(user._terms_accepted.version, 'May')
  assert.ok(Math.abs(Date.now() - Date.parse(user._terms_accepted.accepted_at)) < 600_000)
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

test('CLIENT-023 a user of type email signs in with login and UUID in place of a password, which the welcome mail brings', async () => {
  const { svc, mailsTo } = posted
  const [stored] = await createUsers(svc, {
    user: { login: 'lender', email: 'lender@example.org', type: 'email', welcome_email: true },
    _password: undefined,
  })
  assert.equal(stored.user.type, 'email')
  const [mail] = await mailsTo('lender@example.org')
  const text = textOf(mail as never)
  assert.match(text, /You sign in as lender, without a password[\s\S]*enter this/)
  const [uuid = ''] = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/.exec(text) ?? []
  for (const [login, typed] of [
    ['lender', uuid],
    ['LENDER@example.org', ` ${uuid.toUpperCase()} `],
  ] as const) {
    const { status, body } = await signIn(svc, login, typed)
    assert.equal(status, 200, login)
    assert.equal(await statusWith(svc, body.access_token), 200)
  }
  const page = (auth_method: string) => new TestVisitor(svc).signIn('lender', uuid, { auth_method })
  assert.equal((await page('email')).location?.pathname, '/app/callback')
  assert.equal((await page('collection,email')).location?.pathname, '/app/callback')
  assert.equal((await page('native')).status, 200, 'it is no password')
  for (const typed of ['00000000-0000-4000-8000-000000000000', 'lender', '']) {
    const wrong = await new TestVisitor(svc).signIn('lender', typed, { auth_method: 'email' })
    assert.deepEqual([wrong.status, wrong.location], [200, null], 'only its own UUID')
  }
  const methods = (await eventsOf(svc, 'USER_LOGIN')).filter(({ event }) => event.object_id === stored.user._id)
  assert.deepEqual(new Set(methods.map(({ event }) => event.info.method)), new Set(['email']))
  // Nobody finds it anywhere else.
  const shown = [await root().get(`/user/${stored.user._id}`), await root().get('/event/list')]
  assert.ok(!JSON.stringify(shown.map(({ body }) => body)).includes(uuid))
  const { rows } = await svc.db.query<{ kept: string }>('select u::text as kept from "user" u where login = $1', [
    'lender',
  ])
  assert.ok(!rows[0]?.kept.includes(uuid) && !rows[0]?.kept.includes(Buffer.from(uuid).toString('hex')))
  // Sent again it is the same; nobody gives such an account a password; of another type it is void for good.
  await change(stored, { welcome_email: false })
  await change(stored, { welcome_email: true })
  assert.ok(textOf((await mailsTo('lender@example.org'))[1] as never).includes(uuid))
  // With another address it is another one, which goes there: the former mailbox opens nothing any more.
  await change(stored, { email: 'lender@example.com' })
  const moved = textOf((await mailsTo('lender@example.com'))[0] as never)
  const [other = ''] = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/.exec(moved) ?? []
  assert.notEqual(other, uuid)
  assert.equal((await signIn(svc, 'lender', uuid)).status, 400)
  assert.equal((await signIn(svc, 'lender', other)).status, 200)
  await change(stored, { company: 'Loans' })
  assert.equal((await signIn(svc, 'lender', other)).status, 200, 'until the address changes again')
  const { _id } = stored.user
  const version = async () => (await root().get(`/user/${_id}`)).body[0].user._version
  const refused = await root().post('/user', [{ user: { _id, _version: await version() }, _password: 'of my own' }])
  assert.equal(refused.body.code, 'UnableToSetPasswordForUserType')
  await change(stored, { type: 'native' })
  assert.equal((await signIn(svc, 'lender', other)).status, 400)
  await change(stored, { type: 'email' })
  assert.equal((await signIn(svc, 'lender', other)).status, 400)
})

test('UUIDs are sealed and throttled like passwords; a wrong one answers like one of an account that may not sign in', async () => {
  const { svc, mailsTo } = posted
  const [stored] = await createUsers(svc, {
    user: { login: 'courier', email: 'courier@example.org', type: 'email', welcome_email: true },
    _password: undefined,
  })
  const uuidIn = async () => /[0-9a-f-]{36}/.exec(textOf((await mailsTo('courier@example.org')).at(-1) as never))?.[0]
  const uuid = (await uuidIn()) ?? ''
  const wrong = await signIn(svc, 'courier', '00000000-0000-4000-8000-000000000000')
  const none = await signIn(svc, 'courier', '')
  await change(stored, { login_disabled: true })
  const disabled = await signIn(svc, 'courier', uuid)
  assert.deepEqual([wrong.status, wrong.body], [400, disabled.body])
  assert.equal(none.status, 400)
  await change(stored, { login_disabled: false })
  const keys = { secretKey: 'another key, of thirty-two letters', secretKeyBefore: svc.config.secretKey }
  await using next = await attachService(svc.dsn, keys)
  assert.equal((await signIn(next, 'courier', uuid)).status, 200)
  assert.equal((await signIn(svc, 'courier', uuid)).status, 400, 'it is sealed anew')
  await root().post('/config/system/config/password/blockclient', { attempts: 3, minutes: 5 })
  // What was wrong before is forgotten.
  assert.equal((await signIn(next, 'courier', uuid)).status, 200)
  for (let attempt = 0; attempt < 3; attempt++) assert.equal((await signIn(next, 'courier', 'wrong')).status, 400)
  assert.equal((await signIn(next, 'courier', uuid)).status, 429)
  await root().post('/config/system/config/password/blockclient', { attempts: 0, minutes: 5 })
})

test('accounts of type collection are there; nobody signs in by one that no share has made', async () => {
  const { svc } = posted
  const save = (more: Json) => root().post('/user', [{ user: { type: 'collection', ...more.user }, ...more.members }])
  const made = await save({})
  assert.deepEqual([made.status, made.body[0]?.user.type], [200, 'collection'])
  const listed = (await root().get('/user')).body.map(({ user }: Json) => user._id)
  assert.ok(!listed.includes(made.body[0].user._id), 'listed where asked for')
  assert.equal((await root().get('/user', { type: 'collection' })).body.length, 1)
  const pins = await save({ members: { _collection_pin_codes: [{ collection_id: 4, pin_code: '1234' }] } })
  assert.deepEqual([pins.status, JSON.stringify(pins.body).includes('_collection_pin_codes')], [400, true])
  const password = await save({ members: { _password: 'a password' } })
  assert.equal(password.body.code, 'UnableToSetPasswordForUserType')
  assert.equal((await signIn(svc, String(made.body[0].user._id), 'x')).status, 400)
  const page = await new TestVisitor(svc).authorize({ auth_method: 'collection' })
  assert.equal(page.status, 200)
})

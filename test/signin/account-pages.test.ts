import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { linkOf, type PostedService, startWithMail, textOf } from './account-support.ts'
import { type BrowserAnswer, TestVisitor } from './sign-in-browser.ts'
import { createUsers, eventsOf, signIn, statusWith } from './support.ts'

/** Forced and forgotten passwords, as people meet them on pages. */
let posted: PostedService
before(async () => {
  posted = await startWithMail()
})
after(() => posted[Symbol.asyncDispose]())

const address = ({ location }: BrowserAnswer): string => `${location?.pathname}${location?.search}`
const headingOf = ({ body }: BrowserAnswer): string => /<h1>([^<]*)<\/h1>/.exec(body)?.[1] ?? ''
const problemOf = ({ body }: BrowserAnswer): string => /role="alert" id="problem">([^<]*)</.exec(body)?.[1] ?? ''
const chosen = (password: string, again = password) => ({ new_password: password, again })

test('whoever has to set a new password does so between sign-in and code; nothing else is taken', async () => {
  const { svc } = posted
  await createUsers(svc, { user: { login: 'forced', require_password_change: true } })
  const before = (await signIn(svc, 'forced', 'forced')).body.access_token
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.signIn('forced', 'forced')
  assert.deepEqual([toPage.status, toPage.location?.pathname], [303, '/api/page/setPassword'])
  const page = await visitor.get(address(toPage))
  assert.deepEqual([page.status, headingOf(page)], [200, 'Set a new password'])
  assert.match(page.body, /autocomplete="new-password"/)
  for (const [values, problem] of [
    [chosen(''), 'Enter a new password.'],
    [chosen('one password', 'another'), 'The two passwords are not the same.'],
    [chosen('x'.repeat(101)), 'A password has at most 100 characters.'],
    [chosen('forced'), 'This is the password that you have already. Choose another one.'],
  ] as const) {
    const again = await visitor.submit(page, values)
    assert.deepEqual([again.status, problemOf(again)], [200, problem])
  }
  await svc.as('root').post('/config/system/config/password', {
    check: [{ regexp: '.{12}' }],
    hint: { 'en-US': 'Twelve characters & more.' },
  })
  assert.equal(problemOf(await visitor.submit(page, chosen('short'))), 'Twelve characters &#38; more.')
  await svc.as('root').delete('/config/system/config/password')
  assert.equal((await new TestVisitor(svc).get(address(toPage))).status, 400, 'in another browser')

  const passed = await visitor.submit(page, chosen('a better one'))
  assert.deepEqual([passed.status, passed.location?.pathname], [303, '/api/oauth2/auth'])
  const done = await visitor.get(address(passed))
  assert.equal(done.location?.pathname, '/app/callback')
  assert.equal((await visitor.redeem(done.location?.searchParams.get('code') ?? '')).status, 200)
  assert.equal(await statusWith(svc, before), 401, 'sessions from before have ended')
  assert.equal((await signIn(svc, 'forced', 'forced')).status, 400)
  assert.equal((await new TestVisitor(svc).signIn('forced', 'a better one')).location?.pathname, '/app/callback')
  const [event] = (await eventsOf(svc, 'USER_UPDATE')).slice(-1)
  assert.equal(event.event.info.login, 'forced')
})

test('who has become a user of a directory is neither let in by the password of before nor asked for a new one', async () => {
  const { svc } = posted
  const [user] = await createUsers(svc, { user: { login: 'directory', require_password_change: true } })
  const { _id: id, _version } = user.user
  const change = await svc.as('root').post('/user', [{ user: { _id: id, _version, type: 'ldap' } }])
  assert.equal(change.status, 200, JSON.stringify(change.body))
  const page = await new TestVisitor(svc).signIn('directory', 'directory')
  assert.deepEqual([page.status, page.location], [200, null])
  assert.equal(problemOf(page), 'The login or the password is wrong, or this account cannot be used now.')
})

test('a forgotten password: a mail with a link that is good once, for an hour', async () => {
  const { svc, mailsTo } = posted
  await createUsers(svc, {
    user: { login: 'forgetful', email: 'forgetful@example.org', frontend_language: 'de-DE', first_name: 'Ada' },
  })
  const token = (await signIn(svc, 'forgetful', 'forgetful')).body.access_token
  const visitor = new TestVisitor(svc)
  const login = await visitor.authorize()
  assert.match(login.body, /<a href="\/api\/page\/forgotPassword">Forgot your password\?<\/a>/)
  const page = await visitor.get('/api/page/forgotPassword')
  assert.equal(problemOf(await visitor.submit(page, { login: ' ' })), 'Enter your login or your e-mail address.')
  const sent = await visitor.submit(page, { login: 'Forgetful' })
  assert.deepEqual([sent.status, headingOf(sent)], [200, 'Look into your mail'])
  const [mail] = await mailsTo('forgetful@example.org')
  assert.match(mail?.data ?? '', /Subject: Ein neues Passwort: /)
  assert.match(textOf(mail as never), /^Hallo Ada,/)
  const { rows } = await svc.db.query<{ hash: Buffer }>('select hash from account_token')
  const link = linkOf(mail)
  assert.ok(!rows.some(({ hash }) => link.includes(hash.toString('base64url'))), 'only a hash is stored')

  // The mail may be opened elsewhere, and by programs that only look.
  const elsewhere = new TestVisitor(svc)
  for (const _ of [1, 2]) assert.equal(headingOf(await elsewhere.get(link)), 'Set a new password')
  const form = await elsewhere.get(link)
  assert.equal(String(form.headers['referrer-policy']), 'no-referrer')
  assert.equal(problemOf(await elsewhere.submit(form, chosen('a', 'b'))), 'The two passwords are not the same.')
  const both = await Promise.all([1, 2].map((n) => elsewhere.submit(form, chosen(`found again ${n}`))))
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 400], 'one of two at once')
  const won = both[0]?.status === 200 ? 1 : 2
  assert.equal(await statusWith(svc, token), 401)
  assert.equal((await signIn(svc, 'forgetful', `found again ${won}`)).status, 200)
  const used = await elsewhere.get(link)
  assert.deepEqual([used.status, headingOf(used)], [400, 'This link is of no use any more'])
  for (const wrong of ['', '?token=', '?token=x', `?token=${'x'.repeat(43)}`]) {
    assert.equal((await elsewhere.get(`/api/page/resetPassword${wrong}`)).status, 400)
  }
})

test('the answer to a forgotten password is the same for whatever is typed, and tells nothing', async () => {
  const { svc, server, mailsTo } = posted
  const [, disabled] = await createUsers(
    svc,
    { user: { login: 'there', email: 'there@example.org' } },
    { user: { login: 'off', email: 'off@example.org', login_disabled: true } },
    { user: { login: 'no-mail' } },
    { user: { login: 'ldap', email: 'ldap@example.org', type: 'ldap' }, _password: null },
  )
  assert.ok(disabled)
  await svc.drain()
  const before = server.mails.length
  const bodies = new Set<string>()
  for (const login of ['there', 'there@example.org', 'off', 'no-mail', 'ldap', 'nobody', 'nobody@example.org']) {
    const visitor = new TestVisitor(svc)
    const answer = await visitor.submit(await visitor.get('/api/page/forgotPassword'), { login })
    assert.equal(answer.status, 200)
    bodies.add(answer.body)
  }
  assert.equal(bodies.size, 1)
  assert.equal((await mailsTo('there@example.org')).length, 2)
  assert.equal(server.mails.length, before + 2)
})

test('nobody is flooded with mail: three an hour for an account, and an address may ask so often only', async () => {
  const { svc, mailsTo } = posted
  await createUsers(svc, { user: { login: 'flooded', email: 'flooded@example.org' } })
  const ask = async (ip: string) => {
    const visitor = new TestVisitor(svc)
    const headers = { 'x-forwarded-for': ip }
    const page = await visitor.get('/api/page/forgotPassword')
    return visitor.submit(page, { login: 'flooded' }, headers)
  }
  for (let n = 1; n <= 10; n++) assert.equal((await ask('198.51.100.7')).status, 200)
  const blocked = await ask('198.51.100.7')
  assert.equal(blocked.status, 429)
  assert.match(problemOf(blocked), /too many attempts/)
  assert.equal((await ask('198.51.100.8')).status, 200)
  assert.equal((await mailsTo('flooded@example.org')).length, 3)
  // Signing in is another matter.
  assert.equal((await signIn(svc, 'flooded', 'flooded')).status, 200)
})

test('a link is void when the password or the address has changed, and for those who may not sign in', async () => {
  const { svc, mailsTo } = posted
  const root = svc.as('root')
  const change = async (id: number, members: object): Promise<void> => {
    const [{ user }] = (await root.get(`/user/${id}`)).body
    const { user: fields, ...rest } = { user: {}, ...members }
    const answer = await root.post('/user', [{ user: { _id: id, _version: user._version, ...fields }, ...rest }])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const cases: [name: string, act: (id: number) => Promise<unknown>][] = [
    ['password', (id) => change(id, { _password: 'set by somebody else' })],
    ['address', (id) => change(id, { user: { email: 'moved@example.org' } })],
    ['archived', (id) => root.delete(`/user/${id}`, undefined, { delete_policy: 'archive' })],
    ['deleted', (id) => root.delete(`/user/${id}`, undefined, { delete_policy: 'delete' })],
  ]
  for (const [index, [name, act]] of cases.entries()) {
    const email = `${name}@void.org`
    const [made] = await createUsers(svc, { user: { login: `void-${name}`, email } })
    const visitor = new TestVisitor(svc)
    const asked = await visitor.get('/api/page/forgotPassword')
    await visitor.submit(asked, { login: email }, { 'x-forwarded-for': `203.0.113.${index + 1}` })
    const link = linkOf((await mailsTo(email))[0])
    const page = await visitor.get(link)
    assert.equal(page.status, 200)
    await act(made.user._id)
    assert.equal((await visitor.get(link)).status, 400, name)
    assert.equal((await visitor.submit(page, chosen('too late'))).status, 400, name)
  }
})

test('without a mail server nobody is sent for a mail that never comes', async () => {
  const { svc } = posted
  const root = svc.as('root')
  const { body: server } = await root.get('/config/system/config/email_server')
  await root.delete('/config/system/config/email_server')
  const visitor = new TestVisitor(svc)
  assert.doesNotMatch((await visitor.authorize()).body, /forgotPassword/)
  const page = await visitor.get('/api/page/forgotPassword')
  assert.deepEqual([page.status, page.body.includes('<form')], [200, false])
  assert.match(page.body, /This service sends no mail/)
  await root.post('/config/system/config/email_server', server)
})

import assert from 'node:assert/strict'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createSeal } from '../../src/platform/secrets/seal.ts'
import type { Json } from '../support/client.ts'
import { temporaryFolder } from '../support/process.ts'
import { attachService, type TestService } from '../support/service.ts'
import { type PostedService, startWithMail, textOf } from './account-support.ts'
import { clientCodeOf, codeAt, codesIn, enrol, follow, keyIn, laterOn, pathOf } from './authenticator.ts'
import { type BrowserAnswer, formOf, TestVisitor } from './sign-in-browser.ts'
import { askedIn, SoftPasskey } from './soft-passkey.ts'
import { createGroups, createUsers, eventsOf } from './support.ts'

const people = ['ada', 'ben', 'cem', 'dora', 'eva', 'finn', 'gil'] as const

let posted: PostedService
let svc: TestService
before(async () => {
  posted = await startWithMail()
  svc = posted.svc
  const [group] = await createGroups(svc, { group: { name: 'careful' }, _two_fa_required: true })
  const _groups = [{ group: { _id: group.group._id } }]
  await createUsers(
    svc,
    ...people.map((login) => ({ user: { login, email: `${login}@example.org` }, _groups })),
    { user: { login: 'silent' }, _groups },
    { user: { login: 'free', email: 'free@example.org' } },
  )
  const all = { enabled: true, methods: ['email', 'passkey', 'totp'], allow_password_grant: false }
  assert.equal((await svc.as('root').post('/config/system/config/two_factor', all)).status, 200)
})
after(() => posted?.[Symbol.asyncDispose]())

async function begin(login: string, more: Record<string, string> = {}): Promise<[TestVisitor, BrowserAnswer]> {
  const visitor = new TestVisitor(svc)
  return [visitor, await follow(visitor, await visitor.signIn(login, login, more))]
}

/** The forms of a page, as a browser has them; the one whose button says this. */
function formNamed({ body }: BrowserAnswer, label: string): { action: string; fields: Record<string, string> } {
  const text = body.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
  const form = text.match(/<form[\s\S]*?<\/form>/g)?.find((one) => one.includes(`>${label}</button>`))
  assert.ok(form, `there is no button ${label}: ${text.slice(text.indexOf('<main'), 3000)}`)
  return formOf(form)
}

async function press(visitor: TestVisitor, page: BrowserAnswer, label: string, values: Record<string, string> = {}) {
  const { action, fields } = formNamed(page, label)
  return visitor.post(action, { ...fields, ...values }, { origin: 'http://localhost:8080' })
}

function linkTo({ body }: BrowserAnswer, part: string): string {
  const text = body.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
  const found = [...text.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href).find((href) => href.includes(part))
  assert.ok(found, `no link to ${part}`)
  return found
}

const lastCode = async (login: string): Promise<string> =>
  /^\d{6}$/m.exec(textOf((await posted.mailsTo(`${login}@example.org`)).at(-1) ?? ({ data: '\n\n' } as never)))?.[0] ??
  ''

test('a code comes by mail when it is asked for; it works once, for one sign-in, and not when another was sent', async () => {
  const [visitor, page] = await begin('ada')
  assert.match(page.body, /A code comes to a(…|&#8230;)@example\.org/)
  assert.equal((await posted.mailsTo('ada@example.org')).length, 0, 'to look at the page sends nothing')
  const asked = await press(visitor, page, 'Send the code')
  const first = await lastCode('ada')
  const [mail] = await posted.mailsTo('ada@example.org')
  assert.doesNotMatch(/^subject: .*$/im.exec(mail?.data ?? '')?.[0] ?? '', new RegExp(first))
  const again = await press(visitor, asked, 'Send another code')
  const second = await lastCode('ada')
  if (first !== second) assert.match((await press(visitor, again, 'Go on', { code: first })).body, /role="alert"/)
  const [other, otherPage] = await begin('ada')
  const otherAsked = await press(other, otherPage, 'Send the code')
  const third = await lastCode('ada')
  if (third !== second) {
    assert.match((await press(other, otherAsked, 'Go on', { code: second })).body, /role="alert"/, 'of another sign-in')
  }
  const { rows } = await svc.db.query('select encode(hash, $1) as hash from factor_mail_code', ['escape'])
  assert.ok(!JSON.stringify(rows).includes(second))
  const done = await follow(
    visitor,
    await press(visitor, again, 'Go on', { code: ` ${second.slice(0, 3)} ${second.slice(3)}` }),
  )
  assert.equal((await visitor.redeem(clientCodeOf(done) ?? '')).status, 200)
  const logins = (await eventsOf(svc, 'USER_LOGIN')).filter(({ event }) => event.info.login === 'ada')
  assert.equal(logins.at(-1)?.event.info.two_factor, 'email')
  await svc.db.query('update factor_mail_code set expires_at = now()')
  const late = await press(other, otherAsked, 'Go on', { code: third })
  assert.ok(late.status === 200 || late.location?.pathname === '/api/oauth2/auth', 'after ten minutes')
  assert.ok(!late.location?.searchParams.has('action_code'))
})

test('nobody is sent more than five codes in ten minutes, over all sign-ins and at once', async () => {
  const begun = await Promise.all(Array.from({ length: 8 }, () => begin('ben')))
  const answers = await Promise.all(begun.map(([visitor, page]) => press(visitor, page, 'Send the code')))
  assert.equal(answers.filter(({ body }) => body.includes('too many mails')).length, 3)
  assert.equal((await posted.mailsTo('ben@example.org')).length, 5)
})

test('OAUTH-007 GET /oauth2/auth answers 303 to twoFactor for one second factor, and to twoFactorChoose where there are several', async () => {
  const byGet = (login: string) => new TestVisitor(svc).authorize({ login, password: login })
  const one = await byGet('cem')
  assert.deepEqual([one.status, one.location?.pathname], [303, '/api/page/twoFactor'])
  const [visitor, page] = await begin('cem')
  const sent = await press(visitor, page, 'Send the code')
  assert.ok(clientCodeOf(await follow(visitor, await press(visitor, sent, 'Go on', { code: await lastCode('cem') }))))
  const silent = await byGet('silent')
  assert.equal(silent.location?.pathname, '/api/page/twoFactorSetup', 'without an address there is no mail')
  const key = await setUpApp('dora')
  const several = await byGet('dora')
  assert.deepEqual([several.status, several.location?.pathname], [303, '/api/page/twoFactorChoose'])
  const [chooser, choice] = await begin('dora')
  assert.deepEqual(
    [...choice.body.matchAll(/class="button second"[^>]*>([^<]+)</g)].map(([, label]) => label),
    ['Use the authenticator app', 'Get a code by e-mail', 'Use a recovery code'],
  )
  await laterOn(svc)
  const code = await chooser.get(linkTo(choice, 'method=totp'))
  assert.ok(clientCodeOf(await follow(chooser, await chooser.submit(code, { code: codeAt(key) }))))
})

test('OAUTH-010 each page between credentials and code leads back to /oauth2/auth with auth_method=action_code', async () => {
  const root = svc.as('root')
  const set = async (...methods: string[]) => {
    const two_factor = { enabled: true, methods, allow_password_grant: false }
    assert.equal((await root.post('/config/system/config/two_factor', two_factor)).status, 200)
  }
  type Pass = (page: BrowserAnswer) => Promise<BrowserAnswer>
  /** Passes the page that an answer leads to; what comes then. */
  const through = async (visitor: TestVisitor, name: string, toPage: BrowserAnswer, pass: Pass) => {
    assert.deepEqual([toPage.status, toPage.location?.pathname], [303, `/api/page/${name}`])
    const back = await pass(await follow(visitor, toPage))
    const way = [back.status, back.location?.pathname, back.location?.searchParams.get('auth_method')]
    assert.deepEqual(way, [303, '/api/oauth2/auth', 'action_code'], name)
    return follow(visitor, back)
  }

  await set('totp')
  const finn = new TestVisitor(svc)
  let key: Buffer = Buffer.alloc(0)
  const withApp = await through(finn, 'twoFactorSetup', await finn.signIn('finn', 'finn'), async (page) => {
    key = keyIn(page)
    return finn.submit(await finn.submit(page, { code: codeAt(key) }), {})
  })
  assert.ok(clientCodeOf(withApp))

  await set('passkey')
  const gil = new TestVisitor(svc)
  const passkey = new SoftPasskey()
  const withKey = await through(gil, 'twoFactorSetupPasskey', await gil.signIn('gil', 'gil'), async (page) => {
    const shown = await gil.submit(page, { passkey: passkey.create(askedIn(page)), name: 'desk' })
    return gil.submit(shown, {})
  })
  assert.ok(clientCodeOf(withKey))
  const next = await through(gil, 'twoFactor', await gil.signIn('gil', 'gil'), (page) =>
    gil.submit(page, { passkey: passkey.get(askedIn(page)) }),
  )
  assert.ok(clientCodeOf(next))

  await set('email', 'passkey', 'totp')
  const record = (await root.get('/user')).body.find(({ user }: Json) => user.login === 'finn')
  const { _id, _version } = record.user
  const saved = await root.post('/user', [{ user: { _id, _version, require_password_change: true } }])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const careful = record._groups.find(({ group }: Json) => group.name === 'careful')
  const message = { title: { 'en-US': 'News' }, message: { 'en-US': 'Read this.' } }
  const told = await root.post('/message', [{ message, _groups: [{ group: { _id: careful.group._id } }] }])
  assert.equal(told.status, 200, JSON.stringify(told.body))
  await laterOn(svc)
  const chosen = await through(finn, 'twoFactorChoose', await finn.signIn('finn', 'finn'), async (choice) =>
    finn.submit(await finn.get(linkTo(choice, 'method=totp')), { code: codeAt(key) }),
  )
  const changed = await through(finn, 'setPassword', chosen, (page) =>
    finn.submit(page, { new_password: 'finn again', again: 'finn again' }),
  )
  const read = await through(finn, 'showMessage', changed, (page) => finn.submit(page, {}))
  await svc.db.query('delete from message')
  assert.equal((await finn.redeem(clientCodeOf(read) ?? '')).status, 200)
})

/** By a sign-in with a code from a mail, on the page for it. */
async function setUpApp(login: string): Promise<Buffer> {
  const [visitor, page] = await begin(login, { action: 'security' })
  const sent = await press(visitor, page, 'Send the code')
  const security = await follow(
    visitor,
    await follow(visitor, await press(visitor, sent, 'Go on', { code: await lastCode(login) })),
  )
  const setup = await visitor.get(linkTo(security, 'twoFactorSetup?'))
  const key = keyIn(setup)
  const shown = await visitor.submit(setup, { code: codeAt(key) })
  assert.equal(codesIn(shown).length, 10)
  return key
}

test('users set up and remove factors by their own choice, behind password and factor, and come back to their program', async () => {
  const [visitor, page] = await begin('free', { action: 'security' })
  assert.match(page.body, /<h1>Sign-in and security<\/h1>/)
  const setup = await visitor.get(linkTo(page, 'twoFactorSetup?'))
  const key = keyIn(setup)
  const shown = await visitor.submit(setup, { code: codeAt(key) })
  const back = await follow(visitor, await follow(visitor, await visitor.submit(shown, {})))
  assert.match(back.body, /An app is set up/)
  assert.match(back.body, /10 are left/)
  const passkeyPage = await visitor.get(linkTo(back, 'twoFactorSetupPasskey'))
  const passkey = new SoftPasskey()
  const added = await visitor.submit(passkeyPage, { passkey: passkey.create(askedIn(passkeyPage)), name: 'desk' })
  const both = await follow(visitor, await follow(visitor, added))
  const id = /name="id" value="([^"]+)"/.exec(both.body)?.[1] ?? ''
  const renamed = await press(visitor, both, 'Rename desk', { [`name-${id}`]: 'shelf' })
  assert.match(renamed.body, /Remove shelf/)
  const codes = await press(visitor, renamed, 'Give me new codes; the old ones end')
  assert.equal(codesIn(codes).filter((one) => codesIn(shown).includes(one)).length, 0)
  const last = await follow(visitor, await follow(visitor, await visitor.submit(codes, {})))
  const withoutPasskey = await press(visitor, last, 'Remove shelf')
  assert.match(withoutPasskey.body, /There is no passkey/)
  const done = await follow(visitor, await press(visitor, withoutPasskey, 'Done'))
  const tokens = await visitor.redeem(clientCodeOf(done) ?? '')
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const session = await svc.inject({
    url: '/api/v1/user/session',
    headers: { authorization: `Bearer ${tokens.body.access_token}`, cookie },
  })
  assert.equal(session.json().user._two_factor_totp_enrolled, true)

  // The next time the app is asked for before anything is shown.
  const [next, first] = await begin('free', { action: 'security' })
  assert.ok(!first.body.includes('Remove the app'))
  const flow =
    /name="flow" value="([^"]+)"/.exec(first.body)?.[1] ?? linkTo(first, 'flow=').split('flow=')[1]?.split('&')[0] ?? ''
  assert.equal((await next.get('/api/page/security', { flow })).status, 400)
  for (const name of ['twoFactorSetup', 'twoFactorSetupPasskey']) {
    const past = await next.get(`/api/page/${name}`, { flow })
    assert.equal(past.location?.pathname, '/api/page/twoFactor', name)
  }
  await laterOn(svc)
  const asked = await next.get('/api/page/twoFactor', { flow, method: 'totp' })
  const page2 = await follow(next, await follow(next, await next.submit(asked, { code: codeAt(key) })))
  const removed = await press(next, page2, 'Remove the app')
  assert.match(removed.body, /No app is set up/)
  assert.ok(!removed.body.includes('are left'))
  assert.ok(clientCodeOf(await new TestVisitor(svc).signIn('free', 'free')), 'the password does again')
  const changes = (await eventsOf(svc, 'USER_UPDATE')).filter(({ event }) => event.info.login === 'free')
  // Both are set up, one gets another name, both are removed.
  assert.equal(changes.length, 5)
})

test('where a group asks for one, the last is not given up', async () => {
  const all = (methods: string[]) => ({ enabled: true, methods, allow_password_grant: false })
  const set = (methods: string[]) => svc.as('root').post('/config/system/config/two_factor', all(methods))
  await set(['totp'])
  const { key } = await enrol(svc, 'eva')
  const [visitor, page] = await begin('eva', { action: 'security' })
  await laterOn(svc)
  const security = await follow(visitor, await follow(visitor, await visitor.submit(page, { code: codeAt(key) })))
  const refused = await press(visitor, security, 'Remove the app')
  assert.match(refused.body, /role="alert"[^>]*>A group asks for a second step/)
  assert.match(refused.body, /An app is set up/)
  await set(['email', 'passkey', 'totp'])
})

test('a browser that stays signed in and a guest come to no page of security', async () => {
  const root = svc.as('root')
  await root.post('/config/system/config/login', { guest: true, keep_login: '7d' })
  const visitor = new TestVisitor(svc)
  await visitor.signIn('free', 'free', { auth_method: 'native' }, { keep_login: '1' })
  assert.ok(visitor.cookies.has('svc-keep-login'))
  for (const auth_method of ['auto', 'native']) {
    const answer = await visitor.authorize({ auth_method, action: 'security' })
    assert.deepEqual([answer.status, answer.body.includes('name="password"')], [200, true], auth_method)
    assert.match(answer.body, /name="action" value="security"/)
  }
  assert.equal((await visitor.authorize({ action: 'other' })).status, 400)
  await root.post('/config/system/config/login', { guest: false, keep_login: 'off' })
  // Opened without a sign-in, the page begins one, and ends with a word.
  const opened = await new TestVisitor(svc).get('/api/page/security')
  assert.deepEqual([opened.status, opened.location?.pathname], [303, '/api/oauth2/auth'])
  const person = new TestVisitor(svc)
  const form = await person.get(pathOf(opened))
  const security = await follow(person, await person.submit(form, { login: 'free', password: 'free' }))
  const away = await follow(person, await press(person, security, 'Done'))
  assert.equal(away.location?.pathname, '/api/page/security')
  assert.match((await follow(person, away)).body, /You can close this window/)
})

test('secrets of apps are sealed: no key, no code; another key seals them anew at the next start', async () => {
  const { key, headers } = await enrol(svc, 'silent')
  const secretOf = async () =>
    (
      await svc.db.query<{ secret: Buffer }>(
        `select totp_secret as secret from user_factor f join "user" u on u.id = f.user_id where u.login = 'silent'`,
      )
    ).rows[0]?.secret ?? Buffer.alloc(0)
  const sealed = await secretOf()
  assert.ok(!sealed.includes(key))
  const present = svc.config.secretKey
  const passes = async (at: TestService) => {
    await laterOn(svc)
    const visitor = new TestVisitor(at)
    const page = await follow(visitor, await visitor.signIn('silent', 'silent'))
    return (await visitor.submit(page, { code: codeAt(key) })).status === 303
  }
  {
    await using lost = await attachService(svc.dsn, { secretKey: 'another key, of thirty-two letters' })
    assert.deepEqual([await passes(lost), (await secretOf()).equals(sealed)], [false, true])
  }
  {
    const keys = { secretKey: 'another key, of thirty-two letters', secretKeyBefore: present }
    await using next = await attachService(svc.dsn, keys)
    assert.equal((await secretOf()).equals(sealed), false)
    assert.equal(await passes(next), true)
  }
  // One of a release before, as it is.
  await svc.db.query(
    `update user_factor set totp_secret = $1 where user_id = (select id from "user" where login = 'silent')`,
    [key],
  )
  await using now = await attachService(svc.dsn)
  assert.ok(!(await secretOf()).includes(key))
  assert.equal(await passes(now), true)
  assert.ok((await svc.inject({ url: '/api/v1/user/session', headers })).statusCode === 200)
})

test('without a configured key one is made in the data folder, for its owner alone, once', async () => {
  await using folder = await temporaryFolder()
  const settings = { dataDir: join(folder.path, 'data'), secretKey: null, secretKeyBefore: null }
  const [one, two] = [createSeal(settings), createSeal(settings)]
  const [a, b] = await Promise.all([one.seal(Buffer.from('first'), 'x'), two.seal(Buffer.from('second'), 'x')])
  assert.deepEqual(
    [String(await two.open(a, 'x')), String(await one.open(b, 'x')), await one.open(a, 'y')],
    ['first', 'second', null],
  )
  assert.equal((await stat(join(settings.dataDir, 'secret-key'))).mode & 0o777, 0o600)
  const changed = Buffer.from(a)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  for (const bad of [changed, a.subarray(0, 20), Buffer.alloc(0)]) assert.equal(await one.open(bad, 'x'), null)
  const moved = createSeal({ ...settings, secretKey: 'k'.repeat(32) })
  assert.equal(String(await moved.open(a, 'x')), 'first', 'what the folder had sealed still opens')
  assert.ok(!(await moved.seal(Buffer.from('z'), 'x')).subarray(1, 9).equals(a.subarray(1, 9)))
  await writeFile(join(settings.dataDir, 'secret-key'), '')
  await assert.rejects(createSeal(settings).prefix(), /is empty/)
})

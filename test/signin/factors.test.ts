import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { newRecoveryCodes, recoveryHash } from '../../src/signin/factors/recovery-codes.ts'
import { stepOf } from '../../src/signin/factors/totp.ts'
import { startService, type TestService } from '../support/service.ts'
import { clientCodeOf, codeAt, codesIn, type Enrolled, enrol, follow, keyIn, laterOn, pathOf } from './authenticator.ts'
import { type BrowserAnswer, TestVisitor } from './sign-in-browser.ts'
import { createGroups, createUsers, eventsOf, signIn } from './support.ts'

const people = ['ada', 'ben', 'cem', 'dora', 'eva', 'finn', 'gil', 'hana', 'ivo', 'jan'] as const

test('codes are those of RFC 6238 (appendix B), of the step before and behind too, and of no other', () => {
  const key = Buffer.from('12345678901234567890')
  const vectors: [seconds: number, code: string][] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ]
  for (const [seconds, code] of vectors) {
    const step = Math.floor(seconds / 30)
    const takenAt = (later: number) => stepOf(key, code, new Date((seconds + later * 30) * 1000))
    assert.deepEqual([-2, -1, 0, 1, 2].map(takenAt), [null, step, step, step, null], code)
    assert.equal(stepOf(key, ` ${code.slice(0, 3)} ${code.slice(3)} `, new Date(seconds * 1000)), step)
  }
  for (const typed of ['', '28708', '2870822', '28708x', '２８７０８２', '-87082'])
    assert.equal(stepOf(key, typed, new Date(59_000)), null)
})

test('recovery codes are ten, all different, and the same however they are typed', () => {
  const codes = newRecoveryCodes()
  assert.equal(new Set(codes).size, 10)
  for (const code of codes) {
    assert.match(code, /^([a-z2-9]{4}-){3}[a-z2-9]{4}$/)
    assert.ok(recoveryHash(7, code).equals(recoveryHash(7, ` ${code.toUpperCase().replaceAll('-', ' ')} `)))
    assert.ok(!recoveryHash(7, code).equals(recoveryHash(8, code)))
  }
})

suite('a group that asks for a second factor', () => {
  let svc: TestService
  before(async () => {
    svc = await startService({ trustedProxies: ['loopback'] })
    const [group] = await createGroups(svc, { group: { name: 'careful' }, _two_fa_required: true })
    assert.equal(group._two_fa_required, true)
    const _groups = [{ group: { _id: group.group._id } }]
    await createUsers(svc, ...people.map((login) => ({ user: { login }, _groups })), { user: { login: 'plain' } })
  })
  after(() => svc[Symbol.asyncDispose]())

  /** As far as the page that asks for a code. */
  async function toCodePage(login: string): Promise<[TestVisitor, BrowserAnswer]> {
    const visitor = new TestVisitor(svc)
    const toPage = await visitor.signIn(login, login)
    assert.deepEqual([toPage.status, toPage.location?.pathname], [303, '/api/page/twoFactor'])
    return [visitor, await follow(visitor, toPage)]
  }
  /** The page for recovery codes behind it. */
  async function toRecoveryPage(login: string): Promise<[TestVisitor, BrowserAnswer]> {
    const [visitor, page] = await toCodePage(login)
    const body = page.body.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    const link = /href="([^"]*method=recovery[^"]*)"/.exec(body)?.[1]
    return [visitor, await visitor.get(link ?? '')]
  }
  const userOf = async (login: string) =>
    (await svc.as('root').get('/user')).body.find(({ user }: { user: { login: string } }) => user.login === login)

  test('nobody gets to a page behind the second factor without it, not even to set a new password', async () => {
    const { key } = await enrol(svc, 'jan')
    const stored = await userOf('jan')
    const user = { ...stored.user, require_password_change: true }
    const saved = await svc.as('root').post('/user', [{ ...stored, user }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const [visitor, page] = await toCodePage('jan')
    const flow = /name="flow" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const [stolen, other] = [{ new_password: 'stolen', again: 'stolen' }, { action: '/api/page/setPassword' }]
    assert.equal((await visitor.get(`/api/page/setPassword?flow=${flow}`)).status, 400)
    const posted = await visitor.submit(
      { ...page, body: page.body.replaceAll('/api/page/twoFactor', other.action) },
      stolen,
    )
    assert.equal(posted.status, 400)
    assert.equal((await new TestVisitor(svc).signIn('jan', 'stolen')).status, 200, 'the password is the old one')
    const [again, codes] = await toCodePage('jan')
    const back = await again.submit(codes, { code: codeAt(key, 1) })
    assert.equal((await follow(again, back)).location?.pathname, '/api/page/setPassword', 'its turn comes behind it')
  })

  test('sets up an app at the next sign-in, which needs a valid code, and back at /oauth2/auth with auth_method=action_code', async () => {
    const visitor = new TestVisitor(svc)
    const toPage = await visitor.authorize({ login: 'ada', password: 'ada' })
    assert.deepEqual([toPage.status, toPage.location?.pathname], [303, '/api/page/twoFactorSetup'])
    const page = await follow(visitor, toPage)
    assert.equal(page.status, 200)
    const key = keyIn(page)
    assert.equal(key.length, 20)
    assert.match(page.body, /<img src="data:image\/svg\+xml;base64,/)
    assert.match(String(page.headers['content-security-policy']), /img-src 'self' data:/)
    assert.deepEqual(keyIn(await visitor.get(pathOf(toPage))), key, 'the same when the page is loaded again')
    const wrong = await visitor.submit(page, { code: codeAt(Buffer.from('another key')) })
    assert.deepEqual([wrong.status, keyIn(wrong)], [200, key])
    assert.match(wrong.body, /role="alert"/)
    assert.equal((await userOf('ada'))._two_factor_totp_enrolled, false, 'not before a code was right')
    const version = (await userOf('ada')).user._version

    const shown = await visitor.submit(wrong, { code: codeAt(key) })
    assert.equal(shown.status, 200)
    assert.equal(new Set(codesIn(shown)).size, 10)
    const stored = await userOf('ada')
    assert.deepEqual(
      [stored._two_factor_totp_enrolled, stored._two_factor_last_method, stored.user._version],
      [true, 'totp', version + 1],
    )
    const again = await visitor.get(pathOf(toPage))
    assert.notDeepEqual(keyIn(again), key, 'the key is not shown again')
    const back = await visitor.submit(shown, {})
    assert.deepEqual([back.status, back.location?.pathname], [303, '/api/oauth2/auth'])
    assert.equal(back.location?.searchParams.get('auth_method'), 'action_code')
    const done = await follow(visitor, back)
    const tokens = await visitor.redeem(clientCodeOf(done) ?? '')
    assert.equal(tokens.status, 200)
    const [login] = (await eventsOf(svc, 'USER_LOGIN')).filter(({ event }) => event.info.login === 'ada')
    assert.deepEqual([login?.event.info.method, login?.event.info.two_factor], ['native', 'totp'])
    const texts = JSON.stringify((await svc.db.query('select * from event')).rows)
    assert.ok(!texts.includes(key.toString('base64')) && !codesIn(shown).some((code) => texts.includes(code)))
  })

  test('asks for its code then: a code works once, and neither one of another key, nor an old one', async () => {
    // One moment for all codes: a step of thirty seconds may begin meanwhile, and its neighbours count too.
    const now = Date.now()
    const { key } = await enrol(svc, 'ben', now)
    const ofOther = await enrol(svc, 'cem')
    const [visitor, page] = await toCodePage('ben')
    const used = await visitor.submit(page, { code: codeAt(key, 0, now) })
    assert.equal(used.status, 200, 'it was used to set up the app')
    const foreign = await visitor.submit(page, { code: codeAt(ofOther.key, 1, now) })
    assert.equal(foreign.status, 200)
    const done = await follow(visitor, await visitor.submit(page, { code: codeAt(key, 1, now) }))
    assert.ok(clientCodeOf(done))

    const [next, nextPage] = await toCodePage('ben')
    assert.equal((await next.submit(nextPage, { code: codeAt(key, 1, now) })).status, 200, 'used')
    assert.equal((await next.submit(nextPage, { code: codeAt(key, 9, now) })).status, 200, 'not yet')
    await laterOn(svc)
    assert.equal((await next.submit(nextPage, { code: codeAt(key, 0, now) })).status, 303)
  })

  test('of two sign-ins with the same code at once one gets on', async () => {
    const { key } = await enrol(svc, 'dora')
    const [first, firstPage] = await toCodePage('dora')
    const [second, secondPage] = await toCodePage('dora')
    const code = codeAt(key, 1)
    const both = await Promise.all([first.submit(firstPage, { code }), second.submit(secondPage, { code })])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 303])
  })

  test('begins anew after three wrong codes, counts them with passwords, and says so in the log', async () => {
    const { key } = await enrol(svc, 'eva')
    const [visitor, page] = await toCodePage('eva')
    for (const _ of [1, 2]) assert.equal((await visitor.submit(page, { code: '000000' })).status, 200)
    const over = await visitor.submit(page, { code: '' })
    assert.deepEqual([over.status, over.location?.pathname], [303, '/api/oauth2/auth'])
    assert.match((await follow(visitor, over)).body, /too many wrong answers/)
    const late = await visitor.submit(page, { code: codeAt(key, 1) })
    assert.equal(late.status, 400, 'the sign-in is over')
    const failed = (await eventsOf(svc, 'USER_LOGIN_FAILED')).filter(({ event }) => event.info.login === 'eva')
    assert.deepEqual(
      failed.map(({ event }) => [event.info.attempt, event.info.two_factor, event.info.error]),
      [1, 2, 3].map((attempt) => [attempt, 'totp', 'wrong code']),
    )

    // Ten of them block the user, wherever the next comes from and whatever it is; and the password alone does not clear it.
    for (let wrong = 4; wrong <= 10; wrong++) {
      const [each, eachPage] = await toCodePage('eva')
      const headers = { 'x-forwarded-for': `192.0.2.${wrong}` }
      assert.equal((await each.submit(eachPage, { code: '000000' }, headers)).status, 200)
    }
    const [blocked, blockedPage] = await toCodePage('eva')
    const answer = await blocked.submit(blockedPage, { code: codeAt(key, 1) }, { 'x-forwarded-for': '198.51.100.9' })
    assert.equal(answer.status, 429)
    assert.match(answer.body, /too many attempts/i)
    await svc.db.query('update sign_in_failure set blocked_until = now()')
    assert.equal((await blocked.submit(blockedPage, { code: codeAt(key, 1) })).status, 303)
  })

  test('many guesses at once are no more than three', async () => {
    await enrol(svc, 'finn')
    const [visitor, page] = await toCodePage('finn')
    const answers = await Promise.all(Array.from({ length: 12 }, () => visitor.submit(page, { code: '000000' })))
    const counted = answers.map(({ status }) => status).toSorted()
    assert.deepEqual(counted, [200, 200, 303, ...Array.from({ length: 9 }, () => 400)])
  })

  test('belongs to its browser and its form, and nothing gets past it', async () => {
    const { key } = await enrol(svc, 'gil')
    const [visitor, page] = await toCodePage('gil')
    const flow = /name="flow" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    for (const name of ['twoFactor', 'twoFactorChoose', 'twoFactorSetup', 'twoFactorRecovery']) {
      const elsewhere = await new TestVisitor(svc).get(`/api/page/${name}`, { flow })
      assert.equal(elsewhere.status, 400, `${name} in another browser`)
      assert.equal((await visitor.get(`/api/page/${name}`, { flow: 'x' })).status, 400, `${name} of no sign-in`)
    }
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    for (const [name, form] of [
      ['twoFactorRecovery', {}],
      ['twoFactorSetup', { code: codeAt(key, 1) }],
    ] as const) {
      const past = await visitor.post(`/api/page/${name}`, { ...form, flow, csrf })
      assert.deepEqual([past.status, past.location?.pathname], [303, '/api/page/twoFactor'], name)
    }
    for (const method of ['email', 'passkey', 'none', '']) {
      const other = await visitor.get('/api/page/twoFactor', { flow, method })
      assert.match(other.body, /name="method" value="totp"/, method)
    }
    await svc.db.query('update login_flow set expires_at = now()')
    assert.equal((await visitor.submit(page, { code: codeAt(key, 1) })).status, 400, 'expired')
  })

  test('takes a recovery code in place of the app, once, and gives new ones or another app on request', async () => {
    const first: Enrolled = await enrol(svc, 'hana')
    const [code = '', other = '', third = ''] = first.recoveryCodes
    const [visitor, page] = await toRecoveryPage('hana')
    assert.match(page.body, /name="method" value="recovery"/)
    const done = await follow(visitor, await visitor.submit(page, { code: code.toUpperCase().replaceAll('-', '') }))
    assert.ok(clientCodeOf(done))
    await visitor.redeem(clientCodeOf(done) ?? '')
    const logins = (await eventsOf(svc, 'USER_LOGIN')).filter(({ event }) => event.info.login === 'hana')
    assert.deepEqual(
      logins.map(({ event }) => event.info.two_factor),
      ['totp', 'recovery'],
    )
    const [again, againPage] = await toRecoveryPage('hana')
    assert.equal((await again.submit(againPage, { code })).status, 200, 'used')
    const ofOther = (await enrol(svc, 'ivo')).recoveryCodes[0] ?? ''
    assert.equal((await again.submit(againPage, { code: ofOther })).status, 200, 'of another user')
    const { rows } = await svc.db.query('select recovery_hashes::text as hashes from user_factor')
    assert.ok(!first.recoveryCodes.some((one) => JSON.stringify(rows).includes(one)))

    // Another app, with a recovery code.
    const toSetup = await again.submit(againPage, { code: other, new_factor: '1' })
    assert.equal(toSetup.location?.pathname, '/api/page/twoFactorSetup')
    const setup = await follow(again, toSetup)
    const key = keyIn(setup)
    assert.notDeepEqual(key, first.key)
    const shown = await again.submit(setup, { code: codeAt(key) })
    assert.ok(clientCodeOf(await follow(again, await again.submit(shown, {}))))
    const [old, oldPage] = await toRecoveryPage('hana')
    assert.equal((await old.submit(oldPage, { code: third })).status, 200, 'replaced with the app')
    await laterOn(svc)
    const [wrong, wrongPage] = await toCodePage('hana')
    assert.equal(
      (await wrong.submit(wrongPage, { code: codeAt(first.key, 1) })).status,
      200,
      'the app before has ended',
    )

    // New codes, with the app.
    const renewed = await wrong.submit(wrongPage, { code: codeAt(key, 1), new_codes: '1' })
    assert.equal(renewed.status, 200)
    assert.equal(codesIn(renewed).filter((one) => codesIn(shown).includes(one)).length, 0)
    assert.ok(clientCodeOf(await follow(wrong, await wrong.submit(renewed, {}))))
    const [last, lastPage] = await toRecoveryPage('hana')
    assert.equal((await last.submit(lastPage, { code: codesIn(shown)[0] ?? '' })).status, 200, 'replaced')
    assert.equal((await last.submit(lastPage, { code: codesIn(renewed)[0] ?? '' })).status, 303)
  })

  test('who is in no such group, and root, sign in with the password', async () => {
    await createGroups(svc, { group: { name: 'spare' } })
    const all = (await svc.as('root').get('/group')).body.find(
      ({ group }: { group: { reference: string } }) => group.reference === ':all',
    )
    for (const login of ['plain', 'root']) {
      const password = login === 'root' ? (svc.config.rootPassword ?? '') : login
      assert.ok(clientCodeOf(await new TestVisitor(svc).signIn(login, password)), login)
    }
    const set = async (_two_fa_required: boolean | null) => {
      const { _version } = (await svc.as('root').get(`/group/${all.group._id}`)).body[0].group
      return svc.as('root').post('/group', [{ group: { _id: all.group._id, _version }, _two_fa_required }])
    }
    assert.equal((await set(true)).status, 200)
    assert.equal((await new TestVisitor(svc).signIn('plain', 'plain')).location?.pathname, '/api/page/twoFactorSetup')
    assert.ok(clientCodeOf(await new TestVisitor(svc).signIn('root', svc.config.rootPassword ?? '')))
    assert.equal((await signIn(svc, 'root', svc.config.rootPassword ?? '')).status, 200)
    assert.equal((await set(null)).body[0]._two_fa_required, false)
    assert.ok(clientCodeOf(await new TestVisitor(svc).signIn('plain', 'plain')))
  })
})

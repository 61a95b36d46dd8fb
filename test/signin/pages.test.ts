import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { html } from '../../src/platform/values/html.ts'
import { loginPage } from '../../src/signin/flows/login-page.ts'
import { pageTextTable } from '../../src/signin/pages/texts-doc.ts'
import type { LoginPart } from '../../src/signin/service.ts'
import { startService, type TestService } from '../support/service.ts'
import { formOf, TestVisitor } from './sign-in-browser.ts'
import { createUsers } from './support.ts'

/** A step like those of other capabilities: users named `asked…` must say `yes`. */
const question: LoginPart = {
  step: {
    name: 'question',
    phase: 'proof',
    page: async ({ login }) => (login?.startsWith('asked') ? 'question' : null),
  },
  pages: (flows) => [
    loginPage(flows, {
      name: 'question',
      step: 'question',
      show: async (visit, login) =>
        visit.send({
          title: 'Question',
          content: visit.form('/api/page/question', html`<button>Go on</button>`, { flow: login.id }),
          formTargets: [login.redirectUri],
        }),
      submit: async (visit, login, form) => {
        if (form.get('answer') === 'yes') return visit.reply.redirect(await flows.passed(login, 'question'), 303)
        const over = await flows.failed(login)
        if (over) return visit.reply.redirect(over, 303)
        await flows.note(login, 'question', { wrong: form.get('answer') ?? null })
        return visit.send({ title: 'Question', problem: 'No.', content: html`Again.` })
      },
    }),
  ],
}
/** One that comes later and is needed once the first is passed. */
const notice: LoginPart = {
  step: {
    name: 'notice',
    phase: 'notice',
    page: async ({ login, stepsDone, notes }) => {
      if (login !== 'asked-twice') return null
      assert.deepEqual(stepsDone, ['question'], 'notices come behind proofs')
      assert.deepEqual(notes, {})
      return 'notice'
    },
  },
  pages: (flows) => [
    loginPage(flows, {
      name: 'notice',
      step: 'notice',
      show: async (visit, login) => visit.reply.redirect(await flows.passed(login, 'notice'), 303),
    }),
  ],
}

let svc: TestService
before(async () => {
  svc = await startService({ loginParts: [notice, question] })
  await createUsers(svc, ...['plain', 'asked', 'asked-twice'].map((login) => ({ user: { login } })))
})
after(() => svc[Symbol.asyncDispose]())

test('a step leads to its page by 303 and comes back with an action code that works once', async () => {
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.signIn('asked', 'asked')
  assert.equal(toPage.status, 303)
  assert.equal(toPage.location?.pathname, '/api/page/question')
  const page = await visitor.get(`${toPage.location?.pathname}${toPage.location?.search}`)
  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-security-policy']), /form-action 'self' http:\/\/localhost:8080;/)
  const back = await visitor.submit(page, { answer: 'yes' })
  assert.deepEqual([back.status, back.location?.pathname], [303, '/api/oauth2/auth'])
  assert.equal(back.location?.searchParams.get('auth_method'), 'action_code')
  const address = `${back.location?.pathname}${back.location?.search}`
  const elsewhere = await new TestVisitor(svc).get(address)
  assert.equal(elsewhere.status, 400, 'of no use in another browser')
  const done = await visitor.get(address)
  assert.deepEqual([done.status, done.location?.pathname], [302, '/app/callback'])
  assert.equal(done.location?.searchParams.get('state'), visitor.state)
  assert.equal((await visitor.redeem(done.location?.searchParams.get('code') ?? '')).status, 200)
  const again = await visitor.get(address)
  assert.equal(again.status, 400, 'used')
  assert.equal((await visitor.get(`/api/page/question${toPage.location?.search}`)).status, 400, 'over')
  const { rows } = await svc.db.query('select from login_flow')
  assert.equal(rows.length, 0)
})

test('CLIENT-025 OAUTH-014 auth_method=action_code takes secret and action_code, once: of two requests at once one gets on', async () => {
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.signIn('asked', 'asked')
  const page = await visitor.get(`/api/page/question${toPage.location?.search}`)
  const back = await visitor.submit(page, { answer: 'yes' })
  const form = Object.fromEntries(back.location?.searchParams ?? [])
  assert.equal(form.auth_method, 'action_code')
  const { secret: _, ...withoutSecret } = form
  const { action_code: __, ...withoutCode } = form
  for (const incomplete of [
    { ...form, secret: 'x'.repeat(43) },
    { ...form, action_code: 'x'.repeat(43) },
    withoutSecret,
  ]) {
    assert.equal((await visitor.post('/api/oauth2/auth', incomplete)).status, 400)
  }
  // Without the code there is nothing to come back to: the page asks for the password.
  assert.equal((await visitor.post('/api/oauth2/auth', withoutCode)).location, null)
  const both = await Promise.all([visitor.post('/api/oauth2/auth', form), visitor.post('/api/oauth2/auth', form)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [303, 400])
  const done = both.find(({ status }) => status === 303)
  assert.equal(done?.location?.pathname, '/app/callback')
  assert.equal((await visitor.redeem(done?.location?.searchParams.get('code') ?? '')).status, 200)
  assert.equal((await visitor.post('/api/oauth2/auth', form)).status, 400, 'single use')
})

test('several steps are taken in the order of their phases, each with another address', async () => {
  const visitor = new TestVisitor(svc)
  const first = await visitor.signIn('asked-twice', 'asked-twice')
  const page = await visitor.get(`/api/page/question${first.location?.search}`)
  const back = await visitor.submit(page, { answer: 'yes' })
  const second = await visitor.get(`${back.location?.pathname}${back.location?.search}`)
  assert.deepEqual([second.status, second.location?.pathname], [303, '/api/page/notice'])
  assert.notEqual(second.location?.search, first.location?.search)
  const read = await visitor.get(`${second.location?.pathname}${second.location?.search}`)
  const done = await visitor.get(`${read.location?.pathname}${read.location?.search}`)
  assert.equal(done.location?.pathname, '/app/callback')
})

test('after three wrong answers the sign-in begins anew', async () => {
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.signIn('asked', 'asked')
  const page = await visitor.get(`/api/page/question${toPage.location?.search}`)
  for (const _ of [1, 2]) assert.equal((await visitor.submit(page, { answer: 'no' })).status, 200)
  const over = await visitor.submit(page, { answer: 'no' })
  assert.deepEqual([over.status, over.location?.pathname], [303, '/api/oauth2/auth'])
  const start = await visitor.get(`${over.location?.pathname}${over.location?.search}`)
  assert.equal(start.status, 200)
  assert.match(start.body, /too many wrong answers/)
  assert.equal((await visitor.submit(page, { answer: 'yes' })).status, 400)
  assert.equal((await visitor.submit(start, { login: 'plain', password: 'plain' })).location?.pathname, '/app/callback')
})

test('a form counts only with what proves that it is of this browser', async () => {
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.signIn('asked', 'asked')
  const page = await visitor.get(`/api/page/question${toPage.location?.search}`)
  const { csrf: _, ...fields } = formOf(page.body).fields
  const other = formOf((await new TestVisitor(svc).authorize()).body).fields.csrf ?? ''
  for (const form of [fields, { ...fields, csrf: '' }, { ...fields, csrf: other }, { ...fields, csrf: 'x' }]) {
    const refused = await visitor.post('/api/page/question', { ...form, answer: 'yes' })
    assert.equal(refused.status, 400)
    assert.match(refused.body, /too old/)
  }
  const stranger = new TestVisitor(svc)
  assert.equal((await stranger.get(`/api/page/question${toPage.location?.search}`)).status, 400, 'another browser')
  assert.equal((await visitor.submit(page, { answer: 'yes' })).status, 303)
})

test('pages are never cached or framed, send no referrer, and their policy allows no script', async () => {
  const visitor = new TestVisitor(svc)
  const login = await visitor.authorize()
  const broken = await visitor.get('/api/oauth2/auth')
  const gone = await visitor.get('/api/page/question?flow=x')
  assert.deepEqual([login.status, broken.status, gone.status], [200, 400, 400])
  for (const { headers, body } of [login, broken, gone]) {
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['x-frame-options'], 'DENY')
    const policy = String(headers['content-security-policy'])
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"])
      assert.ok(policy.includes(rule))
    assert.doesNotMatch(policy, /unsafe|script-src/)
    assert.doesNotMatch(body, /<script|javascript:| on\w+="/)
    assert.match(body, /^<!doctype html>\n<html lang="en">/)
  }
  const cached = await visitor.authorize({ cache_seconds: '60' })
  assert.equal(cached.headers['cache-control'], 'no-store')
})

test('pages speak the language of the browser and carry name and colours of the instance', async () => {
  const visitor = new TestVisitor(svc)
  const titleIn = async (language: string) => {
    const { body } = await visitor.get('/api/oauth2/auth', visitor.parameters(), { 'accept-language': language })
    return [/<html lang="(\w+)">/.exec(body)?.[1], /<title>([^<]*)<\/title>/.exec(body)?.[1]]
  }
  const root = svc.as('root')
  const set = (path: string, value: unknown) => root.post(`/config/system/config/${path}`, value)
  assert.equal((await set('name/title', { 'en-US': 'House & <Garden>', 'de-DE': 'Haus' })).status, 200)
  for (const language of ['', 'fr', 'en-GB,de;q=0.5', 'fr,en', 'de;q=0', '*']) {
    assert.deepEqual(await titleIn(language), ['en', 'Sign in · House &#38; &#60;Garden&#62;'], language)
  }
  for (const language of ['de', 'de-AT', 'fr;q=0.9,DE;q=0.8,en;q=0.1', ',;,de']) {
    assert.deepEqual(await titleIn(language), ['de', 'Anmelden · Haus'], language)
  }
  assert.equal((await set('appearance/brand_color', 'red')).status, 400)
  assert.equal((await set('appearance', { brand_color: '#ffcc00', background_color: '#102030' })).status, 200)
  assert.equal((await set('login/info', { 'en-US': 'Ask <b>Ada</b>.' })).status, 200)
  assert.equal((await set('login/label', { 'en-US': 'Staff number' })).status, 200)
  assert.equal((await set('login/placeholder', { 'en-US': 'A-123' })).status, 200)
  for (const wrong of ['https://example.org/logo.png', 'data:text/html;base64,AAAA', 'data:image/png;base64,A"A']) {
    assert.equal((await set('appearance/logo', wrong)).status, 400, wrong)
  }
  assert.equal((await set('appearance/logo', 'data:image/png;base64,iVBORw0KGgo=')).status, 200)
  const { body, headers } = await visitor.authorize()
  assert.match(
    body,
    /<img class="logo" src="data:image\/png;base64,iVBORw0KGgo[^"]*" alt="House &#38; &#60;Garden&#62;">/,
  )
  assert.match(body, /--brand: #ffcc00; --on-brand: #14181f/)
  assert.match(body, /body \{ background: #102030; color: #ffffff \}/)
  assert.match(body, /Ask &#60;b&#62;Ada/)
  assert.match(body, /<label for="login">Staff number<\/label>/)
  assert.match(body, /placeholder="A-123"/)
  const style = /<style>([\s\S]*)<\/style>/.exec(body)?.[1] ?? ''

  const source = `'sha256-${createHash('sha256').update(style).digest('base64')}'`
  assert.ok(String(headers['content-security-policy']).includes(`style-src ${source}`))
})

test('programs get the errors of pages as JSON, people as a page that says what to do', async () => {
  const url = '/api/page/question'
  const program = await svc.inject({ method: 'GET', url })
  assert.deepEqual([program.statusCode, program.json().code], [400, 'PageExpired'])
  const person = await new TestVisitor(svc).get(url)
  assert.match(person.body, /role="alert"/)
  assert.match(person.body, /begin again/)
  const text = await svc.inject({ method: 'POST', url, headers: { accept: 'text/html' }, payload: { a: 1 } })
  assert.deepEqual([text.statusCode, text.headers['content-type']], [400, 'text/html; charset=utf-8'])
})

test('an administrator says it in other words: texts of the localisation, once committed, in their language', async () => {
  const root = svc.as('root')
  const { body: before } = await root.get('/l10n/user/HEAD')
  const own = { 'en-US': 'Welcome <b>& more</b>', 'de-DE': '' }
  const texts = { 'page.login.title': own, 'page.login.blocked': { 'en-US': 'Wait {minutes}!' } }
  const head = await root.post('/l10n/user/HEAD', { ...before, ...texts })
  assert.equal(head.status, 200, JSON.stringify(head.body))
  const heading = async (language: string) => {
    const visitor = new TestVisitor(svc)
    const { body } = await visitor.get('/api/oauth2/auth', visitor.parameters(), { 'accept-language': language })
    return /<h1>(.*)<\/h1>/.exec(body)?.[1]
  }
  assert.equal(await heading('en'), 'Sign in', 'not before it is committed')
  const commit = await root.post('/schema/commit?confirm=yes', {})
  assert.equal(commit.status, 200, JSON.stringify(commit.body))
  assert.equal(await heading('en-GB'), 'Welcome &#60;b&#62;&#38; more&#60;/b&#62;')
  assert.equal(await heading('de'), 'Anmelden', 'an empty text is none')
  assert.ok(
    readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'page-texts.md'), 'utf8').includes(pageTextTable()),
    'run: node scripts/docs.ts',
  )
})

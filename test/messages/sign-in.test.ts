import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type BrowserAnswer, TestVisitor } from '../signin/sign-in-browser.ts'
import { createGroups, createUsers } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Messages that people read or agree to between sign-in and code. */
let svc: TestService
let group: number
before(async () => {
  svc = await startService()
  const [made] = await createGroups(svc, { group: { name: 'Readers' } })
  group = made.group._id
})
after(() => svc[Symbol.asyncDispose]())
afterEach(async () => {
  await svc.db.query('delete from message')
})

const en = (text: string) => ({ 'en-US': text })
const address = ({ location }: BrowserAnswer): string => `${location?.pathname}${location?.search}`
const problemOf = ({ body }: BrowserAnswer): string => /role="alert" id="problem">([^<]*)</.exec(body)?.[1] ?? ''
const titlesOf = ({ body }: BrowserAnswer): string[] => [...body.matchAll(/<h2>([^<]*)<\/h2>/g)].map(([, t = '']) => t)

async function reader(login: string, more: Json = {}): Promise<void> {
  await createUsers(svc, { user: { login, ...more }, _groups: [{ group: { _id: group } }] })
}

async function save(message: Json): Promise<Json> {
  const answer = await svc.as('root').post('/message', [{ message, _groups: [{ group: { _id: group } }] }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0].message
}

/** Signs in; the page with messages, or null where it ends in a code at once. */
async function messagesFor(login: string, visitor = new TestVisitor(svc)): Promise<BrowserAnswer | null> {
  const answer = await visitor.signIn(login, login)
  if (answer.location?.pathname === '/app/callback') return null
  assert.deepEqual([answer.status, answer.location?.pathname], [303, '/api/page/showMessage'])
  return visitor.get(address(answer))
}

test('OAUTH-009 a forced change of the password and pending messages stand between credentials and code', async () => {
  await reader('both', { require_password_change: true })
  await save({ title: en('News'), message: en('Read this.') })
  const visitor = new TestVisitor(svc)
  const credentials = { login: 'both', password: 'both' }
  const first = await visitor.get('/api/oauth2/auth', { ...visitor.parameters(), ...credentials })
  assert.deepEqual([first.status, first.location?.pathname], [303, '/api/page/setPassword'])
  const passed = await visitor.submit(await visitor.get(address(first)), {
    new_password: 'both again',
    again: 'both again',
  })
  assert.equal(passed.location?.pathname, '/api/oauth2/auth')
  const second = await visitor.get(address(passed))
  assert.deepEqual([second.status, second.location?.pathname], [303, '/api/page/showMessage'])
  await reader('only-messages')
  const others = new TestVisitor(svc)
  const direct = await others.authorize({ login: 'only-messages', password: 'only-messages' })
  assert.deepEqual([direct.status, direct.location?.pathname], [303, '/api/page/showMessage'])
  const read = await visitor.submit(await visitor.get(address(second)), {})
  const done = await visitor.get(address(read))
  assert.deepEqual([done.status, done.location?.pathname], [302, '/app/callback'])
  assert.equal((await visitor.redeem(done.location?.searchParams.get('code') ?? '')).status, 200)
})

test('what asks is shown until it is agreed to; nobody goes on without, nor agrees to another version', async () => {
  await reader('asked')
  const terms = await save({
    title: { 'en-US': 'Terms', 'de-DE': 'Bedingungen' },
    message: { 'en-US': 'First.\n\n<b>Second.</b>', 'de-DE': 'Erstens.' },
    confirmation: { 'en-US': 'I agree to the terms', 'de-DE': 'Ich bin einverstanden' },
  })
  const visitor = new TestVisitor(svc)
  const page = (await messagesFor('asked', visitor)) as BrowserAnswer
  assert.deepEqual(titlesOf(page), ['Terms'])
  assert.match(page.body, /<p class="text">First\.<\/p><p class="text">&#60;b&#62;Second\.&#60;\/b&#62;<\/p>/)
  assert.match(page.body, /type="checkbox" value="1" required/)
  assert.match(page.body, /I agree to the terms/)
  assert.match(problemOf(await visitor.submit(page, {})), /^Tick what you agree to/)
  const agree = { [`agree_${terms._id}`]: '1' }
  await save({ _id: terms._id, _version: 1, title: { 'en-US': 'New terms', 'de-DE': 'Neues' } })
  assert.match(problemOf(await visitor.submit(page, agree)), /something new/)
  const fresh = await visitor.submit(page, agree)
  assert.deepEqual(titlesOf(fresh), ['New terms'])
  const passed = await visitor.submit(fresh, agree)
  assert.equal(passed.location?.pathname, '/api/oauth2/auth')
  const { rows } = await svc.db.query<Json>(
    'select c.message_id, c.version from message_confirmation c join "user" u on u.id = c.user_id where u.login = $1',
    ['asked'],
  )
  assert.deepEqual(rows, [{ message_id: terms._id, version: 2 }])
  assert.equal(await messagesFor('asked'), null, 'agreed to for good')
  await save({ _id: terms._id, _version: 2, confirm_every_version: true })
  assert.deepEqual(titlesOf((await messagesFor('asked')) as BrowserAnswer), ['New terms'], 'each version asks')
})

test('whoever does not agree is not signed in', async () => {
  await reader('refuser')
  const terms = await save({ title: en('Terms'), message: en('T'), confirmation: en('I agree') })
  const visitor = new TestVisitor(svc)
  const page = (await messagesFor('refuser', visitor)) as BrowserAnswer
  const declined = await visitor.submit(page, { decline: '1' })
  assert.equal(declined.status, 200)
  assert.match(declined.body, /You have not agreed/)
  assert.equal((await visitor.submit(page, { [`agree_${terms._id}`]: '1' })).status, 400, 'it is over')
  const { rows } = await svc.db.query(
    'select from oauth_session s join "user" u on u.id = s.user_id where login = $1',
    ['refuser'],
  )
  assert.equal(rows.length, 0)
})

test('show_always: what asks for nothing is shown at each sign-in, else once; what front ends show is left to them', async () => {
  await reader('often')
  await save({ title: en('Once'), message: en('m') })
  await save({ title: en('Always'), message: en('m'), show_always: true })
  await save({ title: en('Banner'), message: en('m'), webfrontend_type: 'banner' })
  await save({ title: en('Over'), message: en('m'), end_time: { value: '2020-01-01T00:00:00Z' } })
  await save({ title: en('Other client'), message: en('m'), client_ids: ['another'] })
  const shown: string[][] = []
  for (const _ of [1, 2, 3]) {
    const visitor = new TestVisitor(svc)
    const page = (await messagesFor('often', visitor)) as BrowserAnswer
    shown.push(titlesOf(page))
    assert.equal((await visitor.submit(page, {})).status, 303)
  }
  assert.deepEqual(shown, [['Once', 'Always'], ['Always'], ['Always']])
  await createUsers(svc, { user: { login: 'outsider' } })
  assert.equal(await messagesFor('outsider'), null)
})

test('in the language of the browser', async () => {
  await reader('german')
  await save({
    title: { 'en-US': 'News', 'de-DE': 'Neues' },
    message: { 'en-US': 'm', 'de-DE': 'Heute zu.' },
  })
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.signIn('german', 'german')
  const page = await visitor.get(address(toPage), {}, { 'accept-language': 'de' })
  assert.deepEqual(titlesOf(page), ['Neues'])
  assert.match(page.body, /<html lang="de">[\s\S]*<h1>Bevor es weitergeht<\/h1>[\s\S]*Heute zu\./)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { isMailbox, mailboxOf } from '../../src/platform/values/mailbox.ts'
import { type PostedService, startWithMail } from '../signin/account-support.ts'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import { eventsOf } from '../signin/support.ts'
import type { Json } from '../support/client.ts'

/** What is no address of one mailbox, however it is meant. */
const hostile = [
  'http://evil.example/confirm,victim@corp.example',
  'a@example.org,b@example.org',
  'a@example.org;b@example.org',
  'Ada <ada@example.org>',
  '<ada@example.org>',
  'ada(at home)@example.org',
  'ada@example.org(home)',
  '(home)ada@example.org',
  'friends:ada@example.org;',
  'undisclosed-recipients:;',
  '"ada"@example.org',
  '"a@b"@example.org',
  '"ada lovelace"@example.org',
  'ada\\@example.org',
  'ada@[127.0.0.1]',
  'ada@[IPv6:::1]',
  'ada@127.0.0.1',
  'ada@example.org.',
  'ada@.example.org',
  'ada@exam..ple.org',
  'ada@-example.org',
  'ada@example-.org',
  'ada@exam_ple.org',
  'ada@example.org:25',
  'ada@example.org/x',
  'ada@example.org?subject=x',
  '.ada@example.org',
  'ada.@example.org',
  'a..da@example.org',
  'ada',
  '@example.org',
  'ada@',
  'a@b@example.org',
  '@relay.example,@x.example:ada@example.org',
  'ada @example.org',
  'ada@ example.org',
  'ada@exa\tmple.org',
  'ada@example.org\r\nBcc: victim@corp.example',
  'ada\n@example.org',
  'ada\0@example.org',
  'ada\u007f@example.org',
  'ada\u200b@example.org',
  'ada\u202e@example.org',
  'ａda@example.org',
  'adа@example.org',
  'ada＠example.org',
  'ada@ex\u00adample.org',
  'ada@bücher.example',
  'ada@例え.example',
  'ada@example。org',
  '=?utf-8?q?ada?=@example,org',
  `${'a'.repeat(65)}@example.org`,
  `ada@${'a'.repeat(64)}.example`,
  `ada@${'a.'.repeat(130)}example`,
  `${'a'.repeat(60)}@${'b.'.repeat(98)}example`,
]

const good = [
  'ada@example.org',
  "o'hara+list/x=y@sub.example.org",
  '!#$%&*-/=?^_`{|}~@example.org',
  'a.b.c@x',
  'ada@xn--bcher-kva.example',
  `${'a'.repeat(64)}@example.org`,
  'root@localhost',
]

let posted: PostedService
const root = () => posted.svc.as('root')

before(async () => {
  posted = await startWithMail()
  const registration = { active: true, fields: [] }
  assert.equal((await root().post('/config/system/config/registration', registration)).status, 200)
})
after(() => posted[Symbol.asyncDispose]())

const save = (user: Json) => root().post('/user', [{ _basetype: 'user', user }])

let visitors = 0
/** Each time from another network, so that only the mailbox counts. */
async function register(email: string): Promise<number> {
  const visitor = new TestVisitor(posted.svc)
  const from = { 'x-forwarded-for': `192.0.2.${++visitors % 250}` }
  return (await visitor.submit(await visitor.get('/api/page/register'), { email }, from)).status
}

test('what means something in a header is no address, at every place where one comes in; nothing is sent to it', async () => {
  for (const address of hostile) {
    assert.equal(isMailbox(address), false, JSON.stringify(address))
    // Around an address whitespace says nothing: it is taken off.
    const refused = await save({ login: 'hostile', email: address, confirm_email: true, welcome_email: true })
    assert.deepEqual(
      [refused.status, address.includes('\0') || refused.body.code],
      [400, address.includes('\0') || 'UserEmailMalformed'],
      JSON.stringify(address),
    )
    const config = await root().post('/config/system/config/email/from', address)
    assert.equal(config.status, 400, JSON.stringify(address))
    assert.ok((await register(address)) < 500, JSON.stringify(address))
  }
  await posted.svc.drain()
  assert.deepEqual(posted.server.mails, [])
  const { body } = await root().get('/user', { limit: 1000, type: 'native,native_self_register' })
  assert.deepEqual(
    body.flatMap(({ user }: Json) => user.email ?? []),
    [],
  )
})

test('addresses of one mailbox are taken as they are, and arrive so', async () => {
  for (const [index, email] of good.entries()) {
    assert.equal(isMailbox(email), true, email)
    const saved = await save({ login: `good-${index}`, email, confirm_email: true })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    assert.equal(saved.body[0].user.email, email)
    const [mail, second] = await posted.mailsTo(email)
    assert.deepEqual([mail?.to, second], [[email], undefined])
    assert.match(mail?.data.replaceAll(/\n[ \t]+/g, ' ') ?? '', new RegExp(`^To: ${RegExp.escape(email)}$`, 'm'))
  }
})

test('ten spellings of one mailbox get as many mails as one: three an hour', async () => {
  const spellings = [
    'victim@corp.example',
    'VICTIM@corp.example',
    'Victim@Corp.Example',
    ' victim@CORP.example ',
    'victim@corp.example.',
    '(x)victim@corp.example',
    '"victim"@corp.example',
    '<victim@corp.example>',
    'x:victim@corp.example;',
    'ｖictim@corp.example',
    'http://evil.example/confirm,victim@corp.example',
  ]
  for (const one of spellings) {
    await register(one)
    await posted.svc.drain()
  }
  const got = posted.server.mails.filter(({ to }) => to.some((one) => /victim/i.test(one)))
  assert.equal(got.length, 3)
  assert.ok(got.every(({ to }) => to.length === 1 && to[0] === 'victim@corp.example'))
})

test('an address from before with a domain of other letters stays, is one mailbox with its other spelling, and gets mail', async () => {
  const saved = await save({ login: 'former', first_name: 'F', email: 'former@example.org' })
  const { _id: id } = saved.body[0].user
  const client = new pg.Client({ connectionString: posted.svc.dsn })
  await client.connect()
  await client.query(
    `update "user" set email = 'former@bücher.example', email_key = 'former@bücher.example' where id = $1`,
    [id],
  )
  await client.end()
  const [{ user }] = (await root().get(`/user/${id}`)).body
  const changed = await save({ ...user, first_name: 'G', welcome_email: true })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  assert.equal(changed.body[0].user.email, 'former@bücher.example')
  const [mail] = await posted.mailsTo('former@xn--bcher-kva.example')
  assert.match(mail?.data ?? '', /^To: former@xn--bcher-kva\.example$/m)
  assert.equal(await register('former@xn--bcher-kva.example'), 200)
  await posted.svc.drain()
  const { body } = await root().get('/user', { limit: 1000, type: 'native_self_register' })
  assert.ok(!body.some((one: Json) => one.user.email?.startsWith('former')), 'no second account')
})

test('what was stored as an address before and is none is told as a failure, and no server hears of it', async () => {
  const saved = await save({ login: 'broken', email: 'broken@example.org' })
  const { _id: id, _version } = saved.body[0].user
  const client = new pg.Client({ connectionString: posted.svc.dsn })
  await client.connect()
  const stored = 'broken@example.org,victim@corp.example'
  await client.query(`update "user" set email = $2, email_key = $2 where id = $1`, [id, stored])
  await client.end()
  posted.server.mails.length = 0
  assert.equal((await save({ _id: id, _version, welcome_email: true })).status, 200)
  await posted.svc.drain()
  assert.deepEqual(posted.server.mails, [])
  const [failed, second] = await eventsOf(posted.svc, 'EMAIL_SENT_FAILED')
  assert.match(failed?.event.info.Error, /is no mail address/)
  assert.equal(second, undefined, 'it is not tried again')
})

test('whatever is taken for an address is one: two parts of plain characters, within the lengths', () => {
  const characters = fc.constantFrom(...'ab1.-_@"(),:;<>[]\\ \r\n\t\0é＠。'.split(''))
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.array(characters, { maxLength: 40 }).map((all) => all.join('')),
  )
  const wrapped = fc.tuple(text, fc.constantFrom('', 'ada@example.org'), text).map((parts) => parts.join(''))
  fc.assert(
    fc.property(wrapped, (one) => {
      const found = mailboxOf(one)
      if (isMailbox(one)) assert.equal(found, one)
      if (found === null) return
      assert.ok(isMailbox(found))
      assert.equal(found.split('@').length, 2)
      assert.doesNotMatch(found, /[^\x21-\x7e]|["(),:;<>[\\\]]/)
      assert.ok(found.length <= 254)
    }),
    { numRuns: 5000 },
  )
  const atext = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,10}$/)
  const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,5}[a-z0-9])?$/)
  const dotted = (part: fc.Arbitrary<string>) =>
    fc.array(part, { minLength: 1, maxLength: 4 }).map((all) => all.join('.'))
  fc.assert(fc.property(dotted(atext), dotted(label), (local, domain) => isMailbox(`${local}@${domain}`)))
})

test('a text of a million characters is looked at as fast as a short one', () => {
  const begun = performance.now()
  for (const part of ['a', '.', '@', 'a.', 'a@', '-', '(', '"\\', 'ü', '\n']) {
    const long = part.repeat(1_000_000)
    for (const text of [long, `${long}@example.org`, `ada@${long}`]) assert.equal(mailboxOf(text), null)
  }
  assert.ok(performance.now() - begun < 2000)
})

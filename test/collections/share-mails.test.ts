import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toGroup, toUser, wireGrant } from '../rights/people.ts'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import { eventsOf, signIn } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { type MailServer, type ReceivedMail, startMailServer } from '../support/mail-server.ts'
import { attachService } from '../support/service.ts'
import { assertInvariants, ok, type Scene, startScene } from './support.ts'

let it: Scene
let server: MailServer

before(async () => {
  server = await startMailServer()
  it = await startScene({ loginAllowRedirects: ['https://media.example.com'] })
  await configure('email/from', 'museum@example.org')
  await configure('email_server', { server_addr: server.address, type: 'off' })
  await configure('name/title', { 'en-US': 'Museum' })
  await change(it.ids.reader, {
    _system_rights: {
      'system.frontend_features': { collection: ['share_anonymous'], acl_manager: ['create_email_user'] },
    },
  })
  await change(it.ids.editor, { user: { email: 'editor@example.org', frontend_language: 'de-DE' } })
  await change(it.ids.stranger, { user: { email: 'stranger@example.org' } })
})
after(async () => {
  if (it) {
    await assertInvariants(it.svc)
    await it[Symbol.asyncDispose]()
  }
  await server?.[Symbol.asyncDispose]()
})

async function configure(path: string, value: unknown): Promise<void> {
  assert.equal((await it.root.post(`/config/system/config/${path}`, value)).status, 200)
}

async function change(id: number, { user = {}, ...more }: Json): Promise<void> {
  const [stored] = ok(await it.root.get(`/user/${id}`))
  ok(await it.root.post('/user', [{ user: { _id: id, _version: stored.user._version, ...user }, ...more }]))
}

async function mailsTo(address: string): Promise<ReceivedMail[]> {
  await it.svc.drain()
  return server.mails.filter(({ to }) => to.some((one) => one.toLowerCase() === address.toLowerCase()))
}

const byMail = (email: string, more: object = {}) => ({ _basetype: 'user', user: { type: 'email', email, ...more } })
const telling = (who: object, text: string, more: object = {}): Json =>
  wireGrant(who, 'bag_read', { send_email_notification: { text }, ...more })
const share = (_acl: Json[], fields: object = {}) => it.reader.post('/collection', { collection: fields, _acl })

/** All parts of a mail, with soft breaks and encodings undone. */
const whole = (mail: ReceivedMail | undefined): string =>
  (mail?.data ?? '')
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

describe('a mail of a share', () => {
  test('tells each receiver in their language, with what the sender writes and the link, as text and as a page', async () => {
    server.mails.length = 0
    const displayname = { 'en-US': 'Press kit', 'de-DE': 'Pressemappe' }
    const { collection } = ok(
      await share(
        [
          telling(toUser(it.ids.editor), 'Look at <b>this</b>\n& that', { when: { to: '2999-05-17T10:00:00Z' } }),
          telling(toUser(it.ids.stranger), ''),
        ],
        { displayname },
      ),
    )
    const [german, ...others] = await mailsTo('editor@example.org')
    assert.equal(others.length, 0)
    assert.match(german?.data ?? '', /^Subject: reader teilt eine Mappe mit Ihnen: Pressemappe$/m)
    const address = `${it.svc.config.externalUrl}/collection/${collection.uuid}`
    for (const part of [address, '> Look at <b>this</b>', '&#60;b&#62;this', '&#38; that', '2999-05-17'])
      assert.ok(whole(german).includes(part), part)
    assert.ok(!whole(german).includes('#auth_method'))
    const [english] = await mailsTo('stranger@example.org')
    assert.match(english?.data ?? '', /^Subject: reader shares a collection with you: Press kit$/m)
    assert.deepEqual(english?.to, ['stranger@example.org'])
    assert.ok(!whole(english).includes('reader writes'))
    const sent = (await eventsOf(it.svc, 'EMAIL_SENT')).map(({ event }) => event)
    const told = sent.find(({ info }) => info.To[0] === 'editor@example.org')
    assert.deepEqual(told.info, {
      Template: 'collection_share',
      To: ['editor@example.org'],
      Cc: [],
      Bcc: [],
      Subject: 'reader teilt eine Mappe mit Ihnen: Pressemappe',
      Attachments: [],
      Collection: 'Pressemappe',
      CollectionID: collection._id,
      CollectionURL: address,
      User: 'reader',
      UserID: it.ids.reader,
    })
  })

  test('goes to the members of a group, and for new grants only', async () => {
    server.mails.length = 0
    const { collection, _acl } = ok(await share([telling(toGroup(it.ids.staff), 'all of you')]))
    assert.equal((await mailsTo('editor@example.org')).length, 1)
    assert.equal(_acl[0].send_email_notification, undefined)
    const again = [
      { ..._acl[0], send_email_notification: { text: 'again' } },
      telling(toUser(it.ids.stranger), 'you, too'),
    ]
    ok(await it.reader.post('/collection', { collection: { _id: collection._id, _version: 1 }, _acl: again }))
    assert.equal((await mailsTo('editor@example.org')).length, 1)
    const [other] = await mailsTo('stranger@example.org')
    assert.match(whole(other), /you, too/)
  })

  test('has no line of a header that somebody has typed', async () => {
    server.mails.length = 0
    const displayname = { 'en-US': 'Kit\r\nBcc: evil@example.org\r\n\r\nText' }
    ok(await share([telling(toUser(it.ids.stranger), '.\r\nQUIT\r\n')], { displayname }))
    const [mail] = await mailsTo('stranger@example.org')
    assert.deepEqual(mail?.to, ['stranger@example.org'])
    assert.doesNotMatch(mail?.data ?? '', /^Bcc:/im)
    for (const [_acl, path] of [
      [[telling(toUser(it.ids.stranger), 'x'.repeat(2001))], 'body._acl[0].send_email_notification.text'],
      [
        [wireGrant(toUser(it.ids.stranger), 'bag_read', { send_email_notification: {} })],
        'body._acl[0].send_email_notification.text',
      ],
      [[telling({ _basetype: 'user', user: { type: 'collection' } }, 'x')], 'body._acl[0].send_email_notification'],
    ] as [Json[], string][]) {
      const { status, body } = await share(_acl)
      assert.deepEqual([status, body.parameters.path], [400, path])
    }
  })

  test('counts as mail that the sender writes; what is refused has shared nothing', async () => {
    server.mails.length = 0
    await using other = await attachService(it.svc.dsn, { quotaMails: 1 })
    await it.svc.db.query('delete from quota_use')
    const body = {
      collection: { reference: 'too-many' },
      _acl: [telling(toUser(it.ids.editor), ''), telling(toUser(it.ids.stranger), '')],
    }
    const refused = await other.as('reader').post('/collection', body)
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.parameters.quota],
      [429, 'QuotaExceeded', 'svc.quotas.mails'],
    )
    const used = async () =>
      (await it.svc.db.query(`select count::int from quota_use where quota = 'svc.quotas.mails'`)).rows
    assert.deepEqual(await used(), [], 'a refusal counts nothing')
    await configure('email/from', '')
    const unsent = await it.reader.post('/collection', body)
    assert.deepEqual([unsent.status, unsent.body.parameters.path], [400, 'body._acl[0].send_email_notification'])
    await configure('email/from', 'museum@example.org')
    const { rows } = await it.svc.db.query(`select from collection where reference = 'too-many'`)
    assert.equal(rows.length, 0)
    await it.svc.drain()
    assert.equal(server.mails.length, 0)
  })
})

describe('somebody known by a mail address alone', () => {
  test('gets an account, a mail with what signs in, and the share', async () => {
    server.mails.length = 0
    const { collection, _acl } = ok(
      await share([
        telling(byMail('Lender@Example.org', { frontend_language: 'de-DE' }), 'Hello'),
        wireGrant(byMail('lender@example.org'), 'bag_read bag_write'),
      ]),
    )
    const [{ who }, again] = _acl
    assert.deepEqual([who.user.type, who.user.login], ['email', 'Lender@Example.org'])
    assert.equal(again.who.user._id, who.user._id)
    const [mail] = await mailsTo('Lender@Example.org')
    assert.match(mail?.data ?? '', /^Subject: reader teilt/m)
    const link = /http\S+#auth_method=email\S+/.exec(whole(mail))?.[0] ?? ''
    const url = new URL(link)
    assert.equal(url.pathname, `/collection/${collection.uuid}`)
    const said = new URLSearchParams(url.hash.slice(1))
    const [login, uuid] = [said.get('login') ?? '', said.get('password') ?? '']
    assert.equal(said.get('auth_method'), 'email')
    assert.equal((await signIn(it.svc, login, uuid)).status, 200)
    assert.ok('bag_write' in ok(await it.svc.as(login, uuid).get(`/collection/${collection._id}`))._generated_rights)
    // What signs in stands in the mail alone.
    for (const table of ['event', 'mail_batch']) {
      const { rows } = await it.svc.db.query(`select from ${table} t where t::text like '%' || $1 || '%'`, [uuid])
      assert.equal(rows.length, 0, table)
    }
    const more = ok(await share([wireGrant(byMail('lender@example.org'), 'bag_read')]))
    assert.equal(more._acl[0].who.user._id, who.user._id)
  })

  test('is nobody else: an address that another account has is that account, where the caller may know it', async () => {
    const known = ok(await share([wireGrant(byMail('editor@example.org'), 'bag_read')]))
    assert.equal(known._acl[0].who.user._id, it.ids.editor)
    ok(await it.root.post('/user', [{ user: { login: 'hidden', email: 'hidden@example.org' } }]))
    for (const [email, code] of [
      ['hidden@example.org', 'UserDuplicateEmail'],
      ['no address', 'UserEmailMalformed'],
      ['a@b.example\r\nBcc: c@d.example', 'UserEmailMalformed'],
    ] as const) {
      const { status, body } = await share([wireGrant(byMail(email), 'bag_read')])
      assert.ok(status >= 400 && status < 500, email)
      assert.equal(body.code, code, email)
    }
    assert.equal((await share([wireGrant({ _basetype: 'user', user: { type: 'email' } }, 'bag_read')])).status, 400)
  })

  test('CLIENT-024 collection is a value of auth_method; others do not take the secret of a link', async () => {
    const { collection, _acl } = ok(
      await share([wireGrant({ _basetype: 'user', user: { type: 'collection' } }, 'bag_read')]),
    )
    const login = _acl[0].who.user.login
    for (const auth_method of ['collection', 'auto', 'native,collection,ldap']) {
      const visitor = new TestVisitor(it.svc)
      const answer = await visitor.signIn(login, collection.uuid, { auth_method })
      assert.equal(answer.status, 303, auth_method)
      const code = answer.location?.searchParams.get('code') ?? ''
      assert.equal((await visitor.redeem(code)).status, 200, auth_method)
    }
    for (const auth_method of ['native', 'email']) {
      const answer = await new TestVisitor(it.svc).signIn(login, collection.uuid, { auth_method })
      assert.equal(answer.status, 200, auth_method)
    }
  })
})

describe('a preset of shares', () => {
  const save = (preset: object, more: object = {}) =>
    it.root.post('/right/collection/presets', [{ right_preset: { displayname: { 'en-US': 'P' }, preset, ...more } }])

  test('gives rights, an end and the base of the links; a change of it changes them, and with it they go', async () => {
    server.mails.length = 0
    const [{ right_preset: preset }] = ok(
      await save({
        rights: { bag_read: {}, link: {} },
        default_expiration_hours: 24,
        share_url: 'https://media.example.com/portal/',
      }),
    )
    const aLink = { _basetype: 'user', user: { type: 'collection' } }
    const made = { rights: {}, _right_preset: preset._id }
    const { collection, _acl } = ok(
      await share([
        { who: aLink, ...made },
        { who: toUser(it.ids.stranger), ...made, send_email_notification: { text: '' } },
        wireGrant(aLink, 'bag_read'),
      ]),
    )
    const [link, mailed, plain] = _acl
    assert.deepEqual(Object.keys(link.rights).sort(), ['bag_read', 'link'])
    const ends = Date.parse(link.when.to) - Date.now()
    assert.ok(ends > 23 * 3_600_000 && ends <= 24 * 3_600_000)
    const portal = `https://media.example.com/portal/collection/${collection.uuid}`
    assert.equal(link._share_url, `${portal}#auth_method=collection&login=${link.who.user.login}`)
    assert.equal(mailed._share_url, portal)
    assert.equal(plain._share_url.split('#')[0], `${it.svc.config.externalUrl}/collection/${collection.uuid}`)
    const [mail] = await mailsTo('stranger@example.org')
    assert.ok(whole(mail).includes(portal))

    const rights = { bag_read: {}, bag_write: {} }
    ok(
      await it.root.post('/right/collection/presets', [
        { right_preset: { _id: preset._id, _version: 1, preset: { rights } } },
      ]),
    )
    const now = ok(await it.reader.get(`/collection/${collection._id}`))._acl
    assert.deepEqual(
      now.map((one: Json) => Object.keys(one.rights).sort()),
      [['bag_read', 'bag_write'], ['bag_read', 'bag_write'], ['bag_read']],
    )
    const guest = it.svc.as(link.who.user.login, collection.uuid)
    assert.ok('bag_write' in ok(await guest.get(`/collection/${collection._id}`))._generated_rights)
    assert.equal((await it.root.delete(`/right/collection/presets/${preset._id}`)).status, 202)
    ok(await it.root.delete(`/right/collection/presets/${preset._id}`, undefined, { confirm: 'delete' }))
    assert.equal(ok(await it.reader.get(`/collection/${collection._id}`))._acl.length, 1)
    assert.equal((await guest.get('/collection/list')).status, 401)
  })

  test('leads to the service, or to where its sign-ins lead as well', async () => {
    const rights = { bag_read: {} }
    for (const share_url of [
      'https://evil.example',
      'http://media.example.com',
      'https://media.example.com.evil.example',
      'https://media.example.com@evil.example',
      'https://media.example.com\\@evil.example',
      'javascript:alert(1)',
      '//media.example.com',
      'https://media.example.com/?a=b',
      'https://media.example.com/#a',
    ]) {
      const { status, body } = await save({ rights, share_url })
      assert.deepEqual([status, body.parameters.path], [400, '[0].right_preset.preset.share_url'], share_url)
    }
    for (const share_url of ['https://media.example.com', `${it.svc.config.externalUrl}/portal`])
      assert.equal((await save({ rights, share_url })).status, 200, share_url)
    // A share has no more than its preset says, and takes the rights to give it.
    const [{ right_preset: preset }] = ok(await save({ rights }))
    const wide = await share([{ who: toUser(it.ids.stranger), rights: { bag_write: {} }, _right_preset: preset._id }])
    assert.equal(wide.status, 400)
  })
})

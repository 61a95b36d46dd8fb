import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toUser, wireGrant } from '../rights/people.ts'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import { eventsOf, refresh, requestToken, signIn, statusWith } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { attachService } from '../support/service.ts'
import { openStream } from '../support/stream.ts'
import { until } from '../support/until.ts'
import { assertInvariants, createNotes, entriesOf, ok, type Scene, startScene } from './support.ts'

let it: Scene
let base: string

before(async () => {
  it = await startScene()
  base = await it.svc.listen()
  await give(it.ids.reader, {
    'system.frontend_features': { collection: ['share_anonymous'], acl_manager: ['create_email_user'] },
  })
})
after(async () => {
  if (!it) return
  await assertInvariants(it.svc)
  await it[Symbol.asyncDispose]()
})

async function give(id: number, _system_rights: object): Promise<void> {
  const [{ user }] = ok(await it.root.get(`/user/${id}`))
  ok(await it.root.post('/user', [{ user: { _id: id, _version: user._version }, _system_rights }]))
}

const aLink = { _basetype: 'user', user: { type: 'collection' } }
const link = (rights = 'bag_read', more: object = {}): Json => wireGrant(aLink, rights, more)

/** A collection of the reader with these grants; it, and the grants as the reader sees them. */
async function shared(
  _acl: Json[],
  fields: object = {},
  more: object = {},
): Promise<{ collection: Json; acl: Json[] }> {
  const { collection, _acl: acl } = ok(await it.reader.post('/collection', { collection: fields, _acl, ...more }))
  return { collection, acl }
}

const secretOf = ({ who }: Json): string => who.user.login
const guestOf = (grant: Json, collection: Json): Client => it.svc.as(secretOf(grant), collection.uuid)
const tokenFor = (grant: Json, collection: Json, more: Record<string, string> = {}) =>
  signIn(it.svc, secretOf(grant), collection.uuid, more)
const update = async (collection: Json, more: object): Promise<Json> => {
  const { collection: now } = ok(await it.reader.get(`/collection/${collection._id}`))
  return ok(await it.reader.post(`/collection/${collection._id}`, { collection: { _version: now._version }, ...more }))
}

describe('an anonymous link', () => {
  test('a person shares with a link and a PIN; a guest opens it, enters the PIN, and sees nothing once it is revoked', async () => {
    const notes = await createNotes(it.reader, it.pool, 2, 'walk')
    const { collection, acl } = await shared([link('bag_read link')], {
      pin_code: 'sesame',
      displayname: { 'en-US': 'Kit' },
    })
    ok(
      await it.reader.post(`/collection/objects/${collection._id}`, {
        objects: entriesOf(it.svc, notes).map((one) => ({ ...one, webfrontend_props: { slide: 1 } })),
      }),
    )
    const [grant] = acl
    assert.equal(grant.who.user.type, 'collection')
    assert.match(secretOf(grant), /^[\w-]{32}$/)

    // By the page, in a browser.
    const visitor = new TestVisitor(it.svc)
    const arrived = await visitor.authorize({
      auth_method: 'collection',
      login: secretOf(grant),
      password: collection.uuid,
    })
    assert.equal(arrived.status, 302)
    const code = arrived.location?.searchParams.get('code') ?? ''
    const { body: tokens } = await visitor.redeem(code)
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const call = async (
      method: 'GET' | 'POST',
      url: string,
      payload?: object,
    ): Promise<{ status: number; body: Json }> => {
      const headers = { authorization: `Bearer ${tokens.access_token}`, cookie, 'content-type': 'application/json' }
      const answer = await it.svc.inject({ method, url: `/api/v1${url}`, headers, ...(payload ? { payload } : {}) })
      return { status: answer.statusCode, body: answer.json() }
    }
    const path = `/collection/${collection._id}`
    const list = ok(await call('GET', '/collection/list'))
    assert.deepEqual(
      list.map((one: Json) => [one.collection._id, one._has_pin, one.pin_ok]),
      [[collection._id, true, false]],
    )
    const before = ok(await call('GET', `/collection/objects/${collection._id}`))
    assert.ok(before.objects.every((one: Json) => one._not_allowed && !one.webfrontend_props))

    const { user } = ok(await call('GET', '/user/session')).user
    assert.deepEqual([user.type, user.login], ['collection', undefined])
    const pin = (pin_code: string) =>
      call('POST', '/user', [
        { user: { _id: user._id }, _collection_pin_codes: [{ collection_id: collection._id, pin_code }] },
      ])
    ok(await pin('open'))
    assert.equal(ok(await call('GET', path)).pin_ok, false)
    ok(await pin('sesame'))
    const opened = ok(await call('GET', path))
    assert.deepEqual([opened.pin_ok, Object.keys(opened._generated_rights).sort()], [true, ['bag_read', 'link']])
    // Another browser with the same link enters it again.
    const other = guestOf(grant, collection)
    assert.equal(ok(await other.get(path)).pin_ok, false)

    await update(collection, { _acl: [] })
    for (const url of ['/collection/list', path, `/collection/objects/${collection._id}`]) {
      const gone = await call('GET', url)
      assert.deepEqual([gone.status, gone.body.code], [401, 'InvalidToken'], url)
    }
    assert.equal((await other.get(path)).status, 401)
    assert.equal((await tokenFor(grant, collection)).status, 400)
  })

  test('signs in by the secret of the share and the UUID of the collection, and by nothing else', async () => {
    const { collection, acl } = await shared([link(), link('bag_read bag_write')])
    const [first, second] = acl
    assert.notEqual(secretOf(first), secretOf(second))
    assert.notEqual(first.who.user._id, second.who.user._id)
    const { collection: other } = await shared([link()])
    for (const [login, password] of [
      [secretOf(first), other.uuid],
      [secretOf(first), 'x'],
      [secretOf(first), secretOf(first)],
      [collection.uuid, secretOf(first)],
      ['x', collection.uuid],
      [String(first.who.user._id), collection.uuid],
    ] as const) {
      const { status, body } = await signIn(it.svc, login, password)
      assert.deepEqual([status, body.error], [400, 'invalid_grant'])
    }
    assert.equal((await tokenFor(first, collection)).status, 200)
    assert.equal((await signIn(it.svc, secretOf(first), collection.uuid.toUpperCase())).status, 200)
    const of = (grant: Json) => guestOf(grant, collection)
    assert.ok(!('bag_write' in ok(await of(first).get(`/collection/${collection._id}`))._generated_rights))
    assert.ok('bag_write' in ok(await of(second).get(`/collection/${collection._id}`))._generated_rights)
    // It makes nothing of its own, and its record is nobody's.
    assert.equal((await of(first).post('/collection', { collection: {} })).status, 400)
    const self = await of(first).post('/user', [{ user: { _id: first.who.user._id, _version: 1, displayname: 'me' } }])
    assert.deepEqual([self.status, self.body.code], [403, 'SystemRightRequired'])
    assert.equal((await of(first).post('/system/share_link', { path: '/a' })).status, 403)
  })

  test('a copy of the grant, in the same or another collection, gets another link', async () => {
    const { collection, acl } = await shared([link()])
    const [grant] = acl
    const { _id, ...copy } = grant
    const two = (await update(collection, { _acl: [grant, copy] }))._acl
    assert.deepEqual([two[0]._id, two[0].who.user], [_id, grant.who.user])
    assert.notEqual(two[1].who.user._id, grant.who.user._id)
    const elsewhere = await shared([grant])
    assert.notEqual(elsewhere.acl[0]?.who.user._id, grant.who.user._id)
    assert.equal((await signIn(it.svc, secretOf(grant), elsewhere.collection.uuid)).status, 400)
    // What is sent back as it was read stays as it is.
    assert.deepEqual((await update(collection, { _acl: two }))._acl, two)
    assert.equal((await tokenFor(grant, collection)).status, 200)
  })

  test('is shown to those who may change the grants, and stands in no log', async () => {
    const { collection, acl } = await shared([link('bag_read'), wireGrant(toUser(it.ids.editor), 'bag_read')])
    const secret = secretOf(acl[0])
    assert.equal(ok(await it.editor.get(`/collection/${collection._id}`))._acl, undefined)
    assert.equal(secretOf(ok(await it.root.get(`/collection/${collection._id}`))._acl[0]), secret)
    ok(await guestOf(acl[0], collection).get('/collection/list'))
    await signIn(it.svc, secret, 'wrong')
    for (const table of [
      'event',
      'oauth_session',
      '"user"',
      'collection',
      'login_flow',
      'sign_in_failure',
      'collection_share',
    ]) {
      const { rows } = await it.svc.db.query(`select from ${table} t where t::text like '%' || $1 || '%'`, [secret])
      assert.equal(rows.length, 0, table)
    }
    const [last] = (await eventsOf(it.svc, 'USER_LOGIN_FAILED')).slice(-1)
    assert.deepEqual([last.event.info.method, last.event.info.login], ['collection', undefined])
    const logins = await eventsOf(it.svc, 'USER_LOGIN')
    assert.ok(logins.some(({ event }) => event.info.method === 'collection' && event.info.login === undefined))
  })

  test('takes the right to make links, and the right to share', async () => {
    const own = (client: Client, _acl: Json[]) => client.post('/collection', { collection: {}, _acl })
    const refused = await own(it.editor, [link()])
    assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'])
    assert.match(refused.body.parameters.right, /share_anonymous/)
    const mail = { _basetype: 'user', user: { type: 'email', email: 'new@example.org' } }
    assert.match((await own(it.editor, [wireGrant(mail, 'bag_read')])).body.parameters.right, /create_email_user/)
    const { collection, acl } = await shared([link(), wireGrant(toUser(it.ids.editor), 'bag_read bag_write')])
    // A copy is one, too.
    assert.equal((await own(it.editor, [wireGrant(acl[0].who, 'bag_read')])).status, 403)
    await give(it.ids.editor, {
      'system.poolmanager': {},
      'system.frontend_features': { collection: ['share_anonymous'] },
    })
    const there = { collection: { _version: 1 }, _acl: [link('bag_read bag_write')] }
    const notHere = await it.editor.post(`/collection/${collection._id}`, there)
    assert.deepEqual([notHere.status, notHere.body.parameters.right], [403, 'bag_acl'])
    assert.equal((await own(it.editor, [link()])).status, 200)
    ok(await own(it.root, [link()]))
    await give(it.ids.editor, { 'system.poolmanager': {} })
    // A refused save leaves no user behind.
    const count = async () =>
      Number((await it.svc.db.query(`select count(*) from "user" where type = 'collection'`)).rows[0]?.count)
    const users = await count()
    assert.equal(
      (await it.reader.post('/collection', { collection: { uuid: 'x'.repeat(36) }, _acl: [link()] })).status,
      400,
    )
    assert.equal(await count(), users)
  })

  test('shows and ends only the session one is in', async () => {
    const { collection, acl } = await shared([link()])
    const one = guestOf(acl[0], collection)
    const { body: other } = await tokenFor(acl[0] as Json, collection)
    const [own, ...more] = ok(await one.get('/user/session/list'))
    assert.deepEqual([more, own.current], [[], true])
    const { rows } = await it.svc.db.query('select id from oauth_session where user_id = $1 and id <> $2', [
      acl[0]?.who.user._id,
      own._id,
    ])
    assert.equal(rows.length, 1)
    assert.equal((await one.delete(`/user/session/list/${rows[0]?.id}`)).status, 404)
    await one.delete('/user/session/list')
    assert.equal(await statusWith(it.svc, other.access_token), 200)
    assert.equal((await one.delete(`/user/session/list/${own._id}`)).status, 200)
    assert.equal((await one.get('/user/session')).status, 401)
  })

  test('so many are made by one user within an hour', async () => {
    await using other = await attachService(it.svc.dsn, { quotaShares: 1 })
    const answer = await other.as('reader').post('/collection', { collection: {}, _acl: [link(), link()] })
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.parameters.quota],
      [429, 'QuotaExceeded', 'svc.quotas.shares'],
    )
  })
})

describe('a share ends', () => {
  const ends: Record<string, (collection: Json, grant: Json) => Promise<unknown>> = {
    'when its grant is taken away': (collection) => update(collection, { _acl: [] }),
    'when its grant is made inactive': (collection, grant) =>
      update(collection, { _acl: [{ ...grant, active: false }] }),
    'when its end has passed': (collection, grant) =>
      update(collection, { _acl: [{ ...grant, when: { to: new Date(Date.now() + 1).toISOString() } }] }),
    'when its beginning is moved': (collection, grant) =>
      update(collection, { _acl: [{ ...grant, when: { from: '2999-01-01T00:00:00Z' } }] }),
    'with its collection': async (collection) => ok(await it.reader.delete(`/collection/${collection._id}`)),
    'with its user': async (_, grant) =>
      ok(await it.root.delete(`/user/${grant.who.user._id}`, undefined, { delete_policy: 'delete' })),
  }
  for (const [when, end] of Object.entries(ends)) {
    test(`${when}: sign-in, tokens, refresh and running streams`, async () => {
      const { collection, acl } = await shared([link()])
      const grant = acl[0] as Json
      const { body: tokens } = await tokenFor(grant, collection, { scope: 'offline' })
      const stream = await openStream(base, { token: tokens.access_token })
      assert.equal(await statusWith(it.svc, tokens.access_token), 200)
      await end(collection, grant)
      await until(async () => (await statusWith(it.svc, tokens.access_token)) === 401)
      assert.equal((await tokenFor(grant, collection)).status, 400)
      assert.equal((await refresh(it.svc, tokens.refresh_token)).status, 400)
      const introspected = await requestToken(
        it.svc,
        { token: tokens.access_token },
        { authorization: `Bearer ${await it.root.token()}` },
        '/api/oauth2/introspect',
      )
      assert.deepEqual(introspected.body, { active: false })
      // Something to tell: the stream asks who listens.
      ok(
        await it.root.post('/event/list', [{ _basetype: 'event', event: { type: 'INDEX_SWITCH', info: {} } }], {
          skip_constraints: true,
        }),
      )
      await stream.ended
      assert.ok(!stream.events.some(({ event }) => event.type === 'INDEX_SWITCH'))
    })
  }

  test('when the owner of the collection is archived, and begins again with the owner', async () => {
    const { collection, acl } = await shared([link()])
    const { body: tokens } = await tokenFor(acl[0] as Json, collection)
    const away = (delete_policy: string) =>
      it.root.delete(`/user/${it.ids.reader}`, undefined, { delete_policy, confirm: 'collections' })
    assert.equal((await away('archive')).status, 200)
    assert.equal(await statusWith(it.svc, tokens.access_token), 401)
    assert.equal((await tokenFor(acl[0] as Json, collection)).status, 400)
    assert.equal((await away('unarchive')).status, 200)
    assert.equal((await tokenFor(acl[0] as Json, collection)).status, 200)
  })
})

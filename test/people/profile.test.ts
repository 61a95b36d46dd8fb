import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { pino } from 'pino'
import { createEventLog } from '../../src/events/service.ts'
import { createJanitor } from '../../src/files/janitor.ts'
import { fetched, picture, sha256, upload } from '../files/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import { createGroups, createUsers } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Fields of users and groups that are kept for people and front ends: answered as they were sent, changed, taken away. */
suite('profiles', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
  })
  after(() => svc[Symbol.asyncDispose]())

  const user = {
    first_name: 'Ada',
    last_name: 'King',
    displayname: 'Ada',
    company: 'Museum',
    department: 'Prints',
    phone: '123',
    remarks: 'r',
    address_supplement: 'backyard',
    street: 'Long street',
    house_number: '7b',
    postal_code: '10115',
    town: 'Berlin',
    state: 'BE',
    country: 'DE',
    frontend_language: 'de-DE',
    frontend_prefs: { theme: 'dark' },
    custom_data: { any: [1] },
    mail_schedule: { weekdays: ['mon'], days_of_month: [1, 31], hours: [7], minutes: [30], timezone: 'Europe/Berlin' },
  }
  const group = {
    comment: 'c',
    category_a: 'a',
    category_b: 'b',
    category_c: 'c',
    frontend_prefs: { columns: ['x'] },
  }
  for (const [type, fields, other] of [
    ['user', user, { login: 'ada' }],
    ['group', group, { name: 'editors' }],
  ] as const) {
    test(`every field of a ${type} is answered as it was sent, stays when it is not said, and goes with null`, async () => {
      const root = svc.as('root')
      const write = async (block: object): Promise<Json> => {
        const answer = await root.post(`/${type}`, [{ [type]: block }])
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        return (await root.get(`/${type}/${answer.body[0][type]._id}`)).body[0][type]
      }
      const made = await write({ ...other, ...fields })
      const shown = (record: Json) => Object.fromEntries(Object.keys(fields).map((name) => [name, record[name]]))
      assert.deepEqual(shown(made), fields)
      const changed = Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? `${value}!` : value]),
      )
      const { _id } = made
      delete changed.frontend_language
      const second = await write({ _id, _version: 1, ...changed })
      const expected = { ...fields, ...changed }
      assert.deepEqual(shown(second), expected)
      assert.deepEqual(shown(await write({ _id, _version: 2 })), expected)
      const nulls = Object.fromEntries(Object.keys(fields).map((name) => [name, null]))
      assert.deepEqual(
        Object.values(shown(await write({ _id, _version: 3, ...nulls }))).filter((value) => value !== undefined),
        [],
      )
    })
  }

  test('a user has a picture: an image of whoever sets it, shown to whoever may read the user, kept as long as a user has it', async () => {
    const [painter, other, archived] = await createUsers(
      svc,
      { user: { login: 'painter' } },
      { user: { login: 'other' } },
      {
        user: { login: 'gone' },
        _groups: [
          {
            group: (
              await createGroups(svc, {
                group: { name: 'forgotten' },
                _pseudonymization: { user: { additional_info: 'clear' } },
              })
            )[0].group,
          },
        ],
      },
    )
    const [{ pool }] = (await svc.as('root').get('/pool')).body
    const uploads = [painter, other].map(({ user: { _id } }) => wireGrant(toUser(_id), 'asset_upload'))
    const block = { _id: pool._id, _version: pool._version }
    const given = await svc.as('root').post('/pool', [{ _basetype: 'pool', pool: block, _acl: uploads }])
    assert.equal(given.status, 200, JSON.stringify(given.body))
    const content = await picture()
    const sent = async (login: string, name: string, bytes = content): Promise<number> => {
      const { status, body } = await upload(svc, login, [{ name, content: bytes }])
      assert.equal(status, 200, JSON.stringify(body))
      return body[0]._id
    }
    const [own, second, foreign, text] = [
      await sent('painter', 'me.jpg'),
      await sent('painter', 'me2.jpg'),
      await sent('other', 'you.jpg'),
      await sent('painter', 'me.txt', Buffer.from('a text')),
    ]
    const set = async (login: string, user: Json, given: unknown) => {
      const { _version } = (await svc.as('root').get(`/user/${user.user._id}`)).body[0].user
      return svc.as(login).post('/user', [{ user: { _id: user.user._id, _version, picture: given } }])
    }
    for (const _id of [foreign, text, 999_999]) {
      const { status, body } = await set('painter', painter, [{ _id }])
      assert.deepEqual([status, body.code, body.parameters._id], [400, 'UserPictureNoRights', _id])
    }
    for (const wrong of [[{ _id: own }, { _id: second }], [{}], { _id: own }, 'x', [{ _id: 0 }]]) {
      assert.equal((await set('painter', painter, wrong)).status, 400, JSON.stringify(wrong))
    }
    const stored = await set('painter', painter, [{ _id: own }])
    assert.equal(stored.status, 200, JSON.stringify(stored.body))
    const seenBy = async (login: string): Promise<Json> =>
      (await svc.as(login).get(`/user/${painter.user._id}`)).body[0].user.picture
    for (const login of ['painter', 'root']) {
      const [file, ...none] = await seenBy(login)
      assert.deepEqual([file._id, file.class, file.preferred, none], [own, 'image', true, []])
      const answer = await fetched(svc, file.versions.original.url)
      assert.deepEqual([answer.status, sha256(answer.content)], [200, sha256(content)])
    }
    const session = await svc.as('painter').get('/user/session')
    assert.deepEqual(session.body.user.user.picture[0]._id, own)
    const before = await svc.as('other').get(`/user/${painter.user._id}`)
    assert.equal(before.body.code, 'UserNotFound')
    const grant = [wireGrant(toUser(other.user._id), 'bag_read')]
    const [{ user: now }] = (await svc.as('root').get(`/user/${painter.user._id}`)).body
    // What was read is sent back as it is, by somebody whose picture it is not.
    const granted = await svc.as('root').post('/user', [{ user: now, _acl: grant }], { strict: '1' })
    assert.equal(granted.status, 200, JSON.stringify(granted.body))
    const [seen] = await seenBy('other')
    assert.equal((await fetched(svc, seen.versions.original.url)).status, 200)
    assert.equal(seen.versions.original.download_url, undefined, 'looking at it is no right to have the original')
    assert.equal((await svc.as('other').get('/eas', { ids: JSON.stringify([own]) })).body.code, 'InsufficientRights')

    let later = Date.now()
    const unused = async (days: number) => {
      later = Date.now() + days * 86_400_000
      const janitor = createJanitor({
        ...{ db: svc.db, events: createEventLog(), log: pino({ level: 'silent' }) },
        formerFiles: () => async () => 0,
        locations: { all: () => [], storeOf: () => ({ remove: async () => {}, sweep: async () => 0 }) },
        ...{ settings: () => ({ active: true, file_expire_days: 30 }), paused: () => false, now: () => later },
      })
      await janitor.run()
      await janitor.close()
      const { rows } = await svc.db.query<{ id: number }>('select id from file order by id')
      return rows.map(({ id }) => id)
    }
    assert.equal((await set('root', archived, [{ _id: await sent('root', 'gone.jpg') }])).status, 200)
    const kept = await unused(31)
    assert.deepEqual([kept.length, kept.includes(own)], [2, true], 'only those that users have')
    const archive = await svc.as('root').delete(`/user/${archived.user._id}`, undefined, { delete_policy: 'archive' })
    assert.deepEqual([archive.status, archive.body[0].user.picture], [200, undefined])
    assert.deepEqual(await unused(31), [own])
    const replaced = await sent('painter', 'me3.jpg')
    assert.equal((await set('painter', painter, [{ _id: replaced }])).body[0].user.picture[0]._id, replaced)
    assert.deepEqual(await unused(31), [replaced])
    const none = await set('painter', painter, [])
    assert.deepEqual([none.status, none.body[0].user.picture], [200, undefined])
    assert.equal((await set('painter', painter, [{ _id: replaced }])).status, 200)
    const deleted = await svc.as('root').delete(`/user/${painter.user._id}`, undefined, { delete_policy: 'delete' })
    assert.equal(deleted.status, 200, JSON.stringify(deleted.body))
    assert.deepEqual(await unused(31), [])
  })

  test('a weak password is a question; confirm answers it, and skip_constraints of root asks none', async () => {
    await createUsers(svc, { user: { login: 'manager' }, _system_rights: { 'system.user': { create: true } } })
    const rules = await svc.as('root').post('/config/system/config/password/check', [{ regexp: '.{8}' }])
    assert.equal(rules.status, 200, JSON.stringify(rules.body))
    let made = 0
    const send = (login: string, method: 'post' | 'put', query: Record<string, string>) =>
      svc.as(login)[method]('/user', [{ user: { login: `weak${made++}` }, _password: 'x' }], query)
    for (const method of ['post', 'put'] as const) {
      assert.equal((await send('root', method, {})).status, 202)
      for (const query of ['confirm=ignore_password_requirements', 'skip_constraints=true']) {
        const answered = await send('root', method, Object.fromEntries(new URLSearchParams(query)))
        assert.equal(answered.status, 200, query)
      }
      assert.equal((await send('manager', method, { confirm: 'ignore_password_requirements' })).status, 200)
      assert.ok((await send('manager', method, { skip_constraints: 'true' })).status >= 400)
    }
  })

  test('skip_constraints of root takes addresses of any form, which then get no mail', async () => {
    const old = { user: { login: 'old', email: 'Büro, 2. Stock' } }
    for (const query of [{}, { skip_constraints: 'false' }] as Record<string, string>[]) {
      const refused = await svc.as('root').post('/user', [old], query)
      assert.deepEqual([refused.status, refused.body.code], [400, 'UserEmailMalformed'])
    }
    const [saved] = (await svc.as('root').post('/user', [old], { skip_constraints: 'true' })).body
    assert.equal(saved.user.email, old.user.email)
    assert.equal((await svc.as('root').get(`/user/${saved.user._id}`)).body[0].user.email, old.user.email)
    const twice = { user: { login: 'older', email: old.user.email } }
    const taken = await svc.as('root').post('/user', [twice], { skip_constraints: 'true' })
    assert.deepEqual([taken.status, taken.body.code], [409, 'UserDuplicateEmail'])
  })
})

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createGroups, createUsers, eventsOf } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { assertDocumented, assertNamed } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'

const en = (text: string) => ({ 'en-US': text })
const past = { value: '2020-01-01T00:00:00Z' }
const future = { value: '2999-01-01T00:00:00Z' }
const plain = (title: string, more: Json = {}) => ({ title: en(title), message: en(`${title}.`), ...more })

suite('messages', () => {
  let svc: TestService
  let root: Client
  let staff: number
  before(async () => {
    svc = await startService()
    root = svc.as('root')
    const [group] = await createGroups(svc, { group: { name: 'Staff', reference: 'staff' } })
    staff = group.group._id
    await createUsers(
      svc,
      { user: { login: 'ann' }, _groups: [{ group: { _id: staff } }] },
      { user: { login: 'bob' } },
      { user: { login: 'editor' }, _system_rights: { 'system.message': {} } },
    )
  })
  after(() => svc[Symbol.asyncDispose]())

  async function save(message: Json, groups?: Json, by: Client = root): Promise<Json> {
    const body = [{ _basetype: 'message', message, ...(groups === undefined ? {} : { _groups: groups }) }]
    const answer = await by.post('/message', body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]
  }

  async function refused(body: Json, by: Client = root): Promise<[number, string, Json]> {
    const before = (await root.get('/message')).body
    const answer = await by.post('/message', body)
    assert.deepEqual((await root.get('/message')).body, before)
    return [answer.status, answer.body.code, answer.body.parameters]
  }

  const titles = async (by: string | null): Promise<string[]> =>
    (await svc.as(by).get('/message/mine')).body.map(({ message }: Json) => message.title['en-US'])

  test('REC-003 REC-004 REC-010 READ-041 READ-043 READ-045 a message is stored with all of its fields', async () => {
    const fields = {
      title: { 'en-US': 'Terms', 'de-DE': 'Bedingungen' },
      message: en('No prints for sale.'),
      confirmation: en('I agree'),
      reference: 'terms',
      webfrontend_type: 'before download',
      webfrontend_props: { icon: 'fa-file' },
      confirm_every_version: true,
      show_always: true,
      client_ids: ['web-client'],
      start_time: { value: '2026-01-31T09:00:00+01:00' },
      end_time: { value: '2999-12-31T23:59:59Z' },
    }
    const stored = await save(fields, [{ _basetype: 'group', group: { 'lookup:_id': { reference: 'staff' } } }])
    const { _id: id } = stored.message
    assert.ok(!Number.isNaN(Date.parse(stored._created_at)) && !Number.isNaN(Date.parse(stored._updated_at)))
    assert.deepEqual(stored, {
      _basetype: 'message',
      message: { ...fields, _id: id, _version: 1, start_time: { value: '2026-01-31T08:00:00Z' } },
      _groups: [
        {
          _basetype: 'group',
          group: { _id: staff, 'lookup:_id': { reference: 'staff' }, _generated_displayname: 'Staff' },
        },
      ],
      _created_at: stored._created_at,
      _updated_at: stored._updated_at,
    })
    assert.deepEqual((await root.get(`/message/${id}`)).body, [stored])
    const again = await root.put('/message', [stored])
    assert.deepEqual(again.body, [
      { ...stored, message: { ...stored.message, _version: 2 }, _updated_at: again.body[0]._updated_at },
    ])
    const cleared = await save({
      'lookup:_id': { reference: 'terms' },
      _version: 2,
      confirmation: null,
      webfrontend_type: null,
      webfrontend_props: null,
      client_ids: null,
      start_time: null,
      end_time: { value: null },
      confirm_every_version: null,
      show_always: null,
    })
    assert.deepEqual(cleared.message, {
      _id: id,
      _version: 3,
      reference: 'terms',
      title: fields.title,
      message: fields.message,
      confirmation: {},
      webfrontend_props: {},
      confirm_every_version: false,
      show_always: false,
      client_ids: [],
      start_time: null,
      end_time: null,
    })
    assert.deepEqual(cleared._groups, stored._groups)
    assert.deepEqual((await root.delete(`/message/${id}`)).body, { status: { acknowledged: 'ok' } })
    const paths = ['GET /message', 'POST /message', 'GET /message/{id}', 'DELETE /message/{id}']
    assertNamed('administration.md', [...Object.keys(fields), '_groups', ...paths])
    await assertDocumented(svc, 'get /message', ['limit', 'offset'], 'administration.md')
    for (const operation of ['post /message', 'put /message', 'get /message/{id}', 'delete /message/{id}']) {
      await assertDocumented(svc, operation, ['strict', 'pretty'], 'requests.md')
    }
  })

  test('READ-042 READ-044 messages are created by POST and PUT, changed, read and deleted one by one', async () => {
    const created = await save(plain('One'))
    const put = await root.put('/message', [{ message: plain('Two') }])
    assert.equal(put.status, 200, JSON.stringify(put.body))
    const id = created.message._id
    const changed = await save({ _id: id, _version: 1, title: en('One more') })
    assert.deepEqual([changed.message.title, changed.message.message], [en('One more'), en('One.')])
    assert.equal((await root.get('/message', { limit: 1 })).body.length, 1)
    const byPut = await root.put('/message', [{ message: { _id: id, _version: 2, message: en('One, again.') } }])
    assert.equal(byPut.status, 200, JSON.stringify(byPut.body))
    const { body: read, status } = await root.get(`/message/${id}`)
    assert.deepEqual([status, read], [200, byPut.body])
    const { _version, title, message } = read[0].message
    assert.deepEqual([read.length, _version, title, message], [1, 3, en('One more'), en('One, again.')])
    const page = await root.get('/message', { limit: 1, offset: 1 })
    assert.deepEqual(page.body, (await root.get('/message')).body.slice(1, 2))
    assert.equal((await root.delete(`/message/${id}`)).status, 200)
    for (const gone of [await root.get(`/message/${id}`), await root.delete(`/message/${id}`)]) {
      assert.deepEqual([gone.status, gone.body.code, gone.body.package], [404, 'MessageNotFound', 'message'])
    }
    assert.equal((await root.delete(`/message/${put.body[0].message._id}`)).status, 200)
    assert.deepEqual((await root.get('/message')).body, [])
  })

  test('READ-040 RIGHTS-005 system.message or root: to read all messages, whomever they are for, and to write', async () => {
    const stored = await save(plain('Staff only'), [{ group: { _id: staff } }])
    const id = stored.message._id
    const editor = svc.as('editor')
    assert.deepEqual((await editor.get('/message')).body, [stored])
    assert.deepEqual((await root.get('/message')).body, [stored])
    for (const login of ['ann', 'bob']) {
      const user = svc.as(login)
      for (const answer of [
        await user.get('/message'),
        await user.get(`/message/${id}`),
        await user.post('/message', [{ message: plain('x') }]),
        await user.put('/message', [{ message: plain('x') }]),
        await user.delete(`/message/${id}`),
      ]) {
        assert.deepEqual([answer.status, answer.body.code], [403, 'SystemRightRequired'])
        assert.equal(answer.body.parameters.right, 'system.message')
      }
    }
    assert.deepEqual((await svc.as(null).get('/message')).body.code, 'UserRequired')
    // Groups that the editor may not read are not found, but for those that stand there.
    const hidden = [{ group: { _id: staff } }]
    assert.deepEqual((await refused([{ message: plain('y'), _groups: hidden }], editor)).slice(0, 2), [
      400,
      'LookupNotFound',
    ])
    await save({ _id: id, _version: 1, show_always: true }, hidden, editor)
    assert.equal((await editor.delete(`/message/${id}`)).status, 200)
  })

  test('what does not fit is refused with its place, and nothing of the request is stored', async () => {
    const ok = { message: plain('ok', { reference: 'ok' }) }
    assert.deepEqual((await refused([ok, { message: { title: en('t') } }]))[2], { path: '[1].message.message' })
    assert.deepEqual((await refused([{ message: { title: en(' '), message: en('m') } }]))[2], {
      path: '[0].message.title',
    })
    const window = await refused([{ message: plain('w', { start_time: future, end_time: past }) }])
    assert.deepEqual(window, [
      400,
      'StartTimeAfterEndTime',
      { path: '[0].message', start_time: '2999-01-01T00:00:00.000Z', end_time: '2020-01-01T00:00:00.000Z' },
    ])
    for (const value of ['soon', '2026-02-31', '2026-13-01T00:00:00Z', '99999-01-01T00:00:00Z']) {
      const [status, code, parameters] = await refused([{ message: plain('t', { start_time: { value } }) }])
      assert.deepEqual([status, code, parameters.path], [400, 'ServerGeneric', '[0].message.start_time.value'], value)
    }
    assert.deepEqual((await refused([{ message: plain('g'), _groups: [{ group: { _id: 99 } }] }])).slice(0, 2), [
      400,
      'LookupNotFound',
    ])
    assert.equal((await refused([{ message: plain('g'), _groups: [{ group: {} }] }]))[0], 400)
    assert.equal((await refused([{ message: plain('g'), _basetype: 'group' }]))[0], 400)
    const wrong = [{ _basetype: 'user', group: { 'lookup:_id': { reference: 'staff' } } }]
    assert.equal((await refused([{ message: plain('g'), _groups: wrong }]))[0], 400)
    assert.deepEqual((await refused([{ message: { _id: 4711, _version: 1 } }])).slice(0, 2), [400, 'LookupNotFound'])
    assert.equal((await refused([{ message: plain('v', { _version: 2 }) }]))[1], 'ServerGeneric')
    const stored = await save(ok.message)
    assert.deepEqual((await refused([ok])).slice(0, 2), [400, 'DatabaseUniqueKeyViolation'])
    const { _id: id } = stored.message
    assert.deepEqual((await refused([{ message: { _id: id, _version: 2, title: en('n') } }]))[2], {
      path: '[0].message._version',
      got: 2,
      expected: 1,
    })
    assert.equal((await refused([1, 2].map(() => ({ message: { _id: id, _version: 1 } }))))[1], 'ServerGeneric')
    await root.delete(`/message/${id}`)
  })

  test('everybody gets what is for them: by group, time and client; guests what is for all', async () => {
    const all = await save(plain('For all'), [])
    const guests = await save(plain('For guests'), [{ group: { 'lookup:_id': { reference: ':anonymous' } } }])
    const staffOnly = await save(plain('For staff'), [{ group: { _id: staff } }])
    const over = await save(plain('Over', { end_time: past }))
    const soon = await save(plain('Soon', { start_time: future }))
    const now = await save(plain('Now', { start_time: past, end_time: future }))
    const other = await save(plain('Elsewhere', { client_ids: ['another'] }))
    const here = await save(plain('Here', { client_ids: ['another', 'svc-web-frontend'] }))
    assert.deepEqual(await titles('ann'), ['For all', 'For staff', 'Now', 'Here'])
    assert.deepEqual(await titles('bob'), ['For all', 'Now', 'Here'])
    assert.deepEqual(await titles(null), ['For all', 'For guests', 'Now'])
    const [own] = (await svc.as('bob').get('/message/mine')).body
    assert.deepEqual(own, {
      _basetype: 'message',
      message: all.message,
      _confirmed: false,
      _created_at: all._created_at,
      _updated_at: all._updated_at,
    })
    for (const { message } of [all, guests, staffOnly, over, soon, now, other, here]) {
      assert.equal((await root.delete(`/message/${message._id}`)).status, 200)
    }
  })

  test('a confirmation is of one user and one version, which counts for all or for that one only', async () => {
    const once = await save(plain('Once', { confirmation: en('I agree') }))
    const each = await save(plain('Each', { confirmation: en('I agree'), confirm_every_version: true }))
    const hidden = await save(plain('Hidden', { start_time: future }))
    const ann = svc.as('ann')
    const confirmed = async (by: Client) =>
      Object.fromEntries(
        (await by.get('/message/mine')).body.map(({ message, _confirmed }: Json) => [
          message.title['en-US'],
          _confirmed,
        ]),
      )
    for (const { message } of [once, each]) {
      const answer = await ann.post(`/message/${message._id}/confirm`, { version: 1 })
      assert.deepEqual([answer.status, answer.body], [200, { status: 'ok' }])
      await ann.post(`/message/${message._id}/confirm`, { version: 1 })
    }
    assert.deepEqual(await confirmed(ann), { Once: true, Each: true })
    assert.deepEqual(await confirmed(svc.as('bob')), { Once: false, Each: false })
    for (const { message } of [once, each]) await save({ _id: message._id, _version: 1, message: en('New text.') })
    assert.deepEqual(await confirmed(ann), { Once: true, Each: false })
    const stale = await ann.post(`/message/${each.message._id}/confirm`, { version: 1 })
    assert.deepEqual([stale.status, stale.body.code], [400, 'VersionMismatch'])
    await ann.post(`/message/${each.message._id}/confirm`, { version: 2 })
    assert.deepEqual(await confirmed(ann), { Once: true, Each: true })
    const unseen = await ann.post(`/message/${hidden.message._id}/confirm`, { version: 1 })
    assert.deepEqual([unseen.status, unseen.body.code], [404, 'MessageNotFound'])
    assert.equal((await svc.as(null).post(`/message/${once.message._id}/confirm`, { version: 1 })).status, 401)
    for (const { message } of [once, each, hidden]) await root.delete(`/message/${message._id}`)
  })

  test('a message for a group that goes is for nobody, not for everybody', async () => {
    const [group] = await createGroups(svc, { group: { name: 'Trainees' } })
    const stored = await save(plain('Trainees'), [{ group: { _id: group.group._id } }])
    assert.equal((await root.delete(`/group/${group.group._id}`)).status, 200)
    assert.deepEqual(await titles('bob'), [])
    const [now] = (await root.get(`/message/${stored.message._id}`)).body
    assert.deepEqual(
      now._groups.map(({ group: { 'lookup:_id': lookup } }: Json) => lookup.reference),
      [':fallback'],
    )
    await root.delete(`/message/${stored.message._id}`)
  })

  test('events of messages name title, text and reference; only those whom a message is for hear of it', async () => {
    const groups = [{ group: { _id: staff } }]
    const { message } = await save(plain('Heard', { reference: 'heard' }), groups)
    await save({ _id: message._id, _version: 1, show_always: true })
    const poll = async (login: string) =>
      (await svc.as(login).get('/event/poll/0', { limit: 1000 })).body
        .map(({ event }: Json) => event)
        .filter(({ basetype, object_id: id }: Json) => basetype === 'message' && id === message._id)
        .map(({ type, object_version: version, info }: Json) => [type, version, info])
    const info = { title: en('Heard'), message: en('Heard.'), reference: 'heard' }
    const told = [
      ['MESSAGE_INSERT', 1, info],
      ['MESSAGE_UPDATE', 2, info],
    ]
    assert.deepEqual(await poll('ann'), told)
    assert.deepEqual(await poll('editor'), told)
    assert.deepEqual(await poll('bob'), [])
    await root.delete(`/message/${message._id}`)
    const [last] = (await eventsOf(svc, 'MESSAGE_DELETE')).slice(-1)
    assert.deepEqual([last.event.object_id, last.event.object_version, last.event.info], [message._id, 2, info])
  })
})

test('versions of messages follow the convention of the instance', async () => {
  await using svc = await startService({ versionConvention: 'next' })
  const root = svc.as('root')
  const [stored] = (await root.post('/message', [{ message: plain('Next') }])).body
  const { _id: id } = stored.message
  assert.equal((await root.post('/message', [{ message: { _id: id, _version: 1 } }])).body.code, 'VersionMismatch')
  const next = await root.post('/message', [{ message: { _id: id, _version: 2 } }])
  assert.deepEqual([next.status, next.body[0].message._version], [200, 2])
})

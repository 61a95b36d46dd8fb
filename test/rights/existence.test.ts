import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Answer, Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { inPool } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'

/** Ids are numbers that anybody can count: what is hidden is answered as what is not there (files: test/files/hidden.test.ts). */
suite('numbers tell nothing', () => {
  let svc: TestService
  let pool: number
  const ids: Record<string, number> = {}
  const absent = 999_999
  const root = () => svc.as('root')

  before(async () => {
    svc = await startService()
    const columns = { title: 'text_oneline', up: 'link:photo' }
    const flags = { pool_link: true, has_tags: true, is_hierarchical: true }
    await commitModel(svc, defineModel({ photo: { columns, flags } }))
    pool = await standardPool(svc)
    for (const login of ['viewer', 'other']) {
      const { body } = await root().post('/user', [{ user: { login }, _password: login }], {
        confirm: 'ignore_password_requirements',
      })
      ids[login] = body[0].user._id
    }
    ids.group = (await root().post('/group', [{ group: { name: 'hidden' } }])).body[0].group._id
    const message = { title: { 'en-US': 'x' }, message: { 'en-US': 'x' }, webfrontend_type: 'x' }
    const sent = await root().post('/message', [{ message, _groups: [{ group: { _id: ids.group } }] }])
    ids.message = sent.body[0].message._id
    const saved = await root().post('/db/photo', [photo({ title: 'x' })])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    ids.system = saved.body[0]._system_object_id
    ids.object = saved.body[0].photo._id
    ids.pool = pool
  })
  after(() => svc[Symbol.asyncDispose]())

  const photo = (block: Json, more: Json = {}) => ({
    _objecttype: 'photo',
    _mask: 'photo__standard',
    photo: { _version: 1, ...inPool(pool), ...block },
    ...more,
  })

  type Way = readonly [what: string, act: (id: number) => Promise<Answer>]
  const get = (what: string, path: (id: number) => string): Way => [what, (id) => svc.as('viewer').get(path(id))]
  const remove = (what: string, path: (id: number) => string, body?: (id: number) => Json): Way => [
    what,
    (id) => svc.as('viewer').delete(path(id), body?.(id)),
  ]
  const post = (what: string, path: string, body: (id: number) => Json): Way => [
    what,
    (id) => svc.as('viewer').post(path, body(id)),
  ]

  const ways: readonly Way[] = [
    get('object', (id) => `/db/photo/photo__standard/${id}`),
    get('object', (id) => `/db/photo/_all_fields/${id}`),
    get('system', (id) => `/db/photo/_all_fields/system_object_id/${id}`),
    get('object', (id) => `/db/photo/photo__standard/${id}?all_versions=1`),
    post('object', '/db/photo', (id) => [photo({ _id: id, _version: 2 })]),
    post('system', '/db/photo', (id) => [photo({ _version: 2 }, { _system_object_id: id })]),
    post('object', '/db/photo', (id) => [photo({ up: { _objecttype: 'photo', photo: { _id: id } } })]),
    post('object', '/db/photo', (id) => [photo({ _id_parent: id })]),
    post('pool', '/db/photo', (id) => [photo(inPool(id))]),
    remove(
      'object',
      () => '/db/photo',
      (id) => [[id, 1, null]],
    ),
    remove(
      'object',
      () => '/db/photo?delete_policy=remove',
      (id) => [[id, 1, null]],
    ),
    post('system', '/search', (id) => ({ search: [{ type: 'in', fields: ['_system_object_id'], in: [id] }] })),
    post('pool', '/search', (id) => ({ search: [{ type: 'in', fields: ['_pool'], in: [id] }] })),
    get('other', (id) => `/user/${id}`),
    remove('other', (id) => `/user/${id}`),
    post('other', '/user', (id) => [{ user: { _id: id, _version: 2, displayname: 'x' } }]),
    get('other', (id) => `/user/session/list?user_id=${id}`),
    remove('other', (id) => `/user/session/list?user_id=${id}`),
    get('other', (id) => `/user/passkey/list?user_id=${id}`),
    get('group', (id) => `/group/${id}`),
    remove('group', (id) => `/group/${id}`),
    post('group', '/group', (id) => [{ group: { _id: id, _version: 2, name: 'x' } }]),
    get('pool', (id) => `/pool/${id}`),
    get('pool', (id) => `/pool/${id}/stats`),
    remove('pool', (id) => `/pool/${id}`),
    post('pool', '/pool', (id) => [{ pool: { _id: id, _version: 2, name: { 'en-US': 'x' } } }]),
    get('message', (id) => `/message/${id}`),
    ['message', (id) => svc.as('viewer').post(`/message/${id}/confirm`, {})],
    get('event', (id) => `/event/${id}`),
    remove('event', (id) => `/event/${id}`),
    get('location', (id) => `/system/location/${id}`),
    get('system', (id) => `/right/explain?system_object_id=${id}`),
    get('preset', (id) => `/right/pool/presets/${id}`),
  ]

  /** An answer without the number that was asked for. */
  const told = ({ status, body, headers }: Answer, id: number) => {
    const { 'x-request-id': _, date: __, 'content-length': ___, ...rest } = headers
    const text = JSON.stringify(body).replaceAll(/"request_id":"[^"]*"/g, '')
    return { status, rest, text: text.replaceAll(new RegExp(`(?<=[":/ ])${id}(?![0-9])`, 'g'), '#') }
  }

  for (const right of ['nothing', 'create']) {
    test(`whoever may ${right} there is answered alike for what is hidden and what is not there`, async () => {
      const { pool: block } = (await root().get(`/pool/${pool}`)).body[0]
      const rights = right === 'create' ? { create: {} } : {}
      const _acl = [{ who: { _basetype: 'user', user: { _id: ids.viewer } }, rights }]
      const granted = await root().post('/pool', [
        { pool: { _id: pool, _version: block._version }, _acl: right === 'create' ? _acl : [] },
      ])
      assert.equal(granted.status, 200, JSON.stringify(granted.body))
      const hidden = { ...ids, event: 1, location: 1, preset: 1 } as Record<string, number>
      for (const [index, [what, act]] of ways.entries()) {
        // Who may create there knows the pool.
        if (right === 'create' && what === 'pool') continue
        const id = hidden[what] ?? 0
        const where = `${index} ${what} ${act}`
        const [there, not] = [await act(id), await act(absent)]
        assert.deepEqual(told(there, id), told(not, absent), where)
        if (index > 12) continue
        const counts = [await statementsOf(svc, () => act(id)), await statementsOf(svc, () => act(absent))]
        assert.equal(counts[0], counts[1], where)
      }
    })
  }
})

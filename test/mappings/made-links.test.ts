import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Json, Query } from '../support/client.ts'
import { type Archive, startArchive, tableId } from './support.ts'

suite('linked objects that a save brings along', () => {
  let archive: Archive
  const root = () => archive.svc.as('root')
  before(async () => {
    archive = await startArchive()
    const { body } = await root().post('/user', [{ user: { login: 'uma' }, _password: 'uma' }], {
      confirm: 'ignore_password_requirements',
    })
    const who = { _basetype: 'user', user: { _id: body[0].user._id } }
    const { pool } = (await root().get(`/pool/${archive.pool}`)).body[0]
    const granted = await root().post('/pool', [
      {
        pool: { _id: pool._id, _version: pool._version },
        _acl: [{ who, rights: { read: {}, create: {}, write: {}, mask: {} } }],
      },
    ])
    assert.equal(granted.status, 200, JSON.stringify(granted.body))
  })
  after(() => archive[Symbol.asyncDispose]())

  const made = (uuid: string, block: object, more: object = {}) => ({
    _objecttype: 'keyword',
    _mask: 'keyword__standard',
    _uuid: uuid,
    _mapped_metadata_created: true,
    keyword: block,
    ...more,
  })
  const photo = (keywords: object[], more: object = {}) => ({
    _objecttype: 'photo',
    _mask: 'photo__standard',
    photo: {
      headline: 'x',
      _pool: { pool: { _id: archive.pool } },
      '_nested:photo__keywords': keywords.map((keyword) => ({ keyword })),
      ...more,
    },
  })
  const save = (objects: object[], login = 'root', query: Query = {}) =>
    archive.svc.as(login).post('/db/photo', objects, { format: 'long', ...query })
  const names = async (): Promise<string[]> =>
    (await root().get('/db/keyword/_all_fields/list', { format: 'long' })).body.map(({ keyword }: Json) => keyword.name)

  test('each is made once, with its event and its history, and objects of the same request share it', async () => {
    const one = made('u-1', { name: 'one', label: { 'de-DE': 'Eins' } })
    const answer = await save([photo([one, one]), photo([one])], 'root', { strict: 1 })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(answer.body.length, 2)
    const links = answer.body.flatMap(({ photo: { '_nested:photo__keywords': rows } }: Json) =>
      rows.map(({ keyword }: Json) => keyword._system_object_id),
    )
    assert.equal(new Set(links).size, 1)
    assert.deepEqual(await names(), ['one'])
    const { body } = await root().get(`/db/keyword/_all_fields/system_object_id/${links[0]}`, { format: 'full' })
    assert.deepEqual(
      [body[0]._uuid, body[0].keyword.label, body[0]._changelog.map(({ operation }: Json) => operation)],
      ['u-1', { 'de-DE': 'Eins' }, ['INSERT']],
    )
    const events = (await root().get('/event/list', { limit: 1000 })).body.objects.map((each: Json) => each.event)
    assert.equal(
      events.filter(({ type, system_object_id: id }: Json) => type === 'OBJECT_INSERT' && id === links[0]).length,
      1,
    )
    // It is there by now: linked to as it is.
    const later = await save([photo([made('u-1', { name: 'another name' })])])
    assert.equal(later.body[0].photo['_nested:photo__keywords'][0].keyword._system_object_id, links[0])
    assert.deepEqual(await names(), ['one'])
    const patched = await root().patch('/db/photo', [
      {
        ...photo([made('u-2', { name: 'two' })]),
        photo: {
          _id: answer.body[0].photo._id,
          '_nested:photo__keywords': [{ keyword: made('u-2', { name: 'two' }) }],
        },
      },
    ])
    assert.equal(patched.status, 200, JSON.stringify(patched.body))
    assert.deepEqual(await names(), ['one', 'two'])
  })

  test('it takes the rights and keeps to the rules of any save, and nothing is stored otherwise', async () => {
    const before = await names()
    const count = async () => (await root().get('/db/photo/_all_fields/list')).body.length
    const photos = await count()
    const dry = await save([photo([made('u-9', { name: 'nine' })])], 'root', { dry_run: 1 })
    assert.equal(dry.status, 200, JSON.stringify(dry.body))
    for (const [keyword, login, status, code] of [
      [made('u-9', { name: 'nine' }), 'uma', 403, 'ObjectInsufficientRights'],
      [made('u-9', { name: 'one' }), 'root', 400, 'DatabaseUniqueKeyViolation'],
      [made('u-9', { name: 9 }), 'root', 400, 'InvalidValue'],
      [made('u-9', { name: 'nine' }, { _mask: 'photo__standard' }), 'root', 400, 'MaskNotFound'],
      [made('u-9', { name: 'nine' }, { _objecttype: 'person' }), 'root', 400, 'InvalidValue'],
      [made('u 9', { name: 'nine' }), 'root', 400, 'InvalidValue'],
      [{ ...made('u-9', { name: 'nine' }), _mapped_metadata_created: 1 }, 'root', 400, 'LookupNotFound'],
    ] as const) {
      const answer = await save([photo([keyword])], login)
      assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify([keyword, answer.body]))
    }
    assert.deepEqual([await names(), await count()], [before, photos])
    // Whoever may create both makes both.
    const table = await tableId(archive.svc, 'keyword')
    const { objecttype } = (await root().get(`/objecttype/${table}`)).body[0]
    const { body } = await root().get('/user', { limit: 100 })
    const who = { _basetype: 'user', user: { _id: body.find((one: Json) => one.user.login === 'uma').user._id } }
    const granted = await root().post('/objecttype', [
      {
        objecttype: { _id: table, _version: objecttype._version + 1 },
        _acl: [{ who, rights: { read: {}, create: {}, mask: {} } }],
      },
    ])
    assert.equal(granted.status, 200, JSON.stringify(granted.body))
    const answer = await save([photo([made('u-9', { name: 'nine' })])], 'uma')
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.deepEqual(await names(), [...before, 'nine'])
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { assertInvariants, createCollection, createNotes, entriesOf, ok, type Scene, startScene } from './support.ts'

let it: Scene

before(async () => {
  it = await startScene()
})
after(async () => {
  if (!it) return
  await assertInvariants(it.svc)
  await it[Symbol.asyncDispose]()
})

const grant = (rights: string, login: 'editor' | 'stranger' = 'editor', more: object = {}): Json =>
  wireGrant(toUser(it.ids[login]), rights, more)

async function enter(client: Client, id: number, pin: string | null): Promise<Json> {
  const { user } = ok(await client.get('/user/session')).user
  const codes = [{ collection_id: id, pin_code: pin }]
  return client.post('/user', [{ user: { _id: user._id }, _collection_pin_codes: codes }])
}

const record = async (client: Client, id: number): Promise<Json> => ok(await client.get(`/collection/${id}`))
const named = (wire: Json): string[] => Object.keys(wire._generated_rights).sort()

async function shared(pin: string | null, rights = 'bag_read bag_write link', more: object = {}): Promise<Json> {
  return createCollection(it.reader, { pin_code: pin, ...more }, { _acl: [grant(rights)] })
}

describe('a collection with a PIN', () => {
  test('shows itself without it, but gives no right besides and nothing of its list', async () => {
    const notes = await createNotes(it.reader, it.pool, 2, 'pin')
    const { _id: id } = await shared('henk')
    ok(
      await it.reader.post(`/collection/objects/${id}`, {
        objects: entriesOf(it.svc, notes).map((one) => ({ ...one, webfrontend_props: { slide: 1 } })),
      }),
    )
    const before = await record(it.editor, id)
    assert.deepEqual([before._has_pin, before.pin_ok, before._pin_ok], [true, false, false])
    assert.deepEqual(named(before), ['bag_read'])
    assert.equal(before.collection.pin_code, undefined)
    const hidden = ok(await it.editor.get(`/collection/objects/${id}`))
    assert.equal(hidden.count, 2)
    for (const entry of hidden.objects)
      assert.deepEqual(Object.keys(entry).sort(), ['_global_object_id', '_not_allowed'])
    const change = { collection: { _version: 1, type: 'search' } }
    assert.equal((await it.editor.post(`/collection/${id}`, change)).status, 403)
    assert.equal((await it.editor.post(`/collection/push/${id}`, { objects: entriesOf(it.svc, notes) })).status, 403)

    const wrong = await enter(it.editor, id, 'Henk')
    assert.equal(wrong.status, 200)
    assert.equal((await record(it.editor, id)).pin_ok, false)
    const right = ok(await enter(it.editor, id, 'henk'))
    assert.deepEqual(right[0]._collection_pin_codes, [{ collection_id: id }])
    const after = await record(it.editor, id)
    assert.deepEqual([after._has_pin, after.pin_ok, after._pin_ok], [true, true, true])
    assert.deepEqual(named(after), ['bag_read', 'bag_write', 'link'])
    assert.ok(ok(await it.editor.get(`/collection/objects/${id}`)).objects.every((one: Json) => one.webfrontend_props))
    ok(await it.editor.post(`/collection/${id}`, change))
    const [found] = ok(
      await it.editor.post('/search', {
        type: 'collection',
        search: [{ type: 'in', fields: ['collection._id'], in: [id] }],
      }),
    ).objects
    assert.deepEqual([found._has_pin, found.pin_ok], [true, true])

    ok(await enter(it.editor, id, null))
    assert.equal((await record(it.editor, id)).pin_ok, false)
  })

  test('asks neither its owner, nor root, nor who may change grants from above', async () => {
    const parent = await createCollection(it.reader, {}, { _acl: [grant('bag_read bag_write bag_acl')] })
    const { _id: id } = await createCollection(
      it.reader,
      { _id_parent: parent._id, pin_code: '123' },
      { _acl: [grant('bag_read bag_acl', 'stranger')] },
    )
    for (const client of [it.reader, it.root, it.editor]) assert.equal((await record(client, id)).pin_ok, true)
    // The grant that the PIN is about does not open itself.
    const asked = await record(it.stranger, id)
    assert.deepEqual([asked.pin_ok, named(asked), asked._acl], [false, ['bag_read'], undefined])
    ok(await enter(it.stranger, id, '123'))
    assert.ok((await record(it.stranger, id))._acl)
    // Who sets a PIN knows it.
    ok(await it.editor.post(`/collection/${id}`, { collection: { _version: 1, pin_code: '4567' } }))
    assert.equal((await record(it.stranger, id)).pin_ok, false)
    // A private one inherits no right to change its grants.
    const own = await createCollection(
      it.reader,
      { _id_parent: parent._id, pin_code: '123' },
      { _private_acl: true, _acl: [grant('bag_read bag_acl')] },
    )
    assert.equal((await record(it.editor, own._id)).pin_ok, false)
  })

  test('keeps what is below it as well, but nothing that was shared there', async () => {
    const { _id: id } = await shared('abcd')
    const child = await createCollection(it.reader, { _id_parent: id })
    const direct = await createCollection(
      it.reader,
      { _id_parent: id },
      { _acl: [grant('bag_read bag_delete', 'stranger')] },
    )
    assert.deepEqual(named(await record(it.editor, child._id)), ['bag_read'])
    assert.deepEqual(named(await record(it.stranger, direct._id)), ['bag_delete', 'bag_read'])
    const plain = await record(it.editor, child._id)
    assert.deepEqual([plain._has_pin, plain.pin_ok], [false, undefined])
    ok(await enter(it.editor, id, 'abcd'))
    assert.deepEqual(named(await record(it.editor, child._id)), ['bag_read', 'bag_write', 'link'])
  })

  test('is set, changed and taken away by who may change grants; another one makes remembered ones void', async () => {
    const { _id: id } = await shared(null, 'bag_read bag_write')
    const send = (client: Client, version: number, pin_code: string | null) =>
      client.post(`/collection/${id}`, { collection: { _version: version, pin_code } })
    const refused = await send(it.editor, 1, 'mine')
    assert.deepEqual([refused.status, refused.body.parameters.right], [403, 'bag_acl'])
    for (const pin of ['ab', 'a'.repeat(101)]) assert.equal((await send(it.reader, 1, pin)).status, 400, pin)
    ok(await send(it.reader, 1, '🔑🔑🔑'))
    ok(await enter(it.editor, id, '🔑🔑🔑'))
    assert.equal((await record(it.editor, id)).pin_ok, true)
    // What does not speak of it leaves it.
    ok(await it.reader.post(`/collection/${id}`, { collection: { _version: 2, type: 'search' } }))
    assert.equal((await record(it.editor, id)).pin_ok, true)
    ok(await send(it.reader, 3, '🔑🔑🔑'))
    assert.equal((await record(it.editor, id)).pin_ok, false)
    const gone = ok(await send(it.reader, 4, null))
    assert.deepEqual([gone._has_pin, gone.pin_ok], [false, undefined])
    assert.deepEqual(named(await record(it.editor, id)), ['bag_read', 'bag_write'])
    const { rows } = await it.svc.db.query('select pin_hash from collection where pin_hash is not null')
    for (const { pin_hash: hash } of rows as Json[]) assert.match(hash, /^\$argon2id\$/)
  })
})

describe('entering PINs', () => {
  test('is for oneself; collections that are unknown, or not seen, are passed over', async () => {
    const { _id: id } = await shared('1234')
    const other = await it.editor.post('/user', [
      { user: { _id: it.ids.reader }, _collection_pin_codes: [{ collection_id: id, pin_code: '1234' }] },
    ])
    assert.ok(other.status === 400 || other.status === 403)
    const codes = [
      { collection_id: 999_999, pin_code: '1234' },
      { collection_id: id, pin_code: '1234' },
    ]
    const [answer] = ok(
      await it.stranger.post('/user', [{ user: { _id: it.ids.stranger }, _collection_pin_codes: codes }]),
    )
    assert.equal(answer._collection_pin_codes, undefined)
    // The record is not written, whatever version it is said to have.
    const version = answer.user._version
    assert.equal(ok(await it.stranger.get('/user/session')).user.user._version, version)
    // What was read may be sent back.
    ok(await enter(it.editor, id, '1234'))
    const [{ user, _collection_pin_codes }] = ok(await it.editor.get(`/user/${it.ids.editor}`))
    ok(await it.editor.post('/user', [{ user, _collection_pin_codes }]))
    assert.equal((await record(it.editor, id)).pin_ok, true)
    const many = Array.from({ length: 21 }, (_, index) => ({ collection_id: index + 1, pin_code: '123' }))
    assert.equal(
      (await it.editor.post('/user', [{ user: { _id: it.ids.editor }, _collection_pin_codes: many }])).status,
      400,
    )
  })

  test('ten wrong ones are looked at within an hour, of each collection and address, however many come at once', async () => {
    const { _id: id } = await shared('right')
    const { _id: other } = await shared('right')
    const tries = await Promise.all(Array.from({ length: 14 }, () => enter(it.editor, id, 'wrong')))
    assert.deepEqual(tries.filter(({ status }) => status === 200).length, 10)
    const blocked = tries.find(({ status }) => status === 429)
    assert.equal(blocked?.body.code, 'TooManyAttempts')
    assert.ok(Number(blocked?.headers['retry-after']) > 0)
    assert.equal((await enter(it.editor, id, 'right')).status, 429)
    assert.equal((await record(it.editor, id)).pin_ok, false)
    ok(await enter(it.editor, other, 'right'))
    await it.svc.db.query(`update quota_use set until = now() where quota = 'collection PINs'`)
    ok(await enter(it.editor, id, 'right'))
    // Right ones do not count, and one that is known is not looked at.
    for (let count = 0; count < 12; count++) ok(await enter(it.editor, id, 'right'))
    for (let count = 0; count < 12; count++) {
      ok(await enter(it.editor, id, null))
      ok(await enter(it.editor, id, 'right'))
    }
  })

  test('a collection that goes takes what was remembered along, a PIN never stands in the log', async () => {
    const { _id: id } = await shared('secret-pin')
    ok(await enter(it.editor, id, 'secret-pin'))
    ok(await it.reader.delete(`/collection/${id}`))
    const { rows } = await it.svc.db.query('select from collection_pin where collection_id = $1', [id])
    assert.equal(rows.length, 0)
    const { rows: told } = await it.svc.db.query(`select from event where info::text like '%secret-pin%'`)
    assert.equal(told.length, 0)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import {
  assertInvariants,
  createCollection,
  createNotes,
  entriesOf,
  listed,
  ok,
  type Scene,
  startScene,
} from './support.ts'

let it: Scene
let free = 0

before(async () => {
  it = await startScene()
  const types = ok(await it.root.get('/objecttype')).map(({ objecttype }: Json) => objecttype)
  const { _id, _version } = types.find(({ name }: Json) => name === 'link')
  const _acl = [wireGrant(toUser(it.ids.reader), 'read mask create write delete link')]
  ok(await it.root.post('/objecttype', [{ objecttype: { _id, _version: _version + 1 }, _acl }]))
})
after(async () => {
  if (!it) return
  await assertInvariants(it.svc)
  await it[Symbol.asyncDispose]()
})

const noteOf = (more: object = {}) => {
  free++
  return {
    _objecttype: 'note',
    _mask: 'note__standard',
    _pool: { pool: { _id: it.pool } },
    note: { title: `t${free}`, code: `o${free}`, ...more },
  }
}

/** A note of the reader, and objects of the reader that link to it. */
async function linked(client: Client, count: number): Promise<{ note: Json; links: number[] }> {
  const [note] = ok(await client.post('/db/note', [noteOf()]))
  const target = { _objecttype: 'note', _mask: 'note__standard', _system_object_id: note._system_object_id }
  const body = Array.from({ length: count }, () => ({
    _objecttype: 'link',
    _mask: 'link__standard',
    link: { text: 'x', note: target },
  }))
  return { note, links: ok(await client.post('/db/link', body)).map((one: Json) => one._system_object_id) }
}

describe('objects that are created', () => {
  test('DB-013 DB-014 LIM-007 come to the end of the collection that the request names by its id', async () => {
    const [first] = (await createNotes(it.root, it.pool, 1, 'first')) as [number]
    const { _id } = await createCollection(it.reader, {}, { objects: entriesOf(it.svc, [first]) })
    const made = ok(await it.reader.post('/db/note', [noteOf(), noteOf()], { collection: _id }))
    const ids = made.map((one: Json) => one._system_object_id)
    assert.deepEqual(await listed(it.reader, _id), [first, ...ids])
    for (const wrong of [0, -1, 1.5, 'x']) {
      assert.equal((await it.reader.post('/db/note', [noteOf()], { collection: wrong })).status, 400, `${wrong}`)
    }
    // What is changed stays where it is; a dry run puts nothing anywhere.
    const [one] = made
    ok(
      await it.reader.post('/db/note', [{ ...one, note: { ...one.note, title: 'changed' } }], {
        collection: _id,
        dry_run: 1,
      }),
    )
    ok(await it.reader.post('/db/note', [noteOf()], { collection: _id, dry_run: 1 }))
    assert.deepEqual(await listed(it.reader, _id), [first, ...ids])
  })

  test('are not made where the caller may not add to the collection', async () => {
    const own = await createCollection(it.root)
    const shared = await createCollection(it.root, {}, { _acl: [wireGrant(toUser(it.ids.reader), 'bag_read')] })
    for (const dry_run of [0, 1]) {
      const before = free + 1
      const missing = await it.reader.post('/db/note', [noteOf()], { collection: own._id, dry_run })
      assert.deepEqual([missing.status, missing.body.code], [404, 'ObjectNotFound'])
      const refused = await it.reader.post('/db/note', [noteOf()], { collection: shared._id, dry_run })
      assert.deepEqual(
        [refused.status, refused.body.code, refused.body.parameters.right],
        [403, 'RightRequired', 'link'],
      )
      const found = ok(
        await it.root.post('/search', {
          search: [{ type: 'in', fields: ['note.code'], in: [`o${before}`, `o${free}`] }],
        }),
      )
      assert.equal(found.count, 0)
    }
  })
})

describe('_collections of an object', () => {
  test('names the collections that it is in, of which the caller sees', async () => {
    const [id] = (await createNotes(it.root, it.pool, 1, 'in')) as [number]
    const objects = entriesOf(it.svc, [id])
    const own = await createCollection(it.reader, { displayname: { 'en-US': 'Own' } }, { objects })
    const hidden = await createCollection(it.root, { displayname: { 'en-US': 'Hidden' } }, { objects })
    const names = async (client: Client) => {
      const [object] = ok(await client.get(`/db/note/_all_fields/system_object_id/${id}`))
      return object._collections
    }
    const read = async (client: Client) => (await names(client)).map((one: Json) => one.collection._id)
    const [shown] = ok(await it.reader.get(`/db/note/note__standard/system_object_id/${id}`))
    assert.deepEqual(shown._collections, [
      {
        _basetype: 'collection',
        collection: { _id: own._id, _id_parent: own._id_parent, _version: 1, displayname: { 'en-US': 'Own' } },
      },
    ])
    assert.deepEqual(await read(it.root), [own._id, hidden._id])
    ok(await it.reader.post(`/collection/remove/${own._id}`, objects))
    assert.deepEqual(await read(it.root), [hidden._id])
  })
})

describe('deleting objects', () => {
  test('takes them out of all collections; what comes back from the trash is in none', async () => {
    const ids = (await createNotes(it.root, it.pool, 3, 'gone')) as [number, number, number]
    const lists = await Promise.all(
      [1, 2].map(() => createCollection(it.reader, {}, { objects: entriesOf(it.svc, ids) })),
    )
    const [object] = ok(await it.root.get(`/db/note/_all_fields/system_object_id/${ids[1]}`))
    const triple = [[object.note._id, object.note._version, null]]
    ok(await it.root.delete('/db/note', triple, { delete_policy: 'remove', dry_run: 1 }))
    assert.deepEqual(await listed(it.reader, lists[0]?._id), ids)
    ok(await it.root.delete('/db/note', triple, { delete_policy: 'remove' }))
    for (const { _id } of lists) {
      assert.deepEqual(await listed(it.reader, _id), [ids[0], ids[2]])
      assert.equal(ok(await it.reader.get(`/collection/${_id}`))._count, 2)
    }
    ok(
      await it.root.delete('/db/note', [[object.note._id, object.note._version + 1, null]], {
        delete_policy: 'undelete',
      }),
    )
    assert.deepEqual(await listed(it.reader, lists[0]?._id), [ids[0], ids[2]])
  })

  test('objects that are deleted while somebody adds them are in no list', async () => {
    const ids = await createNotes(it.root, it.pool, 6, 'race')
    const { _id } = await createCollection(it.reader)
    const stored = ok(await it.root.get('/db/note/_all_fields/list', { limit: 10_000 })).filter((one: Json) =>
      ids.includes(one._system_object_id),
    )
    const [added, deleted] = await Promise.all([
      Promise.all(ids.map((id) => it.reader.post(`/collection/push/${_id}`, { objects: entriesOf(it.svc, [id]) }))),
      Promise.all(
        stored.map(({ note }: Json) =>
          it.root.delete('/db/note', [[note._id, note._version, null]], { delete_policy: 'remove' }),
        ),
      ),
    ])
    for (const { status } of deleted) assert.equal(status, 200)
    for (const { status } of added) assert.ok(status === 200 || status === 400, `${status}`)
    assert.deepEqual(await listed(it.reader, _id), [])
    assert.equal(ok(await it.reader.get(`/collection/${_id}`))._count, 0)
  })

  test('DB-034 delete_policy=create_collection collects the objects that link to them, and deletes nothing', async () => {
    const { note, links } = await linked(it.root, 2)
    const triple = [[note.note._id, note.note._version, null]]
    const answer = ok(await it.root.delete('/db/note', triple, { delete_policy: 'create_collection' }))
    assert.deepEqual([answer.policy, answer.removed, answer.setnull], ['create_collection', [], []])
    const made = ok(await it.root.get(`/collection/${answer.create_collection}`))
    assert.equal(made.collection._id_parent, 3)
    assert.equal(made.collection.displayname['en-US'], new Date().toISOString().slice(0, 10))
    assert.deepEqual(await listed(it.root, answer.create_collection), links)
    assert.equal(ok(await it.root.get(`/db/note/_all_fields/system_object_id/${note._system_object_id}`)).length, 1)
    const before = ok(await it.root.get('/collection/3'))._count_recursive
    const dry = ok(await it.root.delete('/db/note', triple, { delete_policy: 'create_collection', dry_run: 1 }))
    assert.equal(dry.create_collection, 0)
    assert.equal(ok(await it.root.get('/collection/3'))._count_recursive, before)
  })

  test('DB-036 without a policy the answer is 202 with the three choices, with links or without, and nothing is deleted', async () => {
    for (const count of [0, 2]) {
      const { note } = await linked(it.root, count)
      const { status, body } = await it.root.delete('/db/note', [[note.note._id, note.note._version, null]])
      assert.equal(status, 202)
      const [form] = body.tasks[0].form
      assert.equal(form.name, 'delete_policy')
      const choices = form.options.map(({ value, disabled }: Json) => [value, disabled])
      assert.deepEqual(choices.toSorted(), [
        ['create_collection', false],
        ['remove', false],
        ['setnull', false],
      ])
      assert.equal(ok(await it.root.get(`/db/note/_all_fields/system_object_id/${note._system_object_id}`)).length, 1)
    }
  })
})

describe('owners who go', () => {
  let made = 0
  async function leaver(): Promise<{ id: number; client: Client; list: Json; notes: number[] }> {
    const login = `leaver${++made}`
    const [{ user }] = ok(
      await it.root.post('/user', [{ user: { login, reference: login }, _password: login }], {
        confirm: 'ignore_password_requirements',
      }),
    )
    const client = it.svc.as(login)
    const notes = await createNotes(it.root, it.pool, 1, login)
    const list = await createCollection(
      client,
      { displayname: { 'en-US': 'Work' } },
      { _acl: [wireGrant(toUser(it.ids.stranger), 'bag_read')] },
    )
    ok(await it.root.post(`/collection/push/${list._id}`, { objects: entriesOf(it.svc, notes) }))
    return { id: user._id, client, list, notes }
  }

  test('are asked about: the number of collections and shares', async () => {
    const { id } = await leaver()
    for (const delete_policy of ['delete', 'archive']) {
      const { status, body } = await it.root.delete(`/user/${id}`, undefined, { delete_policy })
      assert.equal(status, 202)
      const [task] = body.tasks
      assert.match(task.message, /has 1 collections with 1 shares/)
      assert.deepEqual([task.buttons[0].name, task.buttons[0].value], ['confirm', 'collections'])
    }
    const [{ user }] = ok(await it.root.post('/user', [{ user: { login: 'empty' } }]))
    ok(await it.root.delete(`/user/${user._id}`, undefined, { delete_policy: 'delete' }))
  })

  test('archived ones keep their collections, which nobody but root reaches', async () => {
    const { id, list } = await leaver()
    assert.equal((await it.stranger.get(`/collection/${list._id}`)).status, 200)
    ok(await it.root.delete(`/user/${id}`, undefined, { delete_policy: 'archive', confirm: 'collections' }))
    assert.equal((await it.stranger.get(`/collection/${list._id}`)).status, 404)
    assert.ok(!ok(await it.stranger.get('/collection/list')).some((one: Json) => one.collection._id === list._id))
    assert.equal((await it.root.get(`/collection/${list._id}`)).status, 200)
    ok(await it.root.delete(`/user/${id}`, undefined, { delete_policy: 'unarchive' }))
    assert.equal((await it.stranger.get(`/collection/${list._id}`)).status, 200)
  })

  test('the collections of deleted ones are deleted, or come to whoever takes them over', async () => {
    const first = await leaver()
    ok(await it.root.delete(`/user/${first.id}`, undefined, { delete_policy: 'delete', confirm: 'collections' }))
    assert.equal((await it.root.get(`/collection/${first.list._id}`)).status, 404)
    const second = await leaver()
    ok(
      await it.root.delete(`/user/${second.id}`, undefined, {
        delete_policy: 'delete',
        confirm: 'collections',
        _transfer_collections: 1,
      }),
    )
    const kept = ok(await it.root.get(`/collection/${second.list._id}`))
    assert.equal(kept._owner.user._id, 1)
    assert.deepEqual(
      kept._path.slice(0, 3).map((one: Json) => one.collection._id),
      [1, 2, 3],
    )
    assert.deepEqual(await listed(it.root, second.list._id), second.notes)
  })
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, seedTag, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** Who finds what in the trash: those who may read an object and delete it, as its stored row says at the moment. */

let museum: Museum
let people: People
/** System object ids by name. */
const ids: Record<string, number> = {}
const versions: Record<string, { _id: number; _version: number }> = {}
let pool: Json

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  const tag = await seedTag(people.root)
  const staff = toGroup(people.ids.staff)
  const tagged = { tagfilter: { all: [tag], any: [], not: [] } }
  pool = await createPool(people.root, {}, { _acl: [wireGrant(staff, 'read'), wireGrant(staff, 'delete', tagged)] })
  const toStranger = (rights: string) => wireGrant(toUser(people.ids.stranger), rights)
  await save({
    untagged: {},
    tagged: { _tags: [{ _id: tag }] },
    own: { _owner: toUser(people.ids.reader) },
    readGrant: { _acl: [toStranger('read')] },
    deleteGrant: { _acl: [toStranger('read delete')] },
    deleteOnly: { _acl: [toStranger('delete')] },
    typed: {
      _acl: [
        wireGrant(toUser(people.ids.stranger), 'read'),
        { ...toStranger('delete'), rights: { delete: { objecttype_ids: [999] } } },
      ],
    },
    past: { _acl: [toStranger('read'), { ...toStranger('delete'), when: { to: '2001-01-01T00:00:00Z' } }] },
    here: { _acl: [toStranger('read')] },
  })
  const gone = Object.keys(ids).filter((name) => name !== 'here')
  const answer = await people.root.delete(
    '/db/work',
    gone.map((name) => [versions[name]?._id, versions[name]?._version, null]),
    { delete_policy: 'setnull', await_index: 30 },
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
})
after(() => museum[Symbol.asyncDispose]())

async function save(works: Record<string, object>): Promise<void> {
  const body = Object.entries(works).map(([name, rest]) =>
    payload('work', { _pool: { pool: { _id: pool._id } }, title: { 'en-US': `stela${name}` } }, rest),
  )
  const answer = await people.root.post('/db/work', body, { await_index: 30 })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  for (const [index, name] of Object.keys(works).entries()) {
    ids[name] = answer.body[index]._system_object_id
    versions[name] = { _id: answer.body[index].work._id, _version: answer.body[index].work._version }
  }
}

async function found(client: Client, more: object = {}): Promise<string[]> {
  const { status, body } = await client.post('/search', {
    objecttypes: ['work'],
    include_deleted: true,
    limit: 100,
    ...more,
  })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.count, body.objects.length)
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  return body.objects.map((object: Json) => names.get(object._system_object_id) ?? '').toSorted()
}

const any = { search: [{ type: 'match', mode: 'wildcard', string: 'stela*' }] }

test('the trash shows what the caller may read and delete, by grants on pools and on objects, their limits and their time', async () => {
  const all = Object.keys(ids).toSorted()
  assert.deepEqual(await found(people.root), all)
  assert.deepEqual(await found(people.reader), ['here', 'own', 'tagged'])
  assert.deepEqual(await found(people.stranger), ['deleteGrant', 'here'])
  for (const client of [people.root, people.reader, people.stranger]) {
    assert.deepEqual(await found(client, any), await found(client), 'by a word of the trash')
  }
  assert.deepEqual(await found(people.stranger, { ...any, include_deleted: false }), ['here'])
})

test('a right to delete counts as soon as it is given, though the index has nothing of it', async () => {
  assert.deepEqual(await found(people.reader), ['here', 'own', 'tagged'])
  const stored = await people.root.get(`/pool/${pool._id}`)
  const body = Array.isArray(stored.body) ? stored.body[0] : stored.body
  const staff = toGroup(people.ids.staff)
  const update = async (version: number, rights: string): Promise<number> => {
    const changed = { ...body, pool: { ...body.pool, _version: version }, _acl: [wireGrant(staff, rights)] }
    const answer = await people.root.post('/pool', [changed])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0].pool._version
  }
  const next = await update(body.pool._version, 'read delete')
  const everything = ['deleteGrant', 'deleteOnly', 'here', 'own', 'past', 'readGrant', 'tagged', 'typed', 'untagged']
  assert.deepEqual(await found(people.reader), everything)
  await update(next, 'read')
  assert.deepEqual(await found(people.reader), ['here', 'own'])
})

test('a search in the trash reads no list of it', async () => {
  const statements: string[] = []
  const stop = onStatement((text) => statements.push(text))
  await found(people.stranger, { sort: [{ field: '_system_object_id' }] })
  stop()
  assert.ok(statements.some((text) => text.includes('from search_document')))
  const listing = statements.filter((text) => text.includes('deleted_at is not null'))
  assert.deepEqual(listing, [])
})

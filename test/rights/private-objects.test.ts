import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { someFiles } from '../files/support.ts'
import { createPool } from '../pools/support.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { type People, seedPeople, toGroup, toUser, wireGrant } from './people.ts'

/** Objects with private permissions: of the grants of their pools only sticky ones reach them. */
let museum: Museum
let people: People
/** Staff may do everything in it, and read what is private there. */
let pool: number

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  const all = 'read write delete create acl unlink asset_show asset_download asset_upload'
  const made = await createPool(
    people.root,
    {},
    {
      _acl: [wireGrant(toGroup(people.ids.staff), all), wireGrant(toUser(people.ids.editor), 'read', { sticky: true })],
    },
  )
  pool = made._id
})
after(() => museum[Symbol.asyncDispose]())

async function save(client: Client, block: object, rest: object = {}): Promise<Json> {
  const { status, body } = await client.post('/db/work', [payload('work', { ...inPool(pool), ...block }, rest)], {
    format: 'long',
    await_index: 60,
    skip_reverse_nested: 1,
  })
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]
}

const works = { objecttypes: ['work'], format: 'short', limit: 1000 }
const idOf = (object: Json): number => object._system_object_id

/** Where the caller meets the object. */
async function seenBy(client: Client, object: Json): Promise<Record<string, boolean>> {
  const id = idOf(object)
  const has = (list: Json[]) => list.some((one) => one._system_object_id === id)
  const [read, list, found, counted, linked, events] = await Promise.all([
    client.get(`/db/work/_all_fields/system_object_id/${id}`, { format: 'short' }),
    client.get('/db/work/work__title_only/list', { format: 'short', limit: 1000 }),
    client.post('/search', works),
    client.post('/search', { ...works, limit: 0, aggregations: { n: { type: 'term', field: 'work.inventory' } } }),
    client.get('/db/loan/loan__standard/list', { limit: 1000 }),
    client.get('/event/poll/0', { limit: 1000 }),
  ])
  assert.deepEqual([found.status, counted.status, linked.body.length], [200, 200, 1])
  const { inventory } = object.work
  const link = linked.body.map(({ loan }: Json) => loan.work).find((one: Json) => one?._system_object_id === id)
  return {
    // The mask is one that nobody but root may use: whoever may read is told so.
    read: read.status === 403 || read.body.length === 1,
    list: has(list.body),
    search: has(found.body.objects),
    facet: counted.body.aggregations.n.terms.some(({ term }: Json) => term === inventory),
    link: link !== undefined && link._not_allowed !== true,
    event: events.body.some(({ event }: Json) => event.system_object_id === id),
  }
}

const everywhere = { read: true, list: true, search: true, facet: true, link: true, event: true }
const nowhere = { read: false, list: false, search: false, facet: false, link: false, event: false }

test('grants of the pool do not reach a private object anywhere; its own do, and sticky ones, and owners always', async () => {
  const types = (await people.root.get('/objecttype')).body
  const { objecttype } = types.find((one: Json) => one.objecttype.name === 'loan')
  const loans = {
    objecttype: { _id: objecttype._id, _version: objecttype._version + 1 },
    _acl: [wireGrant({ _basetype: 'group', group: { 'lookup:_id': { reference: ':all' } } }, 'read')],
  }
  assert.equal((await people.root.post('/objecttype', [loans])).status, 200)
  const work = await save(people.root, { inventory: 'PO1', title: { 'en-US': 'Contract' } })
  const loan = payload('loan', { borrower: 'Ann', work: { _objecttype: 'work', _system_object_id: idOf(work) } })
  assert.equal((await people.root.post('/db/loan', [loan], { await_index: 60 })).status, 200)
  assert.equal(work._private_acl, false)
  assert.deepEqual(await seenBy(people.reader, work), everywhere)
  const change = async (rest: object, version: number) =>
    save(people.root, { _id: work.work._id, _version: version, inventory: 'PO1' }, rest)
  assert.equal((await change({ _private_acl: true }, 1))._private_acl, true)
  assert.deepEqual(await seenBy(people.reader, work), nowhere)
  assert.deepEqual(await seenBy(people.editor, work), everywhere)
  // What is not sent stays.
  const shared = await change({ _acl: [wireGrant(toUser(people.ids.stranger), 'read')] }, 2)
  assert.equal(shared._private_acl, true)
  assert.deepEqual(await seenBy(people.reader, work), nowhere)
  assert.deepEqual(await seenBy(people.stranger, work), everywhere)
  await change({ _acl: [], _owner: toGroup(people.ids.staff) }, 3)
  assert.deepEqual(await seenBy(people.reader, work), everywhere)
  assert.deepEqual(await seenBy(people.stranger, work), nowhere)
  // Versions are what they were.
  const { body } = await people.root.get(`/db/work/_all_fields/${work.work._id}`, { all_versions: 1, format: 'long' })
  assert.deepEqual(
    body.map((one: Json) => [one.work._version, one._private_acl]).sort(([a]: [number], [b]: [number]) => a - b),
    [
      [1, false],
      [2, true],
      [3, true],
      [4, true],
    ],
  )
  await change({ _private_acl: null, _owner: toUser(1) }, 4)
  assert.deepEqual(await seenBy(people.reader, work), everywhere)
})

test('only who has the right acl makes an object private, and is asked when that shuts it out', async () => {
  const work = await save(people.root, { inventory: 'PO2' })
  const entry = (more: object, version = 1) => ({
    _objecttype: 'work',
    _mask: 'work__standard',
    ...more,
    work: { _id: work.work._id, _version: version, inventory: 'PO2' },
  })
  const asked = await people.reader.post('/db/work', [entry({ _private_acl: true })])
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  assert.deepEqual([asked.body.tasks[0].buttons[0].name, asked.body.tasks[0].buttons[0].value], ['revoke', 'yes'])
  const own = wireGrant(toUser(people.ids.reader), 'read write')
  const kept = await people.reader.post('/db/work', [entry({ _private_acl: true, _acl: [own] })])
  assert.equal(kept.status, 200, JSON.stringify(kept.body))
  // Its own grant does not let it change the grants.
  const refused = await people.reader.post('/db/work', [entry({ _private_acl: false }, 2)])
  assert.deepEqual([refused.status, refused.body.parameters.right], [403, 'acl'])
  const patched = await people.reader.patch('/db/work', [entry({ _comment: 'as it is' }, 2)])
  assert.equal(patched.status, 200, JSON.stringify(patched.body))
  const wrong = await people.root.post('/db/work', [entry({ _private_acl: 'yes' }, 3)])
  assert.deepEqual([wrong.status, wrong.body.parameters.name], [400, '0._private_acl'])
  const shown = (client: Client) => client.get(`/db/work/work__standard/${work.work._id}`, { format: 'full' })
  assert.deepEqual(Object.keys((await shown(people.reader)).body[0]._generated_rights).sort(), ['read', 'write'])
  assert.equal('_private_acl' in (await shown(people.reader)).body[0], false)
  assert.equal((await shown(people.root)).body[0]._private_acl, true)
})

test('files of a private object are for those whom its own grants name', async () => {
  const [file] = await someFiles(museum.svc, 1)
  const work = await save(people.root, { inventory: 'PO3', image: [{ _id: file, preferred: true }] })
  const files = async (client: Client) => Object.keys((await client.get('/eas', { ids: `[${file}]` })).body)
  assert.deepEqual(await files(people.reader), [String(file)])
  const block = { _id: work.work._id, inventory: 'PO3', image: [{ _id: file, preferred: true }] }
  await save(people.root, { ...block, _version: 1 }, { _private_acl: true })
  assert.ok((await files(people.reader)).includes('code'))
  const _acl = [wireGrant(toUser(people.ids.reader), 'read asset_show')]
  await save(people.root, { ...block, _version: 2 }, { _acl })
  assert.deepEqual(await files(people.reader), [String(file)])
})

test('explanations say that private permissions stand in the way, and name no grant of the pool as what would help', async () => {
  const work = await save(people.root, { inventory: 'PO4' }, { _private_acl: true })
  const { body } = await people.root.get('/right/explain', { user: people.ids.reader, system_object_id: idOf(work) })
  const read = body.rights.find(({ name }: Json) => name === 'read')
  assert.equal(read.holds, false)
  assert.deepEqual(
    read.needed.map(({ because }: Json) => because),
    [['private'], ['principal'], ['no_grant']],
  )
  assert.deepEqual(read.needed.at(-1).on, { system_object_id: idOf(work) })
})

test('where objects have no grants of their own there are no private permissions', async () => {
  const loan = (strict: number) =>
    people.root.post('/db/loan', [payload('loan', { borrower: 'Ben' }, { _private_acl: true })], { strict })
  const ignored = await loan(0)
  assert.deepEqual([ignored.status, ignored.headers['x-svc-ignored']], [200, '0._private_acl'])
  const refused = await loan(1)
  assert.deepEqual([refused.status, refused.body.parameters.name], [400, '0._private_acl'])
})

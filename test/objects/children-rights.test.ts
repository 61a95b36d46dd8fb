import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type People, seedPeople, seedTag, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

/** A box stands alone at the top for each case, with one item in it; the reader may read all boxes, and some items. */
const model = () =>
  defineModel({
    item: {
      columns: { name: 'text_oneline' },
      flags: { is_hierarchical: true, acl_table: true, pool_link: true, has_tags: true },
    },
    other: { columns: { name: 'text_oneline' } },
  })

let svc: TestService
let people: People
let tag: number
let pools: { shown: number; tagged: number; hidden: number }
before(async () => {
  svc = await startService()
  await commitModel(svc, model())
  people = await seedPeople(svc)
  tag = await seedTag(people.root)
  const reading = wireGrant(toUser(people.ids.reader), 'read')
  const pool = async (name: string, acl: object[], more: object = {}): Promise<number> => {
    const { status, body } = await people.root.post('/pool', [
      { pool: { _id_parent: 1, name: { 'en-US': name }, ...more }, _acl: acl },
    ])
    assert.equal(status, 200, JSON.stringify(body))
    return body[0].pool._id
  }
  pools = {
    shown: await pool('Shown', [reading]),
    tagged: await pool('Tagged', [{ ...reading, tagfilter: { all: [tag] } }]),
    hidden: await pool('Hidden', [], { contact: toUser(people.ids.reader) }),
  }
})
after(() => svc[Symbol.asyncDispose]())

const past = '2001-01-01T00:00:00Z'
const future = '2999-01-01T00:00:00Z'

test('_has_children counts only children that the caller may read', async () => {
  const reader = toUser(people.ids.reader)
  const read = (more: object = {}, who: object = reader) => ({ _acl: [wireGrant(who, 'read', more)] })
  const onlyOf = (type: number) => ({ _acl: [{ who: reader, rights: { read: { objecttype_ids: [type] } } }] })
  const tagged = { _tags: [{ _id: tag }] }
  const cases: Record<string, { item: object; pool?: number; shown: boolean }> = {
    nothing: { item: {}, shown: false },
    'readable pool': { item: {}, pool: pools.shown, shown: true },
    'pool for what has a tag': { item: {}, pool: pools.tagged, shown: false },
    'pool for what has a tag, with the tag': { item: tagged, pool: pools.tagged, shown: true },
    owner: { item: { _owner: reader }, shown: true },
    'group as owner': { item: { _owner: toGroup(people.ids.staff) }, shown: true },
    'another owner': { item: { _owner: toUser(people.ids.stranger) }, shown: false },
    'own grant': { item: read(), shown: true },
    'own grant to a group': { item: read({}, toGroup(people.ids.staff)), shown: true },
    'own grant to another': { item: read({}, toUser(people.ids.stranger)), shown: false },
    'own grant of another right': { item: { _acl: [wireGrant(reader, 'write')] }, shown: false },
    'own grant that is not in force': { item: read({ active: false }), shown: false },
    'own grant that is over': { item: read({ when: { to: past } }), shown: false },
    'own grant of the future': { item: read({ when: { from: future } }), shown: false },
    'own grant of these years': { item: read({ when: { from: past, to: future } }), shown: true },
    'own grant for a tag': { item: read({ tagfilter: { any: [tag] } }), shown: false },
    'own grant for a tag that is there': { item: { ...tagged, ...read({ tagfilter: { any: [tag] } }) }, shown: true },
    'own grant without a tag': { item: { ...tagged, ...read({ tagfilter: { not: [tag] } }) }, shown: false },
    'own grant for the type': { item: onlyOf(1), shown: true },
    'own grant for another type': { item: onlyOf(2), shown: false },
    'own grant to the contact': { item: read({}, { _pool_contact: true }), shown: true },
  }
  for (const [name, { item, pool = pools.hidden, shown }] of Object.entries(cases)) {
    const box = await add({ name }, { _acl: [wireGrant(reader, 'read')] }, pools.hidden)
    const child = await add({ name, 'lookup:_id_parent': { _system_object_id: box } }, item, pool)
    const alone = await get(child)
    assert.equal(alone.length, shown ? 1 : 0, `${name}: the item`)
    const [found] = await get(box)
    assert.equal(found._has_children, shown, name)
    assert.equal((await get(box, people.root))[0]._has_children, true, `${name}: root`)
  }
})

async function add(block: object, rest: object, pool: number): Promise<number> {
  const { status, body } = await people.root.post('/db/item', [
    { _objecttype: 'item', _mask: '_all_fields', ...rest, item: { _pool: { pool: { _id: pool } }, ...block } },
  ])
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]._system_object_id
}

async function get(id: number, client = people.reader): Promise<Json> {
  const { status, body } = await client.get(`/db/item/item__standard/system_object_id/${id}`, { format: 'long' })
  if (status !== 200) return []
  return body
}

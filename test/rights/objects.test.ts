import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import type { Client, Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { type People, seedPeople, seedTag, toGroup, toUser, wireGrant } from './people.ts'

/** Grants of pools as they come out at objects, over HTTP; what the save checks is tested with the objects. */
let museum: Museum
let people: People
let tag: number

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  tag = await seedTag(people.root)
})
after(() => museum[Symbol.asyncDispose]())

async function createWork(poolId: number, more: object = {}): Promise<number> {
  const entry = { _objecttype: 'work', _mask: 'work__standard', ...more, work: { _pool: { pool: { _id: poolId } } } }
  const { status, body } = await people.root.post('/db/work', [entry])
  assert.equal(status, 200, JSON.stringify(body))
  return body[0].work._id
}

async function reads(client: Client, id: number, mask = 'work__standard'): Promise<boolean> {
  const { status, body } = await client.get(`/db/work/${mask}/${id}`)
  // With a mask that may not be used it is a 403, without the right to read it is not there.
  assert.ok(status === 200 || status === 403, JSON.stringify(body))
  return status === 200 && body.length === 1
}

async function setAcl(pool: Json, _acl: object[], more: object = {}): Promise<void> {
  const [{ pool: stored }] = (await people.root.get(`/pool/${pool._id}`)).body
  const entry = { pool: { _id: pool._id, _version: stored._version }, _acl, ...more }
  const { status, body } = await people.root.post('/pool', [entry])
  assert.equal(status, 200, JSON.stringify(body))
}

describe('objects in a pool', () => {
  test('are read by its grants and those above it; private permissions cut the latter', async () => {
    const above = await createPool(people.root, {}, { _acl: [wireGrant(toGroup(people.ids.staff), 'read')] })
    const below = await createPool(people.root, { _id_parent: above._id })
    const work = await createWork(below._id)
    assert.deepEqual([await reads(people.reader, work), await reads(people.stranger, work)], [true, false])
    await setAcl(below, [wireGrant(toUser(people.ids.stranger), 'read')], { _private_acl: true })
    assert.deepEqual([await reads(people.reader, work), await reads(people.stranger, work)], [false, true])
  })

  test('change hands with the pool that is moved', async () => {
    const [a, b] = [
      await createPool(people.root, {}, { _acl: [wireGrant(toUser(people.ids.reader), 'read')] }),
      await createPool(people.root, {}),
    ]
    const moving = await createPool(people.root, { _id_parent: a._id })
    const work = await createWork(moving._id)
    assert.equal(await reads(people.reader, work), true)
    await people.root.post('/pool', [{ pool: { _id: moving._id, _version: 1, _id_parent: b._id } }])
    assert.equal(await reads(people.reader, work), false)
  })

  test('are read by members of a group as long as they are members', async () => {
    const pool = await createPool(people.root, {}, { _acl: [wireGrant(toGroup(people.ids.staff), 'read')] })
    const work = await createWork(pool._id)
    assert.equal(await reads(people.stranger, work), false)
    const join = async (_groups: object[]) => {
      const [{ user }] = (await people.root.get(`/user/${people.ids.stranger}`)).body
      const { status, body } = await people.root.post('/user', [
        { user: { _id: user._id, _version: user._version }, _groups },
      ])
      assert.equal(status, 200, JSON.stringify(body))
    }
    await join([toGroup(people.ids.staff)])
    assert.equal(await reads(people.stranger, work), true)
    await join([])
    assert.equal(await reads(people.stranger, work), false)
  })

  test('are read with a tag filter when their tags fit', async () => {
    const tagfilter = { all: [tag] }
    const pool = await createPool(
      people.root,
      {},
      { _acl: [wireGrant(toUser(people.ids.reader), 'read', { tagfilter })] },
    )
    const [plain, tagged] = [await createWork(pool._id), await createWork(pool._id, { _tags: [{ _id: tag }] })]
    assert.deepEqual([await reads(people.reader, plain), await reads(people.reader, tagged)], [false, true])
    const { body } = await people.reader.get('/db/work/work__standard/list')
    const seen = body.map((each: Json) => each.work._id)
    assert.deepEqual([seen.includes(plain), seen.includes(tagged)], [false, true])
  })

  test('are read by type where the grant is limited to types', async () => {
    const types = (await people.root.get('/objecttype')).body
    const typeId = (name: string) => types.find((each: Json) => each.objecttype.name === name).objecttype._id
    const grant = (name: string) => ({
      who: toUser(people.ids.reader),
      rights: { read: { objecttype_ids: [typeId(name)] } },
    })
    const pool = await createPool(people.root, {}, { _acl: [grant('person')] })
    const work = await createWork(pool._id)
    assert.equal(await reads(people.reader, work), false)
    await setAcl(pool, [grant('work')])
    assert.equal(await reads(people.reader, work), true)
  })

  test('are read in the masks that the grant names', async () => {
    const masks = (await people.root.get('/mask/CURRENT')).body.masks
    const { mask_id, table_id } = masks.find((each: Json) => each.name === 'work__title_only')
    const rights = { read: { mask_ids: { [table_id]: [mask_id] } } }
    const pool = await createPool(people.root, {}, { _acl: [{ who: toUser(people.ids.reader), rights }] })
    const work = await createWork(pool._id)
    assert.equal(await reads(people.reader, work, 'work__title_only'), true)
    assert.equal(await reads(people.reader, work, 'work__standard'), false)
  })

  test('show the effective rights', async () => {
    const pool = await createPool(people.root, {}, { _acl: [wireGrant(toUser(people.ids.reader), 'read write')] })
    const work = await createWork(pool._id)
    const { body } = await people.reader.get(`/db/work/work__standard/${work}`, { format: 'full' })
    assert.deepEqual(Object.keys(body[0]._generated_rights).sort(), ['read', 'write'])
  })
})

describe('tags in use by pools', () => {
  test('a grant that asks for a tag keeps it; a setting goes with it once confirmed', async () => {
    const document = (await people.root.get('/tags')).body
    const { body } = await people.root.post('/tags', [
      ...document,
      {
        taggroup: { displayname: {} },
        _tags: [{ displayname: { 'en-US': 'Asked' } }, { displayname: { 'en-US': 'Set' } }],
      },
    ])
    const [asked, set] = body.at(-1)._tags.map((each: Json) => each._id)
    const tagfilter = { not: [asked] }
    const pool = await createPool(
      people.root,
      {},
      {
        _acl: [wireGrant(toUser(people.ids.reader), 'read', { tagfilter })],
        _tags: [{ _id: set, enabled: false }],
      },
    )
    const without = (id: number) =>
      body.map((group: Json) => ({ ...group, _tags: group._tags.filter((each: Json) => each._id !== id) }))
    const refused = await people.root.post('/tags', without(asked))
    assert.deepEqual([refused.body.code, refused.body.parameters.tags[0].context], ['TagsInUse', 'pool_right'])
    assert.equal((await people.root.post('/tags', without(set))).status, 202)
    const shown = async () => (await people.root.get(`/pool/${pool._id}`)).body[0]
    const before = await shown()
    assert.deepEqual(
      before._tags.map((each: Json) => [each._id, each.enabled]),
      [[set, false]],
    )
    assert.equal(before._compiled_tags.find((each: Json) => each._id === set).enabled, false)
    assert.equal((await people.root.post('/tags', without(set), { delete_policy: 'remove_tags' })).status, 200)
    assert.deepEqual((await shown())._tags, [])
  })
})

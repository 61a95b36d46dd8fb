import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'

/** What editors ask before they send anything. What it says of rights and masks is compared with dry runs of saves. */
let museum: Museum
let people: People
let pools: Record<'open' | 'tagged' | 'limited' | 'closed', number>
let tags: Json[]
let titleOnly: number
const maskNames = ['work__standard', 'work__title_only', '_all_fields']

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  const { root, ids } = people
  const _tags = [
    { reference: 'plain' },
    { reference: 'given', is_default: true },
    { reference: 'kept', _acl: [wireGrant(toUser(ids.editor), 'tag_add')] },
    { reference: 'off', enabled: false },
  ]
  tags = (await root.post('/tags', [{ taggroup: {}, _tags }])).body[0]._tags
  const types = (await root.get('/objecttype')).body
  const work = types.find((type: Json) => type.objecttype.name === 'work').objecttype._id
  const masks = (await root.get('/mask/CURRENT')).body.masks
  titleOnly = masks.find((mask: Json) => mask.name === 'work__title_only').mask_id
  const pool = async (...acl: object[]) => (await createPool(root, {}, { _acl: acl }))._id as number
  const staff = toGroup(ids.staff)
  const limits = { mask_ids: { [work]: [titleOnly] } }
  pools = {
    open: await pool(wireGrant(staff, 'read write create delete unlink')),
    tagged: await pool(wireGrant(staff, 'read write create', { tagfilter: { all: [tags[0]._id] } })),
    limited: await pool({ who: staff, rights: { read: limits, write: limits, create: limits } }),
    closed: await pool(wireGrant(staff, 'read')),
  }
})
after(() => museum[Symbol.asyncDispose]())

const create = (client: Client, body: object = {}) => client.post('/db_info/create', body)
const update = (client: Client, body: object) => client.post('/db_info/update', body)
const ok = ({ status, body }: Answer): Json => {
  assert.equal(status, 200, JSON.stringify(body))
  return body
}
const code = ({ status, body }: Answer) => [status, body.code]
const ids = (list: Json[]) => list.map(({ _id }) => _id)
const named = (list: Json[]) => list.map(({ name }) => name)

function work(pool: number, mask: string, more: object, block: object = {}): object {
  return { _objecttype: 'work', _mask: mask, ...more, work: { _pool: { pool: { _id: pool } }, ...block } }
}

async function passing(client: Client, pool: number, more: object, block?: object): Promise<string[]> {
  const found: string[] = []
  for (const mask of maskNames) {
    const { status } = await client.post('/db/work', [work(pool, mask, more, block)], { dry_run: 1 })
    if (status === 200) found.push(mask)
  }
  return found
}

describe('db_info/create', () => {
  test('lists what can be created where, with whatever tags', async () => {
    const all = ok(await create(people.reader))._available_objecttypes
    const found = all.find((type: Json) => type.name === 'work')
    assert.deepEqual(found.pool_ids.sort(), [pools.open, pools.tagged, pools.limited].sort())
    assert.deepEqual(named(all), ['work'])
    assert.deepEqual(ok(await create(people.reader, { objecttype: 'work' })), { _available_objecttypes: [found] })
    assert.deepEqual(ok(await create(people.stranger))._available_objecttypes, [])
    // With tags, only where an object can have them; with a pool, only there.
    const [plain, , , off] = ids(tags)
    const where = async (body: object) => ok(await create(people.reader, body))._available_objecttypes
    const places = async (body: object): Promise<number[]> =>
      (await where(body)).flatMap((type: Json) => type.pool_ids).sort()
    for (const objecttype of [undefined, 'work']) {
      assert.deepEqual(await places({ objecttype, tag_ids: [] }), [pools.open, pools.limited].sort())
      assert.deepEqual(await places({ objecttype, tag_ids: [plain] }), found.pool_ids)
      assert.deepEqual(code(await create(people.reader, { objecttype, tag_ids: [99_999] })), [400, 'TagNotFound'])
    }
    assert.deepEqual(await where({ tag_ids: [off] }), [])
    assert.deepEqual(await where({ pool_id: pools.tagged }), [{ ...found, pool_ids: [pools.tagged] }])
    for (const pool_id of [pools.closed, 99_999]) assert.deepEqual(await where({ pool_id }), [])
    assert.deepEqual(named(ok(await create(people.root, { pool_id: pools.open }))._available_objecttypes), ['work'])
    const ofRoot = ok(await create(people.root))._available_objecttypes
    assert.deepEqual(named(ofRoot).sort(), ['loan', 'person', 'place', 'topic', 'work'])
  })

  test('offers the masks with which a save passes, those to prefer first', async () => {
    const [plain] = tags
    for (const client of [people.reader, people.root]) {
      for (const pool_id of [pools.open, pools.tagged, pools.limited]) {
        for (const tag_ids of [[], [plain._id]]) {
          const answer = await create(client, { objecttype: 'work', pool_id, tag_ids })
          const { _available_masks = [] } = ok(answer)
          // The default tag stands among them, as nobody needs a right to leave it out.
          const expected = await passing(client, pool_id, { _tags: tag_ids.map((_id) => ({ _id })) })
          assert.deepEqual(
            named(_available_masks)
              .filter((name) => maskNames.includes(name))
              .sort(),
            expected.sort(),
          )
        }
      }
    }
    const [first, ...rest] = ok(await create(people.root, { objecttype: 'work', pool_id: pools.open }))._available_masks
    assert.equal(typeof first._id, 'number')
    assert.deepEqual(rest.at(-1), { name: '_all_fields' })
  })

  test('a mask for objects with certain tags is only there for those that get them, as in a save', async () => {
    const [plain] = tags
    const { root, reader } = people
    const filtered = async (filters: object): Promise<void> => {
      const descriptor = (await root.get('/objecttype')).body.find((type: Json) => type.objecttype.name === 'work')
      const { _id, _version } = descriptor.objecttype
      ok(await root.post('/objecttype', [{ objecttype: { _id, _version: _version + 1 }, _maskfilters: filters }]))
    }
    await filtered({ [titleOnly]: { tagfilter: { any: [plain._id] } } })
    for (const [tag_ids, expected] of [
      [[], ['work__standard']],
      [[plain._id], ['work__standard', 'work__title_only']],
    ] as const) {
      const sent = { _tags: tag_ids.map((_id) => ({ _id })) }
      const told = ok(await create(reader, { objecttype: 'work', pool_id: pools.open, tag_ids }))._available_masks
      const offered = named(told).filter((name) => maskNames.includes(name))
      assert.deepEqual([offered.sort(), (await passing(reader, pools.open, sent)).sort()], [expected, expected])
    }
    const refused = await reader.post('/db/work', [work(pools.open, 'work__title_only', { _tags: [] })])
    assert.deepEqual([refused.status, refused.body.parameters.right], [403, 'mask'])
    assert.equal((await passing(root, pools.open, { _tags: [] })).length, 3)
    await filtered({})
  })

  test('takes the default tags where none are named, and any where null is', async () => {
    const at = { objecttype: 'work', pool_id: pools.tagged }
    assert.deepEqual(ok(await create(people.reader, at)), { _available_objecttypes: [] })
    assert.equal(ok(await create(people.reader, { ...at, tag_ids: null }))._available_objecttypes.length, 1)
    assert.equal(ok(await create(people.reader, { ...at, tag_ids: [tags[0]._id] }))._available_objecttypes.length, 1)
  })

  test('offers the tags that can be set, and those that are set by themselves', async () => {
    const tagsOf = async (client: Client) =>
      ok(await create(client, { objecttype: 'work', pool_id: pools.open }))._available_tags
    const [plain, given, kept] = tags
    assert.deepEqual(await tagsOf(people.reader), [
      { _id: plain._id, is_default: false },
      { _id: given._id, is_default: true },
    ])
    assert.deepEqual(ids(await tagsOf(people.editor)), [plain._id, given._id, kept._id])
  })

  test('refuses what is not there or not to be known, by name', async () => {
    const { reader, stranger } = people
    const at = { objecttype: 'work', pool_id: pools.open }
    for (const [client, body, expected] of [
      [reader, { objecttype: 'ship' }, 'ObjecttypeNotFound'],
      [reader, { ...at, pool_id: 99_999 }, 'PoolNotFound'],
      [stranger, at, 'PoolNotFound'],
      [reader, { ...at, tag_ids: [99_999] }, 'TagNotFound'],
      [reader, { ...at, tag_ids: [tags[3]._id] }, 'TagNotEnabled'],
      [stranger, { objecttype: 'work' }, 'NoMasksForCreate'],
      [reader, { objecttype: 'person', pool_id: pools.open }, 'ServerGeneric'],
    ] as const) {
      assert.deepEqual(code(await create(client, body)), [400, expected])
    }
    assert.deepEqual(ok(await create(reader, { ...at, pool_id: pools.closed })), { _available_objecttypes: [] })
    assert.equal((await create(museum.svc.as(null))).body.code, 'UserRequired')
  })
})

describe('db_info/update', () => {
  async function works(...where: (readonly [pool: number, tags: Json[]])[]): Promise<number[]> {
    const body = where.map(([pool, has]) => work(pool, '_all_fields', { _tags: has.map(({ _id }) => ({ _id })) }))
    return ok(await people.root.post('/db/work', body)).map((each: Json) => each.work._id)
  }

  test('tells what holds for each of the objects: rights, pools, tags, masks', async () => {
    const [plain, given, kept] = tags
    const [open, tagged, limited, closed] = await works(
      [pools.open, [given, kept]],
      [pools.tagged, [plain]],
      [pools.limited, [given]],
      [pools.closed, []],
    )
    const of = async (...object_ids: unknown[]) => ok(await update(people.reader, { objecttype: 'work', object_ids }))
    const one = await of(open)
    assert.deepEqual(Object.keys(one._generated_rights), ['read', 'write', 'delete', 'unlink'])
    assert.deepEqual(one._available_pools.sort(), [pools.open, pools.limited].sort())
    assert.deepEqual(ids(one._available_tags).sort(), ids([plain, given, kept]).sort())
    assert.deepEqual(
      named(one._available_masks).filter((name) => maskNames.includes(name)),
      await passing(people.reader, pools.open, {}, { _id: open, _version: 1 }),
    )
    const two = await of(open, tagged)
    assert.deepEqual(Object.keys(two._generated_rights), ['read', 'write'])
    assert.deepEqual(two._available_pools, [])
    assert.deepEqual(ids(two._available_tags).sort(), ids([plain, given]).sort())
    assert.deepEqual(named((await of(open, limited))._available_masks), ['work__title_only'])
    assert.deepEqual(await of(open, closed), { _generated_rights: { read: {} }, _available_pools: [] })
  })

  test('looks at them as they would be with another pool and other tags', async () => {
    const [id] = await works([pools.open, [tags[1]]])
    const of = async (more: object) =>
      ok(await update(people.reader, { objecttype: 'work', object_ids: [id], ...more }))
    assert.deepEqual(named((await of({ pool_id: pools.limited }))._available_masks), ['work__title_only'])
    assert.ok((await of({ tag_ids: [tags[0]._id] }))._available_pools.includes(pools.tagged))
    assert.ok(!(await of({}))._available_pools.includes(pools.tagged))
  })

  test('answers like an update where an object is not there or may not be known', async () => {
    const [id] = await works([pools.open, []])
    const body = { objecttype: 'work', object_ids: [id] }
    assert.deepEqual(code(await update(people.stranger, body)), [404, 'ObjectNotFound'])
    assert.deepEqual(code(await update(people.reader, { ...body, object_ids: [id, 99_999] })), [404, 'ObjectNotFound'])
    assert.deepEqual(code(await update(people.reader, { ...body, objecttype: 'ship' })), [400, 'ObjecttypeNotFound'])
    assert.deepEqual(code(await update(people.reader, { ...body, tag_ids: [99_999] })), [400, 'TagNotFound'])
    assert.deepEqual(code(await update(people.reader, { ...body, object_ids: [] })), [400, 'ServerGeneric'])
  })
})

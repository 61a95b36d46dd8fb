import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { link, type Scene, startScene } from './read-scene.ts'

/**
 * The reader may read the works of the standard pool, the editor may also change and delete them; people and places are
 * readable for both, materials for nobody but root; single objects are given by grants of their own.
 */
let scene: Scene
let people: People
let hall: number
before(async () => {
  scene = await startScene()
  people = await seedPeople(scene.svc)
  const reading = wireGrant(toUser(people.ids.reader), 'read')
  const editing = wireGrant(toUser(people.ids.editor), 'read write create delete acl mask')
  const pools = (await people.root.get('/pool')).body
  const standard = pools.find((entry: Json) => entry.pool._id === scene.pool).pool
  await saved('/pool', [{ pool: { _id: standard._id, _version: standard._version }, _acl: [reading, editing] }])
  const [created] = await saved('/pool', [
    { pool: { _id_parent: 1, name: { 'en-US': 'Hall' } }, _acl: [wireGrant(toUser(people.ids.editor), 'read')] },
  ])
  hall = created.pool._id
  const types = (await people.root.get('/objecttype')).body
  const masks = (await people.root.get('/mask/CURRENT')).body.masks
  restricted = masks.find((mask: Json) => mask.name === 'work__restricted').mask_id
  await saved(
    '/objecttype',
    types
      .filter(({ objecttype }: Json) => ['person', 'place', 'term'].includes(objecttype.name))
      .map(({ objecttype }: Json) => ({
        _basetype: 'objecttype',
        objecttype: { _id: objecttype._id, _version: objecttype._version + 1 },
        _acl: [reading, editing],
      })),
  )
})
after(() => scene[Symbol.asyncDispose]())

let restricted: number

async function saved(path: string, body: object[]): Promise<Json> {
  const answer = await people.root.post(path, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const get = (client: Client, objecttype: string, id: number, query = {}, mask = `${objecttype}__standard`) =>
  client.get(`/db/${objecttype}/${mask}/system_object_id/${id}`, { format: 'standard', ...query })

function denied({ status, body }: Answer, right: string): void {
  assert.deepEqual([status, body.code, body.parameters.right], [403, 'ObjectInsufficientRights', right])
}

describe('one object', () => {
  test('without the read right it does not exist', async () => {
    const id = await scene.add('work', { inventory: 'A1' })
    for (const query of [{}, { version: 1 }, { all_versions: 1 }]) {
      assert.equal((await get(people.reader, 'work', id, query)).body.length, 1)
      const { status, body } = await get(people.stranger, 'work', id, query)
      assert.deepEqual([status, body], [200, []])
    }
  })

  test('a grant on the object alone is enough', async () => {
    const id = await scene.add('work', { inventory: 'A2' }, { _acl: [wireGrant(toUser(people.ids.stranger), 'read')] })
    const { status, body } = await get(people.stranger, 'work', id)
    assert.equal(status, 200)
    assert.equal(body[0].work.inventory, 'A2')
  })

  test('the mask must be allowed; _all_fields is for root', async () => {
    const id = await scene.add('work', { inventory: 'A3', title: { 'en-US': 'x' } })
    denied(await get(people.reader, 'work', id, {}, '_all_fields'), 'mask')
    const limited = await scene.add(
      'work',
      { inventory: 'A4' },
      {
        _acl: [
          {
            who: toUser(people.ids.stranger),
            rights: { read: { mask_ids: { [await tableId('work')]: [restricted] } } },
          },
        ],
      },
    )
    denied(await get(people.stranger, 'work', limited), 'mask')
    assert.equal((await get(people.stranger, 'work', limited, {}, 'work__restricted')).status, 200)
  })

  test('in the trash: there for those who may delete it, for others it does not exist', async () => {
    const id = await scene.add('work', { inventory: 'A5' })
    const object = await scene.read('work', id, { format: 'short' })
    await people.root.delete('/db/work', [[object.work._id, 1, null]], { delete_policy: 'remove' })
    const seen = (await get(people.editor, 'work', id)).body
    assert.equal(typeof seen[0]._latest_version_deleted_at, 'string')
    for (const client of [people.reader, people.stranger]) {
      const answer = await get(client, 'work', id)
      assert.deepEqual([answer.status, answer.body], [200, []])
    }
  })

  test('grants are shown to those who may change them, effective rights to everybody', async () => {
    const id = await scene.add('work', { inventory: 'A6' }, { _acl: [wireGrant(toUser(people.ids.stranger), 'read')] })
    const as = async (client: Client) => (await get(client, 'work', id, { format: 'full' })).body[0]
    const editor = await as(people.editor)
    assert.deepEqual(
      editor._acl.map((grant: Json) => [grant.who.user._generated_displayname, grant.rights]),
      [['stranger', { read: {} }]],
    )
    assert.deepEqual(Object.keys(editor._generated_rights).toSorted(), [
      'acl',
      'create',
      'delete',
      'mask',
      'read',
      'write',
    ])
    const reader = await as(people.reader)
    assert.equal('_acl' in reader, false)
    assert.deepEqual(reader._generated_rights, { read: {} })
  })
})

describe('around an object', () => {
  test('a linked object that may not be read is a link that can be sent back, and says nothing', async () => {
    const material = await scene.add('material', { name: 'secret' })
    const id = await scene.add('work', {
      inventory: 'B1',
      '_nested:work__part': [{ rank: 1, material: link('material', material) }],
    })
    for (const query of [{ format: 'standard' }, { format: 'long' }, { format: 'full', merge_linked_objects: 'all' }]) {
      const { body } = await get(people.editor, 'work', id, query)
      assert.deepEqual(body[0].work['_nested:work__part'][0].material, {
        _objecttype: 'material',
        _system_object_id: material,
        _global_object_id: `${material}@test`,
        _not_allowed: true,
      })
    }
    const before = (await get(people.editor, 'work', id)).body[0]
    const { status, body } = await people.editor.post('/db/work', [
      { ...before, work: { ...before.work, inventory: 'B2' } },
    ])
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal((await scene.read('work', id)).work['_nested:work__part'][0].material._system_object_id, material)
  })

  test('objects below that may not be read are left out', async () => {
    const id = await scene.add('work', {
      inventory: 'B3',
      '_reverse_nested:loan:work': [{ _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'x' } }],
    })
    const count = async (client: Client) =>
      (await get(client, 'work', id)).body[0].work['_reverse_nested:loan:work'].length
    assert.equal(await count(people.root), 1)
    assert.equal(await count(people.reader), 0)
  })

  test('the name of a pool is for those who see the pool', async () => {
    const id = await scene.add('work', { inventory: 'B4' })
    assert.deepEqual((await get(people.reader, 'work', id)).body[0]._pool, {
      _basetype: 'pool',
      pool: { _id: scene.pool },
    })
    assert.equal((await get(people.root, 'work', id)).body[0]._pool.pool.reference, 'system:standard')
  })
})

describe('list', () => {
  test('only what the caller may read counts, also for limit and offset', async () => {
    const inHall = async (inventory: string) => scene.add('work', { _pool: { pool: { _id: hall } }, inventory })
    const all: string[] = []
    for (let index = 0; index < 6; index++) {
      const inventory = `L${index}`
      if (index % 2 === 0) await inHall(inventory)
      else await scene.add('work', { inventory })
      all.push(inventory)
    }
    await scene.add(
      'work',
      { _pool: { pool: { _id: hall } }, inventory: 'L6' },
      { _acl: [wireGrant(toUser(people.ids.reader), 'read')] },
    )
    const list = async (client: Client, query = {}): Promise<string[]> => {
      const { status, body } = await client.get('/db/work/work__standard/list', { format: 'standard', ...query })
      assert.equal(status, 200, JSON.stringify(body))
      return body.map((object: Json) => object.work.inventory).filter((name: string) => name.startsWith('L'))
    }
    assert.deepEqual(await list(people.editor), [...all, 'L6'])
    assert.deepEqual(await list(people.reader), ['L1', 'L3', 'L5', 'L6'])
    const whole = (await people.reader.get('/db/work/work__standard/list', { format: 'standard' })).body
    const page = (await people.reader.get('/db/work/work__standard/list', { format: 'standard', limit: 2, offset: 1 }))
      .body
    assert.deepEqual(page, whole.slice(1, 3))
    assert.deepEqual(await list(people.stranger), [])
  })

  test('objects whose mask the caller may not use are left out', async () => {
    const { status, body } = await people.reader.get('/db/work/_all_fields/list')
    assert.deepEqual([status, body], [200, []])
  })
})

async function tableId(name: string): Promise<number> {
  const { body } = await people.root.get('/schema/user/CURRENT')
  return body.tables.find((table: Json) => table.name === name).table_id
}

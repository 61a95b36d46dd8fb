import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import {
  assertInvariants,
  createCollection,
  createNotes,
  entriesOf,
  globalId,
  listed,
  ok,
  type Scene,
  startScene,
} from './support.ts'

let it: Scene
let notes: number[]

before(async () => {
  it = await startScene()
  notes = await createNotes(it.root, it.pool, 12)
})
after(async () => {
  if (!it) return
  await assertInvariants(it.svc)
  await it[Symbol.asyncDispose]()
})

const push = (id: number, objects: Json[]) => it.reader.post(`/collection/push/${id}`, { objects })
const splice = (id: number, body: object) => it.reader.post(`/collection/splice/${id}`, body)
const entries = (...places: number[]) =>
  entriesOf(
    it.svc,
    places.map((place) => notes[place] as number),
  )
const places = async (id: number) => (await listed(it.reader, id)).map((each: number) => notes.indexOf(each))

describe('lists', () => {
  test('REC-005 REC-006 keep links to objects once each, foreign ones too, in an order of their own, and have child collections', async () => {
    const { _id } = await createCollection(it.reader)
    const foreign = { _global_object_id: '77@another-instance', webfrontend_props: { slide: 3 } }
    assert.deepEqual(ok(await push(_id, [...entries(0, 1, 2), foreign])), { _version: 1, count: 4 })
    // What is there already moves to the end, and keeps what front ends have put there.
    assert.deepEqual(ok(await push(_id, [{ _global_object_id: foreign._global_object_id }, ...entries(0)])), {
      _version: 1,
      count: 4,
    })
    const page = ok(await it.reader.get(`/collection/objects/${_id}`))
    assert.deepEqual(page, {
      _version: 1,
      count: 4,
      index: 0,
      offset: 0,
      limit: 100,
      objects: [...entries(1, 2), foreign, ...entries(0)],
    })
    const twice = await push(_id, entries(5, 5))
    assert.deepEqual([twice.status, twice.body.parameters.path], [400, 'objects[1]'])
    ok(await splice(_id, { index: 0, count: 0, objects: entries(0) }))
    assert.deepEqual(ok(await it.reader.get(`/collection/objects/${_id}`)).objects, [...entries(0, 1, 2), foreign])
    const child = await createCollection(it.reader, { _id_parent: _id })
    assert.equal(child._id_parent, _id)
    assert.equal(ok(await it.reader.get(`/collection/${_id}`))._has_remote_objects, true)
  })

  test('objects are named by a value of a column, by uuid, or by id', async () => {
    const { _id } = await createCollection(it.reader)
    const uuid = ok(await it.root.get(`/db/note/_all_fields/system_object_id/${notes[3]}`))[0]._uuid
    const named = [
      { 'lookup:_global_object_id': { _objecttype: 'note', code: 'n1' } },
      { 'lookup:_global_object_id': { _objecttype: 'note', title: 'n 2' } },
      { 'lookup:_global_object_id': { _objecttype: 'note', _uuid: uuid } },
      { 'lookup:_global_object_id': { _system_object_id: notes[4] } },
    ]
    ok(await push(_id, named))
    assert.deepEqual(await places(_id), [1, 2, 3, 4])
    const [hidden] = await createNotes(it.root, it.vault, 1, 'hidden')
    for (const lookup of [
      { _objecttype: 'note', code: 'nothing' },
      { _objecttype: 'note', code: 'hidden0' },
      { _objecttype: 'note', _system_object_id: hidden },
      { _objecttype: 'nothing', code: 'n1' },
      { _objecttype: 'note', code: 'n1', _allow_defer: true },
    ]) {
      const answer = await push(_id, [{ 'lookup:_global_object_id': lookup }])
      assert.equal(answer.status, 400, JSON.stringify(answer.body))
    }
  })

  test('splice takes out and puts in at a position; positions beyond the end are refused', async () => {
    const { _id } = await createCollection(it.reader, {}, { objects: entries(0, 1, 2, 3, 4) })
    assert.deepEqual(ok(await splice(_id, { index: 1, count: 2, objects: entries(7, 8, 4) })), {
      _version: 1,
      count: 5,
    })
    assert.deepEqual(await places(_id), [0, 7, 8, 4, 3])
    ok(await splice(_id, { index: 3, count: -1 }))
    assert.deepEqual(await places(_id), [0, 7, 8])
    for (const [body, path] of [
      [{ index: 4, count: 0, objects: [] }, 'index'],
      [{ index: 1, count: 3 }, 'count'],
      [{ objects: [] }, 'index'],
      [{ index: -1, count: 0 }, 'index'],
    ] as const) {
      const answer = await splice(_id, body)
      assert.equal(answer.status, 400)
      assert.ok(JSON.stringify(answer.body.parameters).includes(path), JSON.stringify(answer.body))
    }
    assert.deepEqual(await places(_id), [0, 7, 8])
  })

  test('what is about the index has nothing to do', async () => {
    const { _id } = await createCollection(it.reader)
    for (const param of ['skip_index']) {
      const answer = await it.reader.post(`/collection/splice/${_id}`, { index: 0, objects: [] }, { [param]: 'true' })
      assert.deepEqual([answer.status, answer.headers['x-svc-ignored']], [200, param])
    }
  })

  test('remove takes out what is there, all or nothing', async () => {
    const { _id } = await createCollection(it.reader, {}, { objects: entries(0, 1, 2) })
    const answer = await it.reader.post(`/collection/remove/${_id}`, [
      ...entries(1, 9),
      { _global_object_id: '4@elsewhere' },
    ])
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.parameters.paths],
      [400, 'CollectionRemoveNotAllObjectsFound', ['body[1]', 'body[2]']],
    )
    assert.deepEqual(ok(await it.reader.post(`/collection/remove/${_id}`, entries(1))), { _version: 1, count: 2 })
    assert.deepEqual(await places(_id), [0, 2])
  })

  test('a page that is sent back does not take out the others', async () => {
    const { _id } = await createCollection(it.reader, {}, { objects: entries(0, 1, 2) })
    const page = ok(await it.reader.get(`/collection/objects/${_id}`, { limit: 2 }))
    assert.equal((await it.reader.post(`/collection/objects/${_id}`, page)).status, 400)
    const whole = ok(await it.reader.get(`/collection/objects/${_id}`))
    whole.objects.reverse()
    assert.deepEqual(ok(await it.reader.post(`/collection/objects/${_id}`, whole)), { _version: 1, count: 3 })
    assert.deepEqual(await places(_id), [2, 1, 0])
  })

  test('each change is told of once, and is no new version', async () => {
    const { _id } = await createCollection(it.reader, {
      displayname: { 'en-US': 'Told' },
      shortname: 'told',
      reference: 'told',
    })
    ok(await push(_id, entries(0, 1)))
    ok(await splice(_id, { index: 0, count: 1, objects: [] }))
    // A misspelled name does not empty the list.
    for (const body of [{}, { object: entries(4) }]) {
      const unsaid = await it.reader.post(`/collection/objects/${_id}`, body)
      assert.deepEqual([unsaid.status, unsaid.body.parameters.path], [400, 'objects'])
    }
    ok(await it.reader.post(`/collection/objects/${_id}`, { objects: entries(4) }))
    ok(await it.reader.post(`/collection/remove/${_id}`, entries(4)))
    const { rows } = await it.svc.db.query(
      `select type, object_version as version, info from event where basetype = 'collection' and object_id = $1 order by id`,
      [_id],
    )
    const info = { displayname: { 'en-US': 'Told' }, shortname: 'told', reference: 'told' }
    assert.deepEqual(rows, [
      { type: 'COLLECTION_INSERT', version: 1, info },
      ...Array(4).fill({ type: 'COLLECTION_UPDATE', version: 1, info }),
    ])
  })

  test('objects that the caller may not read keep their place, and say nothing', async () => {
    const [hidden] = (await createNotes(it.root, it.vault, 1, 'secret')) as [number]
    const shared = await createCollection(
      it.root,
      {},
      {
        _acl: [wireGrant(toUser(it.ids.reader), 'bag_read')],
        objects: [
          ...entries(0),
          { ...entriesOf(it.svc, [hidden])[0], webfrontend_props: { note: 'x' } },
          { _global_object_id: '5@elsewhere', webfrontend_props: { a: 1 } },
        ],
      },
    )
    const { count, objects } = ok(await it.reader.get(`/collection/objects/${shared._id}`))
    assert.equal(count, 3)
    assert.deepEqual(objects, [
      ...entries(0),
      { _global_object_id: globalId(it.svc, hidden), _not_allowed: true },
      { _global_object_id: '5@elsewhere', webfrontend_props: { a: 1 } },
    ])
  })

  test('to add takes link on the collection and on the object, to take out unlink on the collection', async () => {
    const grant = (rights: object) => ({ _acl: [{ who: toUser(it.ids.editor), rights }] })
    const shared = await createCollection(it.root, {}, { ...grant({ bag_read: {}, link: {} }), objects: entries(0, 1) })
    const pushed = (objects: Json[]) => it.editor.post(`/collection/push/${shared._id}`, { objects })
    ok(await pushed(entries(2)))
    const taken = await it.editor.post(`/collection/splice/${shared._id}`, { index: 0, count: 1 })
    assert.deepEqual([taken.status, taken.body.code, taken.body.parameters.right], [403, 'RightRequired', 'unlink'])
    assert.deepEqual(
      await listed(it.root, shared._id),
      [0, 1, 2].map((place) => notes[place]),
    )
    // A link is readable for everybody who may read at all, and nobody but root may add one to collections.
    const made = ok(
      await it.root.post('/db/link', [{ _objecttype: 'link', _mask: 'link__standard', link: { text: 'x' } }]),
    )
    const [link] = made as [Json]
    const types = ok(await it.root.get('/objecttype'))
    const type = types.find(({ objecttype }: Json) => objecttype.name === 'link')
    ok(
      await it.root.post('/objecttype', [
        {
          objecttype: { _id: type.objecttype._id, _version: type.objecttype._version + 1 },
          _acl: [wireGrant(toUser(it.ids.editor), 'read mask')],
        },
      ]),
    )
    const unlinkable = await pushed([{ _global_object_id: link._global_object_id }])
    assert.deepEqual(
      [unlinkable.status, unlinkable.body.code, unlinkable.body.parameters],
      [
        403,
        'CollectionObjectInsufficientRights',
        { right: 'link', collection: shared._id, system_object_id: link._system_object_id },
      ],
    )
    const limits = { bag_read: {}, link: {}, unlink: { objecttype_ids: [type.objecttype._id] } }
    ok(await it.root.post(`/collection/${shared._id}`, { collection: { _version: 1 }, ...grant(limits) }))
    ok(
      await it.root.post(`/collection/push/${shared._id}`, {
        objects: [{ _global_object_id: link._global_object_id }],
      }),
    )
    const refused = await it.editor.post(`/collection/remove/${shared._id}`, entries(0))
    assert.deepEqual([refused.status, refused.body.code], [403, 'CollectionObjectInsufficientRights'])
    ok(await it.editor.post(`/collection/remove/${shared._id}`, [{ _global_object_id: link._global_object_id }]))
  })
})

describe('limits of link and unlink', () => {
  test('limits of link and unlink: each alone keeps out what it does not name', async () => {
    const types = ok(await it.root.get('/objecttype')).map(({ objecttype }: Json) => objecttype)
    const [note, other] = ['note', 'link'].map(
      (name) => types.find((one: Json) => one.objecttype === name || one.name === name)._id,
    )
    const [first, second, third] = entries(0, 1, 2) as [Json, Json, Json]
    for (const [within, beyond] of [
      [{ objecttype_ids: [note] }, { objecttype_ids: [other] }],
      [{ pool_ids: [it.pool] }, { pool_ids: [it.vault] }],
    ]) {
      const allowed = async (item: object | undefined) => {
        const rights = { bag_read: {}, link: item, unlink: item }
        const { _id } = await createCollection(
          it.root,
          {},
          { _acl: [{ who: toUser(it.ids.editor), rights }], objects: [first, second] },
        )
        const added = await it.editor.post(`/collection/push/${_id}`, { objects: [third] })
        const removed = await it.editor.post(`/collection/remove/${_id}`, [first])
        return [added.status, removed.status]
      }
      assert.deepEqual(
        [await allowed(within), await allowed(beyond)],
        [
          [200, 200],
          [403, 403],
        ],
        JSON.stringify(within),
      )
    }
  })
})

interface Command {
  readonly kind: 'push' | 'replace' | 'remove' | 'splice'
  readonly index?: number
  readonly count?: number
  readonly objects: readonly number[]
}

/** The same on a list in memory. */
function carriedOut(list: readonly number[], command: Command): number[] | null {
  const { objects } = command
  const others = (part: readonly number[]) => part.filter((each) => !objects.includes(each))
  if (command.kind === 'replace') return [...objects]
  if (command.kind === 'push') return [...others(list), ...objects]
  if (command.kind === 'remove') return objects.every((each) => list.includes(each)) ? others(list) : null
  const { index = 0, count = 0 } = command
  if (index > list.length || count > list.length - index) return null
  const end = count === -1 ? list.length : index + count
  return [...others(list.slice(0, index)), ...objects, ...others(list.slice(end))]
}

async function send(id: number, { kind, objects, ...where }: Command): Promise<number> {
  const sent = entries(...objects)
  const body = kind === 'remove' ? sent : { ...where, objects: sent }
  const path = kind === 'replace' ? 'objects' : kind
  return (await it.reader.post(`/collection/${path}/${id}`, body)).status
}

const some = (maxLength: number) => fc.uniqueArray(fc.nat({ max: 11 }), { maxLength })
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constantFrom('push' as const, 'remove' as const), objects: some(3) }),
  fc.record({ kind: fc.constant('replace' as const), objects: some(12) }),
  fc.record({
    kind: fc.constant('splice' as const),
    index: fc.nat({ max: 8 }),
    count: fc.integer({ min: -1, max: 4 }),
    objects: some(4),
  }),
)

describe('any sequence of changes', () => {
  test('leaves the list that the same changes make of a list in memory', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 12 }), async (commands) => {
        const { _id } = await createCollection(it.reader)
        let list: number[] = []
        for (const each of commands) {
          const next = carriedOut(list, each)
          assert.equal(await send(_id, each), next ? 200 : 400, JSON.stringify([list, each]))
          list = next ?? list
        }
        assert.deepEqual(await places(_id), list)
        assert.equal(ok(await it.reader.get(`/collection/${_id}`))._count, list.length)
        await it.reader.delete(`/collection/${_id}`)
      }),
      { numRuns: 25 },
    )
  })

  test('two people sorting at once lose nothing', async () => {
    const { _id } = await createCollection(it.reader, {}, { objects: entries(0, 1, 2, 3, 4, 5) })
    const moves = Array.from({ length: 12 }, (_, index) =>
      index % 3 === 0
        ? push(_id, entries(index % 6))
        : splice(_id, { index: index % 4, count: 0, objects: entries((index * 5) % 6) }),
    )
    for (const { status } of await Promise.all(moves)) assert.equal(status, 200)
    assert.deepEqual((await places(_id)).toSorted(), [0, 1, 2, 3, 4, 5])
  })

  test('a place where many were put in keeps taking more: the ones around make room', async () => {
    const { _id } = await createCollection(it.reader, {}, { objects: entries(0, 1) })
    const between = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    let list = [0, 1]
    for (let turn = 0; turn < 6; turn++) {
      for (const one of between) {
        ok(await splice(_id, { index: 1, count: 0, objects: entries(one) }))
        list = carriedOut(list, { kind: 'splice', index: 1, count: 0, objects: [one] }) as number[]
      }
    }
    assert.deepEqual(await places(_id), list)
  })
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type SearchScene, startScene } from '../search/support.ts'
import { link, payload } from '../support/seed/museum.ts'

/** Searches by the names of fields that front ends, importers and exports use. */

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const id = (name: string): number => scene.ids[name] as number
const global = (name: string, database = 'test') => `${id(name)}@${database}`
const among = (field: string, values: unknown[], more: object = {}) => ({
  type: 'in',
  fields: [field],
  in: values,
  ...more,
})
const found = async (objecttypes: string[], ...search: object[]) => (await scene.found({ objecttypes, search })).sort()

async function ownId(name: string): Promise<number> {
  const { rows } = await scene.svc.db.query<{ id: number }>('select id from object where system_object_id = $1', [
    id(name),
  ])
  return rows[0]?.id as number
}

test('_global_object_id names objects of this instance, and none of another one', async () => {
  const some = among('_global_object_id', [global('bridge'), global('london', 'local'), global('dawn', 'elsewhere')])
  assert.deepEqual(await found([], some), ['bridge', 'london'])
  assert.deepEqual(await found(['work'], some), ['bridge'])
  assert.deepEqual(await found(['work'], among('work._global_object_id', [global('bridge')])), ['bridge'])
  assert.deepEqual(await found(['work'], among('_global_object_id', [global('bridge', 'elsewhere')])), [])
  assert.deepEqual(await found(['place'], { ...some, bool: 'must_not' }), ['england', 'europe'])
  for (const wrong of [id('bridge'), String(id('bridge')), '@test', `${id('bridge')}@`, null]) {
    const answer = await scene.search({ search: [among('_global_object_id', [wrong, 'x'])] })
    assert.equal(answer.status, 400, String(wrong))
  }
})

test('links are found by the global id of their target, as by its system object id', async () => {
  const field = 'work.creator._global_object_id'
  assert.deepEqual(
    await found(['work'], among(field, [global('turner')])),
    await found(['work'], among('work.creator._system_object_id', [id('turner')])),
  )
  assert.ok((await found(['work'], among(field, [global('turner')]))).includes('bridge'))
  assert.deepEqual(await found(['work'], among(field, [global('turner', 'elsewhere')])), [])
})

test('_id_parent finds the children of a place, and with null the top', async () => {
  assert.deepEqual(await found(['place'], among('place._id_parent', [await ownId('europe')])), ['england'])
  assert.deepEqual(await found(['place'], among('place._id_parent', [null])), ['europe'])
  const both = among('place._id_parent', [null, await ownId('england')])
  assert.deepEqual(await found(['place'], both), ['europe', 'london'])
  assert.deepEqual(await found(['place'], { ...both, bool: 'must_not' }), ['england'])
  assert.deepEqual(await found([], among('place._id_parent', [await ownId('europe')])), ['england'])
  assert.deepEqual(await found(['place'], among('place._id_parent', [999_999])), [])
})

test('_parents.<type>._id finds what lies below in a polyhierarchy, by any of its parents', async () => {
  const field = 'topic._parents.topic._id'
  assert.deepEqual(await found(['topic'], among(field, [await ownId('people')])), ['swimmer'])
  assert.deepEqual(await found(['topic'], among(field, [await ownId('nature')])), ['swimmer'])
  assert.deepEqual(await found(['topic'], among(field, [null])), ['nature', 'people'])
})

test('_parents.<type>._id finds children in a hierarchy with one parent, too (decisions.md, 90)', async () => {
  const field = 'place._parents.place._id'
  assert.deepEqual(await found(['place'], among(field, [await ownId('europe')])), ['england'])
  assert.deepEqual(await found(['place'], among(field, [null])), ['europe'])
})

test('the target of a link is named with its type, as payloads name it (decisions.md, 90)', async () => {
  const turner = await found(['work'], among('work.creator._system_object_id', [id('turner')]))
  assert.ok(turner.length > 0)
  const own = await ownId('turner')
  for (const [field, value] of [
    ['work.creator.person._system_object_id', id('turner')],
    ['work.creator.person._global_object_id', global('turner')],
    ['work.creator.person._id', own],
    ['work.creator._id', own],
  ] as const) {
    assert.deepEqual(await found(['work'], among(field, [value])), turner, field)
    assert.deepEqual(
      await found(['work'], among(field, [value], { bool: 'must_not' })).then((ids) =>
        ids.filter((one) => turner.includes(one)),
      ),
      [],
      field,
    )
  }
  const none = await found(['work'], among('work.creator._system_object_id', [null]))
  assert.deepEqual(await found(['work'], among('work.creator.person._id', [null])), none)
  assert.deepEqual(await found(['work'], among('work.creator.person._id', [null, own])), [...none, ...turner].sort())

  for (const name of ['person._system_object_id', 'person._global_object_id', 'person._id']) {
    const facet = (field: string) => ({ a: { type: 'linked_object', field } })
    const ask = async (field: string) =>
      (await scene.search({ objecttypes: ['work'], sort: [{ field }], aggregations: facet(field) })).body
    const [plain, named] = [await ask('work.creator'), await ask(`work.creator.${name}`)]
    const order = ({ objects }: typeof plain) =>
      objects.map((one: { _system_object_id: number }) => one._system_object_id)
    assert.deepEqual(order(named), order(plain), name)
    assert.deepEqual(
      named.aggregations.a.linked_objects ?? named.aggregations,
      plain.aggregations.a.linked_objects ?? plain.aggregations,
    )
  }
  for (const field of ['work.creator.place._id', 'work.creator.person.nothing', 'work.title.person._id']) {
    const answer = await scene.search({ search: [among(field, [1])] })
    assert.deepEqual([answer.status, answer.body.code], [400, 'SearchFieldUnknown'], field)
  }
})

test('a moved object is found below its new parent', async () => {
  const root = scene.svc.as('root')
  const [saved] = (
    await root.post('/db/topic', [payload('topic', { name: 'diver', _parents: [link('topic', id('nature'))] })])
  ).body
  const { _id, _version } = saved.topic
  await scene.svc.drain()
  const below = async (name: string) => {
    const answer = await scene.search({ search: [among('topic._parents.topic._id', [await ownId(name)])] })
    return answer.body.objects.map((object: { _system_object_id: number }) => object._system_object_id)
  }
  assert.ok((await below('nature')).includes(saved._system_object_id))
  await root.post('/db/topic', [
    payload('topic', { _id, _version, name: 'diver', _parents: [link('topic', id('people'))] }),
  ])
  await scene.svc.drain()
  assert.ok(!(await below('nature')).includes(saved._system_object_id))
  assert.ok((await below('people')).includes(saved._system_object_id))
})

test('parents are no fields of types that have none, and of no use where they make no sense', async () => {
  for (const field of ['work._id_parent', 'topic._id_parent', 'work._parents.work._id', 'place._parents.topic._id']) {
    const answer = await scene.search({ search: [among(field, [1])] })
    assert.deepEqual([answer.status, answer.body.code], [400, 'SearchFieldUnknown'], field)
  }
  const requests = [
    { sort: [{ field: 'place._id_parent' }] },
    { sort: [{ field: '_global_object_id' }] },
    { search: [{ type: 'text', fields: ['place._id_parent'], string: '1' }] },
    { search: [{ type: 'range', field: 'place._id_parent', from: 1 }] },
    { search: [{ type: 'range', field: '_global_object_id', from: 1 }] },
    { aggregations: { a: { type: 'term', field: 'place._id_parent' } } },
    { aggregations: { a: { type: 'term', field: '_global_object_id' } } },
    { search: [among('place._id_parent', ['one'])] },
  ]
  for (const request of requests) {
    const answer = await scene.search(request)
    assert.equal(answer.status, 400, JSON.stringify(request))
  }
})

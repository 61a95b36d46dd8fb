import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Json, Query } from '../support/client.ts'
import { link, type Scene, startScene } from './read-scene.ts'

let scene: Scene
let keeper: number
let earth: number
let europe: number
let paris: number
before(async () => {
  scene = await startScene()
  keeper = await scene.add('person', { name: 'Keeper' })
  earth = await scene.add('place', {
    name: { 'en-US': 'Earth' },
    country: 'none',
    note: 'round',
    keeper: link('person', keeper),
    '_nested:place__name': [{ old: 'Gaia' }],
  })
  europe = await scene.add('place', { _id_parent: 1, name: { 'en-US': 'Europe' }, note: 'old' })
  paris = await scene.add('place', { _id_parent: 2, name: { 'en-US': 'Paris' }, country: 'France' })
})
after(() => scene[Symbol.asyncDispose]())

const idsOf = (list: Json): number[] => list.map((entry: Json) => entry._system_object_id)

describe('hierarchies', () => {
  test('_id_parent is in all formats with fields, path, level and children from standard_extended on', async () => {
    const short = await scene.read('place', paris, { format: 'short' })
    assert.equal('_id_parent' in short.place, false)
    const standard = await scene.read('place', paris, { format: 'standard' })
    assert.equal(standard.place._id_parent, 2)
    assert.equal('_path' in standard, false)
    for (const format of ['standard_extended', 'long', 'full']) {
      const object = await scene.read('place', paris, { format })
      assert.deepEqual([object._level, object._has_children], [2, false], format)
      assert.deepEqual(idsOf(object._path), [earth, europe, paris], format)
      assert.deepEqual(
        object._path.map((entry: Json) => entry._standard['1'].text['en-US']),
        ['Earth', 'Europe', 'Paris'],
      )
    }
    const top = await scene.read('place', earth, { format: 'long' })
    assert.deepEqual([top._level, top._has_children, top.place._id_parent], [0, true, null])
    assert.deepEqual(idsOf(top._path), [earth])
  })

  test('a linked object of a hierarchy brings its path in long', async () => {
    const work = await scene.add('work', { inventory: 'H1', place: link('place', paris) })
    const object = await scene.read('work', work, { format: 'long' })
    assert.deepEqual(idsOf(object.work.place._path), [earth, europe, paris])
  })

  test('children stand below their parent where the mask shows them', async () => {
    const object = await scene.read('place', earth, { format: 'standard' }, 'place__children')
    const [child, ...others] = object.place['_reverse_nested:place:_id_parent']
    assert.deepEqual([child._system_object_id, others.length], [europe, 0])
    assert.deepEqual(child.place.name, { 'en-US': 'Europe' })
    assert.equal('country' in child.place, false, 'the mask of the field shows the name only')
  })

  test('several parents: all of them, all paths, the first one first', async () => {
    const [travel, leisure] = [
      await scene.add('term', { name: 'Travel' }),
      await scene.add('term', { name: 'Leisure' }),
    ]
    const sun = await scene.add('term', { name: 'Sun', _parents: [link('term', leisure)] })
    const beach = await scene.add('term', { name: 'Beach', _parents: [link('term', travel), link('term', sun)] })
    const object = await scene.read('term', beach, { format: 'long' })
    assert.deepEqual(idsOf(object.term._parents), [travel, sun])
    assert.deepEqual(idsOf(object._path), [travel, beach])
    assert.deepEqual(object._paths.map(idsOf), [
      [travel, beach],
      [leisure, sun, beach],
    ])
    assert.deepEqual([object._level, object._has_children], [1, false])
  })
})

describe('paths of old versions', () => {
  let term: number
  let work: number
  before(async () => {
    const above = await scene.add('term', { name: 'Above, once' })
    term = await scene.add('term', { name: 'Term, once', _parents: [link('term', above)] })
    work = await scene.add('work', { inventory: 'once', '_nested:work__term': [{ term: link('term', term) }] })
    await change('term', above, { name: 'Above, now' })
    await change('term', term, { name: 'Term, now' })
    await change('work', work, { inventory: 'now' })
  })

  async function change(type: string, id: number, block: object): Promise<void> {
    const { _id, _version } = (await scene.read(type, id))[type]
    const answer = await scene.svc
      .as('root')
      .patch(`/db/${type}`, [{ _objecttype: type, _mask: '_all_fields', [type]: { _id, _version, ...block } }])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }

  const titles = (path: Json) => path.map((entry: Json) => [entry._standard['1'].text['en-US'], entry.term._version])
  const pathsOf = (object: Json) => [titles(object._path), object._paths.map(titles)]
  // Ancestors are those of today.
  const then = [
    ['Above, now', 2],
    ['Term, once', 1],
  ]
  const now = [
    ['Above, now', 2],
    ['Term, now', 2],
  ]

  test('the object at the end of its paths has the title of its version', async () => {
    const old = await scene.read('term', term, { version: 1, format: 'full' })
    assert.equal(old._standard['1'].text['en-US'], 'Term, once')
    assert.deepEqual(pathsOf(old), [then, [then]])
    assert.deepEqual(pathsOf(await scene.read('term', term, { format: 'full' })), [now, [now]])
  })

  test('so has an object to which an old version links', async () => {
    const termOf = async (query: Query): Promise<Json> =>
      (await scene.read('work', work, { format: 'full', ...query })).work['_nested:work__term'][0].term
    assert.deepEqual(pathsOf(await termOf({ version: 1 })), [then, [then]])
    assert.deepEqual(pathsOf(await termOf({ version: 1, latest_linked: 1 })), [now, [now]])
    assert.deepEqual(pathsOf(await termOf({})), [now, [now]])
  })
})

describe('inheritance', () => {
  const inherited = (id: number, format = 'long_inheritance') =>
    scene.read('place', id, { format }, 'place__inheriting')

  test('an empty field takes the value of the nearest ancestor, and the block says whose it is', async () => {
    const { place } = await inherited(paris)
    assert.deepEqual(place.name, { 'en-US': 'Paris' })
    assert.equal(place.country, 'France', 'an own value stays')
    assert.equal(place.note, 'old', 'the nearest ancestor, not the top one')
    assert.equal(place.keeper._system_object_id, keeper, 'links too')
    assert.equal(place.keeper.person.name, 'Keeper')
    assert.deepEqual(
      place['_nested:place__name'].map((row: Json) => row.old),
      ['Gaia'],
    )
    assert.deepEqual(place._inherited, { keeper: earth, note: europe, '_nested:place__name': earth })
  })

  test('only the inheriting formats do, and only with a mask that says so', async () => {
    for (const format of ['standard', 'long', 'full']) {
      const { place } = await inherited(paris, format)
      assert.deepEqual([place.note ?? null, place._inherited], [null, undefined], format)
    }
    const { place } = await scene.read('place', paris, { format: 'long_inheritance' }, '_all_fields')
    assert.deepEqual([place.note, place._inherited], [undefined, undefined])
    assert.equal((await inherited(paris, 'full_inheritance')).place.note, 'old')
  })

  test('with several parents what the first one has or inherits comes before the second one', async () => {
    const top = await scene.add('term', { name: 'Top', scope: 'from the top' })
    const first = await scene.add('term', { name: 'First', _parents: [link('term', top)] })
    const second = await scene.add('term', { name: 'Second', scope: 'from the second' })
    const below = await scene.add('term', { name: 'Below', _parents: [link('term', first), link('term', second)] })
    const other = await scene.add('term', { name: 'Other', _parents: [link('term', second), link('term', first)] })
    const scope = async (id: number) =>
      (await scene.read('term', id, { format: 'long_inheritance' }, 'term__inheriting')).term
    assert.deepEqual([(await scope(below)).scope, (await scope(below))._inherited], ['from the top', { scope: top }])
    assert.equal((await scope(other)).scope, 'from the second')
  })

  test('nothing is inherited from the trash', async () => {
    const parent = await scene.add('place', { name: { 'en-US': 'Atlantis' }, note: 'lost' })
    const child = await scene.add('place', { _id_parent: await idOf(parent), name: { 'en-US': 'Port' } })
    assert.equal((await inherited(child)).place.note, 'lost')
    await scene.svc.db.query('update object set deleted_at = now() where system_object_id = $1', [parent])
    assert.equal((await inherited(child)).place.note, undefined)
  })

  async function idOf(systemObjectId: number): Promise<number> {
    return (await scene.read('place', systemObjectId, { format: 'short' })).place._id
  }
})

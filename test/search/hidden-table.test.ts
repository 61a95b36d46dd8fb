import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/**
 * One hidden work, one person that may not be read, and each kind of question about them. The reader sees titles only
 * (mask work__title_only); the open work, in a pool of its own, is known whole, so that each question also finds what it
 * should.
 */
let museum: Museum
let people: People
const ids: Record<string, number> = {}
before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  const { root } = people
  const masks = (await root.get('/mask/CURRENT')).body.masks
  const mask = masks.find((each: Json) => each.name === 'work__title_only')
  const reader = toUser(people.ids.reader)
  const titles = { who: reader, rights: { read: { mask_ids: { [mask.table_id]: [mask.mask_id] } } } }
  const narrow = await createPool(root, {}, { _acl: [titles] })
  const wide = await createPool(root, {}, { _acl: [wireGrant(reader, 'read')] })
  const save = async (type: string, name: string, block: object): Promise<void> => {
    const { status, body } = await root.post(`/db/${type}`, [payload(type, block)])
    assert.equal(status, 200, JSON.stringify(body))
    ids[name] = body[0]._system_object_id
  }
  await save('person', 'person', { name: 'Secretive, Sam' })
  const values = {
    title: { 'en-US': 'A plain title' },
    note: 'a whisper in the note',
    width: 42,
    price: 4200,
    weight: 4.5,
    signed: true,
    made: { value: '1888' },
    period: { from: '1880', to: '1890' },
    creator: link('person', ids.person as number),
    '_nested:work__material': [{ name: 'unobtainium', amount: 7 }],
  }
  await save('work', 'hidden', { ...inPool(narrow._id), ...values, inventory: 'H1' })
  await save('work', 'open', { ...inPool(wide._id), ...values, inventory: 'O1' })
  await museum.svc.drain()
})
after(() => museum[Symbol.asyncDispose]())

async function search(request: object): Promise<Json> {
  const { status, body } = await people.reader.post('/search', { objecttypes: ['work'], ...request })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const nested = 'work._nested:work__material'
const elements: Record<string, object> = {
  'words of a column': { type: 'text', fields: ['work.note'], string: 'whisper' },
  'a phrase': { type: 'text', fields: ['work.note'], string: 'the note', phrase: true },
  'words in _fulltext': { type: 'text', string: 'whisper' },
  'a phrase in _fulltext': { type: 'text', string: 'the note', phrase: true },
  'a wildcard': { type: 'text', fields: ['work.note'], string: '*hisp*', mode: 'wildcard' },
  'a wildcard in _fulltext': { type: 'text', string: 'wh?sper', mode: 'wildcard' },
  'a prefix in _fulltext': { type: 'text', string: 'whisp*', mode: 'wildcard' },
  'a number as text': { type: 'text', fields: ['work.width'], string: '42' },
  'an exact text': { type: 'in', fields: ['work.note'], in: ['a whisper in the note'] },
  'an exact number': { type: 'in', fields: ['work.width'], in: [42] },
  'a boolean': { type: 'in', fields: ['work.signed'], in: [true] },
  'a date': { type: 'in', fields: ['work.made'], in: ['1888'] },
  'a link': { type: 'in', fields: ['work.creator'], in: [] },
  'a range of numbers': { type: 'range', field: 'work.price', from: 1 },
  'an open range': { type: 'range', field: 'work.weight' },
  'a range of dates': { type: 'range', field: 'work.made', from: '1880' },
  'a range over a range of dates': { type: 'range', field: 'work.period', from: '1885', to: '1886' },
  'a column of rows': { type: 'text', fields: [`${nested}.name`], string: 'unobtainium' },
  'a row': { type: 'nested', path: nested, search: [{ type: 'in', fields: [`${nested}.amount`], in: [7] }] },
  'a value at all': { type: 'in', bool: 'must_not', fields: ['work.note'], in: [null] },
}

for (const [what, element] of Object.entries(elements)) {
  test(`a column that no mask of the caller shows is not found by ${what}`, async () => {
    const asked = 'in' in element && what === 'a link' ? { ...element, in: [ids.person] } : element
    const found = async (sent: object) =>
      (await search({ search: [sent] })).objects.map((each: Json) => each._system_object_id)
    assert.deepEqual(await found(asked), [ids.open])
    // As if it had no value: whoever asks for objects without it gets this one.
    assert.deepEqual(await found({ ...asked, bool: 'bool' in element ? 'must' : 'must_not' }), [ids.hidden])
  })
}

test('facets and ranges count a column only where the caller sees it', async () => {
  const { aggregations } = await search({
    aggregations: {
      note: { type: 'term', field: 'work.note' },
      width: { type: 'term', field: 'work.width' },
      rows: { type: 'term', field: `${nested}.name` },
      creator: { type: 'linked_object', field: 'work.creator' },
      made: { type: 'date_range', field: 'work.made', ranges: [{ from: '1800' }] },
      price: { type: 'range', field: 'work.price', ranges: [{ from: 1 }] },
    },
  })
  const { note, width, rows, creator, made, price } = aggregations
  assert.deepEqual(
    [note, width, rows].map(({ terms }) => terms.map((term: Json) => term.count)),
    [[1], [1], [1]],
  )
  assert.deepEqual(
    [made, price].map(({ ranges }) => ranges[0].count),
    [1, 1],
  )
  assert.deepEqual(
    creator.linked_objects.map((each: Json) => each.count),
    [1],
  )
})

test('an object sorts last by a column that the caller does not see there, and _sort shows nothing', async () => {
  for (const field of ['work.width', 'work.note', 'work.made', 'work.inventory', `${nested}.name`]) {
    for (const order of ['asc', 'desc']) {
      const { objects } = await search({ sort: [{ field, order }] })
      assert.deepEqual(
        objects.map((each: Json) => each._system_object_id),
        [ids.open, ids.hidden],
        field,
      )
      assert.equal(objects[0]._sort[0] === null, false)
      assert.equal(objects[1]._sort[0], null)
    }
  }
})

test('the title of a linked object that the caller may not read is not found, listed or sorted by', async () => {
  const titles = [
    { type: 'text', fields: ['work.creator'], string: 'secretive' },
    { type: 'text', fields: ['work.creator._standard.1.text'], string: 'secretive sam', phrase: true },
    { type: 'text', fields: ['work.creator'], string: '*cretiv*', mode: 'wildcard' },
    { type: 'text', string: 'secretive' },
    { type: 'text', string: 'secret*', mode: 'wildcard' },
  ]
  for (const element of titles) {
    assert.equal((await search({ search: [element] })).count, 0, JSON.stringify(element))
    const all = await people.root.post('/search', { objecttypes: ['work'], search: [element] })
    assert.equal(all.body.count, 2, JSON.stringify(element))
  }
  const { objects, aggregations } = await search({
    sort: [{ field: 'work.creator' }],
    aggregations: {
      creator: { type: 'linked_object', field: 'work.creator', sort: 'term' },
      named: { type: 'linked_object', field: 'work.creator', include: '.*Sam.*' },
    },
  })
  assert.deepEqual(
    objects.map((each: Json) => each._sort[0]),
    [null, null],
  )
  assert.equal(aggregations.named.count, 0)
  assert.deepEqual(Object.keys(aggregations.creator.linked_objects[0]._linked_object).sort(), [
    '_global_object_id',
    '_not_allowed',
    '_objecttype',
    '_system_object_id',
  ])
  assert.equal(JSON.stringify([objects, aggregations]).includes('Secretive'), false)
})

test('_score says nothing of words that the caller does not see', async () => {
  const { objects } = await search({
    search: [
      { type: 'text', string: 'plain' },
      { type: 'text', bool: 'should', string: 'whisper', boost: 5 },
      { type: 'text', bool: 'should', string: 'plain' },
    ],
  })
  const score = new Map(objects.map((each: Json) => [each._system_object_id, each._score]))
  assert.ok((score.get(ids.open) as number) > (score.get(ids.hidden) as number))
})

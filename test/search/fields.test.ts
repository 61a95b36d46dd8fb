import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { type SearchScene, startScene } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const only = (inventory: string) => [{ type: 'in', fields: ['work.inventory'], in: [inventory] }]

async function fieldsOf(inventory: string, fields: object[]): Promise<Json> {
  const { status, body } = await scene.search({ objecttypes: ['work'], search: only(inventory), fields })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.objects.length, 1)
  return body.objects[0]._fields
}

test('SR-014 fields answers values of each hit by key, with their path, by mode, in a language', async () => {
  const { ids } = scene
  assert.deepEqual(await fieldsOf('N10', [{ field: 'work.inventory' }, { key: 'wide', field: 'work.width' }]), {
    'work.inventory': ['N10'],
    wide: [100],
  })
  assert.deepEqual(
    await fieldsOf('N10', [
      { key: 'id', field: 'work.place' },
      { key: 'ids', field: 'work.place', with_path: true },
      { key: 'titles', field: 'work.place._standard.1.text', with_path: true, language: 'en-US' },
      { key: 'title', field: 'work.place._standard.1.text', language: 'en-US' },
      { key: 'german', field: 'work.place._standard.1.text', language: 'de-DE' },
    ]),
    {
      id: [ids.london],
      ids: [[ids.europe, ids.england, ids.london]],
      titles: [['Europe', 'England', 'London']],
      title: ['London'],
      german: [],
    },
  )
  assert.deepEqual(
    await fieldsOf('N10', [
      { key: 'both', field: 'work.period', mode: 'from_to' },
      { key: 'from', field: 'work.period', mode: 'from' },
      { key: 'to', field: 'work.period', mode: 'to' },
      { key: 'en', field: 'work.title', language: 'en-US' },
      { key: 'de', field: 'work.title', language: 'de-DE' },
      { key: 'fr', field: 'work.title', language: 'fr-FR' },
      { key: 'any', field: 'work.title' },
    ]),
    {
      both: ['1803/1805'],
      from: ['1803'],
      to: ['1805'],
      en: ['Westminster Bridge'],
      de: ['Die Brücke von Westminster'],
      fr: [],
      any: ['Westminster Bridge'],
    },
  )
  const material = 'work._nested:work__material'
  assert.deepEqual(
    await fieldsOf('N10', [
      { key: 'names', field: `${material}.name` },
      { key: 'origins', field: `${material}.origin`, with_path: true },
      { key: 'plain', field: `${material}.amount`, with_path: true },
    ]),
    {
      names: ['oil', 'canvas'],
      origins: [[ids.europe, ids.england], [ids.europe]],
      plain: [[3], [1]],
    },
  )
})

test('what hits are is answered too, and what they have no value of is empty', async () => {
  const { ids } = scene
  const { body } = await scene.search({ search: only('X1') })
  const [blank] = body.objects
  assert.deepEqual(
    await fieldsOf('X1', [
      { key: 'id', field: '_system_object_id' },
      { key: 'global', field: '_global_object_id' },
      { key: 'uuid', field: '_uuid' },
      { key: 'type', field: '_objecttype' },
      { key: 'own', field: 'work._id' },
      { key: 'other', field: 'person._id' },
      { key: 'title', field: '_standard' },
      { key: 'made', field: 'work.made' },
      { key: 'period', field: 'work.period' },
      { key: 'creator', field: 'work.creator' },
    ]),
    {
      id: [ids.blank],
      global: [`${ids.blank}@test`],
      uuid: [blank._uuid],
      type: ['work'],
      own: [blank.work._id],
      other: [],
      title: [],
      made: [],
      period: [],
      creator: [],
    },
  )
  assert.deepEqual(
    await fieldsOf('N2', [
      { key: 'open', field: 'work.period' },
      { key: 'made', field: 'work.made' },
    ]),
    {
      open: ['1790/..'],
      made: ['1801-05'],
    },
  )
  const creator = await fieldsOf('N100', [{ key: 'id', field: 'work.creator.person._id' }])
  assert.equal(creator.id.length, 1)
})

test('fields that are not there, or cannot be answered, are refused', async () => {
  for (const [fields, code] of [
    [[{ field: 'work.nothing' }], 'SearchFieldUnknown'],
    [[{ field: '_fulltext' }], 'SearchFieldNotAllowed'],
    [[{ field: 'work.image' }], 'SearchFieldNotAllowed'],
    [[{ field: 'work.width', mode: 'from' }], 'ServerGeneric'],
    [[{ field: 'work.made', mode: 'end' }], 'ServerGeneric'],
    [[{ field: 'work.width' }, { field: 'work.width' }], 'ServerGeneric'],
    [[{ field: 'work.width', language: '!' }], 'ServerGeneric'],
    [[{ field: 'work.width', withpath: true }], 'ServerGeneric'],
    [Array.from({ length: 101 }, (_, n) => ({ key: `${n}`, field: 'work.width' })), 'ServerGeneric'],
  ] as const) {
    const { status, body } = await scene.search({ fields })
    assert.deepEqual([status, body.code], [400, code], JSON.stringify(fields))
  }
})

test('SR-015 the field of a search within names the link whose targets are meant', async () => {
  const within = (field: string | undefined, search: object[]) => ({
    objecttypes: ['work'],
    ...(field === undefined ? {} : { field }),
    search,
  })
  const found = async (fields: string[], subsearch: object): Promise<string[]> =>
    (await scene.found({ search: [{ type: 'in', fields, subsearch }] })).sort()
  // Works by the same person.
  assert.deepEqual(await found(['work.creator'], within('work.creator', only('N2'))), ['bridge', 'dawn'])
  assert.deepEqual(await found(['_system_object_id'], within('work.creator', only('N2'))), ['turner'])
  assert.deepEqual(await found(['_system_object_id'], within(undefined, only('N2'))), ['dawn'])
  assert.deepEqual(await found(['_system_object_id'], within('_system_object_id', only('N2'))), ['dawn'])
  // Where materials are from, of works at a place.
  assert.deepEqual(await found(['work.place'], within('work._nested:work__material.origin', only('N10'))), ['dawn'])
  assert.deepEqual(await found(['work.creator'], within('work.creator', only('X1'))), [])
  for (const field of ['work.title', 'work.nothing', '_pool']) {
    const subsearch = within(field, [])
    const { status } = await scene.search({ search: [{ type: 'in', fields: ['work.creator'], subsearch }] })
    assert.equal(status, 400, field)
  }
})

test('SR-022 an element has one of the types that there are', async () => {
  const corners = { top_left: { lat: 52, lon: -1 }, bottom_right: { lat: 51, lon: 1 } }
  const ring = [
    { lat: 51, lon: -1 },
    { lat: 52, lon: -1 },
    { lat: 52, lon: 1 },
    { lat: 51, lon: 1 },
  ]
  const width = { type: 'range', field: 'work.width', from: 50 }
  const material = 'work._nested:work__material'
  const oil = { type: 'text', string: 'oil', fields: [`${material}.name`] }
  for (const element of [
    { type: 'text', string: 'westminster' },
    { type: 'in', fields: ['work.inventory'], in: ['N10'] },
    width,
    { type: 'complex', search: [width] },
    { type: 'nested', path: material, search: [oil] },
    { type: 'geo_bounding_box', fields: ['work.location'], geo_bounding_box: corners },
    { type: 'geo_shape', fields: ['work.location'], geo_shape: { points: ring } },
  ]) {
    assert.deepEqual(await scene.works(element), ['bridge'], element.type)
  }
  const inserted = { type: 'changelog_range', operation: 'INSERT' }
  assert.equal((await scene.works(inserted)).length, 5)
  assert.equal((await scene.works({ ...inserted, bool: 'must_not' })).length, 0)
  for (const type of ['word', '', undefined]) {
    const { status, body } = await scene.search({ search: [{ ...width, type }] })
    assert.deepEqual([status, body.parameters.name], [400, 'search[0].type'], String(type))
  }
})

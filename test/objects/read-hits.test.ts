import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { link, type Scene, startScene } from './read-scene.ts'

/** How objects are shown as hits of a search (`renderHits`). */
let scene: Scene
let people: People
let work: number
let hidden: number
before(async () => {
  scene = await startScene()
  people = await seedPeople(scene.svc)
  const person = await scene.add('person', { name: 'Turner' })
  const masks = (await people.root.get('/mask/CURRENT')).body.masks
  const restricted = masks.find((mask: Json) => mask.name === 'work__restricted')
  work = await scene.add(
    'work',
    {
      title: { 'en-US': 'The Lake', 'de-DE': 'Der See' },
      inventory: 'N1',
      creator: link('person', person),
      '_nested:work__part': [{ rank: 1 }],
    },
    {
      _acl: [
        {
          who: toUser(people.ids.stranger),
          rights: { read: { mask_ids: { [restricted.table_id]: [restricted.mask_id] } } },
        },
        wireGrant(toUser(people.ids.reader), 'read'),
      ],
    },
  )
  hidden = await scene.add('work', { inventory: 'N2' })
  await scene.svc.drain()
})
after(() => scene[Symbol.asyncDispose]())

async function hits(request: object, client: Client = people.root): Promise<Json[]> {
  const search = [{ type: 'in', fields: ['_system_object_id'], in: [work, hidden] }]
  const { status, body } = await client.post('/search', { objecttypes: ['work'], search, ...request })
  assert.equal(status, 200, JSON.stringify(body))
  return body.objects
}

async function hit(request: object, client?: Client): Promise<Json> {
  const found = (await hits(request, client)).find((object) => object._system_object_id === work)
  assert.ok(found)
  return found
}

test('SR-021 a hit has the preferred mask; who may not use it gets the best one that they may', async () => {
  assert.equal((await hit({ format: 'standard' }))._mask, 'work__display')
  assert.equal((await hit({ format: 'standard' }, people.reader))._mask, 'work__display')
  const stranger = await hit({ format: 'standard' }, people.stranger)
  assert.equal(stranger._mask, 'work__restricted')
  assert.deepEqual(Object.keys(stranger.work), ['_id', '_version', 'title', 'inventory', 'creator'])
  const mask = async (client: Client, best_mask_filter: boolean) =>
    (await hit({ format: 'standard', best_mask_filter }, client))._mask
  assert.deepEqual(
    [await mask(people.root, true), await mask(people.reader, true), await mask(people.stranger, true)],
    ['work__display', 'work__display', 'work__restricted'],
  )
  assert.deepEqual(
    [await mask(people.root, false), await mask(people.stranger, false)],
    ['_all_fields', 'work__restricted'],
    'without it root sees all, and nobody more than a mask that they may use',
  )
})

test('objects that the caller may not read are no hits', async () => {
  assert.deepEqual(
    (await hits({ format: 'short' }, people.reader)).map((object) => object._system_object_id),
    [work],
  )
})

test('SR-016 include_fields and exclude_fields choose what is answered; what identifies the object stays', async () => {
  const identity = ['_objecttype', '_mask', '_format', '_system_object_id', '_global_object_id', '_uuid', 'work']
  const some = await hit({
    format: 'standard',
    include_fields: ['work.title', 'work._nested:work__part.rank', '_tags'],
  })
  assert.deepEqual(
    Object.keys(some)
      .filter((key) => !key.startsWith('_score') && !key.startsWith('_sort'))
      .toSorted(),
    [...identity, '_tags'].toSorted(),
  )
  assert.deepEqual(Object.keys(some.work), ['_id', '_version', '_pool', 'title', '_nested:work__part'])
  const rest = await hit({ format: 'standard', exclude_fields: ['work.title', '_owner'] })
  assert.equal('_owner' in rest, false)
  assert.equal('title' in rest.work, false)
  assert.equal(rest.work.inventory, 'N1')
  for (const name of ['include_fields', 'exclude_fields']) {
    for (const wrong of ['work.title', [1], { 'work.title': true }]) {
      const { status, body } = await people.root.post('/search', { [name]: wrong })
      assert.deepEqual([status, body.code], [400, 'ServerGeneric'], `${name} ${JSON.stringify(wrong)}`)
    }
  }
})

test('languages leave out the others; a text in none of them stays whole', async () => {
  const object = await hit({ format: 'standard', languages: ['de-DE'] })
  assert.deepEqual(object.work.title, { 'de-DE': 'Der See' })
  assert.deepEqual(object._standard['1'].text, { 'de-DE': 'Der See' })
  assert.deepEqual((await hit({ format: 'standard', languages: ['fr-FR'] })).work.title, {
    'en-US': 'The Lake',
    'de-DE': 'Der See',
  })
})

test('SR-020 generate_rights shows the effective rights on each hit', async () => {
  const rights = async (client: Client) =>
    (await hits({ format: 'standard', generate_rights: true }, client)).map(
      ({ _system_object_id, _generated_rights }) => [_system_object_id, Object.keys(_generated_rights)],
    )
  assert.deepEqual(await rights(people.reader), [[work, ['read']]])
  const [first, second, ...others] = await rights(people.root)
  assert.deepEqual([first?.[0], second?.[0], others], [work, hidden, []])
  for (const all of [first?.[1], second?.[1]]) {
    for (const right of ['read', 'write', 'delete']) assert.ok((all as string[]).includes(right), right)
  }
  for (const object of await hits({ format: 'standard' })) assert.equal('_generated_rights' in object, false)
})

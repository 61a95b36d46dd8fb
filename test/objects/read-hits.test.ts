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

test('a hit has the preferred mask; who may not use it gets the best one that they may', async () => {
  assert.equal((await hit({ format: 'standard' }))._mask, 'work__display')
  assert.equal((await hit({ format: 'standard' }, people.reader))._mask, 'work__display')
  const stranger = await hit({ format: 'standard' }, people.stranger)
  assert.equal(stranger._mask, 'work__restricted')
  assert.deepEqual(Object.keys(stranger.work), ['_id', '_version', 'title', 'inventory', 'creator'])
})

test('objects that the caller may not read are no hits', async () => {
  assert.deepEqual(
    (await hits({ format: 'short' }, people.reader)).map((object) => object._system_object_id),
    [work],
  )
})

test('include_fields and exclude_fields choose what is answered; what identifies the object stays', async () => {
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

test('generate_rights shows the effective rights', async () => {
  assert.deepEqual(
    Object.keys((await hit({ format: 'standard', generate_rights: true }, people.reader))._generated_rights),
    ['read'],
  )
  assert.equal('_generated_rights' in (await hit({ format: 'standard' })), false)
})

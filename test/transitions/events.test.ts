import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'

let museum: Museum
let root: Client
let receiver: WebhookServer
let tags: number[]

before(async () => {
  receiver = await startWebhookServer()
  museum = await startMuseum()
  root = museum.svc.as('root')
  const { body } = await root.post('tags', [{ taggroup: {}, _tags: [{ reference: 'a' }, { reference: 'b' }] }])
  tags = body[0]._tags.map((tag: Json) => tag._id)
  await root.post('config', {
    system: { config: { transition_webhook: { webhooks: [{ name: 'hook', url: receiver.url }] } } },
  })
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})
beforeEach(() => {
  receiver.calls.length = 0
})

async function define(...list: object[]): Promise<Json[]> {
  const answer = await root.post(
    'transitions',
    list.map((entry) => ({ type: 'process', trigger: 'event', ...entry })),
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function create(...titles: string[]): Promise<Json[]> {
  const works = titles.map((title) => payload('work', { ...inPool(museum.pool), title: { 'en-US': title } }))
  const answer = await root.post('db/work', works)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function stored(object: Json): Promise<Json> {
  return (await root.get(`db/work/_all_fields/${object.work._id}`)).body[0]
}

async function idOf(objecttype: string): Promise<number> {
  const { body } = await root.get('objecttype')
  return body.find((entry: Json) => entry.objecttype.name === objecttype).objecttype._id
}

const setTag = (id: number, set = true) => ({ type: 'set_tags', info: { tags: [{ _id: id, set }] } })
const webhook = { type: 'webhook', info: { name: 'hook' } }

test('an event transition runs for objects of entries that were logged after it was made', async () => {
  const [early] = await create('Early')
  await museum.svc.drain()
  await define({ event_types: ['OBJECT_INSERT'], actions: [setTag(tags[0]!), webhook] })
  const [one, two] = await create('One', 'Two')
  await museum.svc.drain()
  for (const object of [one, two]) {
    const now = await stored(object)
    assert.deepEqual([now.work._version, now._tags.map((tag: Json) => tag._id)], [2, [tags[0]]])
  }
  assert.equal((await stored(early)).work._version, 1)
  const [call] = receiver.calls
  assert.equal(receiver.calls.length, 1, 'one call for the batch')
  assert.deepEqual(call?.body.objects.map((object: Json) => object._system_object_id).sort(), [
    one._system_object_id,
    two._system_object_id,
  ])
  assert.deepEqual(
    call?.body.info.events.map((event: Json) => event.type),
    ['OBJECT_INSERT', 'OBJECT_INSERT'],
  )
})

test('transitions that set each other off end: versions written by event transitions run none', async () => {
  await define(
    {
      event_types: ['OBJECT_UPDATE', 'OBJECT_INSERT'],
      'tagfilter:after': { not: [tags[0]] },
      actions: [setTag(tags[0]!)],
    },
    {
      event_types: ['OBJECT_UPDATE', 'OBJECT_INSERT'],
      'tagfilter:after': { all: [tags[0]] },
      actions: [setTag(tags[0]!, false)],
    },
  )
  const [object] = await create('Round')
  await museum.svc.drain()
  const { work } = await stored(object)
  assert.ok(work._version <= 3, `version ${work._version}`)
})

test('conditions hold for event transitions: object type, tags', async () => {
  await define(
    { event_types: ['OBJECT_INSERT'], objecttype_ids: [await idOf('person')], actions: [setTag(tags[0]!)] },
    { event_types: ['OBJECT_INSERT'], 'tagfilter:before': { all: [tags[1]] }, actions: [setTag(tags[0]!)] },
    { event_types: ['OBJECT_DELETE'], actions: [setTag(tags[0]!)] },
  )
  const [object] = await create('Unfit')
  await museum.svc.drain()
  assert.equal((await stored(object)).work._version, 1)
})

test('an entry about no object sends mails and webhooks', async () => {
  await define({ event_types: ['TAG_UPDATE'], actions: [webhook, setTag(tags[0]!)] })
  const { body } = await root.get('tags')
  body[0]._tags[0].displayname = { 'en-US': 'Renamed' }
  await root.post('tags', body)
  await museum.svc.drain()
  const [call] = receiver.calls
  assert.equal(receiver.calls.length, 1)
  assert.deepEqual(call?.body.objects, [])
  assert.equal(call?.body.info.events[0].type, 'TAG_UPDATE')
  assert.deepEqual(call?.body.info.events[0].info.displayname, { 'en-US': 'Renamed' })
})

test('objects that are gone by then are left out', async () => {
  await define({ event_types: ['OBJECT_INSERT'], actions: [setTag(tags[0]!)] })
  const [gone, kept] = await create('Gone', 'Kept')
  await root.delete('db/work', [[gone.work._id, 1, null]], { delete_policy: 'remove' })
  await museum.svc.drain()
  assert.equal((await stored(kept)).work._version, 2)
})

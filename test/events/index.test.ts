import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { pageText } from '../support/documented.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** What the log says of the search index. */
let museum: Museum
let root: Client
before(async () => {
  museum = await startMuseum()
  root = museum.svc.as('root')
  const system = { config: { user: { user_in_event_group: ['SYSTEM', 'INDEX'] } } }
  const configured = await root.post('/config', { system })
  assert.equal(configured.status, 200, JSON.stringify(configured.body))
  assert.equal((await root.post('/db/topic', [payload('topic', { name: 'Ghent' })])).status, 200)
  await museum.svc.drain()
})
after(() => museum[Symbol.asyncDispose]())

/** The events of some work, without those of commits and types, with whether pollers hear of them. */
async function told(work: () => Promise<unknown>): Promise<{ type: string; info: Json; polled: boolean }[]> {
  const [last] = (await root.get('/event/list', { limit: 1 })).body.objects
  await work()
  await museum.svc.drain()
  const { body } = await root.get('/event/list', { id: `${last.event._id + 1}-999999999`, sort: '_id.ASC' })
  const poll = await root.get(`/event/poll/${last.event._id}`, { limit: 1000 })
  const polled = new Set(poll.body.map(({ event }: Json) => event._id))
  const events = body.objects.filter(({ event }: Json) => /INDEX/.test(event.type))
  for (const one of events) assert.equal(one.user, undefined, 'nothing of the index is user-logged')
  return events.map(({ event }: Json) => ({ type: event.type, info: event.info, polled: polled.has(event._id) }))
}

const objectsOfType = async (): Promise<Record<string, number>> => {
  const { rows } = await museum.svc.db.query<{ name: string; count: number }>(
    'select t.name, count(*)::int as count from object o join objecttype t on t.id = o.objecttype group by 1',
  )
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

test('EVENT-052 EVENT-053 a reindex tells when it begins, what it has queued, when it is done and the index is switched', async () => {
  const [start, queued, changed, done, ...others] = await told(async () => {
    assert.equal((await root.post('/system/reindex', undefined, { blockFrontend: 1 })).status, 200)
  })
  assert.deepEqual(others, [])
  assert.deepEqual(start, { type: 'REINDEX_START', info: { Datamodel: 1, BlockFrontend: true }, polled: true })
  const { Took: queuing, ...what } = queued?.info ?? {}
  assert.deepEqual(what, { Counts: await objectsOfType(), IndexVersions: { objects: 1 } })
  assert.deepEqual([queued?.type, queued?.polled, typeof queuing], ['REINDEX_QUEUED', false, 'number'])
  assert.deepEqual(changed, { type: 'INDEX_SWITCH', info: { IndexNames: ['objects'], Errors: 0 }, polled: true })
  assert.match(pageText('events.md'), /^\| INDEX \| `INDEX_SWITCH` \|.* `IndexNames`, `Deleted`, `Errors` \|$/m)
  const { Took: took, ...versions } = done?.info ?? {}
  assert.deepEqual([done?.type, done?.polled], ['REINDEX_DONE', true])
  assert.deepEqual(versions, {
    BlockFrontend: true,
    IndexVersionsQueued: { objects: 1 },
    IndexVersions: { objects: 1 },
  })
  assert.ok(took > 0 && took < 600)
  await assertEventFlags(museum.svc, ['INDEX_SWITCH'], { userLogged: false, pollable: true })
})

test('a commit that asks for it is one of the types that it concerns; without, nothing is told', async () => {
  const commit = async (reindex: string): Promise<void> => {
    const head = (await root.get('/schema/user/HEAD')).body
    const tables = head.tables.map((table: Json) =>
      table.name === 'topic'
        ? { ...table, columns: [...table.columns, { kind: 'column', name: `for_${reindex}`, type: 'string' }] }
        : table,
    )
    assert.equal((await root.post('/schema/user/HEAD', { ...head, tables })).status, 200)
    assert.equal((await root.post('/schema/commit', undefined, { reindex })).status, 200)
  }
  assert.deepEqual(await told(() => commit('skip')), [])
  const events = await told(() => commit('reindex'))
  assert.deepEqual(
    events.map(({ type }) => type),
    ['REINDEX_START', 'REINDEX_QUEUED', 'INDEX_SWITCH', 'REINDEX_DONE'],
  )
  const [start, queued, , done] = events
  assert.deepEqual(start?.info, { Datamodel: 3, BlockFrontend: false })
  assert.equal(queued?.info.Counts.topic, (await objectsOfType()).topic)
  assert.deepEqual(done?.info.IndexVersions, { objects: 3 })
})

test('EVENT-051 an object that cannot be indexed is an OBJECT_INDEX_ERROR, and each new attempt an OBJECT_INDEX_REQUEUE', async () => {
  const { db } = museum.svc
  const [saved] = (await root.post('/db/topic', [payload('topic', { name: 'Bruges' })])).body
  const id = saved._system_object_id
  await museum.svc.drain()
  await db.query(
    `create function refuse_document() returns trigger language plpgsql as
       $$ begin raise exception 'no such weather' using errcode = '22023'; end $$`,
  )
  await db.query(
    `create trigger refuse before insert on search_document for each row when (new.id = ${id})
       execute function refuse_document()`,
  )
  const info = { IndexName: 'objects', DocID: `${id}`, Error: 'no such weather' }
  const renamed = payload('topic', { _id: saved.topic._id, _version: 1, name: 'Bruges, then' })
  assert.deepEqual(await told(() => root.post('/db/topic', [renamed])), [
    { type: 'OBJECT_INDEX_ERROR', info, polled: false },
  ])
  const events = await told(() => root.post('/system/reindex'))
  assert.deepEqual(
    events.map(({ type }) => type),
    ['REINDEX_START', 'REINDEX_QUEUED', 'INDEX_SWITCH', 'REINDEX_ERROR'],
    'the error of the object is told once',
  )
  assert.equal(events[2]?.info.Errors, 1)
  assert.equal(events[3]?.info.Error, '1 objects cannot be indexed')

  await db.query('drop trigger refuse on search_document')
  await db.query('update search_failure set retry_at = now()')
  assert.deepEqual(await told(async () => {}), [{ type: 'OBJECT_INDEX_REQUEUE', info, polled: false }])
  const types = ['OBJECT_INDEX_ERROR', 'OBJECT_INDEX_REQUEUE'] as const
  await assertEventFlags(museum.svc, types, { userLogged: false, pollable: false })
  const { body } = await root.post('/search', { search: [{ type: 'in', fields: ['_system_object_id'], in: [id] }] })
  assert.equal(body.count, 1)
})

test('EVENT-050 OBJECT_INDEX is told of saved objects alone, where the instance wants it: then those who poll get it', async () => {
  const save = (name: string) => root.post('/db/topic', [payload('topic', { name }), payload('topic', { name })])
  assert.deepEqual(await told(() => save('Unheard')), [])
  const setting = (active: boolean) => root.post('/config/system/config', { object_index_event: { active } })
  assert.equal((await setting(true)).status, 200)
  let ids: number[] = []
  const events = await told(async () => {
    const saved = (await save('Heard')).body
    ids = saved.map((object: Json) => object._system_object_id)
  })
  const info = { Priority: 0, IndexName: 'objects' }
  assert.deepEqual(events, [
    { type: 'OBJECT_INDEX', info, polled: true },
    { type: 'OBJECT_INDEX', info, polled: true },
  ])
  const { rows } = await museum.svc.db.query<{ id: number; user_id: number | null }>(
    `select system_object_id as id, user_id from event where type = 'OBJECT_INDEX' order by id`,
  )
  assert.deepEqual(
    rows,
    ids.map((id) => ({ id, user_id: null })),
  )
  // The type itself is not one that those who poll get: the instance has asked for these.
  await assertEventFlags(museum.svc, ['OBJECT_INDEX'], { userLogged: false, pollable: false })
  // What is indexed in the background is not told of.
  const again = await told(() => root.post('/system/reindex'))
  assert.ok(again.every(({ type }) => type !== 'OBJECT_INDEX') && again.length > 0)
  assert.equal((await setting(false)).status, 200)
})

test('an indexer that is killed after its last batch leaves the word to whoever looks next', async () => {
  const events = await told(() =>
    museum.svc.db.query('insert into reindex_run (until_seq, block, datamodel) values (0, false, 2)'),
  )
  assert.deepEqual(events, [], 'only looked for now and then')
  await using next = await attachService(museum.svc.dsn)
  await until(async () => (await next.db.query('select from reindex_run')).rowCount === 0)
  const { rows } = await next.db.query(
    `select info->'IndexVersionsQueued' as version from event order by id desc limit 1`,
  )
  assert.deepEqual(rows, [{ version: { objects: 2 } }])
})

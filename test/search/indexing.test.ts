import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, link, payload } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { holdIndexer, type SearchScene, startScene, text } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const root = () => scene.svc.as('root')

async function save(objecttype: string, block: object, rest: object = {}): Promise<Json> {
  const answer = await root().post(`/db/${objecttype}`, [payload(objecttype, block, rest)], { await_index: 20 })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.equal(answer.headers['x-svc-error'], undefined)
  return answer.body[0]
}

const ids = async (request: object): Promise<number[]> =>
  (await scene.search({ format: 'short', ...request })).body.objects.map((object: Json) => object._system_object_id)

/** Everything that the index holds, with numbers of facet sets replaced by what is in them. */
async function indexed(): Promise<unknown[]> {
  const { rows } = await scene.svc.db.query(
    `select d.id, d.objecttype, d.deleted, d.created_at, d.modified_at, d.sort_keys, d.far_keys, d.names::text, d.lexemes::text, d.shown,
       (select json_agg(row_to_json(s) order by s.field) from (
          select f.field, f.ids, f.labels from search_facet_set f where f.id = any(d.facets)) s) as facets,
       (select json_agg(row_to_json(n) order by n.row) from (
          select row, parent, lexemes::text from search_nested where id = d.id) n) as rows
     from search_document d order by d.id`,
  )
  return rows
}

async function assertLikeFresh(): Promise<void> {
  await scene.svc.drain()
  const kept = await indexed()
  // The sets of facets stay: they are immutable, and either process, which remember them, may be the one that indexes.
  await scene.svc.db.query('truncate search_document, search_nested')
  await using other = await attachService(scene.svc.dsn)
  assert.equal((await other.as('root').post('/system/reindex')).status, 200)
  await other.drain()
  assert.deepEqual(await indexed(), kept)
}

test('what changes is found as it is now', async () => {
  const created = await save('person', { name: 'Marianne North' })
  assert.deepEqual(await ids({ search: [text('marianne')] }), [created._system_object_id])
  await save('person', { _id: created.person._id, _version: 1, name: 'Berthe Morisot' })
  assert.deepEqual(await ids({ search: [text('marianne')] }), [])
  assert.deepEqual(await ids({ search: [text('berthe')] }), [created._system_object_id])
})

test('SR-010 the trash is found with include_deleted only, what is purged is not found at all', async () => {
  const created = await save('person', { name: 'Ephemeral' })
  const other = await save('person', { name: 'Not ephemeral' })
  const id = created._system_object_id
  const found = (more: object = {}) => ids({ search: [text('ephemeral')], ...more })
  const remove = async (version: number, policy: string) => {
    const answer = await root().delete('/db/person', [[created.person._id, version, null]], {
      delete_policy: policy,
      await_index: 20,
    })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const both = [id, other._system_object_id]
  for (const include_deleted of [undefined, false, true]) {
    assert.deepEqual((await found({ include_deleted })).toSorted(), both.toSorted())
  }
  await remove(1, 'setnull')
  for (const include_deleted of [undefined, false]) assert.deepEqual(await found({ include_deleted }), both.slice(1))
  assert.deepEqual((await found({ include_deleted: true })).toSorted(), both.toSorted())
  await remove(2, 'purge')
  assert.deepEqual(await found({ include_deleted: true }), both.slice(1))
})

test('objects follow what they link to: its texts, and its place in a hierarchy', async () => {
  const parent = await save('place', { name: { 'en-US': 'Atlantis' }, code: 'AT' })
  const child = await save('place', {
    name: { 'en-US': 'Harbour' },
    code: 'HA',
    'lookup:_id_parent': { _system_object_id: parent._system_object_id },
  })
  const work = await save('work', {
    ...inPool(scene.pool),
    inventory: 'L1',
    place: link('place', child._system_object_id),
  })
  const below = async (id: number) =>
    ids({ search: [{ type: 'in', fields: ['work.place'], in: [id], include_path: true }] })
  assert.deepEqual(await ids({ objecttypes: ['work'], search: [text('harbour')] }), [work._system_object_id])
  assert.deepEqual(await below(parent._system_object_id), [work._system_object_id])

  await save('place', {
    _id: child.place._id,
    _version: 1,
    name: { 'en-US': 'Marina' },
    code: 'HA',
    'lookup:_id_parent': { _system_object_id: parent._system_object_id },
  })
  await scene.svc.drain()
  assert.deepEqual(await ids({ objecttypes: ['work'], search: [text('harbour')] }), [])
  assert.deepEqual(await ids({ objecttypes: ['work'], search: [text('marina')] }), [work._system_object_id])

  const other = await save('place', { name: { 'en-US': 'Elsewhere' }, code: 'EL' })
  const stored = (await root().get(`/db/place/_all_fields/${parent.place._id}`)).body[0]
  await save('place', {
    ...stored.place,
    _version: stored.place._version,
    'lookup:_id_parent': { _system_object_id: other._system_object_id },
  })
  await scene.svc.drain()
  assert.deepEqual(await below(other._system_object_id), [work._system_object_id])
  await assertLikeFresh()
})

test('saves by two processes at once are all indexed', async () => {
  await using other = await attachService(scene.svc.dsn)
  const clients = [scene.svc.as('root'), other.as('root')]
  for (const client of clients) await client.post('/db/topic', [payload('topic', { name: 'parallel first' })])
  const writes = Array.from({ length: 8 }, (_, index) =>
    (clients[index % 2] as (typeof clients)[number]).post('/db/topic', [
      payload('topic', { name: `parallel ${index}` }),
    ]),
  )
  for (const answer of await Promise.all(writes)) assert.equal(answer.status, 200, JSON.stringify(answer.body))
  await Promise.all([scene.svc.drain(), other.drain()])
  assert.equal((await ids({ search: [text('parallel')] })).length, 10)
  assert.equal((await other.as('root').post('/search', { search: [text('parallel')] })).body.count, 10)
})

test('a cached result is given up when the index has changed, in every process', async () => {
  await using other = await attachService(scene.svc.dsn)
  const request = { objecttypes: ['topic'], aggregations: { it: { type: 'term', field: '_objecttype' } } }
  const count = async (svc = scene.svc): Promise<number[]> => {
    const { body } = await svc.as('root').post('/search', request)
    return [body.count, body.aggregations.it.terms[0].count]
  }
  const [before = 0] = await count()
  assert.deepEqual(await count(other), [before, before])
  await save('topic', { name: 'one more' })
  assert.deepEqual(await count(), [before + 1, before + 1])
  assert.deepEqual(await count(other), [before + 1, before + 1])
})

test('an object that cannot be indexed is noted and leaves the others alone', async () => {
  const { db } = scene.svc
  const [good, bad] = [await save('topic', { name: 'good neighbour' }), await save('topic', { name: 'bad neighbour' })]
  // What a plugin or a fault elsewhere may have left behind: content that no save would accept.
  await db.query(
    `update object_version set content = jsonb_set(content, (select array[key] from jsonb_object_keys(content) key limit 1), '{"not": "text"}') where system_object_id = $1`,
    [bad._system_object_id],
  )
  await db.query('insert into index_queue (system_object_id) select unnest($1::bigint[])', [
    [good._system_object_id, bad._system_object_id, bad._system_object_id],
  ])
  await scene.svc.drain()
  assert.deepEqual(await ids({ search: [text('good neighbour')] }), [good._system_object_id])
  const { rows } = await db.query<{ id: number }>('select id from search_failure')
  assert.deepEqual(rows, [{ id: bad._system_object_id }])
  const events = await db.query(`select from event where type = 'OBJECT_INDEX_ERROR' and system_object_id = $1`, [
    bad._system_object_id,
  ])
  assert.equal(events.rowCount, 1)
  // Nothing of it is to come back in the middle of another test.
  await db.query('delete from search_failure')
})

test('what cannot be indexed for a while is not found by what it was, and is indexed when that is over', async () => {
  const { db } = scene.svc
  const saved = await save('topic', { name: 'fair weather' })
  const id = saved._system_object_id
  const failure = async () => (await db.query('select attempts, error from search_failure where id = $1', [id])).rows
  const due = () => db.query('update search_failure set retry_at = now() where id = $1', [id])
  await db.query(
    `create function refuse_document() returns trigger language plpgsql as
       $$ begin raise exception 'the weather is bad' using errcode = '22023'; end $$`,
  )
  await db.query(
    `create trigger refuse before insert on search_document for each row when (new.id = ${id})
       execute function refuse_document()`,
  )
  await save('topic', { _id: saved.topic._id, _version: 1, name: 'foul weather' })
  assert.deepEqual(await ids({ search: [text('weather')] }), [])
  assert.deepEqual(await failure(), [{ attempts: 1, error: 'the weather is bad' }])
  await due()
  await scene.svc.drain()
  assert.deepEqual(await failure(), [{ attempts: 2, error: 'the weather is bad' }])

  await db.query('drop trigger refuse on search_document')
  await due()
  await scene.svc.drain()
  assert.deepEqual(await ids({ search: [text('foul weather')] }), [id])
  assert.deepEqual(await failure(), [])
  const told = await db.query(`select from event where type = 'OBJECT_INDEX_ERROR' and system_object_id = $1`, [id])
  assert.equal(told.rowCount, 1, 'once, not with each attempt')
})

test('a reindex takes the place of the one before, and what waits is counted by object', async () => {
  using _ = await holdIndexer(scene.svc.db)
  for (let time = 0; time < 2; time++) assert.equal((await root().post('/system/reindex')).status, 200)
  const { rows } = await scene.svc.db.query<{ objects: number; entries: number }>(
    'select (select count(*) from object) as objects, (select count(*) from index_queue) as entries',
  )
  const [{ objects, entries } = { objects: 0, entries: 0 }] = rows
  assert.equal(entries, objects)
  const [{ topic }] = (await root().post('/db/topic', [payload('topic', { name: 'first' })])).body
  await root().post('/db/topic', [payload('topic', { _id: topic._id, _version: 1, name: 'second' })])
  assert.equal((await root().get('/system/status')).body.total_not_indexed, objects + 1)
})

test('POST /system/reindex is for root, and with blockFrontend others wait until it is done', async () => {
  const answer = await root().post(
    '/user',
    [{ _basetype: 'user', user: { login: 'somebody' }, _password: 'somebody' }],
    { confirm: 'ignore_password_requirements' },
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const somebody = scene.svc.as('somebody')
  assert.equal((await somebody.post('/system/reindex')).status, 403)
  assert.equal((await somebody.post('/search', {})).status, 200)
  {
    using _ = await holdIndexer(scene.svc.db)
    assert.deepEqual((await root().post('/system/reindex', undefined, { blockFrontend: 1 })).body, { status: 'ok' })
    const refused = await somebody.post('/search', {})
    assert.equal(refused.status, 400)
    assert.equal(refused.body.code, 'ReindexInProgress')
    assert.equal((await root().post('/search', {})).status, 200)
  }
  await scene.svc.drain()
  assert.equal((await somebody.post('/search', {})).status, 200)
})

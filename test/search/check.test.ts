import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { payload } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startScene } from './support.ts'

const checking = { indexCheckPause: 1, indexCheckEvery: 1000 }

test('documents that were lost, altered or left behind are found, told of and made anew', async () => {
  await using scene = await startScene(checking)
  const { svc, ids } = scene
  const root = svc.as('root')
  const check = async () => (await root.get('/system/index/check')).body
  const round = async () => {
    const began = await root.post('/system/index/check')
    assert.equal(began.status, 200, JSON.stringify(began.body))
    await until(async () => (await check()).status === 'waiting')
    return check()
  }
  const before = await round()
  assert.ok(before.checked >= Object.keys(ids).length, JSON.stringify(before))
  assert.deepEqual(
    [before.missing, before.surplus, before.different],
    [0, 0, 0],
    'what is indexed is what it should be',
  )

  const id = (name: string) => ids[name] as number
  const { db } = svc
  await db.query('delete from search_document where id = $1', [id('bridge')])
  await db.query('delete from search_nested where id = $1', [id('bridge')])
  await db.query(`update search_document set lexemes = '''gone'''::tsvector where id = $1`, [id('tyger')])
  await db.query('delete from search_nested where id = $1', [id('dawn')])
  await db.query(
    `insert into search_document select (jsonb_populate_record(d, '{"id": 999999}')).* from search_document d where id = $1`,
    [id('beast')],
  )
  const found = await round()
  assert.deepEqual([found.missing, found.surplus, found.different], [1, 1, 2], JSON.stringify(found))
  assert.equal(found.last.checked, before.checked)
  await svc.drain()

  const works = { objecttypes: ['work'], search: [{ type: 'text', string: 'tyger' }] }
  assert.equal((await root.post('/search', works)).body.count, 1)
  assert.equal((await root.post('/search', { objecttypes: ['work'] })).body.count, 5)
  const row = {
    type: 'nested',
    path: 'work._nested:work__material',
    search: [{ type: 'text', string: 'watercolour', fields: ['work._nested:work__material.name'] }],
  }
  assert.equal((await root.post('/search', { objecttypes: ['work'], search: [row] })).body.count, 1)
  const { rows } = await db.query<{ id: number }>('select id from search_document where id = 999999')
  assert.deepEqual(rows, [])
  const { body: events } = await root.get('/event/list', { type: 'OBJECT_INDEX_REQUEUE' })
  const told = events.objects ?? events
  assert.deepEqual(
    told.map((each: Json) => each.event.info.DocID).sort(),
    [id('bridge'), id('tyger'), id('dawn'), 999999].map(String).sort(),
  )
  const after = await round()
  assert.deepEqual([after.missing, after.surplus, after.different], [0, 0, 0], 'nothing is left')
})

test('saves beside a check are no drift, and two processes check once', async () => {
  await using scene = await startScene(checking)
  const { svc, ids } = scene
  await using other = await attachService(svc.dsn)
  const root = svc.as('root')
  const check = async () => (await root.get('/system/index/check')).body
  await root.post('/system/index/check')
  for (let save = 0; save < 10; save++) {
    const { body } = await root.get(`/db/person/person__standard/system_object_id/${ids.turner}`)
    const { _id, _version } = body[0].person
    const person = { _id, _version, name: `Turner ${_version}`, reference: 'turner-1' }
    const saved = await other.as('root').post('/db/person', [payload('person', person)])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
  }
  await until(async () => (await check()).status === 'waiting')
  const { missing, surplus, different } = await check()
  assert.deepEqual([missing, surplus, different], [0, 0, 0])
})

test('the check is for root, and says when it is off', async () => {
  await using scene = await startScene()
  const root = scene.svc.as('root')
  assert.equal((await root.get('/system/index/check')).body.status, 'off')
  assert.equal((await root.post('/system/index/check')).status, 400)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { startService } from '../support/service.ts'

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

async function found(text: string): Promise<number[]> {
  const answer = await root().post('/search', { search: [{ type: 'match', string: text }], format: 'short' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.objects.map((object: Json) => object._system_object_id)
}

const person = (name: string, block: object = {}) => payload('person', { name, ...block })

test('DB-024 DB-027 await_index waits until the objects can be found', async () => {
  const answer = await root().post('/db/person', [person('Waitedfor')], { await_index: 20 })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-svc-error'], undefined)
  assert.deepEqual(await found('waitedfor'), [answer.body[0]._system_object_id])
  for (const value of [-1, 'soon', 1.5]) {
    const wrong = await root().post('/db/person', [person('x')], { await_index: value })
    assert.equal(wrong.status, 400, String(value))
  }
})

test('DB-025 when the time is up the save stands, and two headers say so', async () => {
  const client = await museum.svc.db.connect()
  try {
    // Holds the indexer up: it takes entries of the queue one process at a time.
    await client.query('begin')
    await client.query('lock table search_document in access exclusive mode')
    const saved = await root().post('/db/person', [person('Latecomer')], { await_index: 1 })
    assert.equal(saved.status, 200)
    assert.ok(saved.headers['x-svc-error'])
    assert.equal(saved.headers['x-svc-error-code'], 'IndexTimeout')
    const triple = [[saved.body[0].person._id, 1, null]]
    const deleted = await root().delete('/db/person', triple, { delete_policy: 'setnull', await_index: 1 })
    assert.equal(deleted.status, 200)
    assert.equal(deleted.headers['x-svc-error-code'], 'IndexTimeout')
  } finally {
    await client.query('rollback')
    client.release()
  }
  await museum.svc.drain()
  assert.deepEqual(await found('latecomer'), [])
})

test('DB-005 DB-026 skip_index leaves objects out of the index, and there is nothing to wait for', async () => {
  const begun = performance.now()
  const answer = await root().post('/db/person', [person('Unlisted')], { skip_index: 1, await_index: 30 })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-svc-error'], undefined)
  assert.ok(performance.now() - begun < 20_000)
  await museum.svc.drain()
  assert.deepEqual(await found('unlisted'), [])
  const dry = await root().post('/db/person', [person('Dryrun')], { dry_run: 1, await_index: 30 })
  assert.equal(dry.headers['x-svc-error'], undefined)
  await root().post('/system/reindex')
  await museum.svc.drain()
  assert.deepEqual(await found('unlisted'), [answer.body[0]._system_object_id])
})

test('what is shown of an object follows what it links to, without a save of its own', async () => {
  await using svc = await startService()
  await commitModel(
    svc,
    defineModel({ author: { columns: { name: 'text_oneline' } }, book: { columns: { author: 'link:author' } } }),
  )
  const client = svc.as('root')
  const [author] = (await client.post('/db/author', [payload('author', { name: 'Before' })])).body
  const book = payload('book', { author: link('author', author._system_object_id) })
  const [saved] = (await client.post('/db/book', [book])).body
  await client.post('/db/author', [payload('author', { _id: author.author._id, _version: 1, name: 'After' })])
  await svc.drain()
  const { rows } = await svc.db.query<{ text: Record<string, string> }>(
    `select standard -> '1' -> 'text' as text from object where system_object_id = $1`,
    [saved._system_object_id],
  )
  assert.ok(Object.values(rows[0]?.text ?? {}).includes('After'), JSON.stringify(rows))
})

test('a renamed target is found in what links to it', async () => {
  const [maker] = (await root().post('/db/person', [person('Zimmermann')])).body
  const work = payload('work', {
    ...inPool(museum.pool),
    title: { 'en-US': 'Table' },
    creator: link('person', maker._system_object_id),
  })
  const [table] = (await root().post('/db/work', [work], { await_index: 20 })).body
  assert.ok((await found('zimmermann')).includes(table._system_object_id))
  await root().post('/db/person', [person('Carpenter', { _id: maker.person._id, _version: 1 })], { await_index: 20 })
  await museum.svc.drain()
  assert.ok((await found('carpenter')).includes(table._system_object_id))
  assert.ok(!(await found('zimmermann')).includes(table._system_object_id))
})

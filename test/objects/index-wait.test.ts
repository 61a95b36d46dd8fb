import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Answer, Json, Query } from '../support/client.ts'
import { assertDocumented } from '../support/documented.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

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

/** While `work` runs nothing can be put into the index. */
async function withoutIndexer<T>(work: () => Promise<T>): Promise<T> {
  const client = await museum.svc.db.connect()
  try {
    await client.query('begin')
    await client.query('lock table search_document in access exclusive mode')
    return await work()
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** Sends a request that waits for the index while that stands still; it must not be answered before it goes on. */
async function waits(send: () => Promise<Answer>, written: () => Promise<boolean>): Promise<Answer> {
  let answered = false
  const answer = await withoutIndexer(async () => {
    const pending = send().finally(() => {
      answered = true
    })
    await until(written)
    assert.equal(answered, false)
    return { pending }
  })
  return answer.pending
}

const asTime = (answer: Answer) => [answer.status, answer.headers['x-svc-error-code']]
const versionOf = async (name: string): Promise<number | undefined> => {
  const list = (await root().get('/db/person/_all_fields/list', { format: 'standard', limit: 10_000 })).body
  return list.find((object: Json) => object.person.name === name)?.person._version
}

test('DB-024 DB-027 await_index: most seconds to wait until the objects can be found; 0 or absent: no wait', async () => {
  await assertDocumented(museum.svc, 'post /db/{objecttype}', ['await_index'], 'objects-saving.md')
  await assertDocumented(museum.svc, 'delete /db/{objecttype}', ['await_index'], 'objects-saving.md')
  const save = (name: string, query: Query) => root().post('/db/person', [person(name)], query)
  const answer = await waits(
    () => save('Waitedfor', { await_index: 120 }),
    async () => (await versionOf('Waitedfor')) === 1,
  )
  assert.deepEqual(asTime(answer), [200, undefined])
  assert.deepEqual(await found('waitedfor'), [answer.body[0]._system_object_id])
  // These are answered although nothing can be indexed.
  await withoutIndexer(async () => {
    assert.deepEqual(asTime(await save('Nowait', { await_index: 0 })), [200, undefined])
    assert.deepEqual(asTime(await save('Nowait', {})), [200, undefined])
    assert.deepEqual(asTime(await save('Nowait', { await_index: 1 })), [200, 'IndexTimeout'])
    const change = payload('person', { _id: answer.body[0].person._id, reference: 'changed' })
    assert.deepEqual(asTime(await root().patch('/db/person', [change], { await_index: 1 })), [200, 'IndexTimeout'])
  })
  await museum.svc.drain()
  assert.equal((await found('nowait')).length, 3)
  for (const value of [-1, 'soon', 1.5]) assert.equal((await save('x', { await_index: value })).status, 400)
})

test('DB-025 when the time is up the save stands, and two headers say so', async () => {
  const saved = await withoutIndexer(() => root().post('/db/person', [person('Latecomer')], { await_index: 1 }))
  assert.equal(saved.status, 200)
  assert.ok(saved.headers['x-svc-error'])
  assert.equal(saved.headers['x-svc-error-code'], 'IndexTimeout')
  assert.equal(await versionOf('Latecomer'), 1)
  await museum.svc.drain()
  assert.deepEqual(await found('latecomer'), [saved.body[0]._system_object_id])
})

test('DB-038 await_index of DELETE waits until they are no longer found, with the same headers when time is up', async () => {
  const names = ['Alpha', 'Beta', 'Gamma', 'Delta']
  const objects = (
    await root().post(
      '/db/person',
      names.map((name) => person(name)),
      { await_index: 120 },
    )
  ).body
  const remove = (index: number, query: Query) =>
    root().delete('/db/person', [[objects[index].person._id, 1, null]], { delete_policy: 'setnull', ...query })
  const answer = await waits(
    () => remove(0, { await_index: 120 }),
    async () => (await versionOf('Alpha')) === undefined,
  )
  assert.deepEqual(asTime(answer), [200, undefined])
  assert.deepEqual(await found('alpha'), [])
  await withoutIndexer(async () => {
    assert.deepEqual(asTime(await remove(1, { await_index: 0 })), [200, undefined])
    assert.deepEqual(asTime(await remove(2, {})), [200, undefined])
    const late = await remove(3, { await_index: 1 })
    assert.deepEqual(asTime(late), [200, 'IndexTimeout'])
    assert.ok(late.headers['x-svc-error'])
    assert.deepEqual(late.body.removed, [objects[3].person._id])
  })
  for (const name of names) assert.equal(await versionOf(name), undefined, 'the delete stands')
  await museum.svc.drain()
  for (const name of names) assert.deepEqual(await found(name), [])
})

test('DB-005 skip_index leaves objects out of the index until they are indexed later', async () => {
  const answer = await root().post('/db/person', [person('Unlisted')], { skip_index: 1 })
  assert.equal(answer.status, 200)
  const { rows } = await museum.svc.db.query('select 1 from index_queue where system_object_id = $1', [
    answer.body[0]._system_object_id,
  ])
  assert.deepEqual(rows, [])
  await museum.svc.drain()
  assert.deepEqual(await found('unlisted'), [])
  await root().post('/system/reindex')
  await museum.svc.drain()
  assert.deepEqual(await found('unlisted'), [answer.body[0]._system_object_id])
})

test('DB-026 with skip_index or dry_run there is nothing to wait for', async () => {
  await withoutIndexer(async () => {
    for (const query of [{ skip_index: 1 }, { dry_run: 1 }]) {
      const answer = await root().post('/db/person', [person('Ignored')], { ...query, await_index: 1 })
      assert.deepEqual([...asTime(answer), answer.headers['x-svc-error']], [200, undefined, undefined])
    }
  })
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

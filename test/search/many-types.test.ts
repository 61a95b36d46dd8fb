import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, seedTag, toGroup, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { otherSearchIndex } from '../support/search-index.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

/** So many object types that a search asks the shared access sets whether texts are made of the columns of today's masks. */
const types = Array.from({ length: 12 }, (_, number) => `kind${number}`)

let svc: TestService
let people: People
let tag: number
let pools: { open: number; closed: number }
before(async () => {
  svc = await startService()
  const columns = { title: 'text_oneline', note: 'text_oneline' } as const
  const flags = { pool_link: true, has_tags: true }
  await commitModel(svc, defineModel(Object.fromEntries(types.map((type) => [type, { columns, flags }]))))
  people = await seedPeople(svc)
  tag = await seedTag(people.root)
  const open = await createPool(people.root, {}, { _acl: [wireGrant(toGroup(people.ids.staff), 'read')] })
  const closed = await createPool(people.root, {})
  pools = { open: open._id, closed: closed._id }
})
after(() => svc[Symbol.asyncDispose]())

async function save(type: string, title: string, pool: number, more: object = {}): Promise<void> {
  const object = {
    _objecttype: type,
    _mask: '_all_fields',
    ...more,
    [type]: { title, note: 'beta', _pool: { pool: { _id: pool } } },
  }
  const { status, body } = await people.root.post(`/db/${type}`, [object], { await_index: 20 })
  assert.equal(status, 200, JSON.stringify(body))
}

async function found(string: string, limit: number): Promise<string[]> {
  const { status, body } = await people.reader.post('/search', {
    search: [{ type: 'match', mode: 'fulltext', string }],
    limit,
  })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.count, body.objects.length)
  return body.objects.map((each: Json) => each[each._objecttype].title).sort()
}

test('with many object types words are found where the caller may read them, whatever is known of sets', async (t) => {
  for (const [number, type] of types.entries()) {
    await save(type, `alpha ${number} open`, pools.open)
    await save(type, `alpha ${number} closed`, pools.closed)
  }
  const expected = types.map((_, number) => `alpha ${number} open`).sort()
  assert.deepEqual(await found('alpha', 100), expected)
  await svc.drain()
  const asked: string[] = []
  const stop = onStatement((text) => asked.push(text))
  t.after(stop)
  assert.deepEqual(await found('alpha', 101), expected)
  assert.deepEqual(await found('alpha beta', 102), expected)
  assert.deepEqual(await found('gamma', 103), [])
  if (!(await otherSearchIndex()))
    assert.ok(asked.some((text) => (text.match(/d\.access_set (?:= any|between)/g)?.length ?? 0) > 1))
  // Of sets that nobody has seen.
  await save('kind3', 'alpha new open', pools.open, { _tags: [{ _id: tag }] })
  await save('kind3', 'alpha new closed', pools.closed, { _tags: [{ _id: tag }] })
  assert.deepEqual(await found('alpha', 104), [...expected, 'alpha new open'].sort())
  if (!(await otherSearchIndex())) await svc.db.query('update search_document set access_set = 0, people_set = 0')
  assert.deepEqual(await found('alpha beta', 105), [...expected, 'alpha new open'].sort())
})

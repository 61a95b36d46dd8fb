import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { noteChanged, spreadOn } from '../../src/search/queue/spread.ts'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { link, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { holdIndexer, text } from './support.ts'

let svc: TestService
before(async () => {
  svc = await startService()
  await commitModel(
    svc,
    defineModel({
      term: { columns: { name: 'text_oneline' }, flags: { is_hierarchical: true } },
      work: { columns: { name: 'text_oneline', term: 'link:term', other: 'link:term' } },
    }),
  )
})
after(() => svc[Symbol.asyncDispose]())

async function save(objecttype: string, ...blocks: object[]): Promise<Json[]> {
  const answer = await svc.as('root').post(
    `/db/${objecttype}`,
    blocks.map((block) => payload(objecttype, block)),
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const idsOf = (objects: readonly Json[]): number[] => objects.map((object) => object._system_object_id)
const under = (parent: number, name: string) => ({ name, 'lookup:_id_parent': { _system_object_id: parent } })

/** A term, twelve below it, three below each of these, and a work for each of the last, which links to the top as well. */
async function thesaurus(name: string) {
  const [top] = await save('term', { name })
  const id = top._system_object_id as number
  const middle = idsOf(await save('term', ...Array.from({ length: 12 }, (_, n) => under(id, `branch ${n}`))))
  const low = idsOf(await save('term', ...middle.flatMap((parent) => [1, 2, 3].map((n) => under(parent, `leaf ${n}`)))))
  const works = idsOf(
    await save('work', ...low.map((term) => ({ name: 'a work', term: link('term', term), other: link('term', id) }))),
  )
  await svc.drain()
  return { top: { id, own: top.term._id as number }, middle, low, works }
}

const numbers = (rows: readonly { readonly id: number }[]): number[] => rows.map(({ id }) => id)

async function queued(): Promise<number[]> {
  const { rows } = await svc.db.query<{ id: number }>('select system_object_id as id from index_queue order by 1')
  return numbers(rows)
}

async function count(request: object): Promise<number> {
  const { status, body } = await svc.as('root').post('/search', { limit: 0, ...request })
  assert.equal(status, 200, JSON.stringify(body))
  return body.count
}

for (const limits of [
  { sources: 1, dependents: 1 },
  { sources: 2, dependents: 5 },
  { sources: 5, dependents: 7 },
  { sources: 1000, dependents: 20_000 },
]) {
  test(`dependents are queued each once, ${limits.sources} changes and ${limits.dependents} of them at a time`, async () => {
    const { top, middle, low, works } = await thesaurus(`parts ${limits.sources}`)
    using _ = await holdIndexer(svc.db)
    const db = { query: svc.db.query }
    const client = await svc.db.connect()
    try {
      const on = { query: (sql: string, values?: readonly unknown[]) => client.query(sql, values as unknown[]) }
      await noteChanged(on as typeof db, [top.id], [])
      while ((await spreadOn(on as typeof db, limits)) !== null);
      assert.deepEqual(await queued(), works)
      await svc.db.query('truncate index_queue')
      await noteChanged(on as typeof db, [top.id], [top.id])
      while ((await spreadOn(on as typeof db, limits)) !== null);
      assert.deepEqual(await queued(), [...middle, ...low, ...works])
      assert.equal((await svc.db.query('select from index_spread')).rowCount, 0)
    } finally {
      client.release(true)
      await svc.db.query('truncate index_queue')
    }
  })
}

test('a new name concerns those only who link to the object, a new place all below it and who links to these', async () => {
  const { top, middle, low, works } = await thesaurus('alpha')
  const [elsewhere] = await save('term', { name: 'elsewhere' })
  await svc.drain()
  const drawn = async (work: () => Promise<unknown>): Promise<number> => {
    const last = async () =>
      (await svc.db.query<{ last: number }>('select last_value as last from index_queue_seq')).rows[0]?.last ?? 0
    const before = await last()
    await work()
    await svc.drain()
    return (await last()) - before
  }
  const renamed = await drawn(() => save('term', { _id: top.own, _version: 1, name: 'omega' }))
  assert.equal(await count({ objecttypes: ['work'], search: [text('omega')] }), works.length)
  assert.equal(await count({ objecttypes: ['work'], search: [text('alpha')] }), 0)
  // The object, what is noted of it, those who link to it.
  assert.equal(renamed, 2 + works.length)
  await save('term', { _id: top.own, _version: 2, ...under(elsewhere._system_object_id, 'omega') })
  await svc.drain()
  const path = { type: 'in', in: [elsewhere._system_object_id], include_path: true }
  assert.equal(await count({ objecttypes: ['work'], search: [{ ...path, fields: ['work.term'] }] }), works.length)
  assert.equal(
    await count({ objecttypes: ['term'], search: [{ ...path, fields: ['_system_object_id'] }] }),
    2 + middle.length + low.length,
  )
})

test('what is left of a killed indexer is gone on with', async () => {
  const { top, works } = await thesaurus('left')
  const { rows } = await svc.db.query<{ seq: number }>('select last_value as seq from index_queue_seq')
  await svc.db.query(`insert into index_spread (kind, id) values ('l', $1)`, [top.id])
  await svc.drain()
  const { rows: after } = await svc.db.query<{ seq: number }>('select last_value as seq from index_queue_seq')
  assert.equal(Number(after[0]?.seq) - Number(rows[0]?.seq), 1 + works.length)
  assert.equal((await svc.db.query('select from index_spread')).rowCount, 0)
})

test('a single object goes before many that were saved earlier', async () => {
  using held = await holdIndexer(svc.db)
  const many = idsOf(await save('term', ...Array.from({ length: 700 }, (_, n) => ({ name: `one of many ${n}` }))))
  const single = idsOf(await save('term', { name: 'alone' }))
  held.release()
  await svc.drain()
  const { rows } = await svc.db.query<{ first: boolean }>(
    `select s.changed_at < min(m.changed_at) as first from search_document s, search_document m
     where s.id = $1 and m.id = any($2) group by s.changed_at`,
    [single[0], many],
  )
  assert.deepEqual(rows, [{ first: true }])
})

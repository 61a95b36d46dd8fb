import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { link, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { hold, text } from './support.ts'

/** Milliseconds: more than anything here takes that does not wait for somebody else's lock. */
const lockTimeout = 10_000

let svc: TestService
before(async () => {
  svc = await startService({ lockTimeout, dbMaxConnections: 12 })
  await commitModel(
    svc,
    defineModel({
      author: { columns: { name: 'text_oneline' } },
      book: { columns: { author: 'link:author', code: 'string' }, unique: [['code']] },
    }),
  )
})
after(() => svc[Symbol.asyncDispose]())

async function save(objecttype: string, ...blocks: object[]): Promise<Json[]> {
  const body = blocks.map((block) => payload(objecttype, block))
  const answer = await svc.as('root').post(`/db/${objecttype}`, body, { skip_events: 1 })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const codeOf = (author: Json, index: number): string => `code-${author._system_object_id}-${index}`

/** An author and books of theirs, all indexed. */
async function library(name: string, count: number) {
  const [author] = await save('author', { name })
  const byAuthor = { author: link('author', author._system_object_id) }
  const books = await save(
    'book',
    ...Array.from({ length: count }, (_, n) => ({ ...byAuthor, code: codeOf(author, n) })),
  )
  await svc.drain()
  const ids: number[] = books.map((book) => book._system_object_id)
  return {
    author: author._system_object_id as number,
    ids,
    rename: (version: number, to: string) => save('author', { _id: author.author._id, _version: version, name: to }),
    /** What an update of these books sends. */
    blocks: (version: number, ...indexes: number[]) =>
      indexes.map((index) => ({
        ...byAuthor,
        _id: books[index].book._id,
        _version: version,
        code: codeOf(author, index),
      })),
    /** What the books are shown by, each text once. */
    async shown(): Promise<string[]> {
      const { rows } = await svc.db.query<{ shown: string }>(
        `select distinct standard -> '1' -> 'text' ->> 'en-US' as shown from object
         where system_object_id = any($1::bigint[]) order by 1`,
        [ids],
      )
      return rows.map((row) => row.shown)
    },
  }
}

async function found(word: string): Promise<number[]> {
  const { body } = await svc.as('root').post('/search', { objecttypes: ['book'], search: [text(word)] })
  return body.objects.map((object: Json) => object._system_object_id).sort()
}

const moments = [
  // A save that gives up a unique value does this before it writes anything else.
  { moment: 'before it writes', lock: 'select from object_unique for update' },
  { moment: 'when it has written', lock: 'lock table event in share mode' },
]
for (const [index, { moment, lock }] of moments.entries()) {
  test(`a save that takes long holds up neither the index nor other saves: ${moment}`, async () => {
    const [former, latter] = [`former${index}`, `latter${index}`]
    const { ids, blocks, rename, shown } = await library(former, 2)
    using held = await hold(svc.db, lock)
    const [block] = blocks(1, 1)
    const slow = svc.as('root').post('/db/book', [payload('book', { ...block, code: `changed ${index}` })])
    await until(async () => (await svc.db.query('select from pg_locks where not granted')).rowCount > 0)
    await rename(1, latter)
    let version = 1
    await until(async () => {
      const begun = performance.now()
      await save('book', ...blocks(version++, 0))
      assert.ok(performance.now() - begun < lockTimeout / 4, 'the save waited')
      return (await found(latter)).length > 0
    }, lockTimeout / 2000)
    assert.deepEqual(await found(latter), [ids[0]])
    held.release()
    assert.equal((await slow).status, 200)
    await svc.drain()
    assert.deepEqual(await found(latter), ids)
    assert.deepEqual(await found(former), [])
    assert.deepEqual(await shown(), [latter])
  })
}

test('savers of what links to one object and the indexer never get into each other’s way', async () => {
  const { blocks, rename, shown } = await library('busy', 40)
  const end = performance.now() + 2000
  const saver = async (first: number): Promise<void> => {
    // In the order in which the indexer does not come to them.
    const indexes = Array.from({ length: 10 }, (_, n) => first + 36 - 4 * n)
    for (let version = 1; performance.now() < end; version++) await save('book', ...blocks(version, ...indexes))
  }
  let name = 'busy'
  const renamer = async (): Promise<void> => {
    for (let version = 1; performance.now() < end; version++) {
      name = `busy${version}`
      await rename(version, name)
    }
  }
  await Promise.all([renamer(), ...[0, 1, 2, 3].map(saver)])
  await svc.drain()
  assert.deepEqual(await shown(), [name])
  assert.equal((await found(name)).length, 40)
})

// Last: all saves within a second of a process's start are looked at once more.
test('an object that is saved while what it links to changes shows it as it is in the end', async () => {
  const { author, ids, rename, shown } = await library('once', 1)
  using held = await hold(svc.db, 'lock table event in share mode')
  const slow = svc.as('root').post('/db/book', [payload('book', { author: link('author', author), code: 'new' })])
  await until(async () => (await svc.db.query('select from pg_locks where not granted')).rowCount > 0)
  await rename(1, 'ever')
  await until(async () => (await found('ever')).length > 0)
  held.release()
  const [created] = (await slow).body
  await svc.drain()
  ids.push(created._system_object_id)
  assert.deepEqual(await found('ever'), ids)
  assert.deepEqual(await shown(), ['ever'])
})

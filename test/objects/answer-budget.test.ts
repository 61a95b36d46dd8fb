import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { attachService, startService, type TestService } from '../support/service.ts'

/** How much one answer may hold: linked objects first become short, then the answer is refused. */

const limit = 2_000_000
let svc: TestService
/** The same database with room for everything. */
let large: TestService
let ids: number[]
/** Objects that link to each other in no order, and whom each links to. */
let web: { ids: number[]; peers: number[][] }

before(async () => {
  svc = await startService({ answerLimit: limit })
  large = await attachService(svc.dsn, { answerLimit: 1024 ** 3 })
  await commitModel(
    svc,
    defineModel({
      node: { columns: { name: 'text_oneline' }, nested: { peer: { columns: { peer: 'link:node' } } } },
    }),
  )
  ids = await save(80, (index) => range(80).filter((other) => other !== index))
  const peers = range(9).map((index) => range(9).filter((other) => (index * 7 + other * 5) % 3 !== 0))
  web = { ids: await save(9, (index) => peers[index] as number[]), peers }
})
after(async () => {
  await large[Symbol.asyncDispose]()
  await svc[Symbol.asyncDispose]()
})

const range = (length: number): number[] => Array.from({ length }, (_, index) => index)

async function save(count: number, peersOf: (index: number) => readonly number[]): Promise<number[]> {
  const body = range(count).map((index) => ({ _objecttype: 'node', _mask: '_all_fields', node: { name: `N${index}` } }))
  const created = await svc.as('root').post('/db/node', body, { format: 'short' })
  assert.equal(created.status, 200, JSON.stringify(created.body))
  const found: number[] = created.body.map((object: Json) => object._system_object_id)
  const links = body.map((object, index) => ({
    ...object,
    _system_object_id: found[index],
    node: {
      ...object.node,
      _id: created.body[index].node._id,
      _version: 1,
      '_nested:node__peer': peersOf(index).map((other) => ({
        peer: { _objecttype: 'node', _mask: '_all_fields', _system_object_id: found[other] },
      })),
    },
  }))
  const linked = await svc.as('root').post('/db/node', links, { format: 'short' })
  assert.equal(linked.status, 200, JSON.stringify(linked.body).slice(0, 500))
  return found
}

const peersOf = (object: Json): Json[] => object.node['_nested:node__peer'].map((row: Json) => row.peer)

/** Places below an object that show it whole, and those that show it short. */
function places(object: Json): { whole: number; short: number } {
  const sum = { whole: 0, short: 0 }
  for (const peer of peersOf(object)) {
    if (peer.node.name === undefined) sum.short++
    else {
      const below = places(peer)
      sum.whole += 1 + below.whole
      sum.short += below.short
    }
  }
  return sum
}

/** Bytes of the answer without compression, by the JSON itself. */
const bytesOf = (body: Json): number => Buffer.byteLength(JSON.stringify(body))

const merged = (depth: number, format = 'standard') => ({
  format,
  merge_linked_objects: 'all',
  merge_max_depth: depth,
})

const truncated = (headers: Record<string, unknown>): number =>
  Number(/^linked_objects=(\d+)$/.exec(String(headers['x-svc-truncated'] ?? 'linked_objects=0'))?.[1])

describe('objects that all link to each other', () => {
  for (const [depth, format] of [
    [1, 'standard'],
    [2, 'full'],
    [10, 'full_inheritance'],
  ] as const) {
    test(`one of them, ${format}, merged ${depth} deep: within the limit, the rest short and counted`, async () => {
      const answer = await svc.as('root').get(`/db/node/_all_fields/system_object_id/${ids[0]}`, merged(depth, format))
      assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
      assert.ok(bytesOf(answer.body) <= limit, `${bytesOf(answer.body)} bytes`)
      const { whole, short } = places(answer.body[0])
      assert.ok(whole > 5, `${whole} are embedded`)
      assert.ok(short > 0)
      assert.ok(truncated(answer.headers) > 0, 'the header says so')
      assert.ok(truncated(answer.headers) <= short)
    })
  }

  test('a list, a search and the answer to a save have the same limit', async () => {
    await svc.drain()
    const root = svc.as('root')
    const list = await root.get('/db/node/_all_fields/list', { ...merged(1), limit: 20 })
    const search = await root.post('/search', { objecttypes: ['node'], limit: 20, ...merged(2, 'long') })
    const read = await large.as('root').get('/db/node/_all_fields/list', { format: 'standard', limit: 20 })
    const saved = await root.post('/db/node', read.body, { format: 'full' })
    for (const [objects, headers] of [
      [list.body, list.headers],
      [search.body.objects, search.headers],
      [saved.body, saved.headers],
    ]) {
      assert.equal(objects.length, 20)
      assert.ok(bytesOf(objects) <= limit)
      const short = objects.reduce((sum: number, object: Json) => sum + places(object).short, 0)
      assert.ok(truncated(headers) > 0 && truncated(headers) <= short)
    }
  })

  test('what was asked for itself is never short: too many of them are refused, and nothing is saved', async () => {
    const root = svc.as('root')
    const list = await root.get('/db/node/_all_fields/list', { format: 'standard' })
    assert.deepEqual([list.status, list.body.code, list.body.parameters], [400, 'AnswerTooLarge', { most: limit }])
    const short = await root.get('/db/node/_all_fields/list', { format: 'short' })
    assert.equal(short.body.length, 89)
    const read = await large.as('root').get('/db/node/_all_fields/list', { format: 'standard' })
    assert.equal(read.body.length, 89)
    assert.equal(read.headers['x-svc-truncated'], undefined)
    const saved = await root.post('/db/node', read.body, { format: 'standard' })
    assert.deepEqual([saved.status, saved.body.code], [400, 'AnswerTooLarge'])
    const after = await root.get('/db/node/_all_fields/list', { format: 'short' })
    assert.deepEqual(after.body, short.body)
  })
})

test('an object that stands in many places is in each of them what it is in one', async () => {
  /** What stands where, made from the graph alone: name, and below it what is embedded, or null where it is short. */
  type Seen = { name: string; peers: (Seen | null)[] }
  function expected(index: number, depth: number, above: readonly number[], extra: number): Seen {
    const levels = depth + extra
    return {
      name: `N${index}`,
      peers: (web.peers[index] as number[]).map((other) =>
        levels === 0 || above.includes(other) || other === index
          ? null
          : expected(other, depth === 0 ? 0 : depth - 1, [...above, index], depth === 0 ? 0 : extra),
      ),
    }
  }
  const seen = (object: Json): Seen => ({
    name: object.node.name,
    peers: peersOf(object).map((peer) => (peer.node.name === undefined ? null : seen(peer))),
  })
  for (const [format, extra] of [
    ['standard', 0],
    ['full', 1],
  ] as const) {
    for (const depth of [0, 1, 2, 3]) {
      for (const [index, id] of web.ids.entries()) {
        const answer = await large.as('root').get(`/db/node/_all_fields/system_object_id/${id}`, merged(depth, format))
        assert.deepEqual(seen(answer.body[0]), expected(index, depth, [], extra), `${format} ${depth} N${index}`)
        assert.equal(answer.headers['x-svc-truncated'], undefined)
      }
    }
  }
})

test('long lists come in pages of their own without being noticed', async () => {
  const many = await save(230, () => [])
  const root = large.as('root')
  const list = await root.get('/db/node/_all_fields/list', { format: 'long', offset: 89 })
  assert.deepEqual(
    list.body.map((object: Json) => object._system_object_id),
    many,
  )
  const versions = await root.get('/db/node/_all_fields/list', { format: 'long', offset: 89, all_versions: 1 })
  assert.deepEqual(
    versions.body.map((object: Json) => [object._system_object_id, object.node._version]),
    many.flatMap((id) => [
      [id, 2],
      [id, 1],
    ]),
  )
})

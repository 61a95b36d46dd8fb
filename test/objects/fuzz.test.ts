import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { someFiles } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { hostileValue, mutated } from '../support/hostile.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
let valid: object[]
let person: Json
before(async () => {
  museum = await startMuseum()
  await someFiles(museum.svc, 9)
  const answer = await root().post('/db/person', [payload('person', { name: 'Ada', reference: 'ada' })])
  person = answer.body[0]
  valid = [
    payload(
      'work',
      {
        ...inPool(museum.pool),
        title: { 'en-US': 'Title' },
        inventory: 'A1',
        note: 'text',
        width: 3,
        price: 100,
        weight: 1.5,
        signed: true,
        made: { value: '1850-02' },
        seen: { value: '2020-02-29T10:11:12Z' },
        period: { from: '1800', to: '1850', text: { 'en-US': 'early' } },
        location: {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [1, 0],
              [1, 1],
              [0, 0],
            ],
          ],
        },
        image: [{ _id: 7, preferred: true }],
        vocabulary: { conceptURI: 'x', list: [1, { a: 'b' }] },
        creator: { ...link('person', person._system_object_id), person: { 'lookup:_id': { reference: 'ada' } } },
        '_nested:work__material': [
          { name: 'oil', amount: 2, '_nested:work__material__supplier': [{ since: { value: '1849' } }] },
        ],
        '_reverse_nested:loan:work': [payload('loan', { borrower: 'Prado', due: { value: '2020' } })],
      },
      { _tags: [], _acl: [], _comment: 'why', _owner: { user: { _id: 1 } }, _uuid: 'u-1' },
    ),
    payload('work', { ...inPool(museum.pool), title: { 'de-DE': 'Zwei' } }),
  ]
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

async function stored(): Promise<unknown> {
  const { rows } = await museum.svc.db.query(
    `select (select count(*) from object) as objects, (select count(*) from object_version) as versions,
            (select count(*) from object_link) as links, (select count(*) from object_unique) as unique_values,
            (select count(*) from event) as events`,
  )
  return rows[0]
}

/** A refusal says what is wrong and changes nothing; nothing is ever an internal error. */
async function assertSafe(send: () => Promise<{ status: number; body: Json }>, input: unknown): Promise<void> {
  const before = await stored()
  const { status, body } = await send()
  assert.ok(
    status === 200 || status === 202 || (status >= 400 && status < 500),
    `${status} for ${show(input)}: ${show(body)}`,
  )
  if (status < 400) return
  assert.ok(typeof body.code === 'string' && body.code !== 'InternalError', show(body))
  assert.deepEqual(await stored(), before, `stored something for ${show(input)}`)
}

const show = (value: unknown) => JSON.stringify(value)?.slice(0, 600)

test('the untouched payload is fine', async () => {
  const answer = await root().post('/db/work', valid, { skip_index: 1, dry_run: 1 })
  assert.equal(answer.status, 200, show(answer.body))
})

test('whatever stands at any place of a save, the answer is 200 or a clear 4xx', async () => {
  await fc.assert(
    fc.asyncProperty(mutated(valid), async (body) => {
      await assertSafe(() => root().post('/db/work', body, { skip_index: 1 }), body)
      await museum.svc.db.query(`delete from object_unique`)
      await museum.svc.db.query(`update object set uuid = gen_random_uuid()::text where uuid = 'u-1'`)
    }),
    { numRuns: 400, seed: 20261121 },
  )
})

test('whatever a delete is sent, the answer is 200, 202 or a clear 4xx', async () => {
  const triples = [
    [person.person._id, 1, 'comment'],
    [99, 1, null],
  ]
  await fc.assert(
    fc.asyncProperty(
      mutated(triples),
      fc.constantFrom('setnull', 'remove', 'undelete', 'purge', undefined),
      async (body, policy) => {
        await assertSafe(
          () => root().delete('/db/person', body, policy ? { delete_policy: policy } : {}),
          [body, policy],
        )
      },
    ),
    { numRuns: 150, seed: 20261121 },
  )
})

test('whatever stands in a path or a query string, the answer is never an internal error', async () => {
  const text = hostileValue.map((value) =>
    (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed().slice(0, 500),
  )
  const names = [
    'format',
    'dry_run',
    'await_index',
    'collection',
    'revoke',
    'skip_index',
    'version',
    'all_versions',
    'merge_max_depth',
    'limit',
    'offset',
    'file_url_expire',
  ]
  await fc.assert(
    fc.asyncProperty(text, text, fc.constantFrom(...names), async (segment, value, name) => {
      const part = encodeURIComponent(segment || 'x')
      for (const path of [
        `/db/${part}/_all_fields/1`,
        `/db/person/${part}/1`,
        `/db/person/_all_fields/${part}`,
        `/db/person/_all_fields/global_object_id/${part}`,
      ]) {
        await assertSafe(() => root().get(path, { [name]: value }), [path, name, value])
      }
      await assertSafe(() => root().post(`/db/${part}`, [], { [name]: value }), [segment, name, value])
      if (name !== 'await_index')
        await assertSafe(() => root().post('/db/person', [], { [name]: value }), [name, value])
    }),
    { numRuns: 120, seed: 20261121 },
  )
})

test('a batch of ten thousand objects is saved, a larger one is refused', async () => {
  const many = Array.from({ length: 10_000 }, (_, n) => payload('person', { name: `P${n}` }))
  const answer = await root().post('/db/person', many, { format: 'short', skip_index: 1 })
  assert.equal(answer.status, 200)
  assert.equal(answer.body.length, 10_000)
  await assertSafe(() => root().post('/db/person', [...many, many[0]], { skip_index: 1 }), 'too many')
  const broken = [...many.slice(0, 9_999), payload('person', {})]
  await assertSafe(() => root().post('/db/person', broken, { skip_index: 1 }), 'one wrong of ten thousand')
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Answer, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')
function ok({ status, body }: Answer): Json {
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

test('a tag of the type all_versions is on all versions of an object or on none, one of individual on those that had it', async () => {
  const [{ _tags }] = ok(
    await root().post('/tags', [
      {
        taggroup: { type: 'checkbox' },
        _tags: [
          { reference: 'draft', type: 'individual' },
          { reference: 'closed', type: 'all_versions' },
          { reference: 'open', type: 'all_versions' },
          { reference: 'plain' },
        ],
      },
    ]),
  )
  const names = new Map<number, string>(_tags.map((tag: Json) => [tag._id, tag.reference]))
  const ids = (...wanted: string[]) =>
    _tags.filter((tag: Json) => wanted.includes(tag.reference)).map((tag: Json) => ({ _id: tag._id }))
  const save = async (block: object, ...tags: string[]): Promise<Json> =>
    ok(
      await root().post('/db/work', [payload('work', { ...inPool(museum.pool), ...block }, { _tags: ids(...tags) })]),
    )[0]
  const made = await save({}, 'draft', 'open', 'plain')
  const { _id } = made.work
  await save({ _id, _version: 1 }, 'closed')
  await save({ _id, _version: 2 }, 'closed', 'plain')
  const shown = (objects: Json[]) =>
    objects.map((object) => [object.work._version, object._tags.map((tag: Json) => names.get(tag._id)).toSorted()])
  const expected = [
    [3, ['closed', 'plain']],
    [2, ['closed']],
    [1, ['closed', 'draft', 'plain']],
  ]
  assert.deepEqual(shown(ok(await root().get(`/db/work/_all_fields/${_id}`, { all_versions: 1 }))), expected)
  assert.deepEqual(shown(ok(await root().get('/db/work/_all_fields/list', { all_versions: 1 }))), expected)
  for (const [version, tags] of expected) {
    assert.deepEqual(shown(ok(await root().get(`/db/work/_all_fields/${_id}`, { version: version as number }))), [
      [version, tags],
    ])
  }
  const [latest] = ok(await root().get(`/db/work/_all_fields/${_id}`))
  assert.deepEqual(shown([latest]), expected.slice(0, 1))
})

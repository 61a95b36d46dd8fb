import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toUser } from '../rights/people.ts'
import type { Answer, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** Who may write an object is not told by the answer what it may not read. */
let museum: Museum
let people: People
let table = 0
const masks: Record<string, number> = {}
before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  for (const mask of (await people.root.get('/mask/CURRENT')).body.masks as Json[]) {
    masks[mask.name] = mask.mask_id
    if (mask.name === 'work__standard') table = mask.table_id
  }
})
after(() => museum[Symbol.asyncDispose]())

const limited = (name: string) => ({ mask_ids: { [table]: [name === 'standard' ? name : masks[name]] } })

/** A work in a pool of its own where the reader has these rights. */
async function work(rights: object, pool: object = {}): Promise<Json> {
  const { _id } = await createPool(people.root, {}, { _acl: [{ who: toUser(people.ids.reader), rights }], ...pool })
  const block = { ...inPool(_id), title: { 'en-US': 'A title' }, note: 'a whisper', width: 42 }
  const { status, body } = await people.root.post('/db/work', [payload('work', block)])
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]
}

const patch = ({ work: { _id } }: Json, mask: string, block: object = {}, query = {}): Promise<Answer> =>
  people.reader.patch('/db/work', [{ _objecttype: 'work', _mask: mask, work: { _id, ...block } }], {
    format: 'full',
    ...query,
  })

test('with the right to write alone the answer says that the object was saved, and nothing of it', async () => {
  const stored = await work({ write: {} })
  for (const dry_run of [1, 0]) {
    const { status, body } = await patch(stored, 'work__standard', { width: 43 }, { dry_run })
    const { _system_object_id, _global_object_id } = stored
    assert.deepEqual(
      [status, body],
      [
        200,
        [
          {
            _objecttype: 'work',
            _system_object_id,
            _global_object_id,
            _not_allowed: true,
            work: { _id: stored.work._id, _version: 2 },
          },
        ],
      ],
    )
  }
})

test('with a mask that may be used to write and not to read the answer is short', async () => {
  const stored = await work({ read: limited('work__title_only'), write: limited('work__standard') })
  const { status, body } = await patch(stored, 'work__standard', { width: 43 })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(
    [body[0]._standard['1'].text, body[0].work],
    [stored._standard['1'].text, { _id: stored.work._id, _version: 2 }],
  )
  assert.equal(JSON.stringify(body).includes('whisper'), false)
})

test('whoever may not read an object is not told whether what is sent is what is stored', async () => {
  const stored = await work({ write: {} })
  const sent = (creator: number) =>
    people.reader.patch(
      '/db/work',
      [
        {
          _objecttype: 'work',
          _mask: 'work__standard',
          _create_user: { user: { _id: creator } },
          work: { _id: stored.work._id },
        },
      ],
      { dry_run: 1 },
    )
  const told = [await sent(1), await sent(2)].map(({ status, headers }) => [status, headers['x-svc-ignored']])
  assert.deepEqual(told, [
    [200, '0._create_user'],
    [200, '0._create_user'],
  ])
})

test('the standard mask that a grant lets be used to write is that of the pool', async () => {
  const rights = { read: limited('standard'), write: limited('standard') }
  const stored = await work(rights, { _standard_masks: { [table]: [masks.work__title_only] } })
  assert.equal((await patch(stored, 'work__title_only', { title: { 'en-US': 'Another' } })).status, 200)
  const { status, body } = await patch(stored, 'work__standard', { width: 43 })
  assert.deepEqual([status, body.parameters?.right], [403, 'mask'], JSON.stringify(body))
})

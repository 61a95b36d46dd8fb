import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toUser } from '../rights/people.ts'
import type { Answer, Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

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

test('the answer to a save is what a read gives in the same format, for root and for others', async () => {
  const { root, reader } = people
  const rights = { read: {}, write: {} }
  const { _id: pool } = await createPool(root, {}, { _acl: [{ who: toUser(people.ids.reader), rights }] })
  const saved = async (client: typeof root, objecttype: string, block: object, query = {}) => {
    const { status, body } = await client.post(`/db/${objecttype}`, [payload(objecttype, block)], query)
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]
  }
  const to = ({ _system_object_id }: Json, objecttype: string) => link(objecttype, _system_object_id)
  const person = await saved(root, 'person', { name: 'Ada', reference: 'answer', born: { value: '1815-12' } })
  const country = await saved(root, 'place', { name: { 'en-US': 'England' }, code: 'answer-1' })
  const city = await saved(root, 'place', {
    name: { 'en-US': 'London' },
    code: 'answer-2',
    _id_parent: country.place._id,
  })
  const loan = (borrower: string, rest = {}) => payload('loan', { borrower, due: { value: '2030-05-01' }, ...rest })
  const block = {
    ...inPool(pool),
    title: { 'en-US': 'Title', 'de-DE': 'Titel' },
    note: 'a note',
    width: 3,
    price: 499,
    weight: 1.5e21,
    signed: false,
    seen: { value: '2026-11-21T10:00:00Z' },
    period: { from: '1900', to: '1901', text: { 'en-US': 'about 1900' } },
    location: { type: 'Point', properties: { b: 1, aa: [2] }, coordinates: [1.5, 2] },
    vocabulary: { uri: 'x', a: { z: 1, y: null } },
    creator: to(person, 'person'),
    place: to(city, 'place'),
    '_nested:work__material': [
      {
        name: 'oil',
        amount: 1,
        origin: to(city, 'place'),
        '_nested:work__material__supplier': [{ person: to(person, 'person') }],
      },
    ],
    '_reverse_nested:loan:work': [loan('B'), loan('A')],
  }
  const formats = ['short', 'standard', 'long', 'full_inheritance']
  for (const format of formats) {
    const read = async ({ _system_object_id: id }: Json, client = root, mask = '_all_fields') =>
      (await client.get(`/db/work/${mask}/system_object_id/${id}`, { format })).body[0]
    const created = await saved(root, 'work', block, { format })
    assert.deepEqual(created, await read(created), `${format}, created`)
    const { _id } = created.work
    const [first] = (await root.get(`/db/work/_all_fields/${_id}`)).body[0].work['_reverse_nested:loan:work']
    const kept = loan('C', { _id: first.loan._id, _version: 1 })
    const loans = { '_reverse_nested:loan:work': [loan('D'), kept] }
    const updated = await saved(root, 'work', { ...block, _id, _version: 1, note: null, ...loans }, { format })
    assert.deepEqual(updated, await read(updated), `${format}, updated`)
    for (const client of [root, reader]) {
      const mask = client === root ? '_all_fields' : 'work__standard'
      const change = { _objecttype: 'work', _mask: mask, work: { _id, title: { 'en-US': mask } } }
      const { status, body } = await client.patch('/db/work', [change], { format })
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(body[0], await read(updated, client, mask), `${format}, changed in part, ${mask}`)
    }
  }
})

test('the standard mask that a grant lets be used to write is that of the pool', async () => {
  const rights = { read: limited('standard'), write: limited('standard') }
  const stored = await work(rights, { _standard_masks: { [table]: [masks.work__title_only] } })
  assert.equal((await patch(stored, 'work__title_only', { title: { 'en-US': 'Another' } })).status, 200)
  const { status, body } = await patch(stored, 'work__standard', { width: 43 })
  assert.deepEqual([status, body.parameters?.right], [403, 'mask'], JSON.stringify(body))
})

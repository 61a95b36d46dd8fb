import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/**
 * What a pattern stands for is looked up in a dictionary of all words. The reader sees one work whole, one by its title
 * only, and one not at all; words of the last two, and of a person that may not be read, change nothing for the reader.
 */
let museum: Museum
let people: People
let wide: Json
let narrow: Json
let vault: Json
before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  const { root } = people
  const { masks } = (await root.get('/mask/CURRENT')).body
  const mask = masks.find((each: Json) => each.name === 'work__title_only')
  const reader = toUser(people.ids.reader)
  const titles = { who: reader, rights: { read: { mask_ids: { [mask.table_id]: [mask.mask_id] } } } }
  wide = await createPool(root, {}, { _acl: [wireGrant(reader, 'read')] })
  narrow = await createPool(root, {}, { _acl: [titles] })
  vault = await createPool(root, {})
})
after(() => museum[Symbol.asyncDispose]())

async function save(type: string, block: object): Promise<number> {
  const { status, body } = await people.root.post(`/db/${type}`, [payload(type, block)])
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]._system_object_id
}

const en = (text: string) => ({ 'en-US': text })
const many = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `x${from + n}mberl${from + n}`).join(' ')

const rows = (words: string) => ({ '_nested:work__material': [{ name: words }] })

const questions: Record<string, object> = {
  'in _fulltext': {},
  'in columns': { fields: ['work.title', 'work._nested:work__material.name', 'work.creator'] },
  'in a language': { languages: ['en-US'] },
  'in a string': { fields: ['work.inventory'], string: '*bc1*' },
  'with other words': { string: '*mberl* work' },
  'as a phrase': { string: 'amberlight *mberl*', phrase: true },
}

async function answers(): Promise<Record<string, Json>> {
  const all: Record<string, Json> = {}
  for (const [name, more] of Object.entries(questions)) {
    const element = { type: 'text', mode: 'wildcard', string: '*mberl*', ...more }
    const { status, body } = await people.reader.post('/search', { search: [element], format: 'short' })
    all[name] = [
      status,
      body.code,
      body.count,
      body.objects?.map((each: Json) => [each._system_object_id, each._score]),
    ]
  }
  return all
}

test('hidden words change no answer to a pattern: neither hits nor scores nor what is refused', async () => {
  const open = { ...inPool(wide._id), title: en('Work in amberlight camberlo'), inventory: 'ABC12' }
  const found = await save('work', open)
  await museum.svc.drain()
  const before = await answers()
  for (const [name, [status, , count, hits]] of Object.entries<Json>(before)) {
    assert.deepEqual([status, count, hits[0][0]], [200, 1, found], name)
  }
  const person = await save('person', { name: 'tamberli qamberlx' })
  const hidden = (pool: Json, words: string) => ({
    ...inPool(pool._id),
    ...rows(words),
    creator: link('person', person),
  })
  await save('work', { ...hidden(narrow, 'aamberli bamberli camberla'), title: en('Known'), inventory: 'XBC13' })
  await save('work', { ...hidden(vault, 'zamberli yamberla'), title: en('yamberl'), inventory: 'YBC14' })
  await museum.svc.drain()
  assert.deepEqual(await answers(), before)
  // More than a pattern may stand for.
  await save('work', hidden(narrow, many(0, 600)))
  await save('work', hidden(vault, many(600, 1200)))
  await museum.svc.drain()
  assert.deepEqual(await answers(), before)
  const asked = { search: [{ type: 'text', mode: 'wildcard', string: '*mberl*' }] }
  const root = await people.root.post('/search', asked)
  assert.deepEqual([root.status, root.body.code], [400, 'WildcardExpandedToTooManyTerms'])
  await save('work', { ...inPool(wide._id), ...rows(many(2000, 2500)), title: en(many(2500, 3100)) })
  await museum.svc.drain()
  const reader = await people.reader.post('/search', asked)
  assert.deepEqual([reader.status, reader.body.code], [400, 'WildcardExpandedToTooManyTerms'])
})

test('words of the trash count for nobody who does not see it', async () => {
  const id = await save('work', { ...inPool(wide._id), ...rows(many(5000, 6200).replaceAll('mberl', 'rlemb')) })
  await museum.svc.drain()
  const asked = { search: [{ type: 'text', mode: 'wildcard', string: '*rlemb*' }] }
  assert.equal((await people.reader.post('/search', asked)).body.code, 'WildcardExpandedToTooManyTerms')
  const { body } = await people.root.get(`/db/work/_all_fields/system_object_id/${id}`)
  const gone = await people.root.delete('/db/work', [[body[0].work._id, 1, null]], { delete_policy: 'remove' })
  assert.equal(gone.status, 200, JSON.stringify(gone.body))
  await museum.svc.drain()
  const answer = await people.reader.post('/search', asked)
  assert.deepEqual([answer.status, answer.body.count], [200, 0])
})

test('patterns of any characters are answered', async () => {
  for (const string of ["*'\\\\x", '*":{}x', '*%_x', `*${'\uf8ff'}x`]) {
    for (const client of [people.reader, people.root]) {
      const search = [{ type: 'text', mode: 'wildcard', string, fields: ['work.inventory', 'work.title'] }]
      const { status, body } = await client.post('/search', { search })
      assert.deepEqual([status, body.count], [200, 0], JSON.stringify([string, body]))
    }
  }
})

test('words of a search in a search are those of the objects that it looks for', async () => {
  const { root, reader, ids } = people
  const types = (await root.get('/objecttype')).body.map((each: Json) => each.objecttype)
  const { _id, _version } = types.find((each: Json) => each.name === 'place')
  const opened = await root.post('/objecttype', [
    { objecttype: { _id, _version: _version + 1 }, _acl: [wireGrant(toUser(ids.reader), 'read')] },
  ])
  assert.equal(opened.status, 200, JSON.stringify(opened.body))
  const place = await save('place', { name: en('Quaytown'), code: 'Q1' })
  const work = await save('work', { ...inPool(wide._id), place: link('place', place) })
  await museum.svc.drain()
  for (const client of [root, reader]) {
    for (const text of [{ string: 'quaytown' }, { string: '*aytow*', mode: 'wildcard' }]) {
      const subsearch = { search: [{ type: 'text', ...text }] }
      const { body } = await client.post('/search', {
        objecttypes: ['work'],
        search: [{ type: 'in', fields: ['work.place'], subsearch }],
      })
      assert.deepEqual(
        body.objects.map((each: Json) => each._system_object_id),
        [work],
      )
    }
  }
})

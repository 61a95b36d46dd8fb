import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { link, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

/** Cards link to notes, by two fields and by two sub-fields of their rows. The editor may do everything with cards. */
const model = () =>
  defineModel({
    note: { columns: { text: 'text_oneline' } },
    card: {
      columns: { title: 'text_oneline', front: 'link:note', back: 'link:note' },
      nested: { row: { columns: { left: 'link:note', right: 'link:note' } } },
    },
  })

let svc: TestService
let people: People
before(async () => {
  svc = await startService()
  await commitModel(svc, model())
  people = await seedPeople(svc)
  await grant('card', wireGrant(toUser(people.ids.editor), 'read write create mask'))
})
after(() => svc[Symbol.asyncDispose]())

async function grant(objecttype: string, ...acl: object[]): Promise<void> {
  const types = (await people.root.get('/objecttype')).body
  const { _id, _version } = types.find((entry: Json) => entry.objecttype.name === objecttype).objecttype
  const answer = await people.root.post('/objecttype', [{ objecttype: { _id, _version: _version + 1 }, _acl: acl }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

const note = async (text: string): Promise<Json> =>
  (await people.root.post('/db/note', [payload('note', { text })])).body[0]
const to = (target: Json) => link('note', target._system_object_id)
const send = (block: object, client = people.editor): Promise<Answer> =>
  client.post('/db/card', [payload('card', block, { _mask: 'card__standard' })])

async function saved(block: object, client = people.editor): Promise<Json> {
  const answer = await send(block, client)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0].card
}

async function denied(block: Json): Promise<void> {
  const stored = async () => (await people.root.get('/db/card/_all_fields/list')).body
  const before = await stored()
  const { status, body } = await send(block)
  assert.deepEqual([status, body.code, body.parameters.right], [403, 'ObjectInsufficientRights', 'read'])
  assert.deepEqual(await stored(), before, 'nothing is saved')
}

test('OBJ-016 a target that the save introduces takes the right to read it', async () => {
  const target = await note('Hidden')
  assert.deepEqual((await people.editor.get(`/db/note/note__standard/${target.note._id}`)).body, [])
  const card = await saved({ title: 'Without' })
  const places: object[] = [
    { front: to(target) },
    { back: to(target) },
    { '_nested:card__row': [{ left: to(target) }] },
    { '_nested:card__row': [{}, { right: to(target) }] },
  ]
  for (const place of places) {
    await denied({ title: 'New', ...place })
    await denied({ _id: card._id, _version: 1, title: 'Without', ...place })
  }
  await grant('note', wireGrant(toUser(people.ids.editor), 'read'))
  for (const [index, place] of places.entries()) {
    await saved({ title: 'New', ...place })
    await saved({ _id: card._id, _version: index + 1, title: 'Without', ...place })
  }
  await grant('note')
})

test('OBJ-017 a location is a field, or a row by its _uuid with the sub-field: elsewhere the target is new', async () => {
  const target = await note('Moved')
  const block = {
    title: 'Linked',
    front: to(target),
    '_nested:card__row': [{ _uuid: 'row-1', left: to(target) }, { _uuid: 'row-2' }],
  }
  const { _id } = await saved(block, people.root)
  const change = (version: number, more: object) => ({ _id, _version: version, ...block, ...more })
  await denied(change(1, { front: null, back: to(target) }))
  await denied(change(1, { back: to(target) }))
  const rows = (...list: object[]) => ({ '_nested:card__row': list })
  await denied(change(1, rows({ _uuid: 'row-1', right: to(target) })))
  await denied(change(1, rows({ _uuid: 'row-1' }, { _uuid: 'row-2', left: to(target) })))
  await denied(change(1, rows({ _uuid: 'row-3', left: to(target) })))
  await denied(change(1, rows({ left: to(target) })))
  // The place in the list is no part of it.
  await saved(change(1, rows({ _uuid: 'row-2' }, { _uuid: 'row-1', left: to(target) })))
  await saved(change(2, { front: null }))
  await denied(change(3, {}))
})

test('OBJ-018 a target that is sent back where it is linked needs no right', async () => {
  const target = await note('Kept')
  const block = { front: to(target), '_nested:card__row': [{ _uuid: 'row-1', left: to(target) }] }
  const { _id } = await saved({ title: 'Before', ...block }, people.root)
  assert.deepEqual((await people.editor.get(`/db/note/note__standard/${target.note._id}`)).body, [])
  const after = await saved({ _id, _version: 1, title: 'After', ...block })
  assert.deepEqual([after._version, after.title], [2, 'After'])
  const { card } = (await people.root.get(`/db/card/_all_fields/${_id}`)).body[0]
  const ids = [card.front, card['_nested:card__row'][0].left].map((one: Json) => one._system_object_id)
  assert.deepEqual(ids, [target._system_object_id, target._system_object_id])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
let root: Client
before(async () => {
  svc = await startService()
  root = svc.as('root')
  const model = defineModel(
    {
      room: {
        columns: { name: 'text_oneline', lit: 'boolean', open: 'boolean' },
        nested: { seat: { columns: { note: 'text_oneline', taken: 'boolean' } } },
        flags: { is_hierarchical: true },
      },
    },
    {
      room__inheriting: {
        table: 'room',
        shape: (field, name) => (name === 'room.open' ? { ...field, inheritance: { inherit: true } } : field),
      },
    },
  )
  await commitModel(svc, model)
})
after(() => svc[Symbol.asyncDispose]())

async function save(block: object, mask = '_all_fields'): Promise<Json> {
  const answer = await root.post('/db/room', [{ _objecttype: 'room', _mask: mask, room: block }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0].room
}

async function read(id: number, format: string, mask = '_all_fields'): Promise<Json> {
  const { body } = await root.get(`/db/room/${mask}/${id}`, { format })
  return body[0].room
}

test('a boolean without value is false in every format that has fields, in rows too', async () => {
  const { _id } = await save({ name: 'hall', '_nested:room__seat': [{ note: 'a' }] })
  for (const format of ['standard', 'standard_extended', 'long', 'long_inheritance', 'full', 'full_inheritance']) {
    const room = await read(_id, format)
    assert.deepEqual([room.lit, room['_nested:room__seat'][0].taken], [false, false], format)
  }
  assert.ok(!('lit' in (await read(_id, 'short'))))
})

test('what is answered can be sent back: it is no change, and what comes from above still does', async () => {
  const above = await save({ name: 'house', open: true })
  const below = await save({ name: 'cellar', _id_parent: above._id, '_nested:room__seat': [{ note: 'a' }] })
  const open = async (): Promise<unknown> => (await read(below._id, 'full_inheritance', 'room__inheriting')).open
  assert.equal(await open(), true)
  for (const format of ['standard', 'full']) {
    const { _version, ...room } = await read(below._id, format)
    assert.notEqual(room.open, false, 'it has no value of its own')
    assert.equal((await save({ ...room, _version }))._version, _version + 1)
    assert.equal(await open(), true, format)
  }
  const { _version, ...room } = await read(below._id, 'full')
  await save({ ...room, _version, open: false })
  assert.equal(await open(), false)
})

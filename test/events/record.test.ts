import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedPeople } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** The record of an event, as the log and those who write it are answered. */
let museum: Museum
let written: Json
let logged: Json
let object: Json
before(async () => {
  museum = await startMuseum()
  const { editor, root } = await seedPeople(museum.svc)
  const groups = await root.post('/config/system/config/user/user_in_event_group', ['FRONTEND', 'SYSTEM'])
  assert.equal(groups.status, 200, JSON.stringify(groups.body))
  const sent = { type: 'DETAIL_VIEW', schema: 'base', basetype: 'object', info: { any: ['thing'] } }
  written = (await editor.post('/event', { _basetype: 'event', event: sent })).body
  const work = payload('work', { ...inPool(museum.pool), title: { 'en-US': 'Logged' } })
  object = (await root.post('/db/work', [work])).body[0]
  logged = (await root.get('/event/list', { system_object_id: object._system_object_id })).body.objects[0]
})
after(() => museum[Symbol.asyncDispose]())

const wrapper = (_id: number, reference: string, name: string) => ({
  _basetype: 'user',
  user: { _id, 'lookup:_id': { reference }, _generated_displayname: name },
})

test('EVT-001 an event record is an envelope: _basetype event, the event, and its user as in _owner', () => {
  for (const [record, user] of [
    [written, wrapper(written.user.user._id, 'editor', 'editor')],
    [logged, wrapper(1, 'system:root', 'Root')],
  ] as const) {
    assert.equal(record._basetype, 'event')
    assert.ok(typeof record.event === 'object' && !Array.isArray(record.event))
    assert.deepEqual(record.user, user)
  }
  const { _owner, _pool_contact, ...owner } = object._owner
  assert.deepEqual(logged.user, owner)
})

test('EVT-002 the event has _id, type, timestamp, pollable and info', () => {
  for (const { event } of [written, logged]) {
    assert.ok(Number.isInteger(event._id))
    assert.match(event.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    assert.ok(Math.abs(Date.now() - Date.parse(event.timestamp)) < 600_000)
  }
  assert.notEqual(written.event._id, logged.event._id)
  assert.deepEqual([written.event.type, written.event.pollable], ['DETAIL_VIEW', false])
  assert.deepEqual([logged.event.type, logged.event.pollable], ['OBJECT_INSERT', true])
  assert.deepEqual(written.event.info, { any: ['thing'] })
  assert.equal(logged.event.info.standard, 'Logged')
})

test('EVT-003 the event names its object by every id, with version and type', () => {
  const { object_id, object_version, global_object_id, system_object_id, objecttype } = logged.event
  assert.deepEqual(
    { object_id, object_version, global_object_id, system_object_id, objecttype },
    {
      object_id: object.work._id,
      object_version: 1,
      global_object_id: `${object._system_object_id}@test`,
      system_object_id: object._system_object_id,
      objecttype: 'work',
    },
  )
})

test('EVT-004 the event has schema, basetype, the address and the name of who caused it', () => {
  const { schema, basetype, remote_addr, user_generated_displayname } = written.event
  assert.deepEqual(
    { schema, basetype, remote_addr, user_generated_displayname },
    { schema: 'base', basetype: 'object', remote_addr: '127.0.0.1', user_generated_displayname: 'editor' },
  )
  const { event } = logged
  assert.deepEqual(
    [event.schema, event.basetype, event.remote_addr, event.user_generated_displayname],
    ['user', 'object', '127.0.0.1', 'Root'],
  )
})

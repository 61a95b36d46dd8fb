import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { commitModel } from '../support/seed/model.ts'
import { museum } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

const event = (type: string) => ({ _basetype: 'event', event: { type } })

describe('rights on events', () => {
  let svc: TestService
  let reader: Client
  let remover: Client
  let stranger: Client
  let eventId: number

  before(async () => {
    svc = await startService()
    const user = async (login: string, rights: object): Promise<Client> => {
      const answer = await svc
        .as('root')
        .post('/user', [{ user: { login, reference: login }, _password: login, _system_rights: rights }], {
          confirm: 'ignore_password_requirements',
        })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return svc.as(login)
    }
    reader = await user('reader', { 'system.api.event': { get: true } })
    remover = await user('remover', { 'system.api.event': { delete: true } })
    stranger = await user('stranger', {})
    eventId = (await svc.as('root').post('/event', event('SEARCH'))).body.event._id
  })
  after(() => svc[Symbol.asyncDispose]())

  const refused = async (answer: Promise<{ status: number; body: Json }>, right: string): Promise<void> => {
    const { status, body } = await answer
    assert.deepEqual([status, body.code, body.parameters.right], [403, 'SystemRightRequired', right])
  }

  test('EVAPI-013, EVAPI-017 reading and listing need system.api.event[get]', async () => {
    for (const client of [stranger, remover]) {
      await refused(client.get(`/event/${eventId}`), 'system.api.event[get]')
      await refused(client.get('/event/list'), 'system.api.event[get]')
      await refused(client.get('/event/list', { format: 'csv' }), 'system.api.event[get]')
    }
    assert.equal((await reader.get(`/event/${eventId}`)).status, 200)
    assert.equal((await reader.get('/event/list')).status, 200)
  })

  test('EVAPI-015, EVAPI-035 deleting needs system.api.event[delete]', async () => {
    for (const client of [stranger, reader]) {
      await refused(client.delete(`/event/${eventId}`), 'system.api.event[delete]')
      await refused(client.delete('/event/list'), 'system.api.event[delete]')
    }
    assert.equal((await remover.delete(`/event/${eventId}`)).status, 200)
    assert.equal((await remover.delete('/event/list', undefined, { type: 'SEARCH' })).status, 200)
  })

  test('EVAPI-004 anybody may write what front ends write', async () => {
    assert.equal((await stranger.post('/event', event('DETAIL_VIEW'))).status, 200)
  })

  test('EVAPI-003, EVAPI-005 skip_constraints and other groups are for root', async () => {
    const skipped = await stranger.post('/event', event('DETAIL_VIEW'), { skip_constraints: true })
    assert.deepEqual([skipped.status, skipped.body.code], [400, 'ServerGeneric'])
    const inBackground = await stranger.post('/event', event('POOL_UPDATE'), {
      skip_constraints: true,
      background: true,
    })
    assert.deepEqual([inBackground.status, inBackground.body.code], [400, 'ServerGeneric'])
    const other = await stranger.post('/event/list', [event('POOL_UPDATE')])
    assert.deepEqual([other.status, other.body.code], [400, 'EventTypeNotAllowed'])
  })

  test('EVENT-002, EVENT-004 the base configuration says who is named, and what of the user is copied', async () => {
    const write = async (): Promise<Json> => (await stranger.post('/event', event('SEARCH'))).body
    const unnamed = await write()
    assert.deepEqual([unnamed.user, unnamed.event.info], [undefined, {}])
    const changed = await svc.as('root').post('/config', {
      system: { config: { user: { user_in_event_group: ['FRONTEND'], copy_to_event: ['login', 'reference'] } } },
    })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    const named = await write()
    assert.equal(named.user.user._generated_displayname, 'stranger')
    assert.deepEqual(named.event.info, { 'user.login': 'stranger', 'user.reference': 'stranger' })
  })

  test('of what they may not read, pollers hear nothing, and readers of the log not what it says', async () => {
    await commitModel(svc, museum())
    const saved = await svc
      .as('root')
      .post('/db/person', [{ _objecttype: 'person', _mask: '_all_fields', person: { name: 'Secret', reference: 's' } }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const poll = async (client: Client): Promise<Json> =>
      (await client.get('/event/poll/0', { limit: 1000 })).body.find(
        (each: Json) => each.event.type === 'OBJECT_INSERT',
      )
    assert.match(JSON.stringify(await poll(svc.as('root'))), /Secret/)
    const logged = await poll(reader)
    assert.deepEqual([logged.event.objecttype, logged.event.info], ['person', {}])
    assert.doesNotMatch(JSON.stringify((await reader.get('/event/list')).body), /Secret/)
    assert.doesNotMatch((await reader.get('/event/list', { format: 'csv' })).body, /Secret/)
    assert.doesNotMatch(JSON.stringify((await reader.get(`/event/${logged.event._id}`)).body), /Secret/)
    assert.equal(await poll(stranger), undefined, 'what may not be read has no events')
  })

  test('a poller without the right is told nothing of pools that it may not see', async () => {
    const root = svc.as('root')
    const [rootPool] = (await root.get('/pool')).body
    const [stored] = (
      await root.post('/pool', [
        { pool: { _id_parent: rootPool.pool._id, name: { 'en-US': 'Hidden vault' } }, _private_acl: true },
      ])
    ).body
    const poll = async (client: Client): Promise<Json> =>
      (await client.get('/event/poll/0', { limit: 1000 })).body.find(
        (each: Json) => each.event.type === 'POOL_INSERT' && each.event.object_id === stored.pool._id,
      )
    assert.match(JSON.stringify(await poll(root)), /Hidden vault/)
    assert.deepEqual((await poll(reader)).event.info, {})
    assert.equal(await poll(stranger), undefined)
  })

  test('hidden people are not told; what may be seen is, also behind much that may not', async () => {
    const root = svc.as('root')
    const [last] = (await root.get('/event/list', { limit: 1 })).body.objects
    const hidden = Array.from({ length: 30 }, (_, n) => ({ user: { login: `hidden-${n}` } }))
    const groups = [{ group: { name: 'hidden group' } }, { group: { name: 'shown group' } }]
    assert.equal((await root.post('/user', hidden)).status, 200)
    const [, shown] = (await root.post('/group', groups)).body
    const everybody = { _basetype: 'group', group: { 'lookup:_id': { reference: ':all' } } }
    const open = {
      group: { _id: shown.group._id, _version: 1 },
      _acl: [{ who: everybody, rights: { bag_read: {} } }],
    }
    const opened = await root.post('/group', [open])
    assert.equal(opened.status, 200, JSON.stringify(opened.body))
    const { body } = await stranger.get(`/event/poll/${last.event._id}`, { limit: 1 })
    assert.deepEqual(
      body.map(({ event }: Json) => [event.type, event.object_id]),
      [['GROUP_INSERT', shown.group._id]],
    )
    const log = await reader.get('/event/list', { type: 'USER_INSERT,GROUP_INSERT' })
    assert.doesNotMatch(JSON.stringify(log.body), /hidden/)
  })
})

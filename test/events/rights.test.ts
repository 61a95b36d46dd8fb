import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { install } from '../plugins/support.ts'
import type { Client, Json } from '../support/client.ts'
import { commitModel } from '../support/seed/model.ts'
import { museum } from '../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const event = (type: string) => ({ _basetype: 'event', event: { type } })

describe('rights on events', () => {
  let svc: TestService
  let reader: Client
  let remover: Client
  let stranger: Client
  /** Not root itself, but with its right. */
  let mighty: Client
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
    mighty = await user('mighty', { 'system.root': {} })
    eventId = await write()
  })
  after(() => svc[Symbol.asyncDispose]())

  const write = async (): Promise<number> => (await svc.as('root').post('/event', event('SEARCH'))).body.event._id

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
    for (const client of [reader, mighty]) {
      const { status, body } = await client.get(`/event/${eventId}`)
      assert.deepEqual([status, body.event._id, body.event.type], [200, eventId, 'SEARCH'])
      assert.equal((await client.get('/event/list')).status, 200)
    }
  })

  test('EVAPI-015, EVAPI-035, RIGHTS-006 deleting needs system.api.event[delete], reading the other one', async () => {
    const [one, two] = [await write(), await write()]
    for (const client of [stranger, reader]) {
      await refused(client.delete(`/event/${one}`), 'system.api.event[delete]')
      await refused(client.delete('/event/list'), 'system.api.event[delete]')
    }
    for (const client of [stranger, remover]) {
      await refused(client.get(`/event/${one}`), 'system.api.event[get]')
      await refused(client.get('/event/list'), 'system.api.event[get]')
    }
    assert.equal((await reader.get(`/event/${one}`)).status, 200)
    assert.equal((await reader.get('/event/list')).status, 200)
    assert.equal((await remover.delete(`/event/${one}`)).status, 200)
    assert.equal((await reader.get(`/event/${one}`)).body.code, 'EventNotFound')
    await using readOnly = await attachService(svc.dsn, { readOnly: true })
    const asleep = await readOnly.as('remover').delete('/event/list')
    assert.deepEqual([asleep.status, asleep.body.code], [400, 'ReadOnlyMode'])
    assert.equal((await reader.get(`/event/${two}`)).status, 200)
    assert.equal((await remover.delete('/event/list', undefined, { type: 'SEARCH' })).status, 200)
    assert.equal((await reader.get(`/event/${two}`)).body.code, 'EventNotFound')
  })

  const closed = {
    ADMIN: 'DATAMODEL_COMMIT',
    DOWNLOAD: 'FILE_DOWNLOAD',
    EXPORT: 'EXPORT_START',
    INDEX: 'INDEX_SWITCH',
    LOGIN_LOGOUT: 'USER_LOGIN',
    SYSTEM: 'POOL_UPDATE',
    TASK: 'TASK',
    UPLOAD: 'FILE_UPLOAD',
  }

  test('EVAPI-005, ERR-011 types of other groups need system.root and skip_constraints, unknown ones are never written', async () => {
    const open = 'SEARCH DETAIL_VIEW FRONTEND_ERROR ASSET_DOWNLOAD_CONFIRMATION_MESSAGE'
    for (const type of open.split(' ')) assert.equal((await stranger.post('/event', event(type))).status, 200, type)
    for (const [group, type] of Object.entries(closed)) {
      for (const client of [stranger, reader, mighty, svc.as('root')]) {
        const answer = await client.post('/event', event(type))
        assert.deepEqual([answer.status, answer.body.code], [400, 'EventTypeNotAllowed'], group)
        const list = await client.post('/event/list', [event('SEARCH'), event(type)])
        assert.deepEqual([list.status, list.body.code], [400, 'EventTypeNotAllowed'], group)
      }
      for (const client of [mighty, svc.as('root')]) {
        assert.equal((await client.post('/event', event(type), { skip_constraints: 1 })).status, 200, group)
      }
    }
    for (const query of [{}, { skip_constraints: 1 }] as Record<string, number>[]) {
      const unknown = await svc.as('root').post('/event', event('NO_SUCH_TYPE'), query)
      assert.deepEqual([unknown.status, unknown.body.code], [400, 'EventTypeNotAllowed'])
    }
  })

  test('ERR-008 skip_constraints is for root, and so is a user in an event', async () => {
    const user = { user: { _basetype: 'user', user: { _id: 900, _generated_displayname: 'Ada' } } }
    for (const type of [...Object.values(closed), 'SEARCH']) {
      const { status, body } = await mighty.post('/event', { ...event(type), ...user }, { skip_constraints: true })
      assert.deepEqual([status, body.event?.type, body.user?.user._id], [200, type, 900])
    }
    for (const client of [stranger, reader]) {
      const skipped = await client.post('/event', event('DETAIL_VIEW'), { skip_constraints: true })
      assert.deepEqual([skipped.status, skipped.body.code], [400, 'ServerGeneric'])
    }
    const inBackground = await stranger.post('/event', event('POOL_UPDATE'), {
      skip_constraints: true,
      background: true,
    })
    assert.deepEqual([inBackground.status, inBackground.body.code], [400, 'ServerGeneric'])
    for (const client of [stranger, mighty]) {
      const named = await client.post('/event', { ...event('SEARCH'), ...user })
      assert.deepEqual([named.status, named.body.code], [400, 'ServerGeneric'])
    }
  })

  test('EVAPI-003 skip_constraints takes system.root, and lets events of all groups and of other users be written', async () => {
    await install(svc, 'told', {
      'manifest.yml': JSON.stringify({
        plugin: { name: 'told', version: '1' },
        custom_events: { TOLD_BY_PLUGIN: { user: true } },
      }),
    })
    const types = { ...closed, FRONTEND: 'SEARCH', PLUGIN: 'TOLD_BY_PLUGIN' }
    const groups = 'ADMIN DOWNLOAD EXPORT FRONTEND INDEX LOGIN_LOGOUT PLUGIN SYSTEM TASK UPLOAD'
    assert.deepEqual(Object.keys(types).sort(), groups.split(' '))
    const count = async () =>
      (await svc.as('root').get('/event/list', { type: Object.values(types).join(), limit: 1 })).body.count
    const user = { user: { _basetype: 'user', user: { _id: 901, _generated_displayname: 'Ben' } } }
    for (const [group, type] of Object.entries(types)) {
      for (const client of [mighty, svc.as('root')]) {
        const written = await client.post('/event', { ...event(type), ...user }, { skip_constraints: true })
        assert.deepEqual(
          [written.status, written.body.event?.type, written.body.user?.user._id],
          [200, type, 901],
          group,
        )
      }
      const before = await count()
      for (const client of [stranger, reader]) {
        for (const body of [event(type), { ...event(type), ...user }]) {
          const answer = await client.post('/event', body, { skip_constraints: true })
          assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], group)
        }
      }
      assert.equal(await count(), before)
    }
    // Switched off, it changes nothing.
    assert.equal((await stranger.post('/event', event('SEARCH'), { skip_constraints: false })).status, 200)
  })

  test('EVAPI-030 a list of events has the rules and parameters of one', async () => {
    const code = async (client: Client, events: object[], query: Record<string, boolean> = {}) => {
      const { status, body } = await client.post('/event/list', events, query)
      return status === 200 ? (body.background ?? body.length) : `${status} ${body.code}`
    }
    const user = { user: { _basetype: 'user', user: { _id: 900, _generated_displayname: 'Ada' } } }
    const root = svc.as('root')
    assert.equal(await code(stranger, [event('SEARCH'), event('DETAIL_VIEW')]), 2)
    assert.equal(await code(stranger, [event('SEARCH'), event('NO_SUCH_TYPE')]), '400 EventTypeNotAllowed')
    assert.equal(await code(root, [event('SEARCH'), event('TASK')]), '400 EventTypeNotAllowed')
    assert.equal(await code(root, [event('SEARCH'), { ...event('SEARCH'), ...user }]), '400 ServerGeneric')
    assert.equal(await code(stranger, [event('SEARCH')], { skip_constraints: true }), '400 ServerGeneric')
    assert.equal(await code(root, [event('SEARCH'), { ...event('SEARCH'), user_id: 900 }]), '400 ServerGeneric')
    assert.equal(await code(root, [event('TASK'), { ...event('JANITOR'), ...user }], { skip_constraints: true }), 2)
    const stored = (await root.get('/event/list', { type: 'JANITOR', limit: 1 })).body.objects[0]
    assert.equal(stored.user.user._id, 900)
    for (const [group, type] of Object.entries(closed)) {
      for (const client of [stranger, mighty]) {
        assert.equal(await code(client, [event('SEARCH'), event(type)]), '400 EventTypeNotAllowed', group)
      }
      assert.equal(await code(mighty, [event(type)], { skip_constraints: true }), 1, group)
      assert.equal(await code(stranger, [event(type)], { skip_constraints: true }), '400 ServerGeneric', group)
    }
    const count = async () => (await root.get('/event/list', { type: 'FRONTEND_ERROR', limit: 1 })).body.count
    const before = await count()
    assert.equal(await code(stranger, [event('FRONTEND_ERROR'), event('TASK')], { background: true }), 'ok')
    assert.equal(await code(stranger, [event('FRONTEND_ERROR'), event('FRONTEND_ERROR')], { background: true }), 'ok')
    await until(async () => (await count()) === before + 2)
  })

  test('ERR-023 a system right that is missing is a 403 that names it', async () => {
    await refused(stranger.get('/event/list'), 'system.api.event[get]')
    await refused(stranger.post('/objecttype', []), 'system.objecttypemanager')
    await refused(stranger.post('/group', [{ group: { name: 'mine' } }]), 'system.group')
    await refused(stranger.post('/schema/commit'), 'system.datamodel[level=commit]')
    await refused(stranger.post('/config', {}), 'system.config')
  })

  test('EVENT-004 the base configuration says who is named, and what of the user is copied', async () => {
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

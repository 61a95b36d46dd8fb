import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, afterEach, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Client, Json } from '../support/client.ts'
import { sendRaw } from '../support/raw.ts'
import { commitModel } from '../support/seed/model.ts'
import { museum } from '../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { openStream, type StreamClient } from '../support/stream.ts'
import { until } from '../support/until.ts'

describe('the stream of events', () => {
  let svc: TestService
  let base: string
  let root: Client

  before(async () => {
    svc = await startService({ slowGrace: 1 })
    base = await svc.listen()
    root = svc.as('root')
    await commitModel(svc, museum())
  })
  after(() => svc[Symbol.asyncDispose]())

  const user = async (login: string, rights: object = {}): Promise<Client> => {
    const wire = { user: { login, reference: login }, _password: login, _system_rights: rights }
    const answer = await root.post('/user', [wire], { confirm: 'ignore_password_requirements' })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return svc.as(login)
  }

  const open: StreamClient[] = []
  // One that a failed test leaves open would be counted by the next.
  afterEach(() => Promise.all(open.splice(0).map((listener) => listener.close())))

  const stream = async (client: Client, from?: number): Promise<StreamClient> => {
    const listener = await openStream(base, { token: await client.token(), ...(from === undefined ? {} : { from }) })
    open.push(listener)
    return listener
  }

  /** Pollable events that root writes into the log; their ids. */
  const write = async (count: number, info: object = {}, through: Client = root): Promise<number[]> => {
    const event = { _basetype: 'event', event: { type: 'INDEX_SWITCH', info } }
    const answer = await through.post('/event/list', Array(count).fill(event), { skip_constraints: true })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.map((one: Json) => one.event._id)
  }

  const poll = async (client: Client, from: number): Promise<Json[]> =>
    (await client.get(`/event/poll/${from}`, { limit: 1000 })).body

  const lastId = async (): Promise<number> => (await root.get('/user/session')).body.current_max_event_id

  /** Waits for the event that ends a test's events, and gives what came before. */
  const upTo = async (listener: StreamClient, id: number): Promise<Json[]> => {
    await until(() => listener.ids().includes(id))
    return listener.events.slice(0, listener.ids().indexOf(id) + 1)
  }

  const place = (name: string) => [
    { _objecttype: 'place', _mask: '_all_fields', place: { name: { 'en-US': name }, code: name } },
  ]

  test('EVAPI-011, SVC-014 each new pollable event is one text frame with what a poll answers', async () => {
    const from = await lastId()
    const listener = await stream(root)
    const texts: unknown[] = []
    listener.socket.addEventListener('message', ({ data }) => texts.push(data))
    assert.equal((await root.post('/db/place', place('Ghent'))).status, 200)
    await root.post('/event', { _basetype: 'event', event: { type: 'SEARCH' } })
    const [last] = await write(1)
    const events = await upTo(listener, last as number)
    assert.deepEqual(events, await poll(root, from))
    assert.deepEqual(
      events.map(({ event }) => event.type),
      ['OBJECT_INSERT', 'INDEX_SWITCH'],
      'SEARCH is not pollable',
    )
    assert.ok(texts.every((text) => typeof text === 'string'))
    assert.deepEqual(
      texts.map((text) => JSON.parse(String(text)).event._id),
      events.map(({ event }) => event._id),
      'one frame for each',
    )
    await listener.close()
  })

  test('EVAPI-012 what clients send is dropped', async () => {
    const listener = await stream(root)
    listener.socket.send('{"type":"SEARCH"}')
    listener.socket.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
    listener.socket.send('')
    const [id] = await write(1)
    assert.deepEqual(await upTo(listener, id as number), await poll(root, (id as number) - 1))
    listener.socket.send('x'.repeat(70_000))
    assert.equal((await listener.ended).code, 1009, 'longer than anything that makes sense')
  })

  test('the token comes as with every request; without a good one, and without WebSocket, it is refused', async () => {
    const token = await root.token()
    const byHeader = await openStream(base, { headers: { 'x-svc-authorization': `Bearer ${token}` } })
    await byHeader.close()
    const byQuery = await openStream(`${base}`, { from: 0, headers: { authorization: `Bearer ${token}` } })
    await byQuery.close()
    const upgrade = async (path: string, headers: Record<string, string> = {}) => {
      const { answer } = sendRaw({
        port: Number(new URL(base).port),
        method: 'GET',
        path: `/api/v1/event/stream${path}`,
        headers: {
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
          ...headers,
        },
      })
      const text = await Promise.race([answer, sleep(3000).then(() => 'none 0')])
      return [Number(text.split(' ')[1]), /"code": ?"(\w+)"/.exec(text)?.[1]]
    }
    assert.deepEqual(await upgrade(''), [401, 'UserRequired'])
    assert.deepEqual(await upgrade('', { Authorization: 'Bearer nobody' }), [401, 'InvalidToken'])
    assert.deepEqual(await upgrade(`?access_token=${token}&from=-1`), [400, 'ServerGeneric'])
    assert.deepEqual(await upgrade(`?access_token=${token}`, { 'Sec-WebSocket-Version': '7' }), [400, undefined])
    const plain = await root.get('/event/stream')
    assert.deepEqual([plain.status, plain.body.code, plain.headers.upgrade], [426, 'UpgradeRequired', 'websocket'])
    assert.equal((await svc.as(null).get('/event/stream')).body.code, 'UserRequired')
  })

  test('other requests that offer to go on with another protocol are answered as ever', async () => {
    for (const protocol of ['websocket', 'h2c']) {
      const port = Number(new URL(base).port)
      const headers = { Connection: 'Upgrade, close', Upgrade: protocol }
      const { answer } = sendRaw({ port, method: 'GET', path: '/api/v1/settings', headers })
      assert.match(await answer, /^HTTP\/1.1 200 /, protocol)
    }
  })

  test('everybody is told what a poll tells them, while rights change too', async () => {
    const from = await lastId()
    const [reader, stranger] = [await user('reader', { 'system.api.event': { get: true } }), await user('stranger')]
    const listeners = await Promise.all([root, reader, stranger].map((client) => stream(client, from)))
    const [hidden] = (await root.post('/db/place', place('Hidden'))).body
    const everybody = { _basetype: 'group', group: { 'lookup:_id': { reference: ':all' } } }
    const [type] = (await root.get('/objecttype', { format: 'long' })).body.filter(
      ({ objecttype }: Json) => objecttype.name === 'place',
    )
    const groups = [
      { group: { name: 'hidden' } },
      { group: { name: 'shown' }, _acl: [{ who: everybody, rights: { bag_read: {} } }] },
    ]
    assert.equal((await root.post('/group', groups)).status, 200)
    // Told while the rights are as they were: what is told is told by the rights of the moment in which it is read.
    const [earlier] = await write(1)
    await Promise.all(listeners.map((listener) => upTo(listener, earlier as number)))
    const given = { ...type, _acl: [{ who: everybody, rights: { read: {} } }] }
    given.objecttype = { _id: type.objecttype._id, _version: type.objecttype._version + 1 }
    const settings = await root.post('/objecttype', [given])
    assert.equal(settings.status, 200, JSON.stringify(settings.body))
    // Known to the stream by the next look: what was told before stays as it was told.
    const [between] = await write(1)
    await Promise.all(listeners.map((listener) => upTo(listener, between as number)))
    assert.equal((await root.post('/db/place', place('Open'))).status, 200)
    const [last] = await write(1)
    const told = await Promise.all(listeners.map((listener) => upTo(listener, last as number)))
    const seen = (events: Json[]) => events.map(({ event, user: by }) => [event._id, event.info, by, event.remote_addr])
    assert.deepEqual(seen(told[0] as Json[]), seen(await poll(root, from)))
    assert.deepEqual(seen(told[1] as Json[]).length, (await poll(reader, from)).length)
    const ofObjects = told.map((events) => events.filter(({ event }) => event.type === 'OBJECT_INSERT'))
    assert.deepEqual(
      ofObjects.map((events) =>
        events.map(({ event }) => JSON.stringify(event.info.standard)?.match(/Hidden|Open/)?.[0]),
      ),
      [['Hidden', 'Open'], [undefined, 'Open'], ['Open']],
    )
    assert.equal(ofObjects[1]?.[0].event.system_object_id, hidden._system_object_id)
    const inserted = (events: Json[]) => events.filter(({ event }) => event.type === 'GROUP_INSERT').length
    assert.deepEqual(told.map(inserted), [2, 2, 1])
    assert.deepEqual(
      told[2]?.filter(({ event }) => event.remote_addr !== undefined),
      [],
      'not from where',
    )
    await Promise.all(listeners.map((listener) => listener.close()))
  })

  test('it goes on from any id, without gaps or doubles, while events are written', async () => {
    const from = await lastId()
    let ids: number[] = []
    for (let round = 0; round < 4; round++) ids.push(...(await write(400)))
    const listeners: StreamClient[] = []
    const writing = (async () => {
      for (let round = 0; round < 10; round++) {
        ids.push(...(await write(20)))
        await sleep(30)
      }
    })()
    for (const start of [from, ids[10] as number, ids[499] as number, ids[1599] as number, from]) {
      listeners.push(await stream(root, start))
    }
    await writing
    const last = ids.at(-1) as number
    ids = ids.filter((id) => id > from)
    const starts = [from, ids[10] as number, ids[499] as number, ids[1599] as number, from]
    for (const [index, listener] of listeners.entries()) {
      await upTo(listener, last)
      assert.deepEqual(
        listener.ids(),
        ids.filter((id) => id > (starts[index] as number)),
      )
    }
    const [first] = listeners as [StreamClient]
    await first.close()
    await write(3)
    const again = await stream(root, last)
    const more = (await poll(root, last)).map(({ event }) => event._id)
    await until(() => again.ids().length === more.length)
    assert.deepEqual(again.ids(), more)
    const ahead = await stream(root, (more.at(-1) as number) + 5)
    const later = await write(8)
    await upTo(ahead, later.at(-1) as number)
    assert.deepEqual(
      ahead.ids(),
      later.filter((id) => id > (more.at(-1) as number) + 5),
      'from an id that is yet to come',
    )
    for (const listener of [...listeners, again, ahead]) await listener.close()
  })

  test('two processes write and tell: each listener hears all of both in the order of the ids', async () => {
    await using other = await attachService(svc.dsn)
    const [here, there] = [await stream(root), await openStream(await other.listen(), { token: await root.token() })]
    const from = await lastId()
    // One that holds its place in the order for a while: those behind it wait for it.
    const slow = new pg.Client({ connectionString: svc.dsn })
    await slow.connect()
    await slow.query('begin')
    const { rows } = await slow.query(
      `with announced as materialized (
         select pg_advisory_xact_lock_shared((${0x4556}::bigint << 48) | last_value) from event_id_seq
       ) insert into event (type, pollable, at) select 'INDEX_SWITCH', true, now() from announced returning id`,
    )
    await Promise.all([write(30), write(30, {}, other.as('root')), write(30), write(30, {}, other.as('root'))])
    await sleep(600)
    assert.deepEqual([here.ids(), there.ids()], [[], []], 'nothing is told before what has the lower id is decided')
    await slow.query('commit')
    await slow.end()
    const all = (await poll(root, from)).map(({ event }) => event._id)
    assert.equal(all.length, 121)
    assert.equal(all[0], Number(rows[0].id))
    for (const listener of [here, there]) {
      await until(() => listener.ids().length >= all.length)
      assert.deepEqual(listener.ids(), all)
      await listener.close()
    }
  })

  test('it ends when the token does: revoked, run out, or its user locked out, in whatever process', async () => {
    const token = async (): Promise<string> => {
      const form = { grant_type: 'password', client_id: 'svc-web-frontend', username: 'leaver', password: 'leaver' }
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const payload = new URLSearchParams(form).toString()
      return (await svc.inject({ method: 'POST', url: '/api/oauth2/token', headers, payload })).json().access_token
    }
    await user('leaver')
    await using other = await attachService(svc.dsn)
    const revoked = await openStream(base, { token: await token() })
    const otherToken = await token()
    const revokedElsewhere = await openStream(base, { token: otherToken })
    const revoke = (service: TestService, of: string) =>
      service.inject({
        method: 'POST',
        url: '/api/oauth2/revoke',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ token: of, client_id: 'svc-web-frontend' }).toString(),
      })
    const stays = await openStream(base, { token: await token() })
    await revoke(other, otherToken)
    assert.deepEqual(await revokedElsewhere.ended, { code: 1008, reason: 'InvalidToken' })
    assert.equal(revoked.socket.readyState, 1, 'the other session goes on')
    await revoked.close()
    const brief = await token()
    await svc.db.query(`update oauth_token set expires_at = now() + interval '1 second' where hash = $1`, [
      hash('sha256', brief, 'buffer'),
    ])
    const short = await openStream(base, { token: brief })
    assert.deepEqual(await short.ended, { code: 1008, reason: 'InvalidToken' })
    assert.equal(stays.socket.readyState, 1)
    const [leaver] = (await root.get('/user', { limit: 1000 })).body.filter(
      ({ user: { login } }: Json) => login === 'leaver',
    )
    const { _id, _version } = leaver.user
    const locked = await other.as('root').post('/user', [{ user: { _id, _version, login_disabled: true } }])
    assert.equal(locked.status, 200, JSON.stringify(locked.body))
    assert.deepEqual(await stays.ended, { code: 1008, reason: 'InvalidToken' })
  })

  test('who takes nothing is closed, and holds up nobody else', async () => {
    const from = await lastId()
    const token = await root.token()
    const { socket } = sendRaw({
      port: Number(new URL(base).port),
      method: 'GET',
      path: `/api/v1/event/stream?from=${from}`,
      headers: {
        Authorization: `Bearer ${token}`,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      },
    })
    const gone = new Promise((resolve) => socket.once('close', resolve))
    socket.once('data', () => socket.pause())
    await until(() => socket.isPaused())
    const quick = await stream(root)
    // More than what the system holds for a socket besides the budget.
    const ids: number[] = []
    for (let round = 0; round < 10; round++) ids.push(...(await write(50, { IndexNames: ['x'.repeat(40_000)] })))
    await upTo(quick, ids.at(-1) as number)
    assert.deepEqual(quick.ids(), ids, 'large events come to who takes them')
    // The connection ends while nothing is read from it: only then what is left is looked at.
    await until(async () => (await connections()) === 1)
    socket.resume()
    await gone
    await quick.close()
  })

  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      svc.app.http.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })

  test('a stop ends the streams', async () => {
    const stopping = await attachService(svc.dsn)
    const listener = await openStream(await stopping.listen(), { token: await root.token() })
    await stopping[Symbol.asyncDispose]()
    assert.deepEqual(await listener.ended, { code: 1001, reason: 'ServiceUnavailable' })
  })
})

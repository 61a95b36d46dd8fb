import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Writes events as an old log would be imported: any type, any time, any user. */
async function importEvents(svc: TestService, events: object[]): Promise<Json[]> {
  const answer = await svc.as('root').post('/event/list', events, { skip_constraints: true })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const event = (fields: object, more: object = {}) => ({ _basetype: 'event', event: fields, ...more })
const ids = (answer: { body: Json }): number[] =>
  (Array.isArray(answer.body) ? answer.body : answer.body.objects).map((record: Json) => record.event._id)

describe('writing events', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
  })
  after(() => svc[Symbol.asyncDispose]())

  test('EVAPI-001 a front end writes an event and gets it as stored', async () => {
    const root = svc.as('root')
    const sent = event({ type: 'SEARCH', basetype: 'collection', schema: 'base', info: { response: { count: 3 } } })
    const { status, body } = await root.post('/event', sent)
    assert.equal(status, 200)
    assert.equal(body._basetype, 'event')
    const { _id, timestamp, user_generated_displayname, ...rest } = body.event
    assert.ok(Number.isInteger(_id) && Math.abs(Date.now() - Date.parse(timestamp)) < 60_000)
    assert.deepEqual(rest, {
      type: 'SEARCH',
      pollable: false,
      schema: 'base',
      basetype: 'collection',
      remote_addr: '127.0.0.1',
      info: { response: { count: 3 } },
    })
    assert.deepEqual((await root.get(`/event/${_id}`)).body, body, 'the answer is what is stored')
    for (const type of ['DETAIL_VIEW', 'FRONTEND_ERROR', 'ASSET_DOWNLOAD_CONFIRMATION_MESSAGE']) {
      assert.equal((await root.post('/event', event({ type }))).status, 200, type)
    }
  })

  test('the references to an object are kept', async () => {
    const { body } = await svc
      .as('root')
      .post(
        '/event',
        event({ type: 'DETAIL_VIEW', object_id: 4, object_version: 2, system_object_id: 17, objecttype: 'artwork' }),
      )
    const { object_id, object_version, system_object_id, objecttype, global_object_id } = body.event
    assert.deepEqual([object_id, object_version, system_object_id, objecttype], [4, 2, 17, 'artwork'])
    assert.equal(global_object_id, '17@test')
  })

  test('EVAPI-006 an unknown type is refused', async () => {
    for (const type of ['NO_SUCH_TYPE', 'toString', '__proto__']) {
      const { status, body } = await svc.as('root').post('/event', event({ type }))
      assert.deepEqual([status, body.code, body.parameters.type], [400, 'EventTypeNotAllowed', type])
    }
  })

  test('skip_constraints allows a user, and what an old log says of time and address', async () => {
    const [record] = await importEvents(svc, [
      event(
        { type: 'USER_LOGIN', timestamp: '2001-02-03T04:05:06Z', remote_addr: '192.0.2.7' },
        { user: { _basetype: 'user', user: { _id: 900, _generated_displayname: 'Ada' } } },
      ),
    ])
    assert.equal(record.event.timestamp, '2001-02-03T04:05:06.000Z')
    assert.equal(record.event.remote_addr, '192.0.2.7')
    assert.deepEqual(record.user, { _basetype: 'user', user: { _id: 900, _generated_displayname: 'Ada' } })
    for (const timestamp of ['5', 'May 2001', '2001-02-30T00:00:00Z', '0000-01-01']) {
      const answer = await svc
        .as('root')
        .post('/event', event({ type: 'USER_LOGIN', timestamp }), { skip_constraints: true })
      assert.deepEqual([answer.status, answer.body.parameters?.name], [400, 'body.event.timestamp'], timestamp)
    }
    const [byReference] = await importEvents(svc, [
      event({ type: 'USER_LOGIN' }, { user: { user: { 'lookup:_id': { reference: 'system:root' } } } }),
    ])
    assert.equal(byReference.user.user._id, 1)
    const unknown = await svc
      .as('root')
      .post('/event', event({ type: 'USER_LOGIN' }, { user: { user: { 'lookup:_id': { reference: 'nobody' } } } }), {
        skip_constraints: true,
      })
    assert.deepEqual([unknown.status, unknown.body.code], [400, 'UserNotFound'])
  })

  test('EVAPI-007 a user without skip_constraints is refused', async () => {
    const bodies = [
      event({ type: 'SEARCH' }, { user: { user: { _id: 1 } } }),
      event({ type: 'SEARCH' }, { user_id: 1 }),
      event({ type: 'SEARCH', user_id: 1 }),
      event({ type: 'SEARCH', user: { user: { _id: 1 } } }),
    ]
    for (const body of bodies) {
      const answer = await svc.as('root').post('/event', body)
      assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'])
    }
  })

  test('EVAPI-002 in the background nothing is reported', async () => {
    const good = event({ type: 'SEARCH', info: { mark: 'background' } })
    const answer = await svc.as('root').post('/event', good, { background: true })
    assert.deepEqual([answer.status, answer.body], [200, { background: 'ok' }])
    const bad = await svc.as('root').post('/event', event({ type: 'NO_SUCH_TYPE' }), { background: true })
    assert.deepEqual([bad.status, bad.body], [200, { background: 'ok' }])
    const find = async () =>
      (await svc.as('root').get('/event/list', { type: 'SEARCH', limit: 20 })).body.objects.some(
        (record: Json) => record.event.info.mark === 'background',
      )
    for (let attempt = 0; attempt < 100 && !(await find()); attempt++) await new Promise((done) => setTimeout(done, 10))
    assert.ok(await find())
  })

  test('a list is written whole or not at all, in its order', async () => {
    const before = (await svc.as('root').get('/event/list', { limit: 1 })).body.count
    const { body } = await svc
      .as('root')
      .post('/event/list', [event({ type: 'SEARCH' }), event({ type: 'DETAIL_VIEW' }), event({ type: 'SEARCH' })])
    assert.deepEqual(
      body.map((record: Json) => record.event.type),
      ['SEARCH', 'DETAIL_VIEW', 'SEARCH'],
    )
    const broken = await svc.as('root').post('/event/list', [event({ type: 'SEARCH' }), event({ type: 'POOL_UPDATE' })])
    assert.deepEqual([broken.status, broken.body.code], [400, 'EventTypeNotAllowed'])
    const user = await svc.as('root').post('/event/list', [event({ type: 'SEARCH', user_id: 3 })])
    assert.deepEqual([user.status, user.body.code], [400, 'ServerGeneric'])
    assert.deepEqual((await svc.as('root').post('/event/list', [], { background: 1 })).body, { background: 'ok' })
    assert.equal((await svc.as('root').get('/event/list', { limit: 1 })).body.count, before + 3)
  })

  test('what cannot be stored is refused by its place', async () => {
    const bodies: [unknown, string][] = [
      [[], 'body'],
      [{}, 'body.event'],
      [event({}), 'body.event.type'],
      [event({ type: 7 }), 'body.event.type'],
      [event({ type: 'SEARCH', object_id: 1.5 }), 'body.event.object_id'],
      [event({ type: 'SEARCH', object_id: 1e300 }), 'body.event.object_id'],
      [event({ type: 'SEARCH', info: [] }), 'body.event.info'],
      [event({ type: 'SEARCH', info: { a: ['\u0000'] } }), ''],
      [event({ type: 'SEARCH', info: { a: '\ud800' } }), ''],
      [event({ type: 'SEARCH', objecttype: '\ud800' }), ''],
    ]
    for (const [body, place] of bodies) {
      const answer = await svc.as('root').post('/event', body)
      assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], JSON.stringify(body))
      if (place) assert.equal(answer.body.parameters.name, place)
    }
    let deep: unknown = {}
    for (let level = 0; level < 5000; level++) deep = { deep }
    assert.equal((await svc.as('root').post('/event', event({ type: 'SEARCH', info: deep }))).status, 400)
  })

  test('every endpoint needs a user', async () => {
    for (const path of ['/event/poll/0', '/event/list', '/event/1']) {
      const { status, body } = await svc.as(null).get(path)
      assert.deepEqual([status, body.code], [401, 'UserRequired'])
    }
  })
})

describe('reading events', () => {
  let svc: TestService
  let first: number
  before(async () => {
    svc = await startService()
    await svc.as('root').delete('/event/list')
    const records = await importEvents(svc, [
      event({
        type: 'OBJECT_INSERT',
        timestamp: '2020-01-01T00:00:00Z',
        objecttype: 'artwork',
        object_id: 1,
        system_object_id: 11,
        object_version: 1,
        schema: 'user',
        info: { standard: { 'en-US': 'Water' }, 'user.town': 'Ely' },
      }),
      event({
        type: 'OBJECT_UPDATE',
        timestamp: '2020-06-01T12:00:00Z',
        objecttype: 'artwork',
        object_id: 1,
        system_object_id: 11,
        object_version: 2,
        schema: 'base',
        info: { standard: { 'en-US': '=1+1' }, tags: [1, 2] },
      }),
      event(
        {
          type: 'POOL_INSERT',
          timestamp: '2021-01-01T00:00:00Z',
          basetype: 'pool',
          object_id: 5,
          info: { displayname: 'A, "B"' },
        },
        { user: { user: { _id: 1, _generated_displayname: 'Root' } } },
      ),
      event({
        type: 'JANITOR',
        timestamp: '2021-06-01T00:00:00Z',
        system_object_id: 10,
        info: { count: 3, log: [{ a: 1 }], empty: null },
      }),
      event(
        // Older than those before it: ids and times are two orders.
        { type: 'GROUP_UPDATE', timestamp: '2019-01-01T00:00:00Z', basetype: 'group', object_id: 1 },
        { user: { user: { _id: 900, _generated_displayname: 'ada' } } },
      ),
    ])
    first = records[0].event._id
  })
  after(() => svc[Symbol.asyncDispose]())

  const list = async (query: Record<string, string | number>): Promise<number[]> =>
    ids(await svc.as('root').get('/event/list', query)).map((id) => id - first)

  test('EVAPI-009 the poll has the pollable events after an id, ascending', async () => {
    assert.deepEqual(
      ids(await svc.as('root').get('/event/poll/0')).map((id) => id - first),
      [0, 1, 2, 4],
    )
    assert.deepEqual(
      ids(await svc.as('root').get(`/event/poll/${first + 1}`)).map((id) => id - first),
      [2, 4],
    )
    assert.deepEqual((await svc.as('root').get(`/event/poll/${first + 4}`)).body, [])
    assert.equal((await svc.as('root').get('/event/list')).body.count, 5)
  })

  test('EVAPI-010, LIM-004 a poll has 25 events by default, 1000 for limits out of range', async () => {
    await using many = await startService()
    await importEvents(
      many,
      Array.from({ length: 1010 }, () => event({ type: 'POOL_UPDATE' })),
    )
    const sizes: [Record<string, number>, number][] = [
      [{}, 25],
      [{ limit: 3 }, 3],
      [{ limit: 1000 }, 1000],
      [{ limit: 1001 }, 1000],
      [{ limit: 0 }, 1000],
      [{ limit: -5 }, 1000],
    ]
    for (const [query, size] of sizes) {
      assert.equal((await many.as('root').get('/event/poll/0', query)).body.length, size, JSON.stringify(query))
    }
  })

  test('EVAPI-014, ERR-027 one event by id, an unknown one is EventNotFound', async () => {
    const { status, body } = await svc.as('root').get(`/event/${first + 2}`)
    assert.deepEqual([status, body.event.type, body.user.user._id], [200, 'POOL_INSERT', 1])
    const unknown = await svc.as('root').get('/event/999999999')
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'EventNotFound'])
  })

  test('EVAPI-018, LIM-006 paging keeps the total; limit 0 is unlimited', async () => {
    const { body } = await svc.as('root').get('/event/list', { offset: 1, limit: 2 })
    assert.deepEqual(Object.keys(body).sort(), ['count', 'limit', 'objects', 'offset'])
    assert.deepEqual([body.count, body.limit, body.offset], [5, 2, 1])
    assert.deepEqual(
      body.objects.map((record: Json) => record.event._id - first),
      [3, 2],
    )
    const all = await svc.as('root').get('/event/list', { limit: 0 })
    assert.deepEqual([all.body.limit, all.body.objects.length], [0, 5])
  })

  test('EVAPI-020 JSON is pretty by default', async () => {
    const text = async (query: string) =>
      (
        await svc.inject({
          url: `/api/v1/event/list${query}`,
          headers: { authorization: `Bearer ${await svc.as('root').token()}` },
        })
      ).body
    const pretty = await text('')
    assert.equal(pretty, JSON.stringify(JSON.parse(pretty), null, 2))
    const compact = await text('?pretty=0')
    assert.equal(compact, JSON.stringify(JSON.parse(compact)))
    assert.deepEqual(JSON.parse(pretty), JSON.parse(compact))
    assert.equal(await text('?pretty=1'), pretty)
    const empty = await text('?type=NONE')
    assert.equal(JSON.parse(empty).count, 0)
    assert.equal(await text('?format=csv&pretty=1'), await text('?format=csv&pretty=0'))
  })

  test('EVAPI-021 filter by ids and ranges', async () => {
    assert.deepEqual(await list({ id: `${first},${first + 2}-${first + 3}` }), [3, 2, 0])
    assert.deepEqual(await list({ id: `${first},${first + 2}-${first + 3},${first + 4}` }), [4, 3, 2, 0])
  })

  test('EVAPI-022 filters by pollable, type, basetype and objecttype are lists', async () => {
    assert.deepEqual(await list({ pollable: 'false' }), [3])
    assert.deepEqual(await list({ pollable: '1,0' }), [4, 3, 2, 1, 0])
    assert.deepEqual(await list({ type: 'JANITOR,POOL_INSERT' }), [3, 2])
    assert.deepEqual(await list({ basetype: 'pool,group' }), [4, 2])
    assert.deepEqual(await list({ objecttype: 'artwork' }), [1, 0])
    assert.deepEqual(await list({ objecttype: 'coin,artwork' }), [1, 0])
    assert.deepEqual(await list({ objecttype: 'coin' }), [])
  })

  test('EVAPI-023 filters by users, groups and objects are lists', async () => {
    assert.deepEqual(await list({ user_id: '1,900' }), [4, 2])
    assert.deepEqual(await list({ user_id: '900' }), [4])
    assert.deepEqual(await list({ user_type: 'native,system' }), [2])
    assert.deepEqual(await list({ user_type: 'native' }), [])
    // Root is in the group of all users; the other event is about the group itself.
    assert.deepEqual(await list({ group_id: '1' }), [4, 2])
    assert.deepEqual(await list({ group_id: '77,1' }), [4, 2])
    assert.deepEqual(await list({ group_id: '77' }), [])
    assert.deepEqual(await list({ object_id: '5,1' }), [4, 2, 1, 0])
    assert.deepEqual(await list({ object_id: '5' }), [2])
    assert.deepEqual(await list({ system_object_id: '12,11' }), [1, 0])
    assert.deepEqual(await list({ system_object_id: '12' }), [])
    assert.deepEqual(await list({ object_id: '5,1', system_object_id: '11' }), [1, 0], 'all of them must match')
  })

  test('EVAPI-024 filters by time: the start is inclusive, the end is not', async () => {
    assert.deepEqual(await list({ date_from: '2020-06-01T12:00:00Z', date_to: '2021-06-01' }), [2, 1])
    assert.deepEqual(await list({ date_from: '2020-06-01T14:00:00+02:00', date_to: '2020-06-01T14:00:01+02:00' }), [1])
    assert.deepEqual(await list({ date_from: '2021-06-01T00:00:00Z' }), [3])
    assert.deepEqual(await list({ date_to: '2020-06-01T12:00:00Z' }), [4, 0])
  })

  test('EVAPI-025, EVAPI-026 sort by any of the fields, newest first by default', async () => {
    assert.deepEqual(await list({}), [4, 3, 2, 1, 0])
    assert.deepEqual(await list({ sort: 'type.ASC,_id.ASC' }), [4, 3, 0, 1, 2])
    // What has no value comes last in either direction.
    const orders: [field: string, ascending: number[], descending: number[]][] = [
      ['_id', [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]],
      ['type', [4, 3, 0, 1, 2], [2, 1, 0, 3, 4]],
      ['schema', [1, 0, 2, 3, 4], [0, 1, 2, 3, 4]],
      ['object_id', [0, 1, 4, 2, 3], [2, 0, 1, 4, 3]],
      ['system_object_id', [3, 0, 1, 2, 4], [0, 1, 3, 2, 4]],
      ['object_version', [0, 1, 2, 3, 4], [1, 0, 2, 3, 4]],
      ['timestamp', [4, 0, 1, 2, 3], [3, 2, 1, 0, 4]],
      ['user_generated_displayname', [4, 2, 0, 1, 3], [2, 4, 0, 1, 3]],
    ]
    for (const [field, ascending, descending] of orders) {
      assert.deepEqual(await list({ sort: `${field}.ASC,_id.ASC` }), ascending, field)
      assert.deepEqual(await list({ sort: `${field}.DESC,_id.ASC` }), descending, field)
    }
  })

  test('EVAPI-029 what cannot be read is refused by its name', async () => {
    const queries: Record<string, string>[] = [
      { id: '1,x' },
      { id: '5-2' },
      { id: '1-2-3' },
      { pollable: 'maybe' },
      { user_id: '1.5' },
      { system_object_id: '-1' },
      { date_from: 'yesterday' },
      { date_to: '2021-02-30' },
      { sort: 'type' },
      { sort: 'type.UP' },
      { sort: 'info.ASC' },
      { type: 'A,,B' },
      { type: '\u0000' },
      { object_id: '99999999999999999999' },
      { group_id: '1,x' },
      { user_type: 'native,' },
      { basetype: ',' },
      { objecttype: 'a,,b' },
    ]
    for (const query of queries) {
      const { status, body } = await svc.as('root').get('/event/list', query)
      assert.deepEqual([status, body.code, body.parameters.param], [400, 'ServerGeneric', Object.keys(query)[0]])
    }
    for (const query of [
      { format: 'xml' },
      { limit: 'many' },
      { offset: -1 },
      { offset: 'some' },
      { csv_delimiter: '' },
      { csv_max_length: 'long' },
      { csv_explode: 'maybe' },
      { cvs_use_bom: 'maybe' },
      { pretty: 'maybe' },
    ] as Record<string, string | number>[]) {
      const { status, body } = await svc.as('root').get('/event/list', query)
      assert.deepEqual([status, body.code], [400, 'ServerGeneric'], JSON.stringify(query))
    }
  })

  const csv = async (query: Record<string, string | number> = {}) => {
    const answer = await svc.as('root').get('/event/list', { format: 'csv', sort: '_id.ASC', ...query })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer
  }

  test('EVAPI-019 CSV has a line for each event', async () => {
    const { body, headers } = await csv()
    assert.match(String(headers['content-type']), /^text\/csv/)
    for (const query of [{}, { format: 'json' }]) {
      const json = await svc.as('root').get('/event/list', query)
      assert.match(String(json.headers['content-type']), /^application\/json/)
      assert.equal(json.body.count, 5)
    }
    const rows = parse(body, { columns: true }) as Record<string, string>[]
    assert.equal(rows.length, 5)
    assert.deepEqual(
      {
        type: rows[2]?.type,
        user_id: rows[2]?.user_id,
        name: rows[2]?.user_generated_displayname,
        pollable: rows[2]?.pollable,
      },
      { type: 'POOL_INSERT', user_id: '1', name: 'Root', pollable: 'true' },
    )
    assert.deepEqual(JSON.parse(rows[2]?.info ?? ''), { displayname: 'A, "B"' })
  })

  test('EVAPI-027 delimiter, quote, escape and the longest cell are chosen', async () => {
    const line = async (query: Record<string, string>): Promise<string> =>
      (await csv({ id: `${first + 2}`, csv_explode: 1, ...query })).body.split('\n')[1].trim()
    assert.match(await line({}), /,"A, ""B"""/)
    assert.match(await line({ csv_delimiter: ';' }), /;POOL_INSERT;.*"A, ""B"""/)
    assert.match(await line({ csv_escape: '\\' }), /,"A, \\"B\\""/)
    assert.match(await line({ csv_quote: "'" }), /,'A, "B"'/)
    const { body } = await csv({ csv_delimiter: ';', csv_quote: "'", csv_escape: '\\', csv_max_length: 12 })
    const rows = parse(body, { columns: true, delimiter: ';', quote: "'", escape: '\\' }) as Record<string, string>[]
    assert.equal(rows[0]?.type, 'OBJECT_INSER')
    assert.equal(rows[0]?.timestamp, '2020-01-01T0')
    const clash = await svc.as('root').get('/event/list', { format: 'csv', csv_delimiter: ';', csv_quote: ';' })
    assert.deepEqual([clash.status, clash.body.code], [400, 'ServerGeneric'])
  })

  test('EVAPI-028 info becomes columns, lists are joined, a byte order mark is written on request', async () => {
    const { body } = await csv({ csv_explode: 1, csv_explode_array_concat: '|', cvs_use_bom: 1 })
    assert.equal(body.charCodeAt(0), 0xfeff)
    const rows = parse(body, { columns: true, bom: true }) as Record<string, string>[]
    assert.equal(rows[0]?.['info.standard.en-US'], 'Water')
    assert.equal(rows[0]?.['info.user.town'], 'Ely')
    assert.equal(rows[1]?.['info.standard.en-US'], "'=1+1", 'a spreadsheet must not run it')
    assert.equal(rows[1]?.['info.tags'], '1|2')
    assert.equal(rows[3]?.['info.count'], '3')
    assert.equal(rows[3]?.['info.log'], '[{"a":1}]')
  })
})

describe('deleting events', () => {
  const three = [event({ type: 'SEARCH' }), event({ type: 'DETAIL_VIEW' }), event({ type: 'SEARCH' })]

  test('one event', async () => {
    await using svc = await startService()
    const [record] = await importEvents(svc, three)
    const path = `/event/${record.event._id}`
    const { status, body } = await svc.as('root').delete(path)
    assert.deepEqual([status, body], [200, { status: { acknowledged: 'ok' } }])
    assert.equal((await svc.as('root').delete(path)).body.code, 'EventNotFound')
  })

  test('EVAPI-033, EVAPI-034 by filter, at most so many, or the whole log', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    await root.delete('/event/list')
    const [first, second, third, ...rest] = (await importEvents(svc, [...three, ...three])).map(
      (record) => record.event._id,
    )
    await root.delete('/event/list', undefined, { type: 'SEARCH', limit: 2 })
    assert.deepEqual(
      ids(await root.get('/event/list', { sort: '_id.ASC' })),
      [second, ...rest],
      `${first}, ${third} are gone`,
    )
    await root.delete('/event/list', undefined, { type: 'DETAIL_VIEW' })
    assert.equal((await root.get('/event/list')).body.count, 2)
    assert.equal((await root.delete('/event/list', undefined, { id: 'x' })).status, 400)
    assert.equal((await root.get('/event/list')).body.count, 2)
    await root.delete('/event/list')
    assert.equal((await root.get('/event/list')).body.count, 0)
  })

  test('a body is no filter: one that says something is refused, and nothing is deleted', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    await importEvents(svc, three)
    const { count } = (await root.get('/event/list')).body
    for (const body of [{ type: 'SEARCH' }, [1], 'SEARCH']) {
      const answer = await root.delete('/event/list', body)
      assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], JSON.stringify(body))
    }
    assert.equal((await root.get('/event/list')).body.count, count)
    assert.equal((await root.delete('/event/list', {})).status, 200)
    assert.equal((await root.get('/event/list')).body.count, 0)
  })

  test('EVAPI-032 whatever the list is filtered by chooses what is deleted', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const old = (fields: object, day: number, more: object = {}) =>
      event({ timestamp: `2020-01-0${day}T00:00:00Z`, ...fields }, more)
    const by = (_id: number, login: string) => ({ user: { user: { _id, _generated_displayname: login } } })
    const log = [
      old({ type: 'OBJECT_INSERT', objecttype: 'coin', object_id: 7, system_object_id: 17 }, 1),
      old({ type: 'GROUP_UPDATE', basetype: 'group', object_id: 9 }, 2, by(1, 'Root')),
      old({ type: 'JANITOR' }, 3, by(900, 'ada')),
    ]
    const filters: [query: (first: number) => Record<string, string>, deleted: number[]][] = [
      [(first) => ({ id: `${first}-${first + 1}` }), [0, 1]],
      [() => ({ pollable: 'false' }), [2]],
      [() => ({ type: 'OBJECT_INSERT,JANITOR' }), [0, 2]],
      [() => ({ basetype: 'group' }), [1]],
      [() => ({ objecttype: 'coin' }), [0]],
      [() => ({ user_id: '900' }), [2]],
      [() => ({ group_id: '9' }), [1]],
      [() => ({ user_type: 'system' }), [1]],
      [() => ({ object_id: '7' }), [0]],
      [() => ({ system_object_id: '17' }), [0]],
      [() => ({ date_from: '2020-01-02T00:00:00Z' }), [1, 2]],
      [() => ({ date_to: '2020-01-02T00:00:00Z' }), [0]],
    ]
    for (const [query, deleted] of filters) {
      await root.delete('/event/list')
      const [first] = (await importEvents(svc, log)).map((record) => record.event._id)
      const answer = await root.delete('/event/list', undefined, query(first))
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      assert.deepEqual(
        ids(await root.get('/event/list', { sort: '_id.ASC' })).map((id) => id - first),
        [0, 1, 2].filter((index) => !deleted.includes(index)),
        JSON.stringify(query(0)),
      )
    }
  })

  test('EVAPI-008, EVAPI-016, EVAPI-031 read-only mode allows one thing: to write one event', async () => {
    await using svc = await startService({ readOnly: true })
    const root = svc.as('root')
    const written = await root.post('/event', event({ type: 'SEARCH' }))
    assert.equal(written.status, 200)
    const path = `/event/${written.body.event._id}`
    for (const answer of [
      await root.post('/event/list', three),
      await root.delete(path),
      await root.delete('/event/list'),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [400, 'ReadOnlyMode'])
    }
    assert.equal((await root.get(path)).status, 200)
  })
})

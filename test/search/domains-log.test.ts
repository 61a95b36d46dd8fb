import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createCollection, ok, type Scene, startScene } from '../collections/support.ts'
import type { Client, Json } from '../support/client.ts'
import { openStream } from '../support/stream.ts'
import { until } from '../support/until.ts'

/** One service with messages and events, read by root, and by a user with the two rights that they take. */
let scene: Scene
let clerk: Client
let messages: readonly [number, number]
let secret: number

before(async () => {
  scene = await startScene()
  const { root, ids, svc } = scene
  const [{ user }] = ok(await root.get(`/user/${ids.stranger}`))
  const _system_rights = { 'system.message': {}, 'system.api.event': { get: true } }
  ok(await root.post('/user', [{ user: { _id: ids.stranger, _version: user._version }, _system_rights }]))
  clerk = svc.as('stranger')
  const made = ok(
    await root.post('/message', [
      {
        message: {
          reference: 'closed',
          title: { 'de-DE': 'Geschlossen', 'en-US': 'Closed on Monday' },
          message: { 'en-US': 'The reading room is closed.' },
          start_time: { value: '2026-01-01T10:00:00Z' },
          client_ids: ['web'],
        },
        _groups: [{ group: { _id: ids.staff } }],
      },
      { message: { title: { 'en-US': 'Welcome' }, message: { 'en-US': 'Good to see you.' }, show_always: true } },
    ]),
  )
  messages = made.map((one: Json) => one.message._id)
  secret = (await createCollection(root, { displayname: { 'en-US': 'Secret' } }))._id
})
after(() => scene[Symbol.asyncDispose]())

async function search(client: Client, type: string, request: object = {}): Promise<Json> {
  return ok(await client.post('/search', { type, ...request }))
}

async function found(client: Client, type: string, element: object | readonly object[]): Promise<number[]> {
  const { objects, count } = await search(client, type, { search: [element].flat(), limit: 1000 })
  assert.equal(count, objects.length)
  return objects.map((record: Json) => record[record._basetype]._id)
}

const text = (string: string, more: object = {}) => ({ type: 'text', string, ...more })
const oneOf = (field: string, ...values: unknown[]) => ({ type: 'in', fields: [field], in: values })

test('messages are found by who manages them, and by nobody else', async () => {
  const { root, reader, ids } = scene
  const [closed, welcome] = messages
  for (const client of [root, clerk]) {
    const { type, objects } = await search(client, 'message')
    assert.equal(type, 'message')
    assert.deepEqual(objects, ok(await client.get('/message')))
  }
  const refused = await reader.post('/search', { type: 'message' })
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.parameters.right],
    [403, 'SystemRightRequired', 'system.message'],
  )
  assert.deepEqual(await found(clerk, 'message', text('closed room')), [closed])
  assert.deepEqual(await found(clerk, 'message', text('good', { fields: ['message.title'] })), [])
  assert.deepEqual(await found(clerk, 'message', oneOf('message.reference', null)), [welcome])
  assert.deepEqual(await found(clerk, 'message', oneOf('message.show_always', true)), [welcome])
  assert.deepEqual(await found(clerk, 'message', oneOf('message.client_ids', 'web')), [closed])
  assert.deepEqual(await found(clerk, 'message', oneOf('_groups.group._id', ids.staff)), [closed])
  assert.deepEqual(await found(clerk, 'message', oneOf('_groups.group._id', null)), [welcome])
  const starts = { type: 'range', field: 'message.start_time.value' }
  assert.deepEqual(await found(clerk, 'message', { ...starts, from: '2026-01-01T10:00:00Z' }), [closed])
  assert.deepEqual(await found(clerk, 'message', { ...starts, from: '2026-01-01T10:00:01Z' }), [])
  const zoned = {
    search: [{ ...starts, from: '2026-01-01T11:00:00', to: '2026-01-01T11:00:00' }],
    timezone: 'Europe/Berlin',
  }
  assert.equal((await search(clerk, 'message', zoned)).count, 1)
  const { objects } = await search(clerk, 'message', {
    sort: [{ field: 'message.title', order: 'desc', language: 'en-US' }],
  })
  assert.deepEqual(
    objects.map((one: Json) => one.message._id),
    [welcome, closed],
  )
})

test('events are found by who may read the log, the latest first', async () => {
  const { root, ids, pool } = scene
  for (const client of [root, clerk]) {
    const { objects, count, type } = await search(client, 'event', { limit: 1000 })
    const listed = ok(await client.get('/event/list', { limit: 0 }))
    const all = (listed.objects ?? listed.events ?? listed) as Json[]
    const byId = (list: Json[]) => list.toSorted((a, b) => a.event._id - b.event._id)
    assert.equal(type, 'event')
    assert.equal(count, all.length)
    assert.deepEqual(byId(objects), byId(all))
    assert.deepEqual(objects, byId(objects).reverse())
  }
  const inserted = await search(clerk, 'event', { search: [oneOf('event.type', 'POOL_INSERT', 'USER_INSERT')] })
  assert.deepEqual([...new Set(inserted.objects.map((one: Json) => one.event.type))].toSorted(), [
    'POOL_INSERT',
    'USER_INSERT',
  ])
  const { pollable } = inserted.objects[0].event
  assert.equal(inserted.objects.length > 3, true)
  assert.equal(
    (await found(clerk, 'event', oneOf('event.pollable', pollable))).includes(inserted.objects[0].event._id),
    true,
  )
  const ofPool = await search(clerk, 'event', {
    search: [oneOf('event.basetype', 'pool'), oneOf('event.object_id', pool)],
  })
  assert.deepEqual(
    ofPool.objects
      .map(({ event }: Json) => [event.basetype, event.object_id])
      .every(([kind, id]: [string, number]) => kind === 'pool' && id === pool),
    true,
  )
  assert.ok(ofPool.count > 0)
  assert.deepEqual(
    await found(clerk, 'event', text('pool insert', { fields: ['event.type'] })),
    await found(clerk, 'event', oneOf('event.type', 'POOL_INSERT')),
  )
  assert.deepEqual(
    await found(clerk, 'event', text('POOL_INSERT', { mode: 'exact' })),
    await found(clerk, 'event', oneOf('event.type', 'POOL_INSERT')),
  )
  assert.deepEqual(await found(clerk, 'event', oneOf('user.user._id', ids.editor)), [])
  assert.ok((await found(clerk, 'event', oneOf('user.user._id', 1))).length > 0)
  const now = new Date().toISOString().slice(0, 10)
  assert.ok((await found(clerk, 'event', { type: 'range', field: 'event.timestamp', from: now })).length > 0)
  assert.deepEqual(await found(clerk, 'event', { type: 'range', field: 'event.timestamp', to: '2001' }), [])
  const { aggregations } = await search(clerk, 'event', {
    limit: 0,
    search: [oneOf('event.basetype', 'message')],
    aggregations: { types: { type: 'term', field: 'event.type' } },
  })
  assert.deepEqual(aggregations.types.terms, [{ term: 'MESSAGE_INSERT', count: 2 }])
})

test('events that are not pollable are found, too, and keys of what is said of hidden things do not count', async () => {
  const { root } = scene
  await root.post('/event', { event: { type: 'FRONTEND_ERROR', info: { stack_of_calls: 'x' } } })
  const [one] = (await search(root, 'event', { search: [oneOf('event.info_key', 'stack_of_calls')] })).objects
  assert.ok(one, 'keys are searched')
  assert.equal(one.event.info.stack_of_calls, 'x')
  assert.deepEqual(await found(root, 'event', text('stack_of_calls')), [one.event._id])
  assert.deepEqual(await found(clerk, 'event', oneOf('event.info_key', 'stack_of_calls')), [one.event._id])
  const kinds = await search(root, 'event', { limit: 1000, search: [] })
  const silent = kinds.objects.filter(({ event }: Json) => !event.pollable)
  assert.ok(silent.length > 0, 'some are not pollable')
  // Of the collection of root the clerk is not told more than that something happened.
  const about = { search: [oneOf('event.basetype', 'collection'), oneOf('event.object_id', secret)] }
  const [told] = (await search(root, 'event', about)).objects
  const keys = Object.keys(told.event.info)
  assert.deepEqual((await search(clerk, 'event', about)).objects[0].event.info, {})
  const key = keys[0] ?? 'name'
  const ofSecret = [
    oneOf('event.object_id', secret),
    oneOf('event.basetype', 'collection'),
    oneOf('event.info_key', key),
  ]
  assert.deepEqual(await found(clerk, 'event', ofSecret), [])
  assert.equal((await found(root, 'event', ofSecret)).length, keys.length > 0 ? 1 : 0)
})

test('EVENT-005 pollable events are polled and streamed, and all are listed and searched', async () => {
  const { root, svc } = scene
  const event = (type: string) => ({ _basetype: 'event', event: { type } })
  // INDEX_SWITCH is marked P in the specification, FRONTEND_ERROR is not.
  const before = ok(await root.get('/user/session')).current_max_event_id
  const written = ok(
    await root.post('/event/list', [event('FRONTEND_ERROR'), event('INDEX_SWITCH')], { skip_constraints: true }),
  )
  const [silent, told] = written.map((one: Json) => one.event._id)
  const polled = ok(await root.get(`/event/poll/${before}`, { limit: 1000 })).map((one: Json) => one.event._id)
  assert.deepEqual(
    [silent, told].map((id) => polled.includes(id)),
    [false, true],
  )
  const stream = await openStream(await svc.listen(), { token: await root.token(), from: before })
  try {
    await until(() => stream.ids().includes(told))
    assert.equal(stream.ids().includes(silent), false)
  } finally {
    await stream.close()
  }
  const { objects: listed } = ok(await root.get('/event/list', { id: `${silent},${told}` }))
  const { objects: searched } = await search(root, 'event', { search: [oneOf('event._id', silent, told)] })
  for (const list of [listed, searched]) {
    assert.deepEqual(list.map((one: Json) => one.event._id).toSorted(), [silent, told].toSorted())
  }
})

test('SR-001 type selects the domain', async () => {
  const { root } = scene
  const basetypes = async (type: string | undefined) => {
    const { objects } = await search(root, type as string, type === undefined ? { type: undefined } : {})
    return [...new Set(objects.map((one: Json) => one._basetype))].toSorted()
  }
  for (const type of ['pool', 'collection', 'event', 'message', 'user', 'group']) {
    assert.deepEqual(await basetypes(type), [type])
    assert.equal((await search(root, type)).type, type)
  }
  assert.deepEqual(await basetypes('acl'), ['group', 'user'])
  const [{ pool }] = (await root.get('/pool', { limit: 1000 })).body.slice(-1)
  const made = await root.post(
    '/db/note',
    [
      {
        _objecttype: 'note',
        _mask: 'note__standard',
        _pool: { pool: { _id: pool._id } },
        note: { title: 'n', code: 'n' },
      },
    ],
    { format: 'short' },
  )
  assert.equal(made.status, 200, JSON.stringify(made.body))
  await scene.svc.drain()
  for (const request of [{}, { type: '' }]) {
    const { objects, type } = ok(await root.post('/search', request))
    assert.deepEqual(
      objects.map((one: Json) => one._objecttype),
      ['note'],
    )
    assert.equal(type, '')
  }
})

test('what an index does not find is refused of events', async () => {
  for (const element of [text('P*', { mode: 'wildcard' }), text('P*', { mode: 'exact', fields: ['event.type'] })]) {
    const { status, body } = await clerk.post('/search', { type: 'event', search: [element] })
    assert.deepEqual([status, body.code], [400, 'ServerGeneric'])
  }
  const { db } = scene.svc
  const { domains } = await import('../../src/search/domains/kinds.ts')
  const [kind] = domains.event
  assert.ok(kind?.words)
  await db.query(
    `insert into event (type, pollable, at) select 'FRONTEND_INFO', false, now() from generate_series(1, 20000)`,
  )
  // Pages of events that are not among the latest ones, and of events that are.
  for (const element of [
    oneOf('event.type', 'POOL_INSERT', 'FRONTEND_INFO'),
    text('insert', { fields: ['event.type'] }),
  ]) {
    for (const order of ['desc', 'asc']) {
      const ordered = { search: [element], sort: [{ field: 'event._id', order }] }
      const { rows } = await db.query<{ id: number }>(`select id from event where type ~ $1 order by id ${order}`, [
        element.type === 'in' ? '^(POOL_INSERT|FRONTEND_INFO)$' : '(^|_)INSERT($|_)',
      ])
      const ids = rows.map(({ id }) => id)
      for (const [offset, limit] of [
        [0, 3],
        [2, 4],
        [ids.length - 3, 10],
        [ids.length, 5],
        [0, 0],
      ] as const) {
        const page = await search(clerk, 'event', { ...ordered, offset, limit })
        assert.equal(page.count, ids.length)
        assert.deepEqual(
          page.objects.map((one: Json) => one.event._id),
          ids.slice(offset, offset + limit),
        )
      }
    }
  }
  const kinds = { type: 'term', field: 'event.type', limit: 3 }
  const counted = { search: [oneOf('event.type', 'POOL_INSERT', 'FRONTEND_INFO')], limit: 0 }
  const one = await search(clerk, 'event', { ...counted, aggregations: { kinds } })
  const both = await search(clerk, 'event', {
    ...counted,
    aggregations: { kinds, tables: { type: 'term', field: 'event.objecttype' } },
  })
  assert.deepEqual([one.count, one.aggregations.kinds], [both.count, both.aggregations.kinds])
  assert.equal(one.aggregations.kinds.terms[0].term, 'FRONTEND_INFO')
  assert.ok(one.aggregations.kinds.terms[0].count >= 20_000)
  for (const [condition, index] of [
    [kind.words.find('t', `record_words('POOL_INSERT')`), 'event_words_idx'],
    ['t.user_id = any($1::bigint[])', 'event_user_idx'],
    ['t.object_id = any($1::bigint[])', 'event_record_idx'],
    ['t.system_object_id = any($1::bigint[])', 'event_object_idx'],
  ] as const) {
    const { rows } = await db.query<Json>(
      `explain select t.id from event t where ${condition}`,
      condition.includes('$1') ? [[1]] : [],
    )
    assert.match(JSON.stringify(rows), new RegExp(index), condition)
  }
  // However the words are made, they are those that a search asks for.
  const { rows: differing } = await db.query<Json>(
    `select text, key from unnest($1::text[]) as text, unnest($1::text[]) as key
     where not (event_words('A_B', text, null, null, text, '::1', jsonb_build_object(key, 1))
       @> record_words('A_B ::1 ' || text || ' ' || key))`,
    [['', 'plain WORDS_of-it 100% $5', `'"\\/{}[]()<>|~^\`#@!?*+=,;:.`, 'Ève Müller', 'a\tb', 'x'.repeat(900), 'Ⅷ ß']],
  )
  assert.deepEqual(differing, [])
  const { rows } = await db.query<Json>('explain select t.id from event t where true order by t.id desc limit 10')
  assert.match(JSON.stringify(rows), /event_pkey/)
})

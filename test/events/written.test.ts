import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { picture, upload } from '../files/support.ts'
import { install, switched } from '../plugins/support.ts'
import { requestToken } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { startMailServer } from '../support/mail-server.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'

/**
 * The events that the service writes itself, by the operations that cause them: keys of `info`, who is named when all
 * groups are enabled, and whether pollers hear of them. The catalogue of all types is tested in types.test.ts.
 */
let museum: Museum
let root: Client
let receiver: WebhookServer
before(async () => {
  receiver = await startWebhookServer()
  museum = await startMuseum()
  root = museum.svc.as('root')
  const groups = 'ADMIN DOWNLOAD EXPORT FRONTEND INDEX LOGIN_LOGOUT PLUGIN SYSTEM TASK UPLOAD'.split(' ')
  await save('/config', { system: { config: { user: { user_in_event_group: groups } } } })
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

async function save(path: string, body: unknown): Promise<Json> {
  const answer = await root.post(path, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function remove(path: string, body?: unknown, query: Record<string, string> = {}): Promise<void> {
  const answer = await root.delete(path, body, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

interface Logged {
  readonly type: string
  readonly event: Json
  /** Id of the user whom the event carries. */
  readonly user: number | undefined
  /** Whether the poll has it. */
  readonly polled: boolean
}

/** What the log has of some work, in its order. */
async function logged(work: () => Promise<unknown>): Promise<Logged[]> {
  const [last] = (await root.get('/event/list', { limit: 1 })).body.objects
  await work()
  const { body } = await root.get('/event/list', { id: `${last.event._id + 1}-999999999`, sort: '_id.ASC' })
  const poll = await root.get(`/event/poll/${last.event._id}`, { limit: 1000 })
  const polled = new Set(poll.body.map(({ event }: Json) => event._id))
  return body.objects.map(({ event, user }: Json) => ({
    type: event.type,
    event,
    user: user?.user._id,
    polled: polled.has(event._id),
  }))
}

const typesOf = (events: readonly Logged[]): string[] => events.map(({ type }) => type)
const keysOf = ({ event }: Logged): string[] => Object.keys(event.info).sort()

/** Every event carries root and is polled, has these keys of info and no others. */
function assertTold(events: readonly Logged[], keys: string): void {
  for (const logged of events) {
    assert.deepEqual(keysOf(logged), keys === '' ? [] : keys.split(' ').sort(), logged.type)
    assert.deepEqual([logged.user, logged.polled], [1, true], logged.type)
  }
}

/** No event carries a user, none is polled. */
function assertUntold(events: readonly Logged[]): void {
  for (const { type, user, polled } of events) assert.deepEqual([user, polled], [undefined, false], type)
}

test('EVENT-011 BASE_CONFIG_UPDATE names what was saved, by which method and where', async () => {
  const events = await logged(async () => {
    await save('/config', { system: { config: { login: { info: { 'en-US': 'Hi' } }, name: { title: 'Museum' } } } })
    await save('/config/system/config/name/title', 'The museum')
  })
  assert.deepEqual(typesOf(events), ['BASE_CONFIG_UPDATE', 'BASE_CONFIG_UPDATE'])
  assertTold(events, 'ScopedNames Method Path')
  assert.deepEqual(
    events.map(({ event }) => event.info),
    [
      { ScopedNames: ['system.login', 'system.name'], Method: 'POST', Path: '/' },
      { ScopedNames: ['system.name'], Method: 'PATCH', Path: '/system/config/name/title' },
    ],
  )
})

test('EVENT-012 BASE_CONFIG_ERROR tells what was wrong, and pollers nothing', async () => {
  const [event, ...others] = await logged(async () => {
    assert.equal((await root.post('/config/system/config/login/keep_login', 'for ever')).status, 400)
  })
  assert.ok(event)
  assert.deepEqual([event.type, others], ['BASE_CONFIG_ERROR', []])
  const { Error: message, ...rest } = event.event.info
  assert.match(message, /keep_login/)
  assert.deepEqual(rest, { Method: 'PATCH', Path: '/system/config/login/keep_login' })
  assert.deepEqual([event.user, event.polled], [1, false])
})

test('EVENT-013 EVENT-036 a commit is a DATAMODEL_COMMIT, and an OBJECTTYPE_UPDATE for each type that it changes', async () => {
  const head = (await root.get('/schema/user/HEAD')).body
  const tables = head.tables.map((table: Json) =>
    ['place', 'loan'].includes(table.name) ? { ...table, comment: 'changed' } : table,
  )
  await save('/schema/user/HEAD', { ...head, tables })
  const begun = Date.now()
  const events = await logged(async () => {
    assert.equal((await root.post('/schema/commit', undefined, { reindex: 'skip' })).status, 200)
  })
  const committed = (await root.get('/schema/user/CURRENT')).body
  assert.equal(committed.version, 2)
  const [commit, ...types] = events
  assert.ok(commit)
  assert.equal(commit.type, 'DATAMODEL_COMMIT')
  assertTold([commit], 'version committed_at')
  assert.deepEqual(commit.event.info, { version: 2, committed_at: committed.committed_at })
  const at = Date.parse(commit.event.info.committed_at)
  assert.ok(at >= begun - 1000 && at <= Date.now() + 1000, 'the time of the commit')
  assert.deepEqual(types.map(({ type, event }) => [type, event.objecttype]).sort(), [
    ['OBJECTTYPE_UPDATE', 'loan'],
    ['OBJECTTYPE_UPDATE', 'place'],
  ])
  assertTold(types, '')
})

test('EVENT-029 version 1 is an OBJECT_INSERT, the way to the trash an OBJECT_DELETE', async () => {
  let id = 0
  const events = await logged(async () => {
    const [object] = await save('/db/person', [payload('person', { name: 'Ada' })])
    id = object.person._id
    await save('/db/person', [payload('person', { _id: id, _version: 1, name: 'Ada L.' })])
    await remove('/db/person', [[id, 2, null]], { delete_policy: 'setnull' })
  })
  assert.deepEqual(
    events.map(({ type, event }) => [type, event.object_id, event.object_version]),
    [
      ['OBJECT_INSERT', id, 1],
      ['OBJECT_UPDATE', id, 2],
      ['OBJECT_DELETE', id, 3],
    ],
  )
  assertTold(events, 'standard')
  assert.match(JSON.stringify(events.map(({ event }) => event.info.standard)), /^\["Ada","Ada L.","Ada L."\]$/)
  const [trashed] = (await root.get(`/db/person/_all_fields/${id}`)).body
  assert.ok(trashed._latest_version_deleted_at, 'it is in the trash, and not gone')
  const later = await logged(async () => {
    await remove('/db/person', [[id, 3, null]], { delete_policy: 'undelete' })
    await remove('/db/person', [[id, 4, null]], { delete_policy: 'setnull' })
    await remove('/db/person', [[id, 5, null]], { delete_policy: 'purge' })
  })
  assert.deepEqual(typesOf(later), ['OBJECT_UNDELETE', 'OBJECT_DELETE', 'OBJECT_PURGE'])
  assertTold(later, 'standard')
})

test('EVENT-006 saves of objects, of the datamodel and of the base configuration are all events', async () => {
  const work = payload('work', { ...inPool(museum.pool), title: { 'en-US': 'One' } })
  const events = await logged(async () => {
    const [stored] = await save('/db/work', [work])
    await save('/db/work', [
      payload('work', { _id: stored.work._id, _version: 1, ...inPool(museum.pool), inventory: 'I1' }),
    ])
    await remove('/db/work', [[stored.work._id, 2, null]], { delete_policy: 'setnull' })
    assert.equal((await root.post('/schema/commit')).status, 200)
    await save('/config', { system: { config: { name: { title: 'Again' } } } })
  })
  assert.deepEqual(typesOf(events), [
    'OBJECT_INSERT',
    'OBJECT_UPDATE',
    'OBJECT_DELETE',
    'DATAMODEL_COMMIT',
    'BASE_CONFIG_UPDATE',
  ])
})

test('EVENT-030 changes of users', async () => {
  const info = { login: 'ben', displayname: 'Ben', reference: 'b:1' }
  const events = await logged(async () => {
    const [{ user }] = await save('/user', [{ user: info, _password: 'ben' }])
    await save('/user', [{ user: { ...info, _id: user._id, _version: 1, phone: '1' } }])
    await remove(`/user/${user._id}`, undefined, { delete_policy: 'delete' })
  })
  assert.deepEqual(typesOf(events), ['USER_INSERT', 'USER_UPDATE', 'USER_DELETE'])
  assertTold(events, 'login displayname reference')
  for (const { event } of events) assert.deepEqual(event.info, info)
})

test('EVENT-031 changes of groups', async () => {
  const info = { name: 'readers', displayname: { 'en-US': 'Readers' }, reference: 'g:1' }
  const events = await logged(async () => {
    const [{ group }] = await save('/group', [{ group: info }])
    await save('/group', [{ group: { ...info, _id: group._id, _version: 1, comment: 'c' } }])
    await remove(`/group/${group._id}`)
  })
  assert.deepEqual(typesOf(events), ['GROUP_INSERT', 'GROUP_UPDATE', 'GROUP_DELETE'])
  assertTold(events, 'name displayname reference')
  for (const { event } of events) assert.deepEqual(event.info, info)
})

test('EVENT-035 changes of messages', async () => {
  const texts = { title: { 'en-US': 'Terms' }, message: { 'en-US': 'Read this.' }, reference: 'm:1' }
  const events = await logged(async () => {
    const [{ message }] = await save('/message', [{ message: texts }])
    await save('/message', [{ message: { _id: message._id, _version: 1, show_always: true } }])
    await remove(`/message/${message._id}`)
  })
  assert.deepEqual(typesOf(events), ['MESSAGE_INSERT', 'MESSAGE_UPDATE', 'MESSAGE_DELETE'])
  assertTold(events, 'title message reference')
  for (const { event } of events) assert.deepEqual(event.info, texts)
})

test('EVENT-032 EVENT-033 changes of pools, of which those above hear, and what goes with them', async () => {
  const names = { shortname: { 'en-US': 'P' }, reference: 'p:1' }
  const pool = { _id_parent: 1, name: { 'en-US': 'Prints' }, ...names }
  const info = { displayname: { 'en-US': 'Prints' }, ...names }
  const ids: number[] = []
  const add = async (fields: object): Promise<number> => {
    const [stored] = await save('/pool', [{ pool: fields }])
    ids.push(stored.pool._id)
    return stored.pool._id
  }
  const events = await logged(async () => {
    const id = await add(pool)
    await save('/pool', [{ pool: { ...pool, _id: id, _version: 1, description: { 'en-US': 'd' } } }])
    const child = await add({ _id_parent: id })
    const other = await add({ _id_parent: 1 })
    await save('/pool', [{ pool: { _id: child, _version: 1, _id_parent: other } }])
    await save('/pool', [{ pool: { _id: child, _version: 2, _id_parent: id } }])
    await remove(`/pool/${id}`)
  })
  const [id = 0, child = 0, other = 0] = ids
  assert.deepEqual(
    new Set(events.map(({ type, event }) => `${type} ${event.object_id}`)),
    new Set([
      `POOL_INSERT ${id}`,
      'POOL_UPDATE 1',
      `POOL_UPDATE ${id}`,
      `POOL_INSERT ${child}`,
      `POOL_INSERT ${other}`,
      `POOL_UPDATE ${child}`,
      `POOL_UPDATE ${other}`,
      `POOL_DELETE ${id}`,
      `POOL_DELETE ${child}`,
    ]),
  )
  const after = (type: string, of: number) => {
    const at = events.findLastIndex(({ type: each, event }) => each === type && event.object_id === of)
    return events.slice(at + 1).map(({ type: each, event }) => `${each} ${event.object_id}`)
  }
  assert.deepEqual(after('POOL_INSERT', child)[0], `POOL_UPDATE ${id}`, 'the parent of a new pool')
  assert.deepEqual(after('POOL_DELETE', child), ['POOL_UPDATE 1'], 'the parent of a deleted one')
  for (const each of events.filter(({ event }) => event.object_id === id)) {
    assertTold([each], 'displayname shortname reference')
    assert.deepEqual(each.event.info, info)
  }
  for (const { type, user, polled } of events) assert.deepEqual([user, polled], [1, true], type)
  const left = new Set((await root.get('/pool')).body.map(({ pool: each }: Json) => each._id))
  assert.deepEqual([left.has(id), left.has(child), left.has(other)], [false, false, true], 'the child went with it')
  const renamed = await logged(() => save('/pool', [{ pool: { _id: other, _version: 1, name: { 'en-US': 'Other' } } }]))
  assert.deepEqual(
    renamed.map(({ type, event }) => [type, event.object_id]),
    [
      ['POOL_UPDATE', other],
      ['POOL_UPDATE', 1],
    ],
    'the parent of one that is called otherwise',
  )
})

test('EVENT-037 changes of collections', async () => {
  const info = { displayname: { 'en-US': 'Spring' }, shortname: 'sp', reference: 'c:1' }
  const events = await logged(async () => {
    const { collection } = await save('/collection', { collection: info })
    await save('/collection', { collection: { _id: collection._id, _version: 1, type: 'search' } })
    await save(`/collection/push/${collection._id}`, { objects: [{ _global_object_id: '1@elsewhere' }] })
    await remove(`/collection/${collection._id}`)
  })
  assert.deepEqual(typesOf(events), [
    'COLLECTION_INSERT',
    'COLLECTION_UPDATE',
    'COLLECTION_UPDATE',
    'COLLECTION_DELETE',
  ])
  assertTold(events, 'displayname shortname reference')
  for (const { event } of events) assert.deepEqual(event.info, info)
  for (const { type, user, polled } of events) assert.deepEqual([user, polled], [1, true], type)
})

test('EVENT-034 changes of tags', async () => {
  const info = { displayname: { 'en-US': 'Public' }, shortname: 'pub', reference: 'public' }
  const events = await logged(async () => {
    const [group] = await save('/tags', [{ taggroup: {}, _tags: [info] }])
    const [tag] = group._tags
    const [changed] = await save('/tags', [{ ...group, _tags: [{ ...tag, sticky: true }] }])
    await save('/tags', [{ ...changed, _tags: [] }])
  })
  const tags = events.filter(({ event }) => event.basetype === 'tag')
  assert.deepEqual(typesOf(tags), ['TAG_INSERT', 'TAG_UPDATE', 'TAG_DELETE'])
  assertTold(tags, 'displayname shortname reference')
  for (const { event } of tags) assert.deepEqual(event.info, info)
})

test('EVENT-044 changes of the workflow', async () => {
  const events = await logged(async () => {
    const [transition] = await save('/transitions', [
      { type: 'process', operations: ['INSERT', 'DELETE'], comment: 'first' },
    ])
    await save('/transitions', [{ ...transition, operations: ['UPDATE'], comment: 'second' }])
    await save('/transitions', [])
  })
  assert.deepEqual(typesOf(events), ['TRANSITION_INSERT', 'TRANSITION_UPDATE', 'TRANSITION_DELETE'])
  assertTold(events, 'type operation_insert operation_update operation_delete comment')
  const first = { operation_insert: true, operation_update: false, operation_delete: true, comment: 'first' }
  const second = { operation_insert: false, operation_update: true, operation_delete: false, comment: 'second' }
  assert.deepEqual(
    events.map(({ event }) => event.info),
    [
      { type: 'process', ...first },
      { type: 'process', ...second },
      { type: 'process', ...second },
    ],
  )
})

test('EVENT-048 EVENT-049 calls of webhooks, with the answer as JSON or as it came', async () => {
  const hook = { name: 'hook', url: `${receiver.url}/in`, method: 'POST', secret: '', timeout: 5 }
  await save('/config', { system: { config: { transition_webhook: { webhooks: [hook] } } } })
  await save('/transitions', [
    { type: 'process', operations: ['INSERT'], actions: [{ type: 'webhook', info: { name: 'hook' } }] },
  ])
  const answers = [
    { body: '{"taken":1}' },
    { body: 'thank you' },
    { status: 422, body: '{"why":"not today"}' },
    { status: 422, body: 'go away' },
  ]
  const calls: Logged[] = []
  for (const answer of answers) {
    receiver.answer = () => answer
    const events = await logged(async () => {
      await save('/db/person', [payload('person', { name: 'Called' })])
      await museum.svc.app.idle({ hurry: true })
    })
    calls.push(...events.filter(({ type }) => type.startsWith('WEBHOOK')))
  }
  assert.deepEqual(typesOf(calls), ['WEBHOOK', 'WEBHOOK', 'WEBHOOK_ERROR', 'WEBHOOK_ERROR'])
  assertUntold(calls)
  const webhook = { name: 'hook', url: `${receiver.url}/in`, method: 'POST' }
  const [json, text, refused, refusedText] = calls.map(({ event }) => event.info)
  assert.deepEqual(json, { webhook, response: { taken: 1 } })
  assert.deepEqual(text, { webhook, response_no_json: 'thank you' })
  assert.deepEqual({ ...refused, error: '' }, { webhook, response: { why: 'not today' }, error: '' })
  assert.deepEqual({ ...refusedText, error: '' }, { webhook, response_no_json: 'go away', error: '' })
  for (const { error } of [refused, refusedText]) assert.match(error, /422/)
  await assertEventFlags(museum.svc, ['WEBHOOK', 'WEBHOOK_ERROR'], { userLogged: false, pollable: false })
})

test('EVENT-007 changes of users, groups, pools, tags, messages, collections, workflows and mappings are all events', async () => {
  const name = { 'en-US': 'All' }
  const mapping = { profile: 'file-metadata.yml', idTable: 'work', displayname: name, fields: [] }
  const events = await logged(async () => {
    await save('/user', [{ user: { login: 'all' } }])
    await save('/group', [{ group: { name: 'every change' } }])
    await save('/pool', [{ pool: { _id_parent: 1, name } }])
    await save('/tags', [{ taggroup: {}, _tags: [{ displayname: name }] }])
    await save('/message', [{ message: { title: name, message: name } }])
    await save('/collection', { collection: { displayname: name } })
    await save('/transitions', [{ type: 'process', operations: ['INSERT'], comment: 'all' }])
    const { fields: _, ...rest } = mapping
    const { tables } = (await root.get('/schema/user/CURRENT')).body
    const idTable = tables.find((table: Json) => table.name === 'work').table_id
    const made = await root.put('/xmlmapping/mapping', {
      ...rest,
      idTable,
      fields: [{ name: 'title', native: [{ field: 'work.title' }] }],
    })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    await save('/transitions', [])
  })
  const types = new Set(typesOf(events))
  for (const part of ['USER', 'GROUP', 'POOL', 'TAG', 'MESSAGE', 'COLLECTION', 'TRANSITION', 'MAPPING'])
    assert.ok(types.has(`${part}_INSERT`), part)
})

test('EVENT-008 files uploaded into collections, mails and webhooks are all events', async () => {
  await using server = await startMailServer()
  await save('/config/system/config/email/from', 'museum@example.org')
  await save('/config/system/config/email_server', { server_addr: server.address, type: 'off' })
  const hook = { name: 'all', url: `${receiver.url}/in`, method: 'POST', secret: '', timeout: 5 }
  await save('/config', { system: { config: { transition_webhook: { webhooks: [hook] } } } })
  await save('/transitions', [
    { type: 'process', operations: ['INSERT'], actions: [{ type: 'webhook', info: { name: 'all' } }] },
  ])
  receiver.answer = () => ({ body: '{}' })
  const create_object = { objecttype: 'work', pool_id: museum.pool, eas_field: 'work.image' }
  const { collection } = await save('/collection', { collection: { create_object } })
  const events = await logged(async () => {
    const sent = [{ name: 'a.png', content: await picture() }]
    const uploaded = await upload(museum.svc, 'root', sent, { collection: collection._id })
    assert.equal(uploaded.status, 200, JSON.stringify(uploaded.body))
    await save('/system/sendmail', { to: ['ada@example.org'], subject: 'Hello', text: 'Text' })
    await museum.svc.app.idle({ hurry: true })
  })
  await save('/transitions', [])
  const types = new Set(typesOf(events))
  for (const type of ['COLLECTION_UPLOAD', 'EMAIL_SENT', 'WEBHOOK']) assert.ok(types.has(type), type)
})

test('EVENT-028 events of objects say their short text, those of exports their state', async () => {
  const objects = await logged(async () => {
    const [{ person }] = await save('/db/person', [payload('person', { name: 'Eve' })])
    await save('/db/person', [payload('person', { _id: person._id, _version: 1, name: 'Eve' })])
    await remove('/db/person', [[person._id, 2, null]], { delete_policy: 'setnull' })
    await remove('/db/person', [[person._id, 3, null]], { delete_policy: 'undelete' })
    await remove('/db/person', [[person._id, 4, null]], { delete_policy: 'setnull' })
    await remove('/db/person', [[person._id, 5, null]], { delete_policy: 'purge' })
  })
  const types = ['OBJECT_INSERT', 'OBJECT_UPDATE', 'OBJECT_DELETE', 'OBJECT_UNDELETE', 'OBJECT_DELETE', 'OBJECT_PURGE']
  assert.deepEqual(typesOf(objects), types)
  assertTold(objects, 'standard')
  for (const { event } of objects) assert.match(JSON.stringify(event.info.standard), /Eve/)
  let id = 0
  const exports = await logged(async () => {
    const made = await save('/export', {
      _basetype: 'export',
      export: { type: 'export', name: 'told', search: { objecttypes: ['person'] }, json: true },
    })
    id = made.export._id
    await save(`/export/${id}/start`, undefined)
    await museum.svc.app.idle({ hurry: true })
    await remove(`/export/${id}`)
  })
  const told = exports.filter(({ type }) => type.startsWith('OBJECT_'))
  assert.ok(told.every(({ event }) => event.basetype === 'export' && event.object_id === id))
  assert.deepEqual([told[0]?.type, told.at(-1)?.type], ['OBJECT_INSERT', 'OBJECT_DELETE'])
  assertTold(told, 'state')
  assert.deepEqual(
    told.map(({ event }) => event.info.state),
    ['new', 'pending', 'processing', 'done', 'done'],
  )
})

test('EVENT-001 what is done is logged in these ten groups and in no other', async () => {
  const groups = 'ADMIN DOWNLOAD EXPORT FRONTEND INDEX LOGIN_LOGOUT PLUGIN SYSTEM TASK UPLOAD'.split(' ')
  const choose = (user_in_event_group: string[]) => root.post('/config/system/config/user', { user_in_event_group })
  for (const group of groups) assert.equal((await choose([group])).status, 200, group)
  for (const other of ['USER', 'OBJECT', 'MAIL', 'admin', '']) assert.equal((await choose([other])).status, 400, other)
  assert.equal((await choose(groups)).status, 200)
  const plugin = {
    'manifest.yml': JSON.stringify({ plugin: { name: 'noted' }, custom_events: { NOTED: { user: true } } }),
  }
  const installed = await install(museum.svc, 'noted', plugin)
  const events = await logged(async () => {
    await save('/config/system/config/name/title', 'Logged')
    const uploaded = await upload(museum.svc, 'root', [{ name: 'a.png', content: await picture() }])
    const [{ _id, hash }] = uploaded.body
    const token = await root.token()
    const download = `/api/v1/eas/download/${_id}/${hash}/original`
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await museum.svc.inject({ method: 'GET', url: download, headers })).statusCode, 200)
    const made = await save('/export', {
      _basetype: 'export',
      export: { type: 'export', name: 'groups', search: { objecttypes: ['person'] }, json: true },
    })
    await save(`/export/${made.export._id}/start`, undefined)
    await save('/event', { event: { type: 'FRONTEND_ERROR', info: {} } })
    await save('/event', { event: { type: 'NOTED', info: {} } })
    await save('/task', { task: { task_module: 'search', task_params: { search: {} } } })
    await save('/user', [{ user: { login: 'grouped', _password: 'grouped' } }])
    assert.equal((await root.post('/system/reindex')).status, 200)
    const { username, password } = { username: 'grouped', password: 'wrong' }
    await requestToken(museum.svc, { grant_type: 'password', client_id: 'svc-web-frontend', username, password })
    await museum.svc.app.idle({ hurry: true })
  })
  await switched(museum.svc, installed.id, false)
  const types = new Set(typesOf(events))
  const first: Readonly<Record<string, string>> = {
    ADMIN: 'BASE_CONFIG_UPDATE',
    DOWNLOAD: 'FILE_DOWNLOAD',
    EXPORT: 'EXPORT_START',
    FRONTEND: 'FRONTEND_ERROR',
    INDEX: 'REINDEX_QUEUED',
    LOGIN_LOGOUT: 'USER_LOGIN_FAILED',
    PLUGIN: 'NOTED',
    SYSTEM: 'USER_INSERT',
    TASK: 'TASK_INSERT',
    UPLOAD: 'FILE_UPLOAD',
  }
  for (const [group, type] of Object.entries(first)) assert.ok(types.has(type), `${group}: ${[...types].join(' ')}`)
})

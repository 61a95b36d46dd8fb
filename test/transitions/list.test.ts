import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedPeople } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
let root: Client
let tag: number
before(async () => {
  museum = await startMuseum()
  root = museum.svc.as('root')
  const { body } = await root.post('tags', [{ taggroup: {}, _tags: [{ reference: 'ready' }] }])
  tag = body[0]._tags[0]._id
})
after(() => museum[Symbol.asyncDispose]())

async function save(list: object[]): Promise<Json[]> {
  const answer = await root.post('transitions', list)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function logged(): Promise<[string, number, Json][]> {
  const { rows } = await museum.svc.db.query<{ type: string; id: number; info: Json }>(
    `select type, object_id as id, info from event where type like 'TRANSITION_%' order by event.id`,
  )
  return rows.map(({ type, id, info }) => [type, id, info])
}

test('a list is stored in order, completed with defaults, and read back as it was answered', async () => {
  const { ids } = await seedPeople(museum.svc)
  const who = [{ _basetype: 'user', user: { 'lookup:_id': { reference: 'editor' } } }]
  const [full, plain] = await save([
    {
      type: 'exit_resolve',
      operations: ['INSERT', 'UPDATE'],
      comment: 'internal',
      confirm: { 'en-US': 'Publish now?' },
      sticky: true,
      who,
      who_not: true,
      objecttype_ids: [1],
      'tagfilter:before': { not: [tag] },
      'tagfilter:after': { all: [tag], changed: [tag], any: [] },
      actions: [
        { type: 'set_tags', info: { tags: [{ _id: tag, set: false }] } },
        { type: 'change_owner', info: { owner: { _basetype: 'group', group: { _id: ids.staff } } } },
        { type: 'email', info: { subject: { 'en-US': 'Hi' }, recipients: [{ _owner: true }, ...who] } },
      ],
    },
    { type: 'process' },
  ])
  assert.deepEqual((await root.get('transitions')).body, [full, plain])
  const editor = {
    _basetype: 'user',
    user: { _id: ids.editor, 'lookup:_id': { reference: 'editor' }, _generated_displayname: 'editor' },
  }
  assert.deepEqual(full.who, [editor])
  assert.deepEqual(full['tagfilter:after'], { all: [tag], changed: [tag] })
  assert.equal(full.actions[1].info.owner.group._id, ids.staff)
  assert.deepEqual(full.actions[2].info.recipients, [{ _owner: true }, editor])
  assert.deepEqual(plain, {
    _id: full._id + 1,
    _version: 1,
    _set_by: {
      _basetype: 'user',
      user: { _id: 1, 'lookup:_id': { reference: 'system:root' }, _generated_displayname: 'Root' },
    },
    type: 'process',
    trigger: 'automatic',
    operations: [],
    displayname: {},
    comment: '',
    confirm: {},
    sticky: false,
    who: [],
    who_not: false,
    objecttype_ids: [],
    actions: [],
  })
})

test('TRANSITION_* events tell type, operations and comment; what is unchanged is not logged', async () => {
  await save([])
  const from = (await logged()).length
  const [one, two] = await save([
    { type: 'reject', operations: ['DELETE'], comment: 'no deletion' },
    { type: 'process', operations: ['INSERT', 'UPDATE'] },
  ])
  const info = (type: string, operations: string, comment: string) => ({
    type,
    operation_insert: operations.includes('I'),
    operation_update: operations.includes('U'),
    operation_delete: operations.includes('D'),
    comment,
  })
  assert.deepEqual((await logged()).slice(from), [
    ['TRANSITION_INSERT', one._id, info('reject', 'D', 'no deletion')],
    ['TRANSITION_INSERT', two._id, info('process', 'IU', '')],
  ])
  const [swapped] = await save([{ ...two, comment: 'second first' }])
  assert.deepEqual([swapped._id, swapped._version], [two._id, 2])
  assert.deepEqual((await logged()).slice(from + 2), [
    ['TRANSITION_UPDATE', two._id, info('process', 'IU', 'second first')],
    ['TRANSITION_DELETE', one._id, info('reject', 'D', 'no deletion')],
  ])
  await save([swapped])
  assert.equal((await logged()).length, from + 4)
})

test('wrong lists are refused by the place of the mistake and change nothing', async () => {
  const stored = await save([{ type: 'process', comment: 'kept' }])
  const action = (type: string, info: object = {}) => ({ type: 'process', actions: [{ type, info }] })
  const table: [string, unknown, string][] = [
    ['type', { type: 'approve' }, 'ServerGeneric'],
    ['operation', { type: 'process', operations: ['insert'] }, 'ServerGeneric'],
    ['unknown id', { type: 'process', _id: 99_999 }, 'ServerGeneric'],
    ['stale version', { ...stored[0], _version: 5 }, 'VersionMismatch'],
    ['unknown tag', { type: 'process', 'tagfilter:after': { all: [99_999] } }, 'TagNotFound'],
    ['tag twice', { type: 'process', 'tagfilter:before': { all: [tag], not: [tag] } }, 'ServerGeneric'],
    ['who is nobody', { type: 'process', who: [{ _basetype: 'pool' }] }, 'ServerGeneric'],
    ['who is unknown', { type: 'process', who: [{ _basetype: 'user', user: { _id: 99_999 } }] }, 'LookupNotFound'],
    ['wrong key', { type: 'process', who: [{ _basetype: 'user', group: { _id: 1 } }] }, 'ServerGeneric'],
    ['object type', { type: 'process', objecttype_ids: [99_999] }, 'ServerGeneric'],
    ['action', action('fly'), 'ServerGeneric'],
    ['plugin action', action('example:set_comment'), 'ServerGeneric'],
    ['set_tags without tags', action('set_tags'), 'ServerGeneric'],
    ['set_tags of an unknown tag', action('set_tags', { tags: [{ _id: 99_999, set: true }] }), 'TagNotFound'],
    [
      'set_tags twice',
      action('set_tags', {
        tags: [
          { _id: tag, set: true },
          { _id: tag, set: false },
        ],
      }),
      'ServerGeneric',
    ],
    ['no owner', action('change_owner'), 'ChangeOwnerNotSelected'],
    ['owner of the object as owner', action('change_owner', { owner: { _owner: true } }), 'ServerGeneric'],
    ['mail to nobody', action('email', { recipients: [] }), 'ServerGeneric'],
    ['no webhook', action('webhook'), 'WebhookNotSelected'],
    ['unknown webhook', action('webhook', { name: 'nowhere' }), 'WebhookUnknown'],
    ['manual rejection', { type: 'reject', trigger: 'manual' }, 'ServerGeneric'],
    ['event without types', { type: 'process', trigger: 'event' }, 'ServerGeneric'],
    ['unknown event type', { type: 'process', trigger: 'event', event_types: ['NOPE'] }, 'EventTypeNotAllowed'],
    ['types without event', { type: 'process', event_types: ['OBJECT_INSERT'] }, 'ServerGeneric'],
    [
      'changed of an event',
      { type: 'process', trigger: 'event', event_types: ['OBJECT_INSERT'], 'tagfilter:after': { changed: [tag] } },
      'ServerGeneric',
    ],
    ['NUL', { type: 'process', comment: 'a\0b' }, 'ServerGeneric'],
    ['no object', 7, 'ServerGeneric'],
    ['actions that are text', { type: 'process', actions: 'all' }, 'ServerGeneric'],
  ]
  for (const [what, entry, code] of table) {
    const answer = await root.post('transitions', [entry])
    assert.deepEqual([what, answer.status, answer.body.code], [what, 400, code], JSON.stringify(answer.body))
  }
  const twice = await root.post('transitions', [stored[0], stored[0]])
  assert.equal(twice.body.code, 'ServerGeneric')
  assert.deepEqual((await root.get('transitions')).body, stored)
})

test('reading and saving need system.tagmanager', async () => {
  assert.equal((await museum.svc.as(null).get('transitions')).body.code, 'UserRequired')
  const reader = museum.svc.as('reader')
  for (const answer of [await reader.get('transitions'), await reader.post('transitions', [])]) {
    assert.deepEqual([answer.status, answer.body.code], [403, 'SystemRightRequired'])
  }
})

test('a tag that a transition names cannot be deleted', async () => {
  const { body: before } = await root.get('tags')
  await save([{ type: 'process', actions: [{ type: 'set_tags', info: { tags: [{ _id: tag, set: true }] } }] }])
  const refused = await root.post('tags', [])
  assert.deepEqual([refused.status, refused.body.code], [400, 'TagsInUse'])
  assert.deepEqual(refused.body.parameters.tags, [{ _id: tag, context: 'transition', count: 1 }])
  assert.deepEqual((await root.get('tags')).body, before)
  await save([])
})

test('a tag on objects is deleted after a confirmation, and taken off them', async () => {
  const { body: document } = await root.post('tags', [
    ...(await root.get('tags')).body,
    { taggroup: { reference: 'passing' }, _tags: [{ reference: 'short-lived' }] },
  ])
  const id = document.at(-1)._tags[0]._id
  const work = { _pool: { pool: { _id: museum.pool } }, title: { 'en-US': 'Tagged' } }
  const saved = await root.post('db/work', [{ _objecttype: 'work', _mask: '_all_fields', _tags: [{ _id: id }], work }])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const rest = document.slice(0, -1)
  const asked = await root.post('tags', rest)
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const [button] = asked.body.tasks[0].buttons
  assert.deepEqual([button.name, button.value], ['delete_policy', 'remove_tags'])
  assert.equal((await root.get('tags')).body.length, document.length, 'nothing was written')
  const done = await root.post('tags', rest, { [button.name]: button.value })
  assert.equal(done.status, 200, JSON.stringify(done.body))
  const { body } = await root.get(`db/work/_all_fields/${saved.body[0].work._id}`)
  assert.deepEqual(body[0]._tags ?? [], [])
})

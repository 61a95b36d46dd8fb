import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Answer, Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { wireGrant } from './people.ts'

/**
 * Every place of a request that names a user, a group or a pool: the name of one that the caller may not see is answered
 * like a name that nothing has, to the letter but for the name. Objects are in test/objects/hidden.test.ts.
 */
let museum: Museum
let root: Client
/** Manages pools, object types and transitions, and sees no other user and no group. */
let keeper: Client
/** Manages groups, and sees no other user. */
let grouper: Client
/** Of the keeper. */
let pool: number
let work: Json
let type: Json
/** Of the grouper. */
let group: Json

/** Ids by which nothing else is called, so that they can be told apart from all other numbers of an answer. */
const first = 700_001
const hidden = { user: first, group: first + 1000, pool: first + 2000 }
const nothing = { user: 800_001, group: 801_001, pool: 802_001 }

before(async () => {
  museum = await startMuseum()
  root = museum.svc.as('root')
  const weak = { confirm: 'ignore_password_requirements' }
  const manage = Object.fromEntries(
    ['poolmanager', 'objecttypemanager', 'tagmanager'].map((name) => [`system.${name}`, {}]),
  )
  const [{ user }] = await ok(
    root.post('user', [{ user: { login: 'keeper' }, _password: 'keeper', _system_rights: manage }], weak),
  )
  await ok(
    root.post(
      'user',
      [{ user: { login: 'grouper' }, _password: 'grouper', _system_rights: { 'system.group': {} } }],
      weak,
    ),
  )
  keeper = museum.svc.as('keeper')
  grouper = museum.svc.as('grouper')
  const all = 'bag_read bag_write bag_create bag_acl bag_delete read write create delete acl change_owner mask'
  const to = { _basetype: 'user', user: { _id: user._id } }
  pool = (await ok(root.post('pool', [{ pool: { _id_parent: 1 }, _acl: [wireGrant(to, all)] }])))[0].pool._id
  ;[work] = await ok(keeper.post('db/work', [payload('work', inPool(pool), { _mask: 'work__standard' })]))
  const types = await ok(keeper.get('objecttype'))
  type = types.find((each: Json) => each.objecttype.name === 'person').objecttype
  group = (await ok(grouper.post('group', [{ group: { name: 'own' } }])))[0].group
  await museum.svc.db.query(
    `select setval(pg_get_serial_sequence('"user"', 'id'), ${hidden.user}, false),
       setval(pg_get_serial_sequence('"group"', 'id'), ${hidden.group}, false),
       setval(pg_get_serial_sequence('pool', 'id'), ${hidden.pool}, false)`,
  )
  const ghost = { login: 'ghost', reference: 'ghost' }
  const made = [
    (await ok(root.post('user', [{ user: ghost, _password: 'ghost' }], weak)))[0].user._id,
    (await ok(root.post('group', [{ group: { name: 'ghosts', reference: 'ghost' } }])))[0].group._id,
    (await ok(root.post('pool', [{ pool: { _id_parent: 1, reference: 'ghost' } }])))[0].pool._id,
  ]
  assert.deepEqual(made, Object.values(hidden))
})
after(() => museum[Symbol.asyncDispose]())

async function ok(answer: Promise<Answer>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

type Kind = keyof typeof hidden

/** Both names of each way to name it. */
const ways = (kind: Kind): [string, object, object][] => [
  ['_id', { _id: hidden[kind] }, { _id: nothing[kind] }],
  ['lookup:_id', { 'lookup:_id': { reference: 'ghost' } }, { 'lookup:_id': { reference: 'nobody' } }],
]

function told({ status, body }: Answer, kind: Kind): string {
  const { request_id: _, ...rest } = body
  const names = new RegExp(`${hidden[kind]}|${nothing[kind]}|\\bghost\\b|\\bnobody\\b`, 'g')
  return JSON.stringify([status, Array.isArray(body) ? body : rest]).replace(names, 'NAME')
}

async function same(what: string, kind: Kind, answers: readonly Answer[], refused = true): Promise<void> {
  const [given, absent] = answers as [Answer, Answer]
  assert.equal(told(given, kind), told(absent, kind), what)
  if (refused) assert.ok(given.status >= 400 && given.status < 500, `${what}: ${JSON.stringify(given.body)}`)
}

/** Fields that name a person: `who` has both spellings of a user or group. */
const personFields: Record<string, (who: object) => Promise<Answer>> = {
  'owner of a new pool': (who) => keeper.post('pool', [{ pool: { _id_parent: pool }, _owner: who }]),
  'owner of a pool': (who) => keeper.post('pool', [{ pool: { _id: pool, _version: 1 }, _owner: who }]),
  'contact of a pool': (who) => keeper.post('pool', [{ pool: { _id: pool, _version: 1, contact: who } }]),
  'grant on a new pool': (who) =>
    keeper.post('pool', [{ pool: { _id_parent: pool }, _acl: [wireGrant(who, 'bag_read')] }]),
  'grant on a pool': (who) =>
    keeper.post('pool', [{ pool: { _id: pool, _version: 1 }, _acl: [wireGrant(who, 'bag_read')] }]),
  'transition of a pool': (who) =>
    keeper.post('pool', [{ pool: { _id: pool, _version: 1 }, _transitions: [transition(who)] }]),
  'grant on an object type': (who) =>
    keeper.post('objecttype', [
      { objecttype: { _id: type._id, _version: type._version + 1 }, _acl: [wireGrant(who, 'read')] },
    ]),
  'contact of an object type': (who) =>
    keeper.post('objecttype', [{ objecttype: { _id: type._id, _version: type._version + 1, contact: who } }]),
  'transition of an object type': (who) =>
    keeper.post('objecttype', [
      { objecttype: { _id: type._id, _version: type._version + 1 }, _transitions: [transition(who)] },
    ]),
  'owner of a new object': (who) => save({}, { _owner: who }),
  'owner of an object': (who) => save(stored(), { _owner: who }),
  'grant on a new object': (who) => save({}, { _acl: [wireGrant(who, 'read')] }),
  'grant on an object': (who) => save(stored(), { _acl: [wireGrant(who, 'read')] }),
}
const stored = () => ({ _id: work.work._id, _version: work.work._version })
const save = (block: object, more: object) =>
  keeper.post('db/work', [payload('work', { ...inPool(pool), ...block }, { _mask: 'work__standard', ...more })])
const transition = (who: object) => ({
  type: 'process',
  trigger: 'manual',
  who: [who],
  actions: [],
})

for (const kind of ['user', 'group'] as const) {
  for (const [field, send] of Object.entries(personFields)) {
    test(`${field}: a ${kind} that may not be read is answered like none`, async () => {
      for (const [way, given, absent] of ways(kind)) {
        const who = (name: object) => ({ _basetype: kind, [kind]: name })
        const answers = [await send(who(given)), await send(who(absent))]
        await same(way, kind, answers)
        // Refused for the name, not for something else.
        assert.equal(answers[0]?.body.code, 'LookupNotFound', JSON.stringify(answers[0]?.body))
      }
    })
  }
}

test('owner of a group, grant on a group: a user that may not be read is answered like none', async () => {
  for (const [way, given, absent] of ways('user')) {
    for (const more of [
      (user: object) => ({ group: { name: 'new' }, _owner: { user } }),
      (user: object) => ({ group: { name: 'new' }, _acl: [wireGrant({ user }, 'bag_read')] }),
      (user: object) => ({
        group: { _id: group._id, _version: group._version },
        _acl: [wireGrant({ user }, 'bag_read')],
      }),
    ]) {
      await same(way, 'user', [await grouper.post('group', [more(given)]), await grouper.post('group', [more(absent)])])
    }
  }
})

test('others than root create objects in their own name, whoever they name', async () => {
  for (const [way, given, absent] of ways('user')) {
    const create = (user: object) => save({}, { _create_user: { _basetype: 'user', user } })
    await same(way, 'user', [await create(given), await create(absent)])
  }
})

test('records by their names: saved, read, deleted, listed by', async () => {
  for (const kind of ['user', 'group', 'pool'] as const) {
    for (const [way, given, absent] of ways(kind)) {
      for (const _version of [1, 2, 7]) {
        const post = (name: object) => keeper.post(kind, [{ [kind]: { ...name, _version } }])
        await same(`${kind} by ${way}`, kind, [await post(given), await post(absent)])
      }
    }
    for (const method of ['get', 'delete'] as const) {
      const send = (id: number) => keeper[method](`${kind}/${id}`)
      await same(`${method} ${kind}`, kind, [await send(hidden[kind]), await send(nothing[kind])])
    }
  }
  const listed = (id: number) => keeper.get('user', { group_ids: id })
  await same('users of a group', 'group', [await listed(hidden.group), await listed(nothing.group)], false)
})

test('parents of pools by their names', async () => {
  for (const [given, absent] of [
    [{ _id_parent: hidden.pool }, { _id_parent: nothing.pool }],
    [{ 'lookup:_id_parent': { reference: 'ghost' } }, { 'lookup:_id_parent': { reference: 'nobody' } }],
  ]) {
    for (const block of [{}, { _id: pool, _version: 1 }]) {
      const send = (parent: object | undefined) => keeper.post('pool', [{ pool: { ...block, ...parent } }])
      await same('parent', 'pool', [await send(given), await send(absent)])
    }
  }
})

test('what a record shows can be sent back, whoever it names', async () => {
  const who = { _basetype: 'user', user: { _id: hidden.user } }
  const [{ pool: made }] = await ok(
    root.post('pool', [
      {
        pool: { _id_parent: pool, contact: who },
        _owner: who,
        _acl: [wireGrant(who, 'bag_read')],
      },
    ]),
  )
  const [shown] = await ok(keeper.get(`pool/${made._id}`))
  assert.equal(shown._acl[0].who.user._id, hidden.user)
  const [again] = await ok(keeper.post('pool', [shown]))
  assert.deepEqual(
    [again._acl[0].who.user._id, again._owner.user._id, again.pool.contact.user._id],
    [hidden.user, hidden.user, hidden.user],
  )
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { containerRights, objectRights } from '../../src/rights/catalogue.ts'
import { createPool } from '../pools/support.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { id, someObject, someSource } from './arbitraries.ts'
import { type People, seedPeople, seedTag, toGroup, toUser, wireGrant } from './people.ts'
import { rightsOf } from './support.ts'

let museum: Museum
let people: People
let tag: number

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  tag = await seedTag(people.root)
})
after(() => museum[Symbol.asyncDispose]())

const explain = async (query: Record<string, number | string>, client: Client = people.root): Promise<Json> => {
  const { status, body } = await client.get('/right/explain', query)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const right = (answer: Json, name: string): Json => answer.rights.find((one: Json) => one.name === name)

test('reasons are there exactly where the evaluation says yes, whatever the grants are', () => {
  fc.assert(
    fc.property(
      someSource,
      someObject,
      id(3),
      fc.uniqueArray(id(3), { maxLength: 2 }),
      (source, object, userId, groupIds) => {
        const rights = rightsOf(source, { userId, groupIds })
        for (const name of objectRights) assert.equal(rights.reasons(name, object).length > 0, rights.may(name, object))
        for (const { id: pool } of source.pools) {
          for (const name of containerRights) {
            assert.equal(rights.reasonsOnPool(name, pool).length > 0, rights.mayPool(name, pool))
          }
          assert.equal(rights.reasonsToCreate(1, pool, [1]).length > 0, rights.mayCreate(1, pool, [1]))
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('what gives a right is named: the grant, its group, where it stands, its preset and tag filter', async () => {
  const filter = { tagfilter: { any: [tag] } }
  const above = await createPool(
    people.root,
    {},
    { _acl: [wireGrant(toGroup(people.ids.staff), 'read write', filter)] },
  )
  const below = await createPool(people.root, { _id_parent: above._id })
  const preset = { right_preset: { preset: { rights: { link: {} } } } }
  const [{ right_preset }] = (await people.root.post('/right/object/presets', [preset])).body
  const _acl = [{ who: toUser(people.ids.reader), rights: {}, _right_preset: right_preset._id }]
  const entry = payload('work', {}, { ...inPool(below._id), _tags: [{ _id: tag }], _acl })
  const [{ _system_object_id }] = (await people.root.post('/db/work', [entry])).body
  const answer = await explain({ user: people.ids.reader, system_object_id: _system_object_id })
  assert.deepEqual([answer.user.user._id, answer.owner, answer.deleted], [people.ids.reader, false, false])
  assert.ok(answer.groups.some(({ group }: Json) => group._id === people.ids.staff))
  const read = right(answer, 'read')
  const [{ grant, on, reason }] = read.by
  assert.deepEqual([read.holds, read.by.length, read.needed, reason], [true, 1, [], 'grant'])
  assert.deepEqual([grant.who.group._id, grant.tagfilter.any], [people.ids.staff, [tag]])
  assert.deepEqual(on, { _basetype: 'pool', pool: { _id: above._id } })
  const [shared] = right(answer, 'link').by
  assert.deepEqual([shared._right_preset, shared.on], [right_preset._id, { system_object_id: _system_object_id }])
  const { holds, by, needed } = right(answer, 'delete')
  assert.deepEqual([holds, by], [false, []])
  assert.deepEqual(needed, [
    { on: { _basetype: 'pool', pool: { _id: below._id } }, because: ['no_grant'] },
    { on: { system_object_id: _system_object_id }, because: ['no_grant'] },
  ])
  const stranger = await explain({ user: people.ids.stranger, system_object_id: _system_object_id })
  assert.deepEqual(right(stranger, 'read').needed[0].because, ['principal'])
  assert.equal(right(stranger, 'read').needed[0].grant.who.group._id, people.ids.staff)
  const byRoot = await explain({ user: 1, system_object_id: _system_object_id })
  assert.deepEqual([...new Set(byRoot.rights.map((one: Json) => one.by[0].reason))], ['root'])
})

test('what stands in the way of a grant is named', async () => {
  const who = toUser(people.ids.reader)
  const type = (await people.root.get('/objecttype')).body.find(({ objecttype }: Json) => objecttype.name === 'loan')
  const grants = [
    wireGrant(who, 'read', { active: false }),
    wireGrant(who, 'write', { when: { to: '2020-01-01T00:00:00Z' } }),
    wireGrant(who, 'delete', { when: { from: '2100-01-01T00:00:00Z' } }),
    wireGrant(who, 'link', { tagfilter: { all: [tag] } }),
    { who, rights: { unlink: { objecttype_ids: [type.objecttype._id] } } },
    wireGrant({ _owner: true }, 'create'),
    wireGrant(toGroup(people.ids.staff), 'bag_read'),
  ]
  const pool = await createPool(people.root, {}, { _acl: grants })
  const [{ _system_object_id }] = (await people.root.post('/db/work', [payload('work', {}, inPool(pool._id))])).body
  const answer = await explain({ user: people.ids.reader, system_object_id: _system_object_id })
  const because = (name: string): string[] => right(answer, name).needed[0].because
  assert.deepEqual(['read', 'write', 'delete', 'link', 'unlink'].map(because), [
    ['inactive'],
    ['ended'],
    ['not_yet'],
    ['tags'],
    ['objecttype'],
  ])
  const { objecttype } = (await people.root.get('/objecttype')).body.find((one: Json) => one.objecttype.name === 'work')
  const ofPool = await explain({ user: people.ids.reader, pool: pool._id, objecttype: objecttype._id })
  const held = ofPool.rights.filter((one: Json) => one.holds).map((one: Json) => one.name)
  assert.deepEqual(held, ['bag_read', 'create'])
  assert.deepEqual(right(ofPool, 'create').by[0].grant.who, { _owner: true })
  const ofType = await explain({ user: people.ids.reader, objecttype: type.objecttype._id })
  assert.deepEqual(
    ofType.rights.map((one: Json) => [one.name, one.holds]),
    [['create', false]],
  )
  assert.deepEqual(right(ofType, 'create').needed, [
    { on: { _basetype: 'objecttype', objecttype: { _id: type.objecttype._id } }, because: ['no_grant'] },
  ])
})

test('groups count from where the request would come', async () => {
  const [{ group }] = (
    await people.root.post('/group', [{ group: { name: 'house' }, _ip_subnet_filter: ['192.0.2.0/24'] }])
  ).body
  const [{ user }] = (await people.root.get(`/user/${people.ids.stranger}`)).body
  const joined = await people.root.post('/user', [
    { user: { _id: user._id, _version: user._version }, _groups: [toGroup(group._id)] },
  ])
  assert.equal(joined.status, 200, JSON.stringify(joined.body))
  const pool = await createPool(people.root, {}, { _acl: [wireGrant(toGroup(group._id), 'bag_read')] })
  const from = async (address: string) =>
    right(await explain({ user: people.ids.stranger, pool: pool._id, address }), 'bag_read').holds
  assert.deepEqual([await from('192.0.2.7'), await from('198.51.100.7')], [true, false])
})

test('it is for root and who manages users, and tells nothing of what these may not see', async () => {
  const manager = {
    user: { login: 'manager' },
    _password: 'manager',
    _system_rights: { 'system.user': {} },
  }
  await people.root.post('/user', [manager], { confirm: 'ignore_password_requirements' })
  const client = museum.svc.as('manager')
  const pool = await createPool(people.root, {}, { _private_acl: true })
  const [{ _system_object_id }] = (await people.root.post('/db/work', [payload('work', {}, inPool(pool._id))])).body
  const code = async (by: Client, query: Record<string, number | string>) => {
    const { status, body } = await by.get('/right/explain', query)
    return `${status} ${body.code ?? ''}`
  }
  const user = people.ids.reader
  assert.equal(await code(people.stranger, { user, pool: 1 }), '403 SystemRightRequired')
  assert.equal(await code(client, { user, system_object_id: _system_object_id }), '404 ObjectNotFound')
  assert.equal(await code(client, { user, system_object_id: 999_999 }), '404 ObjectNotFound')
  assert.equal(await code(client, { user, pool: pool._id }), '400 PoolNotFound')
  assert.equal(await code(client, { user, pool: 999_999 }), '400 PoolNotFound')
  assert.equal(await code(people.root, { user: 999_999, pool: 1 }), '400 UserNotFound')
  assert.equal(await code(people.root, { user, objecttype: 999_999 }), '400 ObjecttypeNotFound')
  assert.equal(await code(people.root, { user }), '400 ServerGeneric')
  assert.equal(await code(people.root, { user, pool: 1, system_object_id: 1 }), '400 ServerGeneric')
  assert.equal(await code(people.root, { user, pool: 1, address: 'here' }), '400 ServerGeneric')
  const opened = await people.root.post('/pool', [
    { pool: { _id: pool._id, _version: 1 }, _acl: [wireGrant(toUser(user), 'read')] },
  ])
  assert.equal(opened.status, 200)
  const mine = (await client.get('/user/session')).body.user.user._id
  const shown = await people.root.post('/pool', [
    { pool: { _id: pool._id, _version: 2 }, _acl: [wireGrant(toUser(mine), 'read')] },
  ])
  assert.equal(shown.status, 200)
  assert.equal(right(await explain({ user: mine, system_object_id: _system_object_id }, client), 'read').holds, true)
})

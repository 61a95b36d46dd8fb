import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createGroups, createUsers, eventsOf } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { assertDocumented, assertNamed } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'

let svc: TestService
before(async () => {
  svc = await startService()
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')

async function code(answer: Promise<{ status: number; body: Json }>): Promise<[number, string]> {
  const { status, body } = await answer
  return [status, body.code]
}

test('REC-001 REC-009 a group has owner, grants, system rights, mappings, networks and more', async () => {
  const sent = {
    group: {
      name: 'editors',
      reference: 'staff:editors',
      displayname: { 'en-US': 'Editors', 'de-DE': 'Redaktion' },
      comment: 'they write',
      category_a: 'staff',
      frontend_prefs: { start: 'search' },
    },
    _acl: [{ who: { group: { 'lookup:_id': { reference: ':all' } } }, rights: { bag_read: {} } }],
    _system_rights: { 'system.datamodel': { level: ['development'] } },
    _pseudonymization: {},
    _auth_method_group_maps: { ldap: [{ method: 'eq', value: 'cn=editors' }] },
    _ip_subnet_filter: ['10.0.0.0/8'],
    _ip_subnet_filter_exclude: true,
    _two_fa_required: true,
  }
  const inBlock = Object.keys(sent.group).filter((name) => name !== 'name')
  assertNamed('administration.md', [...inBlock.map((name) => `group.${name}`), '_ip_subnet_filter_exclude'])
  assertNamed('administration.md', ['_pseudonymization', '_two_fa_required'])
  const [created] = await createGroups(svc, sent)
  const {
    _acl: acl,
    _owner: owner,
    _created_at: at,
    _updated_at: updated,
    _generated_rights: may,
    group,
    ...rest
  } = created
  const { group: sentGroup, _acl: sentAcl, ...sentRest } = sent
  assert.ok(sentAcl)
  assert.deepEqual(group, {
    ...sentGroup,
    _id: group._id,
    _version: 1,
    type: 'native',
    _generated_displayname: 'Editors',
  })
  assert.deepEqual(rest, { ...sentRest, _basetype: 'group' })
  assert.deepEqual(may, { bag_read: {}, bag_write: {}, acl: {}, delete: {}, link: {} })
  assert.deepEqual([acl.length, acl[0].who.group._id, acl[0].rights], [1, 1, { bag_read: {} }])
  assert.equal(owner.user['lookup:_id'].reference, 'system:root')
  assert.ok(at && updated)
  assert.deepEqual((await root().get(`/group/${group._id}`)).body, [created])
})

test('settings of a group that would have no effect are refused by name, and their empty forms are not', async () => {
  const send = (rest: object) => root().post('/group', [{ group: { name: 'refused' }, ...rest }])
  for (const [name, value] of [
    ['_auth_method_group_maps', { system: [{ method: 'eq', value: 'cn=editors' }] }],
  ] as const) {
    const answer = await send({ [name]: value })
    const named = `[0].${name}.system`
    assert.deepEqual([answer.status, answer.body.parameters.name], [400, named], JSON.stringify(answer.body))
  }
  for (const [rule, member] of [
    [{ method: 'like', value: 'x' }, 'method'],
    [{ method: 'eq', value: '' }, 'value'],
    [{ method: 'regexp', value: '(' }, 'value'],
  ] as const) {
    const answer = await send({ _auth_method_group_maps: { sso: [rule] } })
    const place = `[0]._auth_method_group_maps.sso[0].${member}`
    assert.deepEqual([answer.status, answer.body.parameters.path], [400, place], JSON.stringify(answer.body))
  }
  const empty = { _two_fa_required: false, _pseudonymization: { user: {} }, _auth_method_group_maps: null }
  assert.equal((await send(empty)).status, 200)
})

test('REC-002 groups are stored in a table named group', async () => {
  const { rows } = await svc.db.query<{ names: string[] }>(`select array_agg(name order by id) as names from "group"`)
  assert.ok(rows[0]?.names.includes('all'))
})

test('an update carries the stored version and keeps what it does not say', async () => {
  const [stored] = await createGroups(svc, { group: { name: 'kept', comment: 'c' }, _ip_subnet_filter_exclude: true })
  const body = (version: number | null, group: Json = {}) => [
    { group: { _id: stored.group._id, _version: version, ...group } },
  ]
  const mismatch = await root().post('/group', body(2))
  assert.deepEqual(
    [mismatch.body.code, mismatch.body.parameters.got, mismatch.body.parameters.expected],
    ['VersionMismatch', 2, 1],
  )
  const changed = (await root().put('/group', body(1, { displayname: { 'en-US': 'Kept' } }))).body[0]
  assert.deepEqual([changed.group._version, changed.group.comment, changed._ip_subnet_filter_exclude], [2, 'c', true])
  assert.equal((await root().post('/group', body(2, { comment: null }))).body[0].group.comment, undefined)
  const byReference = { 'lookup:_id': { reference: 'g:kept' }, _version: 4, comment: 'by reference' }
  assert.equal((await root().post('/group', body(3, { reference: 'g:kept' }))).status, 200)
  const [found] = (await root().post('/group', [{ group: byReference }])).body
  assert.deepEqual([found.group._id, found.group.comment], [stored.group._id, 'by reference'])
})

test('versionConvention next: the client sends the version that it makes', async () => {
  await using next = await startService({ versionConvention: 'next' })
  const client = next.as('root')
  const [group] = (await client.post('/group', [{ group: { name: 'n', _version: 1 } }])).body
  assert.equal(group.group._version, 1)
  const body = (version: number) => [{ group: { _id: group.group._id, _version: version } }]
  assert.equal((await client.post('/group', body(1))).body.code, 'VersionMismatch')
  assert.equal((await client.post('/group', body(2))).body[0].group._version, 2)
})

test('changes of groups are logged with name, displayname and reference', async () => {
  const [{ group }] = await createGroups(svc, {
    group: { name: 'logged', reference: 'g:1', displayname: { 'en-US': 'L' } },
  })
  await root().post('/group', [{ group: { _id: group._id, _version: 1 } }])
  await root().delete(`/group/${group._id}`)
  const events = (await eventsOf(svc, 'GROUP_INSERT', 'GROUP_UPDATE', 'GROUP_DELETE')).filter(
    ({ event }) => event.object_id === group._id,
  )
  assert.deepEqual(
    events.map(({ event }) => [event.type, event.object_version]),
    [
      ['GROUP_INSERT', 1],
      ['GROUP_UPDATE', 2],
      ['GROUP_DELETE', 2],
    ],
  )
  for (const { event } of events) {
    assert.deepEqual(event.info, { name: 'logged', displayname: { 'en-US': 'L' }, reference: 'g:1' })
  }
})

test('system groups take their members by type and cannot be deleted, made or renamed', async () => {
  const system = (await root().get('/group', { type: 'system' })).body
  assert.deepEqual(
    system.map(({ group }: Json) => group.reference),
    [
      ':all',
      ':authenticated',
      ':native',
      ':native_self_register',
      ':email',
      ':ldap',
      ':sso',
      ':anonymous',
      ':collection',
      ':fallback',
    ],
  )
  assert.deepEqual(await code(root().delete('/group/1')), [400, 'DeleteSystemGroup'])
  assert.deepEqual(await code(root().post('/group', [{ group: { name: 'x', type: 'system' } }])), [
    400,
    'GroupTypeNotAllowed',
  ])
  const change = (group: Json) => root().post('/group', [{ group: { _id: 1, _version: 1, ...group } }])
  assert.deepEqual(await code(change({ type: 'native' })), [400, 'GroupTypeChangeNotAllowed'])
  assert.deepEqual(await code(change({ name: 'everybody' })), [400, 'ColumnCanNotBeUpdated'])
  assert.deepEqual(await code(change({ reference: 'everybody' })), [400, 'ColumnCanNotBeUpdated'])
  assert.equal((await change({ comment: 'all of them' })).status, 200)
})

test('wrong groups are refused by their place', async () => {
  await createGroups(svc, { group: { name: 'taken', reference: 'taken' } })
  const cases: [Json, string][] = [
    [{ group: { name: 'taken' } }, 'DatabaseUniqueKeyViolation'],
    [{ group: { reference: 'taken' } }, 'DatabaseUniqueKeyViolation'],
    [{ group: { reference: ':mine' } }, 'ServerGeneric'],
    [{ group: { displayname: { 'en-US': '\0' } } }, 'ServerGeneric'],
    [{ group: {}, _ip_subnet_filter: ['10.0.0.0/33'] }, 'ServerGeneric'],
    [{ group: {}, _ip_subnet_filter: ['here'] }, 'ServerGeneric'],
    [{ group: {}, _system_rights: { nonsense: {} } }, 'UnknownRight'],
    [{ group: {}, _owner: { group: { 'lookup:_id': { reference: 'none' } } } }, 'LookupNotFound'],
    [{ group: { _id: 99_999, _version: 1 } }, 'LookupNotFound'],
    [{ group: { 'lookup:_id': { reference: 'none' } } }, 'LookupNotFound'],
    [{ _basetype: 'user', group: {} }, 'ServerGeneric'],
  ]
  for (const [group, expected] of cases) {
    const answer = await root().post('/group', [{ group: { name: 'fine' } }, group])
    assert.deepEqual([answer.status, answer.body.code], [400, expected], JSON.stringify(group))
  }
  const { rows } = await svc.db.query(`select from "group" where name = 'fine'`)
  assert.equal(rows.length, 0, 'nothing of the batch was stored')
  assert.deepEqual(await code(root().get('/group/99999')), [400, 'ServerGeneric'])
})

test('RIGHTS-004 changing groups needs system.group, and gives no more than one has', async () => {
  const [{ group }] = await createGroups(svc, { group: { name: 'target' } })
  const [{ group: mighty }] = await createGroups(svc, {
    group: { name: 'mighty' },
    _system_rights: { 'system.root': {} },
  })
  await createUsers(
    svc,
    { user: { login: 'plain' } },
    { user: { login: 'grouper' }, _system_rights: { 'system.group': {} } },
  )
  const update = [{ group: { _id: group._id, _version: 1 } }]
  for (const answer of [
    svc.as('plain').post('/group', update),
    svc.as('plain').put('/group', [{ group: { name: 'new' } }]),
    svc.as('plain').delete(`/group/${group._id}`),
  ]) {
    const { status, body } = await answer
    assert.deepEqual([status, body.code, body.parameters.right], [403, 'SystemRightRequired', 'system.group'])
  }
  const grouper = svc.as('grouper')
  assert.equal((await grouper.post('/group', update)).status, 200)
  assert.equal((await grouper.put('/group', [{ group: { name: 'put by a grouper' } }])).status, 200)
  const rise = { group: { _id: group._id, _version: 2 }, _system_rights: { 'system.root': {} } }
  assert.deepEqual(await code(grouper.post('/group', [rise])), [400, 'ColumnNeedsSystemRoot'])
  assert.deepEqual(await code(grouper.post('/group', [{ group: { _id: mighty._id, _version: 1 } }])), [
    400,
    'ColumnNeedsSystemRoot',
  ])
  assert.deepEqual(await code(grouper.delete(`/group/${mighty._id}`)), [403, 'SystemRightRequired'])
  assert.equal((await grouper.delete(`/group/${group._id}`)).status, 200)
})

test('a refused save of groups draws no ids', async () => {
  const [{ group }] = await createGroups(svc, { group: { name: 'reader of a pool' } })
  await createUsers(svc, { user: { login: 'reader of none' }, _system_rights: { 'system.group': {} } })
  const root = svc.as('root')
  const [, standard] = (await root.get('/pool')).body
  const grant = { who: { group: { _id: group._id } }, rights: { read: {} } }
  const pool = { _id: standard.pool._id, _version: standard.pool._version }
  assert.equal((await root.post('/pool', [{ pool, _acl: [grant] }])).status, 200)
  const last = async () => (await svc.db.query('select last_value from group_id_seq')).rows
  const before = await last()
  const opened = { group: { _id: group._id, _version: 1 }, _ip_subnet_filter: ['10.0.0.0/8'] }
  const answer = svc.as('reader of none').post('/group', [{ group: { name: 'never' } }, opened])
  assert.deepEqual(await code(answer), [400, 'ColumnNeedsSystemRoot'])
  assert.deepEqual(await last(), before)
})

test('READ-034 READ-035 READ-036 READ-037 READ-038 READ-039 groups are listed, made, read and deleted by whom the rules let', async () => {
  await createUsers(
    svc,
    { user: { login: 'nobody' } },
    { user: { login: 'maker' }, _system_rights: { 'system.group': {} } },
    { user: { login: 'mighty' }, _system_rights: { 'system.root': {} } },
  )
  const [nobody, maker] = [svc.as('nobody'), svc.as('maker')]
  const who = { group: { 'lookup:_id': { reference: ':native' } } }
  const names = async (client: typeof nobody, query = {}) =>
    (await client.get('/group', query)).body.map(({ group }: Json) => group.name)
  for (const [name, send] of [
    ['by POST', (body: Json) => maker.post('/group', body)],
    ['by PUT', (body: Json) => maker.put('/group', body)],
    ['by root', (body: Json) => root().post('/group', body)],
  ] as const) {
    const created = await send([{ _basetype: 'group', group: { name } }])
    assert.equal(created.status, 200, JSON.stringify(created.body))
    const [{ group }] = created.body
    const path = `/group/${group._id}`
    assert.ok(!(await names(nobody)).includes(name))
    assert.ok((await names(root())).includes(name))
    assert.deepEqual(await code(nobody.get(path)), [400, 'ServerGeneric'])
    const { rows } = await svc.db.query<{ name: string }>('select name from "group" order by name')
    for (const client of [root(), svc.as('mighty')]) {
      assert.deepEqual(
        (await names(client)).toSorted(),
        rows.map((row) => row.name).toSorted(),
        'a system.root user sees all',
      )
    }
    const shown = await send([{ group: { _id: group._id, _version: 1 }, _acl: [{ who, rights: { bag_read: {} } }] }])
    assert.equal(shown.body[0].group._version, 2)
    // At once.
    assert.ok((await names(nobody)).includes(name))
    assert.equal((await nobody.get(path)).body[0].group.name, name)
    for (const answer of [nobody.post('/group', []), nobody.put('/group', []), nobody.delete(path)]) {
      assert.deepEqual(await code(answer), [403, 'SystemRightRequired'])
    }
    assert.equal((await maker.delete(path)).body[0].group.name, name)
    assert.deepEqual(await code(maker.get(path)), [400, 'ServerGeneric'])
  }
  assert.deepEqual(
    await names(root(), { type: 'native', limit: 1, offset: 1 }),
    (await names(root(), { type: 'native' })).slice(1, 2),
  )
  const [natives, systems] = [await names(root(), { type: 'native' }), await names(root(), { type: 'system' })]
  assert.ok(natives.length > 0 && systems.includes('all') && !natives.some((name: string) => systems.includes(name)))
  for (const type of ['native,system', 'system, native']) {
    assert.deepEqual((await names(root(), { type })).toSorted(), [...natives, ...systems].toSorted(), type)
  }
  assert.deepEqual(await code(root().get('/group', { type: 'native,other' })), [400, 'ServerGeneric'])
  const unauthenticated = await svc.as(null).get('/group')
  assert.deepEqual([unauthenticated.status, unauthenticated.body], [200, []])
  await assertDocumented(svc, 'get /group', ['limit', 'offset', 'type'], 'administration.md')
  for (const operation of ['post /group', 'put /group', 'get /group/{id}', 'delete /group/{id}']) {
    await assertDocumented(svc, operation, ['strict', 'pretty'], 'requests.md')
  }
  assertNamed('administration.md', [
    'GET /group',
    'POST /group',
    'PUT /group',
    'GET /group/{id}',
    'DELETE /group/{id}',
    'group.name',
    '_acl',
    '_system_rights',
  ])
})

test('GET /group without token or with a rejected one is empty', async () => {
  assert.deepEqual((await svc.as(null).get('/group')).body, [])
  const rejected = await svc.inject({ method: 'GET', url: '/api/v1/group', headers: { authorization: 'Bearer x' } })
  assert.deepEqual([rejected.statusCode, rejected.json()], [200, []])
  assert.deepEqual(await code(svc.as(null).get('/group/1')), [401, 'UserRequired'])
})

test('one sees the groups that one is in and those that are granted; settings only with system.group', async () => {
  const [{ group: mine }, { group: granted }, { group: hidden }] = await createGroups(
    svc,
    { group: { name: 'mine' }, _system_rights: { 'system.message': {} } },
    {
      group: { name: 'granted' },
      _acl: [{ who: { group: { 'lookup:_id': { reference: ':native' } } }, rights: { bag_read: {} } }],
    },
    { group: { name: 'hidden' } },
  )
  await createUsers(svc, { user: { login: 'looker' }, _groups: [{ group: { _id: mine._id } }] })
  const { body } = await svc.as('looker').get('/group')
  assert.deepEqual(
    body.map(({ group }: Json) => group.name),
    ['all', 'authenticated', 'native', 'editors', 'mine', 'granted'],
    'editors was granted to everybody above',
  )
  assert.equal(
    body.some((group: Json) => '_system_rights' in group || '_acl' in group),
    false,
  )
  assert.equal((await svc.as('looker').get(`/group/${granted._id}`)).status, 200)
  assert.deepEqual(await code(svc.as('looker').get(`/group/${hidden._id}`)), [400, 'ServerGeneric'])
})

test('what a deleted group owned belongs to the fallback group', async () => {
  const [{ group }] = await createGroups(svc, { group: { name: 'owning' } })
  const [owned] = await createUsers(svc, { user: { login: 'owned' }, _owner: { group: { _id: group._id } } })
  await root().delete(`/group/${group._id}`)
  const [user] = (await root().get(`/user/${owned.user._id}`)).body
  assert.equal(user._owner.group['lookup:_id'].reference, ':fallback')
})

test('the statements of a save do not grow with the batch', async () => {
  const count = (size: number): Promise<number> => {
    const body = Array.from({ length: size }, () => ({ group: { comment: 'x' } }))
    return statementsOf(svc, async () => assert.equal((await root().post('/group', body)).status, 200))
  }
  await count(1)
  assert.equal(await count(2), await count(200))
})

test('more groups are deleted at once than there are connections: none waits for another’s connection', async () => {
  const groups = await createGroups(svc, ...Array.from({ length: 12 }, (_, n) => ({ group: { name: `at once ${n}` } })))
  const begun = performance.now()
  const answers = await Promise.all(groups.map(({ group }: Json) => root().delete(`/group/${group._id}`)))
  for (const answer of answers) assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.ok(performance.now() - begun < 10_000)
})

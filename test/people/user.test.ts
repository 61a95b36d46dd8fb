import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { userReadable } from '../../src/people/readable.ts'
import { createGroups, createUsers, eventsOf, signIn, statusWith } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'

let svc: TestService
before(async () => {
  svc = await startService()
  await svc.as('root').post('/config/system/config/user/user_in_event_group', ['SYSTEM'])
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')

/** The update of a record as a client would send it: what it read, with changes. */
function update(stored: Json, user: Json = {}, members: Json = {}): Json {
  return { ...stored, ...members, user: { ...stored.user, ...user } }
}

async function code(answer: Promise<{ status: number; body: Json }>): Promise<[number, string]> {
  const { status, body } = await answer
  return [status, body.code]
}

test('a password may be long and of any characters, counts as a whole, and need not be mixed', async () => {
  for (const [login, password] of [
    ['long', `${'Zwölf Boxkämpfer \u{1f98a} jagen '.repeat(5)}`.slice(0, 100)],
    ['plain', 'onlylowercaseletters'],
  ] as const) {
    await createUsers(svc, { user: { login }, _password: password })
    assert.equal((await signIn(svc, login, password)).status, 200, login)
    for (const other of [password.slice(0, -1), password.toUpperCase(), ` ${password}`]) {
      assert.equal((await signIn(svc, login, other)).body.error, 'invalid_grant', other)
    }
  }
})

test('a user is created with version 1, read by id, and changed with the stored version', async () => {
  const [created] = await createUsers(svc, {
    user: {
      login: 'anna',
      email: 'anna@example.org',
      reference: 'staff:anna',
      first_name: 'Anna',
      last_name: 'Albers',
      company: 'Museum',
      remarks: 'knows the archive',
      database_languages: ['de-DE'],
      frontend_prefs: { columns: 3 },
      custom_data: { badge: '17' },
      mail_schedule: { weekdays: ['mon'], hours: [8] },
      login_valid_from: '2020-02-29',
    },
  })
  assert.equal(created.user._version, 1)
  assert.equal(created.user.type, 'native')
  assert.equal(created.user._generated_displayname, 'Anna Albers')
  const { body } = await root().get(`/user/${created.user._id}`)
  assert.deepEqual(body, [created])
  const changed = await root().post('/user', [update(created, { displayname: 'A. Albers', company: null })])
  assert.equal(changed.status, 200)
  assert.equal(changed.body[0].user._version, 2)
  assert.equal(changed.body[0].user._generated_displayname, 'A. Albers')
  assert.equal('company' in changed.body[0].user, false)
  assert.deepEqual(changed.body[0].user.custom_data, { badge: '17' }, 'what is not said stays')
})

test('an update carries the stored version; two at once: one wins', async () => {
  const [stored] = await createUsers(svc, { user: { login: 'versions' } })
  for (const version of [null, 2, 7]) {
    const { status, body } = await root().post('/user', [update(stored, { _version: version })])
    assert.deepEqual([status, body.code], [400, 'VersionMismatch'])
    assert.deepEqual([body.parameters.got, body.parameters.expected], [version, 1])
  }
  const answers = await Promise.all(['1', '2'].map((phone) => root().post('/user', [update(stored, { phone })])))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 400])
})

test('users are found by reference; an update of nobody is refused', async () => {
  await createUsers(svc, { user: { login: 'by-reference', reference: 'r:1' } })
  const byReference = { user: { 'lookup:_id': { reference: 'r:1' }, _version: 1, town: 'Dessau' } }
  assert.equal((await root().post('/user', [byReference])).body[0].user.town, 'Dessau')
  assert.deepEqual(await code(root().post('/user', [{ user: { _id: 99_999, _version: 1, login: 'x' } }])), [
    400,
    'UserNotFound',
  ])
  assert.deepEqual(await code(root().get('/user/99999')), [400, 'UserNotFound'])
  for (const wrong of [
    { _basetype: 'group', user: { login: 'x' } },
    { user: { login: 'x' }, _groups: [{ _basetype: 'user', group: { _id: 1 } }] },
    { user: { login: 'x' }, _owner: { _basetype: 'group', user: { _id: 1 } } },
  ]) {
    assert.deepEqual(await code(root().post('/user', [wrong])), [400, 'ServerGeneric'])
  }
  const unknown = { user: { 'lookup:_id': { reference: 'r:none' }, _version: 1 } }
  assert.deepEqual(await code(root().post('/user', [unknown])), [400, 'LookupNotFound'])
  assert.deepEqual(await code(root().post('/user', [{ user: { _version: 3, login: 'x' } }])), [400, 'ServerGeneric'])
})

test('a batch is stored whole or not at all, and the statements do not grow with it', async () => {
  const batch = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      user: { login: `batch${from + index}` },
      _acl: [{ who: { group: { _id: 10 } }, rights: { bag_read: {} } }],
    }))
  const count = (from: number, size: number, enough = 0): Promise<number> => {
    const save = async (run: number) => {
      assert.equal((await root().post('/user', batch(from + run * size, size))).status, 200)
    }
    return statementsOf(svc, save, { enough })
  }
  await count(1000, 2)
  const few = await count(1010, 2)
  assert.equal(await count(1100, 300, few), few)
  const before = await svc.db.query<{ count: number }>('select count(*)::int as count from "user"')
  assert.deepEqual(await code(root().post('/user', [...batch(9000, 3), { user: { login: 'batch1000' } }])), [
    409,
    'UserDuplicateLogin',
  ])
  assert.deepEqual((await svc.db.query('select count(*)::int as count from "user"')).rows, before.rows)
})

test('logins, addresses and references are unique in any case; the answer names what is taken', async () => {
  await createUsers(svc, { user: { login: 'Unique', email: 'Uni@Que.org', reference: 'uq' } })
  const login = await root().post('/user', [{ user: { login: 'UNIQUE' } }])
  assert.deepEqual([login.status, login.body.code, login.body.parameters.login], [409, 'UserDuplicateLogin', 'unique'])
  const email = await root().post('/user', [{ user: { email: 'uni@que.ORG' } }])
  assert.deepEqual(
    [email.status, email.body.code, email.body.parameters.email],
    [409, 'UserDuplicateEmail', 'uni@que.org'],
  )
  const reference = await root().post('/user', [{ user: { login: 'u2', reference: 'uq' } }])
  assert.deepEqual(
    [reference.body.code, reference.body.parameters.column],
    ['DatabaseUniqueKeyViolation', 'user.reference'],
  )
  const twice = await root().post('/user', [{ user: { login: 'twice' } }, { user: { login: 'Twice' } }])
  assert.equal(twice.body.code, 'UserDuplicateLogin')
})

test('wrong fields are refused by their place', async () => {
  const [stored] = await createUsers(svc, { user: { login: 'fields' } })
  const cases: [members: Json, code: string][] = [
    [{ user: { email: 'not an address' } }, 'UserEmailMalformed'],
    [{ user: { email: 'a@b@c' } }, 'UserEmailMalformed'],
    [{ user: { type: 'system' } }, 'UserTypeNotAllowed'],
    [{ user: { type: 'anonymous' } }, 'UserTypeNotAllowed'],
    [{ user: { type: 'nonsense' } }, 'UserTypeNotAllowed'],
    [{ user: { login: null } }, 'ServerGeneric'],
    [{ user: { login: 'x'.repeat(501) } }, 'ServerGeneric'],
    [{ user: { reference: 'system:mine' } }, 'ServerGeneric'],
    [{ user: { login_valid_from: '2021-02-29' } }, 'ServerGeneric'],
    [{ user: { login_valid_from: '2021-02-02', login_valid_to: '2021-02-01' } }, 'ServerGeneric'],
    [{ user: { database_languages: ['not a language'] } }, 'ServerGeneric'],
    [{ user: { phone: 'a\0b' } }, 'ServerGeneric'],
    [{ user: { first_name: '\ud800' } }, 'ServerGeneric'],
    [{ user: { welcome_email: true } }, 'ServerGeneric'],
    [{ _password: '' }, 'NoPassword'],
    [{ _password: 'x'.repeat(101) }, 'ServerGeneric'],
    [{ _password_hash: 'argon2:x' }, 'ColumnCanNotBeUpdated'],
    [{ user: { type: 'ldap' }, _password: 'x' }, 'UnableToSetPasswordForUserType'],
    [{ _groups: [{ group: { _id: 99_999 } }] }, 'LookupNotFound'],
    [{ _groups: [{ group: {} }] }, 'ServerGeneric'],
    [{ _groups: [{ group: { _id: 10 } }] }, 'GroupTypeNotAllowed'],
    [{ _system_rights: { 'system.nonsense': {} } }, 'UnknownRight'],
    [{ _system_rights: { 'system.datamodel': { level: ['x'] } } }, 'UnknownRightValue'],
    [{ _acl: [{ who: { group: { _id: 1 } }, rights: { nonsense: {} } }] }, 'UnknownRight'],
    [{ _owner: { user: { _id: 99_999 } } }, 'LookupNotFound'],
    [{ _owner: {} }, 'ServerGeneric'],
  ]
  for (const [{ user, ...members }, expected] of cases) {
    const answer = await root().post('/user', [update(stored, user, members)])
    assert.equal(answer.body.code, expected, JSON.stringify([user, members]))
    assert.equal(answer.status, 400)
  }
  assert.deepEqual((await root().get(`/user/${stored.user._id}`)).body, [stored], 'nothing was stored')
})

test('changes of users are logged with login, displayname, reference and the acting user', async () => {
  const [user] = await createUsers(svc, { user: { login: 'logged', reference: 'l:1', displayname: 'Logged' } })
  await root().post('/user', [update(user, { phone: '1' })])
  await root().delete(`/user/${user.user._id}`, undefined, { delete_policy: 'delete' })
  const events = (await eventsOf(svc, 'USER_INSERT', 'USER_UPDATE', 'USER_DELETE')).filter(
    ({ event }) => event.object_id === user.user._id,
  )
  assert.deepEqual(
    events.map(({ event }) => [event.type, event.object_version, event.pollable]),
    [
      ['USER_INSERT', 1, true],
      ['USER_UPDATE', 2, true],
      ['USER_DELETE', 2, true],
    ],
  )
  for (const { event, user: actor } of events) {
    assert.deepEqual(event.info, { login: 'logged', displayname: 'Logged', reference: 'l:1' })
    assert.equal(actor.user._id, 1)
  }
})

test('system users cannot be deleted, renamed or locked out', async () => {
  const [stored] = (await root().get('/user/1')).body
  assert.deepEqual(await code(root().delete('/user/1', undefined, { delete_policy: 'delete' })), [
    400,
    'DeleteSystemUser',
  ])
  const changes: Json[] = [
    { login: 'admin' },
    { reference: 'x' },
    { login_disabled: true },
    { login_valid_to: '2030-01-01' },
  ]
  for (const change of changes) {
    assert.deepEqual(await code(root().post('/user', [update(stored, change)])), [400, 'ColumnCanNotBeUpdated'])
  }
  assert.deepEqual(await code(root().post('/user', [update(stored, {}, { _system_rights: {} })])), [
    400,
    'ColumnCanNotBeUpdated',
  ])
  assert.deepEqual(await code(root().post('/user', [update(stored, { type: 'native' })])), [400, 'UserTypeNotAllowed'])
  const [deepLink] = (await root().get('/user/2')).body
  assert.deepEqual(await code(root().post('/user', [update(deepLink, {}, { _password: 'x' })])), [
    400,
    'UnableToSetPasswordForUserType',
  ])
  assert.equal((await root().post('/user', [update(stored, { phone: '1' })])).status, 200, 'the rest can be changed')
})

test('a user is deleted, archived or asked about, as the request or the configuration says', async () => {
  const [user] = await createUsers(svc, { user: { login: 'leaving' } })
  const path = `/user/${user.user._id}`
  const token = (await signIn(svc, 'leaving', 'leaving')).body.access_token
  const asked = await root().delete(path)
  assert.equal(asked.status, 202)
  assert.deepEqual(
    asked.body.tasks[0].buttons.map(({ value }: Json) => value),
    ['archive', 'delete', undefined],
  )
  assert.equal(await statusWith(svc, token), 200, 'nothing happened')

  const archived = await root().delete(path, undefined, { delete_policy: 'archive' })
  assert.equal(archived.status, 200)
  assert.ok(archived.body[0]._archived_at)
  assert.equal(await statusWith(svc, token), 401)
  assert.equal((await signIn(svc, 'leaving', 'leaving')).status, 400)
  assert.deepEqual(await code(root().post('/user', [update(archived.body[0], { phone: '1' })])), [400, 'UserArchived'])
  assert.deepEqual(await code(root().delete(path, undefined, { delete_policy: 'archive' })), [400, 'UserArchived'])
  const listed = (await root().get('/user', { limit: 1000 })).body
  assert.equal(
    listed.some((one: Json) => one.user.login === 'leaving'),
    false,
  )
  const archive = (await root().get('/user', { archived_since: '2020-01-01' })).body
  assert.deepEqual(
    archive.map((one: Json) => one.user.login),
    ['leaving'],
  )
  // Among the changed ones are archived ones, unless the word `null` says that none is wanted.
  const changed = async (query: Record<string, string>) =>
    (await root().get('/user', { changed_since: '2020-01-01', limit: 1000, ...query })).body
      .map((one: Json) => one.user.login)
      .includes('leaving')
  assert.deepEqual([await changed({}), await changed({ archived_since: 'null' })], [true, false])
  assert.equal((await root().get('/user', { archived_since: 'none' })).status, 400)

  assert.equal((await root().delete(path, undefined, { delete_policy: 'unarchive' })).status, 200)
  assert.equal((await root().delete(path, undefined, { delete_policy: 'unarchive' })).status, 400)
  assert.equal((await signIn(svc, 'leaving', 'leaving')).status, 200)
  await root().post('/config/system/config/user/default_delete_policy', 'delete')
  assert.equal((await root().delete(path)).status, 200)
  await root().delete('/config/system/config/user/default_delete_policy')
  assert.deepEqual(await code(root().get(path)), [400, 'UserNotFound'])
})

test('without system.user one sees oneself, what is granted and owned, and little of others', async () => {
  const [group] = await createGroups(svc, { group: { name: 'seers' } })
  const [open] = await createGroups(svc, {
    group: { name: 'seen group' },
    _acl: [{ who: { group: { _id: group.group._id } }, rights: { bag_read: {} } }],
  })
  const grant = (who: Json) => ({ _acl: [{ who, rights: { bag_read: {} } }] })
  const [seer, , byGroup, inGroup] = await createUsers(
    svc,
    { user: { login: 'seer', remarks: 'secret note' }, _groups: [{ group: { _id: group.group._id } }] },
    { user: { login: 'unseen' } },
    { user: { login: 'seen', email: 'seen@example.org' }, ...grant({ group: { _id: group.group._id } }) },
    { user: { login: 'in seen group' }, _groups: [{ group: { _id: open.group._id } }] },
    {
      user: { login: 'expired grant' },
      _acl: [
        { who: { group: { _id: group.group._id } }, rights: { bag_read: {} }, when: { to: '2020-01-01T00:00:00Z' } },
      ],
    },
    {
      user: { login: 'inactive grant' },
      _acl: [{ who: { group: { _id: group.group._id } }, rights: { bag_read: {} }, active: false }],
    },
  )
  const { body } = await svc.as('seer').get('/user', { limit: 1000 })
  assert.deepEqual(
    body.map(({ user }: Json) => user.login),
    ['seer', 'seen', 'in seen group'],
  )
  const [self, other] = body
  assert.equal('remarks' in self.user, false)
  assert.equal('_acl' in self, false)
  assert.deepEqual(self._system_rights, {})
  assert.deepEqual(['email' in other.user, '_system_rights' in other, '_groups' in other], [false, false, false])
  assert.equal((await svc.as('seer').get(`/user/${inGroup.user._id}`)).status, 200)
  assert.deepEqual(await code(svc.as('seer').get(`/user/${seer.user._id + 1}`)), [400, 'UserNotFound'])
  assert.equal((await root().get(`/user/${byGroup.user._id}`)).body[0]._acl.length, 1)
  assert.deepEqual(await code(svc.as(null).get('/user')), [401, 'UserRequired'])
})

test('users may change what is not about signing in and rights of their own record, and nothing of others', async () => {
  const [own, other] = await createUsers(svc, { user: { login: 'own' } }, { user: { login: 'other' } })
  const client = svc.as('own')
  const [read] = (await client.get(`/user/${own.user._id}`)).body
  const changed = await client.post('/user', [update(read, { phone: '030', database_languages: ['de-DE'] })])
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  const [now] = changed.body
  const protectedChanges: [Json, Json][] = [
    [{ login: 'owner' }, {}],
    [{ email: 'x@example.org' }, {}],
    [{ login_valid_to: '2031-01-01' }, {}],
    [{}, { _password: 'x' }],
    [{}, { _system_rights: { 'system.root': {} } }],
    [{}, { _groups: [], _acl: [{ who: { user: { _id: own.user._id } }, rights: { bag_read: {} } }] }],
  ]
  for (const [user, members] of protectedChanges) {
    assert.deepEqual(await code(client.post('/user', [update(now, user, members)])), [403, 'SystemRightRequired'])
  }
  assert.deepEqual(await code(client.post('/user', [update(other, { phone: '1' })])), [403, 'SystemRightRequired'])
  assert.deepEqual(await code(client.post('/user', [{ user: { login: 'new' } }])), [403, 'SystemRightRequired'])
  assert.deepEqual(await code(client.delete(`/user/${other.user._id}`, undefined, { delete_policy: 'delete' })), [
    403,
    'SystemRightRequired',
  ])
})

test('who manages users cannot become more than they are', async () => {
  const [mighty] = await createGroups(svc, { group: { name: 'mighty' }, _system_rights: { 'system.root': {} } })
  const [manager, victim] = await createUsers(
    svc,
    { user: { login: 'manager' }, _system_rights: { 'system.user': { edit_acl: false }, 'system.message': {} } },
    { user: { login: 'boss' }, _groups: [{ group: { _id: mighty.group._id } }] },
    { user: { login: 'reader-only' }, _system_rights: { 'system.user': { create: false } } },
  )
  const client = svc.as('manager')
  const created = await client.post('/user', [
    { user: { login: 'made' }, _password: 'made', _system_rights: { 'system.message': {} } },
  ])
  assert.equal(created.status, 200)
  assert.deepEqual(created.body[0]._owner.user._id, manager.user._id)
  const [made] = created.body
  const [boss] = (await client.get(`/user/${victim.user._id}`)).body
  const forbidden: [Json, string][] = [
    [update(made, {}, { _system_rights: { 'system.root': {} } }), 'ColumnNeedsSystemRoot'],
    [update(made, {}, { _system_rights: { 'system.user': {}, 'system.config': {} } }), 'ColumnNeedsSystemRoot'],
    [update(made, {}, { _groups: [{ group: { _id: mighty.group._id } }] }), 'ColumnNeedsSystemRoot'],
    [update(made, {}, { _owner: { user: { _id: 1 } } }), 'ColumnNeedsSystemRoot'],
    [update(boss, {}, { _password: 'mine now' }), 'ColumnNeedsSystemRoot'],
    [update(boss, { login: 'nobody' }), 'ColumnNeedsSystemRoot'],
    [update(boss, { login_disabled: true }), 'ColumnNeedsSystemRoot'],
    [update(made, {}, { _acl: [{ who: { user: { _id: 1 } }, rights: { bag_read: {} } }] }), 'SystemRightRequired'],
  ]
  for (const [body, expected] of forbidden) {
    const answer = await client.post('/user', [body])
    assert.equal(answer.body.code, expected, JSON.stringify(body))
  }
  assert.equal(
    (await client.post('/user', [update(boss, { phone: '1' })])).status,
    200,
    'a phone number gives nobody rights',
  )
  assert.deepEqual(await code(client.delete(`/user/${victim.user._id}`, undefined, { delete_policy: 'delete' })), [
    403,
    'SystemRightRequired',
  ])
  assert.deepEqual(await code(client.delete(`/user/${manager.user._id}`, undefined, { delete_policy: 'delete' })), [
    400,
    'UserDeleteSelf',
  ])
  assert.deepEqual(await code(svc.as('reader-only').post('/user', [{ user: { login: 'x' } }])), [
    403,
    'SystemRightRequired',
  ])
})

test('the list is paged and filtered by type, group and change; at most 1000 a page', async () => {
  const [group] = await createGroups(svc, { group: { name: 'listed' } })
  const groupIds = String(group.group._id)
  await createUsers(
    svc,
    ...['l1', 'l2', 'l3'].map((login) => ({ user: { login }, _groups: [{ group: { _id: group.group._id } }] })),
  )
  const logins = async (query: Json) => (await root().get('/user', query)).body.map(({ user }: Json) => user.login)
  assert.deepEqual(await logins({ group_ids: groupIds }), ['l1', 'l2', 'l3'])
  assert.deepEqual(await logins({ group_ids: groupIds, limit: 1, offset: 1 }), ['l2'])
  assert.deepEqual(await logins({ type: 'system' }), ['root', 'deep_link', 'oai_pmh', 'deleted_user'])
  assert.deepEqual(await logins({ changed_since: '2100-01-01' }), [])
  for (const query of [
    { limit: 1001 },
    { limit: 0 },
    { type: 'x' },
    { group_ids: 'a' },
    { changed_since: 'yesterday' },
    { offset: -1 },
  ]) {
    assert.equal((await root().get('/user', query as Json)).status, 400, JSON.stringify(query))
  }
  for (const path of ['/user', '/user/1']) {
    assert.deepEqual(await code(root().get(path, { include_password: true })), [400, 'UrlParameterNotSupported'])
  }
})

test('PUT is an alias of POST', async () => {
  const answer = await root().put('/user', [{ _basetype: 'user', user: { login: 'put' } }])
  assert.deepEqual([answer.status, answer.body[0].user.login], [200, 'put'])
})

test('EVENT-004 fields of the acting user are copied into events where the configuration names them', async () => {
  await createUsers(svc, { user: { login: 'copied', department: 'Archive' }, _system_rights: { 'system.group': {} } })
  await root().post('/config/system/config/user/copy_to_event', ['department', 'login'])
  await svc.as('copied').post('/group', [{ group: { name: 'by copied' } }])
  const { event } = (await eventsOf(svc, 'GROUP_INSERT')).at(-1)
  assert.deepEqual([event.info['user.department'], event.info['user.login']], ['Archive', 'copied'])
  await root().delete('/config/system/config/user/copy_to_event')
})

test('which groups let users be read is asked once, not for each user', async () => {
  const { rows } = await svc.db.query<{ 'QUERY PLAN': string }>(
    `explain (generic_plan, costs off) select t.id from "user" t where ${userReadable('$1::text[]', '$2::bigint')}`,
  )
  const plan = rows.map((row) => row['QUERY PLAN'])
  const groups = plan.flatMap((line, index) => (/Scan .*on "group"/.test(line) ? index : []))
  assert.equal(groups.length, 2, plan.join('\n'))
  for (const index of groups) {
    const part = plan.slice(0, index).findLast((line) => /^ *(Init|Sub)Plan/.test(line))
    assert.match(part ?? '', /InitPlan/, plan.join('\n'))
  }
})

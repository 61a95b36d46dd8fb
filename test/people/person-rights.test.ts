import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toGroup, toUser, wireGrant } from '../rights/people.ts'
import { createGroups, createUsers, signIn } from '../signin/support.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/**
 * Rights on single users and groups: each is given alone to somebody who has no system right (for groups `system.group`,
 * which their changes need besides), who may then what it says, and nothing else.
 */
let svc: TestService
let root: Client
/** Who gets the rights, and of whom nobody knows otherwise. */
let helper: number
const names = { user: 0, group: 0 }

before(async () => {
  svc = await startService()
  root = svc.as('root')
  const made = await createUsers(
    svc,
    { user: { login: 'helper' } },
    { user: { login: 'keeper' }, _system_rights: { 'system.group': {} } },
  )
  helper = made[0].user._id
})
after(() => svc[Symbol.asyncDispose]())

const code = async (answer: Promise<Answer>): Promise<string> => {
  const { status, body } = await answer
  return status === 200 ? 'done' : `${status} ${body.code}`
}

/** A user on whom the helper has the rights. */
async function someone(rights: string, more: Json = {}): Promise<number> {
  const login = `someone${++names.user}`
  const [{ user }] = await createUsers(svc, {
    user: { login, first_name: 'Some', remarks: 'a note' },
    _acl: rights === '' ? [] : [wireGrant(toUser(helper), rights)],
    ...more,
  })
  return user._id
}

const stored = async (kind: 'user' | 'group', id: number): Promise<Json> => (await root.get(`/${kind}/${id}`)).body[0]

async function changeUser(id: number, block: object, rest: object = {}, by = svc.as('helper')): Promise<string> {
  const { _version } = (await stored('user', id)).user
  return code(by.post('/user', [{ user: { _id: id, _version, ...block }, ...rest }]))
}

test('_generated_rights of users and groups say what the caller may do with them', async () => {
  await createUsers(
    svc,
    { user: { login: 'manager' }, _system_rights: { 'system.user': {} } },
    { user: { login: 'limited' }, _system_rights: { 'system.user': { edit_acl: false } } },
  )
  const mighty = await someone('', { _system_rights: { 'system.datamodel': { level: ['development'] } } })
  const plain = await someone('acl sessions bag_read')
  const rightsOf = async (login: string, kind: 'user' | 'group', id: number) =>
    Object.entries((await svc.as(login).get(`/${kind}/${id}`)).body[0]._generated_rights)
      .map(([name, parameters]) => {
        assert.deepEqual(parameters, {})
        return name
      })
      .sort()
      .join(' ')
  assert.equal(await rightsOf('root', 'user', plain), 'acl bag_read bag_write delete link sessions')
  assert.equal(await rightsOf('root', 'user', 1), 'acl bag_read bag_write link sessions', 'nobody deletes themselves')
  assert.equal(await rightsOf('helper', 'user', plain), 'acl bag_read sessions')
  assert.equal(await rightsOf('helper', 'user', helper), 'bag_read bag_write sessions')
  assert.equal(await rightsOf('manager', 'user', plain), 'acl bag_read bag_write delete link sessions')
  assert.equal(await rightsOf('manager', 'user', mighty), 'bag_read bag_write sessions', 'of one who has more')
  assert.equal(await rightsOf('manager', 'user', 1), 'bag_read bag_write', 'of root')
  assert.equal(await rightsOf('limited', 'user', plain), 'bag_read bag_write delete link sessions')
  const [{ group }] = await createGroups(svc, {
    group: { name: 'group of rights' },
    _acl: [wireGrant(toUser(helper), 'bag_read bag_write link')],
  })
  assert.equal(await rightsOf('root', 'group', group._id), 'acl bag_read bag_write delete link')
  assert.equal(await rightsOf('keeper', 'group', group._id).catch(() => 'hidden'), 'acl bag_read bag_write delete link')
  assert.equal(await rightsOf('helper', 'group', group._id), 'bag_read link', 'names change with system.group alone')
})

test('bag_read on a user: it is seen, as in pickers', async () => {
  const [seen, hidden] = [await someone('bag_read'), await someone('')]
  const { body } = await svc.as('helper').get(`/user/${seen}`)
  assert.deepEqual([body[0].user.first_name, body[0].user.email, body[0]._groups], ['Some', undefined, undefined])
  assert.equal(await code(svc.as('helper').get(`/user/${hidden}`)), '400 UserNotFound')
})

test('bag_write on a user: its profile is shown and changed, nothing of signing in and rights', async () => {
  const id = await someone('bag_read bag_write')
  assert.equal(await changeUser(id, { first_name: 'Other', phone: '123', database_languages: ['de-DE'] }), 'done')
  const seen = (await svc.as('helper').get(`/user/${id}`)).body[0]
  assert.deepEqual([seen.user.phone, seen.user.remarks, seen._acl], ['123', undefined, undefined])
  for (const block of [{ login: 'taken' }, { email: 'a@b.example' }, { remarks: 'x' }, { login_disabled: true }])
    assert.equal(await changeUser(id, block), '403 SystemRightRequired', JSON.stringify(block))
  for (const rest of [
    { _password: 'taken' },
    { _acl: [] },
    { _groups: [toGroup(1)], _system_rights: { 'system.root': {} } },
  ])
    assert.equal(await changeUser(id, {}, rest), '403 SystemRightRequired', JSON.stringify(rest))
  const reader = await someone('bag_read')
  assert.equal(await changeUser(reader, { first_name: 'Other' }), '403 RightRequired')
  assert.equal(await changeUser(await someone(''), { first_name: 'Other' }), '403 SystemRightRequired')
  assert.equal(
    await code(svc.as('helper').post('/user', [{ user: { _id: 99_999, _version: 1 } }])),
    '403 SystemRightRequired',
  )
  const byName = { user: { 'lookup:_id': { reference: 'nobody' }, _version: 1 } }
  assert.equal(await code(svc.as('helper').post('/user', [byName])), '403 SystemRightRequired')
})

test('acl on a user: the grants on it are shown and changed', async () => {
  const id = await someone('bag_read acl')
  const [{ _acl: shown }] = (await svc.as('helper').get(`/user/${id}`)).body
  assert.deepEqual(Object.keys(shown[0].rights), ['acl', 'bag_read'])
  assert.equal(await changeUser(id, { first_name: 'Other' }), '403 RightRequired')
  assert.equal(await changeUser(id, {}, { _acl: [...shown, wireGrant(toUser(helper), 'bag_write')] }), 'done')
  assert.equal(await changeUser(id, { first_name: 'Other' }), 'done')
})

test('delete on a user: it is deleted and archived without system.user, and by nobody else', async () => {
  const [gone, kept] = [await someone('delete'), await someone('bag_read bag_write acl link sessions')]
  const remove = (id: number) => code(svc.as('helper').delete(`/user/${id}`, undefined, { delete_policy: 'archive' }))
  assert.equal(await remove(kept), '403 SystemRightRequired')
  assert.equal(await remove(99_999), '403 SystemRightRequired')
  assert.equal(await remove(gone), 'done')
  assert.ok((await stored('user', gone))._archived_at)
})

test('sessions on a user: where it is signed in is shown, and ended', async () => {
  const [watched, other] = [await someone('sessions'), await someone('bag_read bag_write acl link delete')]
  const login = (await stored('user', watched)).user.login
  await signIn(svc, login, login)
  await signIn(svc, login, login)
  const by = svc.as('helper')
  const list = await by.get('/user/session/list', { user_id: watched })
  assert.equal(list.body.length, 2)
  assert.equal(await code(by.delete(`/user/session/list/${list.body[0]._id}`)), 'done')
  assert.deepEqual((await by.delete('/user/session/list', undefined, { user_id: watched })).body, { ended: 1 })
  assert.equal(await code(by.get('/user/session/list', { user_id: other })), '403 SystemRightRequired')
})

test('link on a user and on groups: who has both puts the user into these groups and takes it out, and touches no others', async () => {
  const grant = (rights: string) => [wireGrant(toUser(helper), rights)]
  const made = await createGroups(
    svc,
    { group: { name: 'choir' }, _acl: grant('bag_read link') },
    { group: { name: 'band' }, _acl: grant('bag_read link') },
    { group: { name: 'board' }, _acl: grant('bag_read') },
    { group: { name: 'mighty' }, _acl: grant('bag_read link'), _system_rights: { 'system.message': {} } },
  )
  const [choir, band, board, mighty] = made.map(({ group }) => group._id as number) as [number, number, number, number]
  const id = await someone('bag_read link', { _groups: [toGroup(board), toGroup(band)] })
  const groups = async () =>
    (await stored('user', id))._groups
      .map(({ group }: Json) => group.name)
      .filter((name: string) => name in { choir, band, board })
  const shown = (await svc.as('helper').get(`/user/${id}`)).body[0]._groups
  assert.deepEqual(
    shown.map(({ group }: Json) => group._id),
    [band],
  )
  assert.equal(await changeUser(id, {}, { _groups: [toGroup(choir)] }), 'done')
  assert.deepEqual((await groups()).toSorted(), ['board', 'choir'])
  const unlinked = await someone('bag_read bag_write acl sessions')
  assert.equal(await changeUser(unlinked, {}, { _groups: [toGroup(choir)] }), '403 SystemRightRequired')
  const elsewhere = await someone('bag_read link')
  assert.equal(await changeUser(elsewhere, {}, { _groups: [toGroup(board)] }), '403 SystemRightRequired')
  assert.equal(await changeUser(elsewhere, {}, { _groups: [toGroup(mighty)] }), '400 ColumnNeedsSystemRoot')
  assert.equal(await changeUser(elsewhere, { first_name: 'Other' }), '403 RightRequired')
})

test('whoever owns a user changes its profile and deletes it, but neither grants nor groups', async () => {
  const id = await someone('', { _owner: toUser(helper) })
  assert.equal(await changeUser(id, { first_name: 'Other' }), 'done')
  assert.equal(await changeUser(id, {}, { _acl: [wireGrant(toUser(helper), 'sessions')] }), '403 SystemRightRequired')
  assert.equal(await code(svc.as('helper').get('/user/session/list', { user_id: id })), '403 SystemRightRequired')
  assert.equal(await code(svc.as('helper').delete(`/user/${id}`, undefined, { delete_policy: 'delete' })), 'done')
})

/** A group that has what the keeper has not, with rights on it for the keeper. */
async function strong(rights: string): Promise<number> {
  const keeper = (await root.get('/user', { limit: 1000 })).body.find(({ user }: Json) => user.login === 'keeper').user
    ._id
  const [{ group }] = await createGroups(svc, {
    group: { name: `strong${++names.group}` },
    _system_rights: { 'system.message': {} },
    _acl: rights === '' ? [] : [wireGrant(toUser(keeper), rights)],
  })
  return group._id
}

async function changeGroup(id: number, block: object, rest: object = {}): Promise<string> {
  const { _version } = (await stored('group', id)).group
  return code(svc.as('keeper').post('/group', [{ group: { _id: id, _version, ...block }, ...rest }]))
}

test('bag_write on a group: its name and notes change, also where it has more than who changes it', async () => {
  const [own, other] = [await strong('bag_write'), await strong('bag_read link delete')]
  assert.equal(await changeGroup(own, { comment: 'seen' }), 'done')
  assert.equal(await changeGroup(other, { comment: 'seen' }), '400 ColumnNeedsSystemRoot')
  assert.equal(await changeGroup(own, { reference: 'taken' }), '400 ColumnNeedsSystemRoot')
  for (const rest of [{ _system_rights: {} }, { _ip_subnet_filter: ['10.0.0.0/8'] }, { _two_fa_required: true }])
    assert.equal(await changeGroup(own, {}, rest), '400 ColumnNeedsSystemRoot', JSON.stringify(rest))
})

test('acl on a group: the grants on it are shown and changed', async () => {
  const keeper = (await root.get('/user', { limit: 1000 })).body.find(({ user }: Json) => user.login === 'keeper').user
    ._id
  const [own, other] = [await strong('acl'), await strong('bag_write delete link')]
  const added = [wireGrant(toUser(keeper), 'acl bag_write')]
  assert.equal(await changeGroup(other, {}, { _acl: added }), '400 ColumnNeedsSystemRoot')
  assert.equal(await changeGroup(own, {}, { _acl: added }), 'done')
  assert.equal(await changeGroup(own, { comment: 'seen' }), 'done')
  const [{ group }] = await createGroups(svc, {
    group: { name: 'shown' },
    _acl: [wireGrant(toUser(helper), 'bag_read acl')],
  })
  const [seen] = (await svc.as('helper').get(`/group/${group._id}`)).body
  assert.deepEqual([Object.keys(seen._acl[0].rights), seen._system_rights], [['acl', 'bag_read'], undefined])
})

test('delete on a group: it is deleted, also where it has more than who deletes it', async () => {
  const [own, other] = [await strong('delete'), await strong('bag_write acl link')]
  assert.equal(await code(svc.as('keeper').delete(`/group/${other}`)), '403 SystemRightRequired')
  assert.equal(await code(svc.as('keeper').delete(`/group/${own}`)), 'done')
})

test('system.user and system.group without reading: only those are known that a right lets', async () => {
  await createUsers(svc, {
    user: { login: 'blind' },
    _system_rights: { 'system.user': { read: false }, 'system.group': { global_custom_bag_read: false } },
  })
  const blind = svc.as('blind')
  const [{ user: self }] = (await blind.get('/user', { limit: 1000 })).body
  const own = [wireGrant(toUser(self._id), 'bag_read')]
  const [known, hidden] = [await someone('', { _acl: own }), await someone('')]
  const listed = (await blind.get('/user', { limit: 1000 })).body.map(({ user }: Json) => user._id)
  assert.deepEqual(listed.toSorted(), [self._id, known].toSorted())
  assert.equal(await changeUser(hidden, { first_name: 'Other' }, {}, blind), '400 UserNotFound')
  assert.equal(await changeUser(known, { first_name: 'Other' }, {}, blind), 'done')
  const remove = (id: number) => code(blind.delete(`/user/${id}`, undefined, { delete_policy: 'archive' }))
  assert.deepEqual([await remove(hidden), await remove(known)], ['400 UserNotFound', 'done'])
  const made = await createGroups(svc, { group: { name: 'unseen' } }, { group: { name: 'seen' }, _acl: own })
  const ids = made.map(({ group }) => group._id)
  const groups = (await blind.get('/group', { limit: 1000 })).body.map(({ group }: Json) => group._id)
  assert.deepEqual(
    ids.map((id) => groups.includes(id)),
    [false, true],
  )
  const change = (id: number) => code(blind.post('/group', [{ group: { _id: id, _version: 1, comment: 'x' } }]))
  assert.equal((await change(ids[0])).startsWith('400'), true)
  assert.equal(await change(ids[1]), 'done')
  assert.equal((await code(blind.delete(`/group/${ids[0]}`))).startsWith('400'), true)
})

test('each switch of system.user and system.group keeps out what it is named for, when it is off', async () => {
  const [{ user: switcher }] = await createUsers(svc, { user: { login: 'switcher' } })
  let version = 1
  const hold = (kind: string, switches: object) => {
    const held = { 'system.user': {}, 'system.group': {}, 'system.message': {}, [`system.${kind}`]: switches }
    return root.post('/user', [{ user: { _id: switcher._id, _version: version++ }, _system_rights: held }])
  }
  const rights = { _system_rights: { 'system.message': {} } }
  const grants = { _acl: [wireGrant(toGroup(1), 'bag_read')] }
  for (const kind of ['user', 'group'] as const) {
    const fresh = (name: string) => (kind === 'user' ? { user: { login: name } } : { group: { name } })
    const made = (await root.post(`/${kind}`, [fresh('switched')])).body[0][kind]
    const known = { [kind]: { _id: made._id, _version: 1 } }
    const tries = {
      create: fresh('c'),
      create_acl: { ...fresh('d'), ...grants },
      create_system_rights: { ...fresh('e'), ...rights },
      edit_acl: { ...known, ...grants },
      edit_system_rights: { ...known, ...rights },
    }
    for (const [flag, entry] of Object.entries(tries)) {
      await hold(kind, { [flag]: false })
      assert.equal(await code(svc.as('switcher').post(`/${kind}`, [entry])), '403 SystemRightRequired', flag)
    }
    await hold(kind, Object.fromEntries(Object.keys(tries).map((flag) => [flag, true])))
    const both = [tries.create_acl, tries.create_system_rights, { ...known, ...grants, ...rights }]
    assert.equal(await code(svc.as('switcher').post(`/${kind}`, both)), 'done')
  }
})

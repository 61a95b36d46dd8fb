import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createGroups, createUsers, eventsOf } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** What groups want done with the data of those who are archived (`_pseudonymization`). */
let svc: TestService
before(async () => {
  svc = await startService()
})
after(() => svc[Symbol.asyncDispose]())

const strategies = {
  login: 'randomize',
  first_name: 'clear',
  last_name: 'randomize',
  displayname: 'keep',
  additional_info: 'clear',
  _emails: 'clear',
} as const

async function group(name: string, user: Json): Promise<number> {
  const [made] = await createGroups(svc, { group: { name }, _pseudonymization: { user } })
  assert.deepEqual(made._pseudonymization, { user })
  return made.group._id
}

async function person(login: string, ...groups: number[]): Promise<Json> {
  const [made] = await createUsers(svc, {
    user: {
      login,
      email: `${login}@example.org`,
      reference: `r:${login}`,
      first_name: 'Ada',
      last_name: 'Byron',
      company: 'Analytical',
      phone: '1815',
      remarks: 'knows numbers',
      town: 'London',
      frontend_prefs: { theme: 'dark' },
    },
    _groups: groups.map((id) => ({ group: { _id: id } })),
  })
  return made
}

async function remove(user: Json, policy: string): Promise<Json> {
  const answer = await svc.as('root').delete(`/user/${user.user._id}`, undefined, { delete_policy: policy })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}

test('archiving keeps, clears or replaces by chance what the groups of the user say, for good', async () => {
  const user = await person('leaver', await group('treated', strategies))
  const { user: left } = await remove(user, 'archive')
  const { login, last_name: lastName, ...kept } = left
  for (const text of [login, lastName]) assert.match(text, /^[0-9a-f]{24}$/)
  assert.notEqual(login, lastName)
  assert.deepEqual(kept, {
    _id: user.user._id,
    _version: 2,
    type: 'native',
    reference: 'r:leaver',
    frontend_prefs: { theme: 'dark' },
    login_disabled: false,
    require_password_change: false,
    _generated_displayname: lastName,
  })
  const [logged] = (await eventsOf(svc, 'USER_UPDATE')).filter(({ event }) => event.object_id === user.user._id)
  assert.deepEqual(logged.event.info, { login, displayname: lastName, reference: 'r:leaver' })
  const back = await remove(user, 'unarchive')
  assert.deepEqual([back.user.login, back.user.last_name, back.user.email], [login, lastName, undefined])
  // The names that are free now can be given to others.
  await createUsers(svc, { user: { login: 'leaver', email: 'leaver@example.org' } })
})

test('of groups that differ the stricter one counts: clear before randomize before keep', async () => {
  const groups = [
    await group('mild', { login: 'keep', first_name: 'randomize', last_name: 'clear', additional_info: 'keep' }),
    await group('harsh', { login: 'clear', first_name: 'clear', last_name: 'keep', additional_info: 'randomize' }),
  ]
  const [all] = (await svc.as('root').get('/group/1')).body
  const save = async (version: number, settings: Json) => {
    const body = [{ group: { _id: 1, _version: version }, _pseudonymization: settings }]
    assert.equal((await svc.as('root').post('/group', body)).status, 200)
  }
  // Groups that one is in by the type of the user count like the others.
  await save(all.group._version, { user: { displayname: 'randomize' } })
  const user = await person('between', ...groups)
  const { user: left } = await remove(user, 'archive')
  assert.deepEqual([left.login, left.first_name, left.last_name], [undefined, undefined, undefined])
  for (const name of ['company', 'phone', 'remarks', 'town']) assert.match(left[name], /^[0-9a-f]{24}$/)
  assert.equal(left.email, 'between@example.org')
  // Nobody had given one, so there is none.
  assert.equal(left.displayname, undefined)
  await save(all.group._version + 1, null)
})

test('what is taken out of a user is taken out of the log: who acted, and whom it was about', async () => {
  const root = svc.as('root')
  const settings = { user_in_event_group: ['SYSTEM'], copy_to_event: ['first_name', 'town'] }
  assert.equal((await root.post('/config/system/config/user', settings)).status, 200)
  const leaver = await person(
    'logged',
    await group('forgotten', { first_name: 'clear', last_name: 'clear', login: 'clear' }),
  )
  const [keeper] = await createUsers(svc, { user: { login: 'keeper', first_name: 'Mary', town: 'Bath' } })
  const system = { 'system.user': {}, 'system.group': {} }
  const manager = (await root.get(`/user/${leaver.user._id}`)).body[0]
  const grown = {
    user: { _id: leaver.user._id, _version: manager.user._version },
    _system_rights: system,
    _password: 'logged',
  }
  assert.equal((await root.post('/user', [grown], { confirm: 'ignore_password_requirements' })).status, 200)
  assert.equal((await svc.as('logged').post('/group', [{ group: { name: 'made by the leaver' } }])).status, 200)
  const change = { user: { _id: keeper.user._id, _version: 1, phone: '7' } }
  assert.equal((await root.post('/user', [change])).status, 200)
  const logOf = async () =>
    JSON.stringify(await eventsOf(svc, 'GROUP_INSERT', 'USER_INSERT', 'USER_UPDATE', 'USER_LOGIN'))
  assert.match(await logOf(), /Ada Byron/)
  await remove(leaver, 'archive')
  await svc.drain()
  const log = await logOf()
  assert.doesNotMatch(log, /Ada|Byron|"login":"logged"/)
  // A field that is kept stays where it was copied, and others are not touched.
  assert.match(log, /"user.town":"London"/)
  assert.match(log, /"login":"keeper"/)
  const [made] = (await eventsOf(svc, 'GROUP_INSERT')).filter(({ event }) => event.info.name === 'made by the leaver')
  assert.equal(made.user.user._id, leaver.user._id)
  assert.equal(made.event.user_generated_displayname, 'logged@example.org')
})

test('users of groups that want nothing stay as they are, and deleted ones are gone', async () => {
  const user = await person('stayer', await group('nothing', { login: 'keep' }))
  const { user: left } = await remove(user, 'archive')
  assert.deepEqual({ ...left, _version: 1 }, user.user)
})

test('wrong settings are refused by their place', async () => {
  for (const [name, value] of [
    ['login', 'random'],
    ['_emails', 'randomize'],
    ['first_name', 5],
  ]) {
    const body = [{ group: { name: 'wrong' }, _pseudonymization: { user: { [name as string]: value } } }]
    const answer = await svc.as('root').post('/group', body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'])
    assert.match(JSON.stringify(answer.body.parameters), new RegExp(`${name}`))
  }
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Answer, Json } from '../support/client.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Two processes: one deletes a user or a group while the other one saves something that names it. */
let museum: Museum
let other: TestService
before(async () => {
  museum = await startMuseum()
  other = await attachService(museum.svc.dsn)
})
after(async () => {
  await other[Symbol.asyncDispose]()
  await museum[Symbol.asyncDispose]()
})

const rounds = Array.from({ length: 10 }, (_, round) => round)

/** The save came first, or it is told that there is nobody of that name, or that it may try again. */
function assertOrderly(deleted: Answer, saved: Answer): void {
  assert.ok([200, 423].includes(deleted.status), JSON.stringify(deleted.body))
  const told = saved.status === 200 ? 'saved' : saved.body.code
  assert.ok(['saved', 'LookupNotFound', 'DatabaseLockError'].includes(told), JSON.stringify(saved.body))
}

async function groups(name: string): Promise<number[]> {
  const body = rounds.map((round) => ({ group: { name: `${name} ${round}` } }))
  return (await museum.svc.as('root').post('/group', body)).body.map(({ group }: Json) => group._id)
}

test('a group that goes while a user is put into it', async () => {
  for (const [round, _id] of (await groups('members')).entries()) {
    const [deleted, saved] = await Promise.all([
      museum.svc.as('root').delete(`/group/${_id}`),
      other.as('root').post('/user', [{ user: { login: `member ${round}` }, _groups: [{ group: { _id } }] }]),
    ])
    assertOrderly(deleted, saved)
  }
})

test('a group that goes while a message is addressed to it', async () => {
  const message = { title: { 'en-US': 'News' }, message: { 'en-US': 'Read this.' } }
  for (const _id of await groups('readers')) {
    const [deleted, saved] = await Promise.all([
      museum.svc.as('root').delete(`/group/${_id}`),
      other.as('root').post('/message', [{ message, _groups: [{ group: { _id } }] }]),
    ])
    assertOrderly(deleted, saved)
  }
})

test('a user or a group that goes while an object gets it as its owner', async () => {
  const users = (
    await museum.svc.as('root').post(
      '/user',
      rounds.map((round) => ({ user: { login: `owner ${round}` } })),
    )
  ).body.map(({ user }: Json) => user._id)
  for (const [kind, ids, query] of [
    ['user', users, { delete_policy: 'delete' }],
    ['group', await groups('owners'), {}],
  ] as const) {
    for (const _id of ids) {
      const _owner = { _basetype: kind, [kind]: { _id } }
      const [deleted, saved] = await Promise.all([
        museum.svc.as('root').delete(`/${kind}/${_id}`, undefined, query),
        other.as('root').post('/db/person', [payload('person', { name: 'Owned' }, { _owner })]),
      ])
      assertOrderly(deleted, saved)
    }
  }
  const { rows } = await museum.svc.db.query(
    `select system_object_id from object o
     where (owner_user is not null and not exists (select from "user" u where u.id = o.owner_user))
        or (owner_group is not null and not exists (select from "group" g where g.id = o.owner_group))`,
  )
  assert.deepEqual(rows, [], 'every owner is there')
})

test('a user who goes while it signs in, exports or makes a link: the request can be sent again, and is refused then', async () => {
  const password = 'Going-away-1'
  const actions: Record<string, (login: string) => Promise<{ status: number; body: Json }>> = {
    'signs in': async (login) => {
      const form = { grant_type: 'password', client_id: 'web-client', username: login, password }
      const answer = await other.inject({
        method: 'POST',
        url: '/api/oauth2/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams(form).toString(),
      })
      return { status: answer.statusCode, body: answer.json() }
    },
    exports: (login) =>
      other.as(login, password).post('/export', { export: { type: 'export', name: 'x', search: {} } }),
    'makes a link': (login) => other.as(login, password).post('/system/share_link', { path: `/${login}` }),
  }
  for (const [what, act] of Object.entries(actions)) {
    for (const round of rounds.slice(0, 5)) {
      const login = `${what.replaceAll(' ', '-')}-${round}`
      const [made] = (await museum.svc.as('root').post('/user', [{ user: { login }, _password: password }])).body
      if (what !== 'signs in') await other.as(login, password).token()
      const [deleted, { status }] = await Promise.all([
        museum.svc.as('root').delete(`/user/${made.user._id}`, undefined, { delete_policy: 'delete' }),
        act(login),
      ])
      assert.equal(deleted.status, 200, JSON.stringify(deleted.body))
      assert.ok([200, 400, 401, 423].includes(status), `${what}: ${status}`)
      // The other process hears of the deletion a moment later.
      await until(async () => [400, 401].includes((await act(login)).status))
    }
  }
})

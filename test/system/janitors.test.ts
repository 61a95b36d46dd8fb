import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createUsers } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
let root: Client
before(async () => {
  svc = await startService()
  root = svc.as('root')
})
after(() => svc[Symbol.asyncDispose]())

async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const configure = (janitor: object) => ok(root.post('/config', { system: { config: { janitor } } }))
const due = async (): Promise<Json[]> => (await ok(root.get('/system/janitor'))).janitors
const days = 86_400_000

async function told(type: string): Promise<Json[]> {
  const { objects } = await ok(root.get('/event/list', { type: 'JANITOR', limit: 1000 }))
  return objects.map(({ event }: Json) => event.info).filter((info: Json) => info.type === type)
}

async function post(type: string, at: string): Promise<number> {
  const { event } = await ok(
    root.post(
      '/event',
      { event: { type, timestamp: at, remote_addr: '192.0.2.7', info: { id: 1 } } },
      { skip_constraints: true },
    ),
  )
  return event._id
}

const find = async (id: number): Promise<Json | null> => {
  const { status, body } = await root.get(`/event/${id}`)
  return status === 200 ? body.event : null
}

test('users go into the archive when they have not signed in for long, and from there altogether', async () => {
  const made = await createUsers(svc, ...['idle', 'new'].map((login) => ({ user: { login, _version: 1 } })))
  const users = [...made, ...(await ok(root.post('/user', [{ user: { login: 'directory', type: 'ldap' } }])))]
  const [idle, recent, directory] = users.map(({ user }: Json) => user._id)
  await svc.db.query(`update "user" set created_at = now() - interval '100 days' where id = any($1)`, [
    [idle, directory],
  ])
  await svc.db.query(`update "user" set last_seen_at = now() - interval '40 days' where id = $1`, [directory])
  assert.deepEqual(await due(), [])
  await configure({ users: { archive_nonactive_after_days: 30, archive_types: ['native'] } })
  assert.deepEqual(await due(), [{ type: 'users_archive', days: 30, count: 1, capped: false }])
  await svc.app.tidy()
  const states = async () =>
    (
      await svc.db.query<{ id: number; out: boolean }>(
        'select id, archived_at is not null as out from "user" where id = any($1) order by id',
        [[idle, recent, directory]],
      )
    ).rows.map(({ out }) => out)
  assert.deepEqual(await states(), [true, false, false])
  assert.deepEqual(
    (await told('users_archive')).map(({ count, log }) => [count, log]),
    [[1, [`user ${idle}`]]],
  )
  await configure({
    users: { archive_nonactive_after_days: 30, archive_types: ['ldap'], delete_archived_after_days: 10 },
  })
  await svc.app.tidy()
  assert.deepEqual(await states(), [true, false, true])
  await svc.app.tidy(new Date(Date.now() + 11 * days))
  assert.equal((await root.get(`/user/${idle}`)).body.code, 'UserNotFound')
  assert.equal((await root.get(`/user/${directory}`)).body.code, 'UserNotFound')
  assert.equal((await told('users_delete'))[0]?.count, 2)
  assert.equal((await root.get('/user/1')).status, 200)
  const wrong = { users: { archive_types: ['anonymous'] } }
  assert.equal((await root.post('/config', { system: { config: { janitor: wrong } } })).status, 400)
})

test('events go by the days of their group, and lose their address by days of its own', async () => {
  await configure({})
  const old = new Date(Date.now() - 20 * days).toISOString()
  const [search, mail] = [await post('SEARCH', old), await post('EMAIL_SENT', old)]
  await svc.db.query(`update event set at = at - interval '2 minutes' where at > now() - interval '1 minute'`)
  await configure({ events: { expire_days_FRONTEND: 10 }, event_remote_addr_expire_days: 15 })
  const work = await due()
  assert.deepEqual(
    work.map(({ type, days }) => [type, days]),
    [
      ['event_expire_FRONTEND', 10],
      ['event_remote_addr', 15],
    ],
  )
  // Addresses of younger events come first.
  assert.deepEqual(
    work.map(({ count }) => count),
    [1, 0],
  )
  assert.notEqual(await find(search), null)
  await svc.app.tidy()
  assert.equal(await find(search), null)
  assert.equal((await find(mail))?.remote_addr, '192.0.2.7')
  assert.equal((await told('event_expire_FRONTEND'))[0]?.count, 1)
  assert.deepEqual(
    (await due()).map(({ count }) => count),
    [0, 0],
  )
  // What is younger stays, and what was written behind it waits for its turn.
  const young = await post('SEARCH', new Date(Date.now() - 5 * days).toISOString())
  await svc.app.tidy()
  assert.notEqual(await find(young), null)
  await svc.app.tidy(new Date(Date.now() + 6 * days))
  assert.equal(await find(young), null)
  await svc.app.tidy(new Date(Date.now() + 16 * days))
  const kept = await find(mail)
  assert.deepEqual([kept?.type, kept?.remote_addr ?? null], ['EMAIL_SENT', null])
})

test('without its leave nothing goes, and only root sees what would', async () => {
  await createUsers(svc, { user: { login: 'kay', _version: 1 } })
  assert.equal((await svc.as('kay').get('/system/janitor')).status, 403)
  const old = await post('SEARCH', new Date(Date.now() - 90 * days).toISOString())
  await svc.db.query(`update event set at = at - interval '2 minutes' where at > now() - interval '1 minute'`)
  await configure({ active: false, events: { expire_days_FRONTEND: 1 } })
  await svc.app.tidy()
  assert.notEqual(await find(old), null)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../support/client.ts'
import { hostileValue, mutated } from '../support/hostile.ts'
import { startService, type TestService } from '../support/service.ts'
import { createGroups, createUsers } from './support.ts'

let svc: TestService
let user: Json
let group: Json
let accepted = 0
before(async () => {
  svc = await startService()
  // Failures of sign-in are part of the input here; blocking would hide what comes after.
  await svc.as('root').post('/config/system/config/password/blockclient', { attempts: 0 })
  ;[group] = await createGroups(svc, {
    group: { name: 'g', displayname: { 'en-US': 'G' } },
    _ip_subnet_filter: ['10.0.0.0/8'],
  })
  ;[user] = await createUsers(svc, {
    user: {
      login: 'u',
      email: 'u@example.org',
      reference: 'u',
      first_name: 'U',
      database_languages: ['de-DE'],
      login_valid_from: '2020-01-01',
      frontend_prefs: { a: [1] },
      mail_schedule: { hours: [1], weekdays: ['mon'] },
    },
    _groups: [{ group: { _id: group.group._id } }],
    _acl: [{ who: { group: { _id: 1 } }, rights: { bag_read: {} } }],
    _system_rights: { 'system.datamodel': { level: ['commit'] } },
  })
})
after(() => svc[Symbol.asyncDispose]())

async function stored(): Promise<unknown> {
  const { rows } = await svc.db.query(
    `select (select jsonb_agg(u order by u.id) from (select id, version, login, profile from "user") u) as users,
       (select jsonb_agg(g order by g.id) from (select id, version, name, profile from "group") g) as groups,
       (select count(*) from user_group) as memberships`,
  )
  return rows[0]
}

/** Sends a body: it is carried out, or refused as a 4xx that says what is wrong and changes nothing. */
async function refusedOrDone(path: string, body: unknown): Promise<void> {
  const before = await stored()
  const answer = await svc.as('root').post(path, body)
  assert.ok(answer.status < 500, `${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`)
  if (answer.status === 200) {
    accepted++
    // The next one is meant for the same version again.
    await svc.db.query('update "user" set version = 1')
    await svc.db.query('update "group" set version = 1')
    return
  }
  assert.equal(typeof (answer.body.code ?? answer.body.tasks), answer.status === 202 ? 'object' : 'string')
  assert.deepEqual(await stored(), before)
}

test('hostile values at any place of a user never make a 500 and store nothing', async () => {
  const { _created_at, _updated_at, _last_seen_at, ...record } = user
  await fc.assert(
    fc.asyncProperty(mutated([record]), (body) => refusedOrDone('/user', body)),
    { numRuns: 250 },
  )
  const created = [{ user: { login: 'new', email: 'n@example.org' }, _password: 'p', _owner: { user: { _id: 1 } } }]
  await fc.assert(
    fc.asyncProperty(mutated(created), (body) => refusedOrDone('/user', body)),
    { numRuns: 60 },
  )
  assert.ok(accepted > 20, `${accepted} were carried out: the rest must not be refused for one reason only`)
})

test('hostile values at any place of a group never make a 500 and store nothing', async () => {
  const { _created_at, _updated_at, ...record } = group
  await fc.assert(
    fc.asyncProperty(mutated([record]), (body) => refusedOrDone('/group', body)),
    { numRuns: 250 },
  )
})

test('hostile parameters of the OAuth2 endpoints get RFC 6749 bodies', async () => {
  const names = [
    'grant_type',
    'client_id',
    'client_secret',
    'username',
    'password',
    'refresh_token',
    'scope',
    'token',
    'x',
  ]
  const value = fc.oneof(
    hostileValue.map((hostile) => String(typeof hostile === 'object' ? JSON.stringify(hostile) : hostile)),
    fc.constantFrom('password', 'refresh_token', 'web-client', 'root', 'offline'),
  )
  const form = fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 8 })
  const path = fc.constantFrom('/api/oauth2/token', '/api/oauth2/revoke')
  const basic = fc.option(fc.string({ unit: 'binary', maxLength: 30 }))
  await fc.assert(
    fc.asyncProperty(path, form, basic, async (url, pairs, authorization) => {
      const payload = pairs.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join('&')
      const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }
      if (authorization !== null) headers.authorization = `Basic ${Buffer.from(authorization).toString('base64')}`
      const response = await svc.inject({ method: 'POST', url, headers, payload })
      assert.ok(response.statusCode < 500, `${response.statusCode} ${response.body}`)
      if (response.statusCode >= 400) assert.equal(typeof response.json().error_description, 'string')
    }),
    { numRuns: 250 },
  )
})

test('raw bodies of any content never make a 500', async () => {
  const type = fc.constantFrom('application/x-www-form-urlencoded', 'application/json', 'text/plain', 'x', '')
  const url = fc.constantFrom('/api/oauth2/token', '/api/oauth2/revoke', '/api/v1/user/change_password', '/api/v1/user')
  const authorization = `Bearer ${await svc.as('root').token()}`
  await fc.assert(
    fc.asyncProperty(url, type, fc.string({ unit: 'binary', maxLength: 60 }), async (target, contentType, payload) => {
      const headers = { 'content-type': contentType, authorization }
      const response = await svc.inject({ method: 'POST', url: target, headers, payload })
      assert.ok(
        response.statusCode >= 400 && response.statusCode < 500,
        `${target} ${response.statusCode} ${response.body}`,
      )
    }),
    { numRuns: 150 },
  )
})

test('hostile tokens in every carrier are rejected, never a 500', async () => {
  const token = fc.string({ maxLength: 200 }).filter((text) => /^[\x21-\x7e]+$/.test(text))
  await fc.assert(
    fc.asyncProperty(token, fc.constantFrom('authorization', 'x-svc-authorization', 'query'), async (text, carrier) => {
      const query = carrier === 'query' ? `?access_token=${encodeURIComponent(text)}&access_token=b` : ''
      const headers = carrier === 'query' ? {} : { [carrier]: `Bearer ${text}` }
      const response = await svc.inject({ method: 'GET', url: `/api/v1/user${query}`, headers })
      assert.deepEqual([response.statusCode, response.json().code], [401, 'InvalidToken'])
    }),
    { numRuns: 100 },
  )
})

test('hostile ids and query strings never make a 500', async () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('0', '-1', '1e3', '9'.repeat(40), '1.5', 'NaN'),
  )
  const path = fc.constantFrom(
    '/api/v1/user/',
    '/api/v1/group/',
    '/api/v1/user?limit=',
    '/api/v1/user?group_ids=',
    '/api/v1/user?changed_since=',
    '/api/v1/group?offset=',
    '/api/v1/group?type=',
  )
  const authorization = `Bearer ${await svc.as('root').token()}`
  await fc.assert(
    fc.asyncProperty(path, part, async (start, text) => {
      const url = start + encodeURIComponent(text.toWellFormed())
      const response = await svc.inject({ method: 'GET', url, headers: { authorization } })
      assert.ok(response.statusCode < 500, `${url} ${response.statusCode} ${response.body}`)
    }),
    { numRuns: 250 },
  )
})

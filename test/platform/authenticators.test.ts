import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { Actor } from '../../src/platform/actor.ts'
import { AppError } from '../../src/platform/errors.ts'
import { type Authenticator, createHttp } from '../../src/platform/http/http.ts'

/** Callers say who they are in a header of its own, as those of a share do with name and password. */
function byHeader(name: string, callerOf: (value: string) => Actor): Authenticator {
  return async ({ headers }) => (typeof headers[name] === 'string' ? callerOf(headers[name]) : null)
}

const callerNamed = (login: string): Actor => ({
  userId: 7,
  login,
  displayname: login,
  reference: null,
  groupIds: [],
  isRoot: false,
  systemRights: new Map(),
  remoteAddr: '192.0.2.1',
  languages: ['en-US'],
  session: null,
})

test('a route asks its authenticators in turn: the first that knows the caller, or refuses, decides', async () => {
  const http = await createHttp({
    log: pino({ level: 'silent' }),
    bodyLimit: 1e6,
    requestTimeout: 30,
    maxConnections: 10,
    maxConnectionsOfNetwork: 10,
    mostUntaken: 1e6,
    pace: { grace: 30, leastRate: 1 },
    corsOrigins: [],
    trustedProxies: [],
    timeLimits: { read: 1000, write: 1000 },
    readOnly: () => false,
    standstill: { word: null, enter() {} },
    carriers: ['Authorization'],
    authenticators: [byHeader('x-everywhere', callerNamed)],
  })
  const share = byHeader('x-share', callerNamed)
  const refusing = byHeader('x-refused', () => {
    throw new AppError('InvalidToken')
  })
  const schema = { hide: true }
  const access = { access: 'user', writes: false } as const
  http.get('/usual', { schema, config: access }, async ({ actor }) => ({ login: actor?.login }))
  http.get('/share', { schema, config: { ...access, authenticators: [share, refusing] } }, async ({ actor }) => ({
    login: actor?.login,
  }))
  const call = async (url: string, headers: Record<string, string>) => {
    const answer = (await http.inject({ url, headers })).json()
    return answer.login ?? answer.code
  }
  assert.equal(await call('/usual', { 'x-everywhere': 'alice' }), 'alice')
  assert.equal(await call('/usual', { 'x-share': 'bob' }), 'UserRequired')
  assert.equal(await call('/share', { 'x-share': 'bob' }), 'bob')
  assert.equal(await call('/share', { 'x-share': 'bob', 'x-refused': 'yes' }), 'bob')
  assert.equal(await call('/share', { 'x-refused': 'yes' }), 'InvalidToken')
  assert.equal(await call('/share', { 'x-everywhere': 'alice' }), 'UserRequired')
  await http.close()
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actor } from '../../../src/platform/actor.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { apiSurface } from '../../../src/platform/http/api-surface.ts'
import { type Authenticator, onSurface } from '../../../src/platform/http/surface.ts'
import { bareHttp } from '../../support/bare-http.ts'

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

test('the routes of a surface ask its authenticators in turn: the first that knows the caller, or refuses, decides', async () => {
  const usual = apiSurface({
    authenticators: [byHeader('x-everywhere', callerNamed)],
    requestTokens: ['Authorization'],
  })
  const http = await bareHttp(usual)
  const share = byHeader('x-share', callerNamed)
  const refusing = byHeader('x-refused', () => {
    throw new AppError('InvalidToken')
  })
  const config = { access: 'user', writes: false } as const
  await onSurface(http, usual, (scope) => {
    scope.get('/usual', { config }, async ({ actor }) => ({ login: actor?.login }))
  })
  await onSurface(http, { ...usual, authenticators: [share, refusing] }, (scope) => {
    scope.get('/share', { config }, async ({ actor }) => ({ login: actor?.login }))
  })
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

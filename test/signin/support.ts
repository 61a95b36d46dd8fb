import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import type { InjectResponse, Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** A service that answers, in this process or in another one. */
export interface Reachable {
  inject(request: InjectOptions): Promise<Pick<InjectResponse, 'statusCode' | 'headers' | 'body' | 'json'>>
}

export interface TokenAnswer {
  status: number
  body: Json
  headers: Record<string, string | string[] | number | undefined>
}

/** A token request; names and values as given. */
export async function requestToken(
  svc: Reachable,
  form: Record<string, string> | string,
  headers: Record<string, string> = {},
  path = '/api/oauth2/token',
): Promise<TokenAnswer> {
  const response = await svc.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
  })
  const body = response.body === '' ? null : response.json()
  return { status: response.statusCode, body, headers: response.headers }
}

/** The password grant of the default client. */
export function signIn(svc: TestService, login: string, password: string, more: Record<string, string> = {}) {
  return requestToken(svc, { grant_type: 'password', client_id: 'web-client', username: login, password, ...more })
}

export function refresh(svc: TestService, refreshToken: string, more: Record<string, string> = {}) {
  return requestToken(svc, {
    grant_type: 'refresh_token',
    client_id: 'web-client',
    refresh_token: refreshToken,
    ...more,
  })
}

/** Status of a request that needs a user, with this token. */
export async function statusWith(svc: TestService, token: string): Promise<number> {
  const { statusCode } = await svc.inject({
    method: 'GET',
    url: '/api/v1/user/session',
    headers: { authorization: `Bearer ${token}` },
  })
  return statusCode
}

/** Creates users as root, with their login as password, and returns the records. */
export async function createUsers(svc: TestService, ...users: Json[]): Promise<Json[]> {
  const body = users.map(({ user, ...members }) => ({ _basetype: 'user', user, _password: user.login, ...members }))
  const answer = await svc.as('root').post('/user', body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

export async function createGroups(svc: TestService, ...groups: Json[]): Promise<Json[]> {
  const answer = await svc.as('root').post(
    '/group',
    groups.map((group) => ({ _basetype: 'group', ...group })),
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** Events of some types, oldest first. */
export async function eventsOf(svc: TestService, ...types: string[]): Promise<Json[]> {
  const answer = await svc.as('root').get('/event/list', { type: types.join(','), sort: '_id.ASC' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.objects
}

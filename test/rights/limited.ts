import assert from 'node:assert/strict'
import { type Answer, type Client, createClient, type Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** A user of that login, which is the password as well, with these system rights and no others. */
export async function limitedUser(
  svc: TestService,
  login: string,
  rights: object,
  more: object = {},
): Promise<Limited> {
  const entry = { user: { login, reference: login, ...more }, _password: login, _system_rights: rights }
  const { status, body } = await svc.as('root').post('/user', [entry], { confirm: 'ignore_password_requirements' })
  assert.equal(status, 200, JSON.stringify(body))
  return { id: body[0].user._id, login, client: svc.as(login) }
}

/** Who was disabled meanwhile has lost the token. */
export function again(svc: TestService, { id, login }: Limited): Limited {
  return { id, login, client: createClient(svc.inject, { login, password: login }) }
}

export interface Limited {
  readonly id: number
  readonly login: string
  readonly client: Client
}

export function ok(answer: Answer): Json {
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** Changes a stored user as root. */
export async function changeUser(root: Client, id: number, change: object, beside: object = {}): Promise<void> {
  const [{ user }] = ok(await root.get(`/user/${id}`))
  const entry = { user: { _id: id, _version: user._version, ...change }, ...beside }
  ok(await root.post('/user', [entry], { confirm: 'ignore_password_requirements' }))
}

/** Changes a stored pool: members of its block, and what stands beside it. */
export async function changePool(
  client: Client,
  root: Client,
  id: number,
  beside: object,
  block: object = {},
): Promise<Answer> {
  const [{ pool }] = ok(await root.get(`/pool/${id}`))
  return client.post('/pool', [{ pool: { _id: id, _version: pool._version, ...block }, ...beside }])
}

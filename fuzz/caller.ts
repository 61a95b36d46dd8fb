import { Agent } from 'node:http'
import type { Json } from '../test/support/client.ts'
import { send, type WireAnswer, type WireRequest } from './wire.ts'

/** A caller of the service, with kept connections and a token. */
export interface Caller {
  readonly name: string
  readonly token: string | null
  /** A well-formed request; the parsed body. @throws {Error} when it is not carried out. */
  call(method: string, target: string, body?: unknown): Promise<Json>
  send(wire: WireRequest, timeout?: number): Promise<WireAnswer>
}

export async function signIn(base: URL, login: string, password: string): Promise<Caller> {
  const anonymous = caller(base, 'nobody', null)
  const form = { grant_type: 'password', client_id: 'web-client', username: login, password }
  const answer = await anonymous.send({
    method: 'POST',
    target: '/api/oauth2/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from(new URLSearchParams(form).toString()),
  })
  if (answer.status !== 200) throw new Error(`${login} cannot sign in: ${answer.status} ${answer.body}`)
  return caller(base, login, JSON.parse(answer.body.toString()).access_token)
}

export function caller(base: URL, name: string, token: string | null): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const sendNow = (wire: WireRequest, timeout = 60_000) => send(base, agent, wire, timeout)
  return {
    name,
    token,
    send: sendNow,
    async call(method, target, body) {
      const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
      if (body !== undefined) headers['content-type'] = 'application/json'
      const payload = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }
      const answer = await sendNow({ method, target: `/api/v1${target}`, headers, ...payload })
      if (answer.status !== 200)
        throw new Error(`${method} ${target}: ${answer.status} ${answer.body.subarray(0, 2000)}`)
      return JSON.parse(answer.body.toString())
    },
  }
}

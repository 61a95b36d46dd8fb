import assert from 'node:assert/strict'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'

export type InjectResponse = LightMyRequestResponse
export type Inject = (request: InjectOptions) => Promise<InjectResponse>

/** What JSON text can hold. A test reads answers of every shape and asserts on what it finds, so nothing is checked. */
export type Json = ReturnType<typeof JSON.parse>

export interface Answer {
  status: number
  /** The parsed JSON body; text for other content types; null for an empty body. */
  body: Json
  headers: Record<string, string | string[] | number | undefined>
}

export type Query = Record<string, string | number | boolean | readonly (string | number)[] | undefined>

/** Sends requests as one user. Paths are relative to `/api/v1` unless they start with `/api/` or `//`. */
export interface Client {
  get(path: string, query?: Query): Promise<Answer>
  post(path: string, body?: unknown, query?: Query): Promise<Answer>
  put(path: string, body?: unknown, query?: Query): Promise<Answer>
  patch(path: string, body?: unknown, query?: Query): Promise<Answer>
  delete(path: string, body?: unknown, query?: Query): Promise<Answer>
  /** The access token; requested once. */
  token(): Promise<string>
}

export function createClient(inject: Inject, credentials: { login: string; password: string } | null): Client {
  let pending: Promise<string> | undefined
  const token = (): Promise<string> => {
    if (!credentials) throw new Error('a client without user has no token')
    pending ??= requestToken(inject, credentials)
    return pending
  }
  const send = async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    query: Query = {},
  ) => {
    const headers: Record<string, string> = {}
    if (credentials) headers.authorization = `Bearer ${await token()}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    const payload = body === undefined ? undefined : JSON.stringify(body)
    return readAnswer(await inject({ method, url: absolute(path) + queryText(query), headers, payload }))
  }
  return {
    get: (path, query) => send('GET', path, undefined, query),
    post: (path, body, query) => send('POST', path, body, query),
    put: (path, body, query) => send('PUT', path, body, query),
    patch: (path, body, query) => send('PATCH', path, body, query),
    delete: (path, body, query) => send('DELETE', path, body, query),
    token,
  }
}

/** The password grant, as a client of the interface would do it. */
async function requestToken(inject: Inject, { login, password }: { login: string; password: string }): Promise<string> {
  const response = await inject({
    method: 'POST',
    url: '/api/oauth2/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({
      grant_type: 'password',
      client_id: 'svc-web-frontend',
      username: login,
      password,
    }).toString(),
  })
  assert.equal(response.statusCode, 200, `no token for ${login}: ${response.body}`)
  return (response.json() as { access_token: string }).access_token
}

function absolute(path: string): string {
  if (path.startsWith('//')) return path.slice(1)
  if (path.startsWith('/api/')) return path
  return `/api/v1${path.startsWith('/') ? '' : '/'}${path}`
}

function queryText(query: Query): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const item of Array.isArray(value) ? value : [value]) parameters.append(name, String(item))
  }
  const text = parameters.toString()
  return text && `?${text}`
}

function readAnswer(response: InjectResponse): Answer {
  const type = String(response.headers['content-type'] ?? '')
  const body = response.body === '' ? null : type.includes('json') ? response.json() : response.body
  return { status: response.statusCode, body, headers: response.headers }
}

import type { Answer, Client, Query } from '../test/support/client.ts'

/** Milliseconds that an answer may take; after that, the request may have been done or not. */
const patience = 60_000

export const password = 'root-torture-password'

/** A client of root over real sockets. It throws unless there is an answer. */
export function createHttpClient(url: string): Client {
  let token: Promise<string> | undefined
  const signIn = async (): Promise<string> => {
    const form = { grant_type: 'password', client_id: 'svc-web-frontend', username: 'root', password }
    const response = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
    const body = (await response.json()) as { access_token?: string }
    if (!body.access_token) throw new Error(`cannot sign in: ${JSON.stringify(body)}`)
    return body.access_token
  }
  async function send(method: string, path: string, body: unknown, query: Query = {}): Promise<Answer> {
    token ??= signIn()
    token.catch(() => {
      token = undefined
    })
    const headers: Record<string, string> = { authorization: `Bearer ${await token}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const parameters = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    )
    const response = await fetch(`${url}/api/v1/${path.replace(/^\//, '')}?${parameters}`, {
      method,
      headers,
      signal: AbortSignal.timeout(patience),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? null : JSON.parse(text), headers: {} }
  }
  return {
    get: (path, query) => send('GET', path, undefined, query),
    post: (path, body, query) => send('POST', path, body, query),
    put: (path, body, query) => send('PUT', path, body, query),
    patch: (path, body, query) => send('PATCH', path, body, query),
    delete: (path, body, query) => send('DELETE', path, body, query),
    token: () => (token ??= signIn()),
  }
}

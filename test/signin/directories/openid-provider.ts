import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export interface OpenIdTestProvider extends AsyncDisposable {
  readonly issuer: string
  /** Claims of its people, by their name there. */
  readonly people: Map<string, Record<string, unknown>>
  /** Paths that were asked for. */
  readonly requests: string[]
  /** Makes another id_token of the one that a code was redeemed for. */
  change: ((idToken: string) => string) | null
}

export const client = { id: 'strongroom', secret: 'provider-s3cret-provider-s3cret-1' } as const

/** An OpenID provider where people sign in with their name alone. */
export async function startProvider(callback: string): Promise<OpenIdTestProvider> {
  const people = new Map<string, Record<string, unknown>>()
  const requests: string[] = []
  let handle: ReturnType<Provider['callback']> | undefined
  const changes: Pick<OpenIdTestProvider, 'change'> = { change: null }
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    if (request.url === '/token') answerWith(response, (body) => changedToken(body, changes.change))
    handle?.(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [callback] }],
    claims: { openid: ['sub'], profile: ['name', 'roles', 'org'], email: ['email', 'email_verified'] },
    cookies: { keys: ['of the tests'] },
    findAccount: async (_, id) => {
      const claims = people.get(id)
      return claims && { accountId: id, claims: async () => ({ sub: id, ...claims }) }
    },
  })
  handle = provider.callback()
  return {
    issuer,
    people,
    requests,
    get change() {
      return changes.change
    },
    set change(value) {
      changes.change = value
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Another body in place of the one that a response ends with. */
function answerWith(response: ServerResponse, make: (body: string) => string): void {
  const end = response.end.bind(response)
  response.end = ((body: unknown) => {
    const text = make(String(body))
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as ServerResponse['end']
}

function changedToken(body: string, change: OpenIdTestProvider['change']): string {
  const tokens = JSON.parse(body) as { id_token?: string }
  if (!change || !tokens.id_token) return body
  return JSON.stringify({ ...tokens, id_token: change(tokens.id_token) })
}

/** What a browser does at the provider until it is sent back; the address that it is sent to. */
export async function signInThere(address: URL, name: string): Promise<URL> {
  const cookies = new Map<string, string>()
  const go = async (url: URL, form?: Record<string, string>): Promise<URL> => {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join('; ') },
      ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const location = response.headers.get('location')
    if (!location) return url
    const next = new URL(location, url)
    return next.origin === address.origin ? go(next) : next
  }
  let at = await go(address)
  for (const prompt of ['login', 'consent']) {
    if (at.origin === address.origin) at = await go(at, { prompt, login: name, password: 'any' })
  }
  return at
}

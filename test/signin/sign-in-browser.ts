import { createHash, randomBytes } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { type Reachable, requestToken, type TokenAnswer } from './support.ts'

export const ownCallback = 'http://localhost:8080/app/callback'

/** The challenge of a verifier (RFC 7636, S256). */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

export interface BrowserAnswer {
  status: number
  body: string
  headers: Record<string, string | string[] | number | undefined>
  /** Where it leads. */
  location: URL | null
}

/** What a browser does without showing anything: keeps cookies, sends the forms of pages. */
export class TestVisitor {
  readonly cookies = new Map<string, string>()
  readonly #svc: Reachable
  readonly verifier = randomBytes(32).toString('base64url')
  readonly state = randomBytes(12).toString('base64url')

  constructor(svc: Reachable) {
    this.#svc = svc
  }

  /** Parameters of a request of the default client, with others in their place; undefined leaves one out. */
  parameters(more: Readonly<Record<string, string | undefined>> = {}): Record<string, string> {
    const all = {
      client_id: 'web-client',
      response_type: 'code',
      state: this.state,
      redirect_uri: ownCallback,
      code_challenge: challengeOf(this.verifier),
      code_challenge_method: 'S256',
      ...more,
    }
    return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined))
  }

  async send(request: InjectOptions): Promise<BrowserAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { host: 'localhost:8080', accept: 'text/html', ...(cookie ? { cookie } : {}), ...request.headers }
    const response = await this.#svc.inject({ ...request, headers })
    for (const line of [response.headers['set-cookie'] ?? []].flat()) this.#keep(line)
    const { location } = response.headers
    return {
      status: response.statusCode,
      body: response.body,
      headers: response.headers,
      location: typeof location === 'string' ? new URL(location, 'http://localhost:8080') : null,
    }
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const at = pair.indexOf('=')
    if (attributes.includes('Max-Age=0')) this.cookies.delete(pair.slice(0, at))
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1))
  }

  get(url: string, query: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<BrowserAnswer> {
    const text = new URLSearchParams(query).toString()
    return this.send({ method: 'GET', url: text ? `${url}?${text}` : url, headers })
  }

  post(url: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<BrowserAnswer> {
    return this.send({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams(form).toString(),
    })
  }

  authorize(more: Readonly<Record<string, string | undefined>> = {}): Promise<BrowserAnswer> {
    return this.get('/api/oauth2/auth', this.parameters(more))
  }

  /** Sends the form of a page with values filled in, as a browser does. */
  submit(page: BrowserAnswer, values: Record<string, string>, headers: Record<string, string> = {}) {
    const { action, fields } = formOf(page.body)
    return this.post(action, { ...fields, ...values }, { origin: 'http://localhost:8080', ...headers })
  }

  /** Opens the page, fills in login and password, and sends the form. */
  async signIn(
    login: string,
    password: string,
    more: Readonly<Record<string, string | undefined>> = {},
    values: Record<string, string> = {},
  ): Promise<BrowserAnswer> {
    return this.submit(await this.authorize(more), { login, password, ...values })
  }

  /** The token request for a code, from this browser. */
  redeem(code: string, more: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<TokenAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const form = {
      grant_type: 'authorization_code',
      client_id: 'web-client',
      code,
      redirect_uri: ownCallback,
      code_verifier: this.verifier,
      ...more,
    }
    return requestToken(this.#svc, form, { ...(cookie ? { cookie } : {}), ...headers })
  }
}

/** The first form of a page: where it goes and what its hidden fields hold. */
export function formOf(body: string): { action: string; fields: Record<string, string> } {
  const form = /<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/.exec(body)
  if (!form) throw new Error(`there is no form: ${body.slice(0, 500)}`)
  const fields: Record<string, string> = {}
  for (const [, name = '', value = ''] of form[2]?.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g) ??
    []) {
    fields[name] = unescapeHtml(value)
  }
  return { action: form[1] ?? '', fields }
}

export function unescapeHtml(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}

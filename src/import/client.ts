import { setTimeout as sleep } from 'node:timers/promises'
import { withoutEnd } from '../platform/values/text.ts'

/** The answer of a service that refused a request; `message` is one readable line. */
export class ServiceError extends Error {
  readonly status: number
  readonly code: string
  readonly parameters: Record<string, unknown>
  /** The message of the service, without the request. */
  readonly detail: string

  constructor(request: string, status: number, body: { code?: string; message?: string; parameters?: object }) {
    const parameters = { ...body.parameters } as Record<string, unknown>
    const detail = Object.keys(parameters).length > 0 ? ` ${JSON.stringify(parameters)}` : ''
    super(`${request} was answered ${status} ${body.code ?? ''}: ${body.message ?? 'no message'}${detail}`)
    this.status = status
    this.code = body.code ?? ''
    this.parameters = parameters
    this.detail = body.message ?? body.code ?? `status ${status}`
  }
}

export interface ClientOptions {
  /** Base address of the service. */
  url: string
  login: string
  password: string
  /** An access token, used while it is valid, instead of a sign-in. */
  token?: string
  /** Milliseconds to keep trying while the service does not answer, is stopping, or a lock is held. */
  patience?: number
  signal?: AbortSignal
}

export interface UploadedFile {
  readonly name: string
  /** For a file on the disk, `openAsBlob` reads no more than is being sent. */
  readonly content: Uint8Array<ArrayBuffer> | Blob
}

export interface ServiceClient {
  readonly url: string
  get<T>(path: string, query?: Query): Promise<T>
  post<T>(path: string, body: unknown, query?: Query): Promise<T>
  patch<T>(path: string, body: unknown, query?: Query): Promise<T>
  delete<T>(path: string, body: unknown, query?: Query): Promise<T>
  /** Uploads files; returns their records in order. */
  upload(files: readonly UploadedFile[], query?: Query): Promise<readonly { readonly _id: number }[]>
  /** The access token, requested when there is none yet. */
  token(): Promise<string>
}

type Query = Record<string, string | number | boolean | undefined>

interface Tokens {
  access: string
  refresh: string | null
}

/** Statuses after which the same request may succeed: a lock is held, the service is stopping or starting. */
const passing = new Set([423, 502, 503, 504])

/**
 * Speaks the HTTP interface as one user: signs in with the password grant, renews the token when it is rejected, and repeats a
 * request after a temporary failure. A repeated request may have been carried out the first time: callers rely on unique keys.
 */
export function createServiceClient(options: ClientOptions): ServiceClient {
  const { url, login, password, token, patience = 60_000, signal } = options
  const base = withoutEnd(url, '/')
  let tokens: Promise<Tokens> | null = null
  // A wrong address is reported soon; a service that was reachable before is waited for.
  let reached = false

  async function fetchOnce(path: string, init: RequestInit): Promise<Response> {
    return fetch(`${base}${path}`, { ...init, signal: signal ?? null })
  }

  /** Sends until there is an answer about the request itself. */
  async function send(path: string, init: () => Promise<RequestInit>): Promise<Response> {
    const deadline = Date.now() + (reached ? patience : Math.min(patience, 2000))
    for (let pause = 100; ; pause = Math.min(pause * 2, 5000)) {
      const last = Date.now() + pause > deadline
      try {
        const response = await fetchOnce(path, await init())
        reached = true
        if (!passing.has(response.status) || last) return response
        await response.body?.cancel()
      } catch (error) {
        if (signal?.aborted || last || !(error instanceof TypeError)) throw unreachable(base, error as Error)
      }
      await sleep(pause, undefined, signal ? { signal } : {})
    }
  }

  async function grant(form: Record<string, string>): Promise<Tokens> {
    const response = await send('/api/oauth2/token', async () => ({
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ client_id: 'web-client', ...form }).toString(),
    }))
    const body = (await response.json().catch(() => ({}))) as Record<string, string>
    if (!response.ok || !body.access_token) {
      const reason = body.error_description ?? body.message ?? `status ${response.status}`
      throw new Error(`cannot sign in to ${base} as ${login}: ${reason}`)
    }
    return { access: body.access_token, refresh: body.refresh_token ?? null }
  }

  const signIn = (): Promise<Tokens> => grant({ grant_type: 'password', username: login, password, scope: 'offline' })

  function current(): Promise<Tokens> {
    tokens ??= token === undefined ? signIn() : Promise.resolve({ access: token, refresh: null })
    return tokens
  }

  /** Replaces the tokens once, however many requests find them rejected at the same time. */
  async function renew(rejected: Tokens): Promise<void> {
    if ((await current()) !== rejected) return
    if (token !== undefined) throw new Error(`the service at ${base} does not take the token: it may have expired`)
    const { refresh } = rejected
    tokens = refresh ? grant({ grant_type: 'refresh_token', refresh_token: refresh }).catch(() => signIn()) : signIn()
    await tokens
  }

  async function request<T>(method: string, path: string, query: Query | undefined, body: unknown): Promise<T> {
    const address = `/api/v1${path}${queryText(query)}`
    const form = body instanceof FormData ? body : null
    const payload = form ?? (body === undefined ? null : JSON.stringify(body))
    for (let attempt = 0; ; attempt++) {
      const used = await current()
      const response = await send(address, async () => ({
        method,
        headers: {
          authorization: `Bearer ${used.access}`,
          // For a local connection, compression costs the service more than it saves.
          'accept-encoding': 'identity',
          ...(payload === null || form ? {} : { 'content-type': 'application/json' }),
        },
        body: payload,
      }))
      if (response.status === 401 && attempt === 0) {
        await response.body?.cancel()
        await renew(used)
        continue
      }
      return readAnswer<T>(response, `${method} ${address.split('?')[0]}`)
    }
  }

  return {
    url: base,
    get: (path, query) => request('GET', path, query, undefined),
    post: (path, body, query) => request('POST', path, query, body),
    patch: (path, body, query) => request('PATCH', path, query, body),
    delete: (path, body, query) => request('DELETE', path, query, body),
    upload(files, query) {
      const form = new FormData()
      for (const { name, content } of files) {
        form.append('file', content instanceof Blob ? content : new Blob([content]), name)
      }
      return request('POST', '/eas/put', query, form)
    },
    token: async () => (await current()).access,
  }
}

async function readAnswer<T>(response: Response, request: string): Promise<T> {
  const text = await response.text()
  let body: unknown
  try {
    body = text === '' ? null : JSON.parse(text)
  } catch {
    throw new ServiceError(request, response.status, {
      message: 'the answer is no JSON: is this a Strongroom service?',
    })
  }
  if (response.status === 202) {
    throw new ServiceError(request, 202, { code: 'Confirmation', message: JSON.stringify(body).slice(0, 500) })
  }
  if (!response.ok) throw new ServiceError(request, response.status, (body ?? {}) as { code?: string })
  return body as T
}

function unreachable(base: string, error: Error): Error {
  if (error.name === 'AbortError') return error
  const cause = error.cause as { code?: string; message?: string } | undefined
  return new Error(`the service at ${base} does not answer: ${cause?.code ?? cause?.message ?? error.message}`, {
    cause: error,
  })
}

function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
  const text = parameters.toString()
  return text && `?${text}`
}

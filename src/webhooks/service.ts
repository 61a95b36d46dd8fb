/**
 * Webhooks: HTTP calls to addresses of the base configuration (`transition_webhook`), signed with the secret that
 * receiver and service share. Each call is logged with its answer.
 */
import { createHmac } from 'node:crypto'
import type { BaseConfigService } from '../config/service.ts'
import type { EventLog } from '../events/service.ts'
import type { OutgoingLimits } from '../platform/outgoing/limits.ts'
import { type OutgoingResponse, RefusedAddress, sendOutgoing } from '../platform/outgoing/request.ts'
import type { Db } from '../platform/postgres/db.ts'
import { opened, type Secret } from '../platform/secrets/sealed-texts.ts'
import { withoutSecrets } from '../platform/secrets/secret-forms.ts'
import { scrubAddress, scrubbed, scrubText } from '../platform/secrets/secrets.ts'
import { assertStorable } from '../platform/values/text.ts'
import { createReceivers } from './receivers.ts'

export interface WebhookOptions {
  db: Db
  events: EventLog
  baseConfig: Pick<BaseConfigService, 'get'>
  /** Configuration `allowPrivateWebhooks`. */
  allowPrivate: boolean
  limits: OutgoingLimits
  /** Maximum number of calls of this process at the same time. */
  places: number
  /** Creates an access token for a user; null: there is no such user. */
  tokenFor: (userId: number) => Promise<string | null>
}

export interface WebhookCall {
  readonly name: string
  /** The user for whom the call is made: used for a token when the webhook is configured to send one. */
  readonly userId: number | null
  /** The same for every attempt of one call, so that receivers can recognise a repetition. */
  readonly id: string
  /** The body, without the token. */
  readonly payload: { readonly info: Readonly<Record<string, unknown>>; readonly objects: readonly unknown[] }
  readonly signal?: AbortSignal
}

/** A question to a receiver whose answer is awaited. */
export interface WebhookQuestion extends Omit<WebhookCall, 'payload' | 'userId'> {
  /** The body; it gets the token of the caller when the webhook sends one. */
  readonly body: (token: string | null) => Promise<string>
  /** The token of the caller; null: there is none. */
  readonly token: string | null
  /** Maximum bytes of an answer. */
  readonly mostAnswer: number
}

/** `done`: accepted by the receiver; `failed`: may be tried again; `refused`: trying again cannot help. */
export type WebhookOutcome = 'done' | 'failed' | 'refused'

export type WebhookService = ReturnType<typeof createWebhookService>

type Webhook = ReturnType<BaseConfigService['get']>['transition_webhook']['webhooks'][number]

const defaultTimeout = 30_000
const longestResponse = 1024 * 1024
/** Maximum number of characters of an answer in the log. */
const maxLogged = 16_384

export function createWebhookService({
  db,
  events,
  baseConfig,
  allowPrivate,
  limits,
  places,
  tokenFor,
}: WebhookOptions) {
  const receivers = createReceivers(places)
  const find = (wanted: string) => baseConfig.get().transition_webhook.webhooks.find(({ name }) => name === wanted)

  async function log(webhook: object, answer: object, error?: string): Promise<void> {
    const info = { webhook, ...answer, ...(error === undefined ? {} : { error }) }
    await events.append(db, [{ type: error === undefined ? 'WEBHOOK' : 'WEBHOOK_ERROR', actor: null, info }])
  }

  async function tell(webhook: Webhook, call: WebhookCall, token: string | null): Promise<OutgoingResponse> {
    const { info, objects } = call.payload
    const withToken = webhook.include_access_token && token !== null ? { ...info, api_user_access_token: token } : info
    return send(webhook, call, JSON.stringify({ info: withToken, objects }), token, longestResponse)
  }

  async function send(
    webhook: Webhook,
    call: Pick<WebhookCall, 'id' | 'signal'>,
    body: string,
    token: string | null,
    mostAnswer: number,
  ): Promise<OutgoingResponse> {
    return sendOutgoing({
      url: opened(webhook.url, 'The address of the webhook'),
      method: webhook.method,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'svc-webhook',
        'x-svc-webhook-id': call.id,
        ...signatures(opened(webhook.secret, 'The secret of the webhook'), body),
        ...(webhook.send_authorization_header && token !== null ? { authorization: `Bearer ${token}` } : {}),
      },
      body,
      timeout: Math.min(webhook.timeout > 0 ? webhook.timeout * 1000 : defaultTimeout, limits.time),
      maxResponse: Math.min(limits.answer, mostAnswer),
      allowPrivate,
      ...(call.signal ? { signal: call.signal } : {}),
    })
  }

  return {
    /** Names of the configured webhooks. */
    names: (): ReadonlySet<string> => new Set(baseConfig.get().transition_webhook.webhooks.map(({ name }) => name)),

    /**
     * Takes a place for a call of the webhook; null: its receiver is slow and has its share, so the call should be repeated later.
     */
    place(name: string, signal: AbortSignal): Promise<(() => void) | null> {
      const url = find(name)?.url
      const host = typeof url === 'string' ? URL.parse(url)?.host : url?.shown
      return receivers.enter(host ?? name, signal)
    },

    /** Whether the webhook sends a token of the caller; null: there is no such webhook. */
    wantsToken(name: string): boolean | null {
      const webhook = find(name)
      return webhook ? webhook.send_authorization_header || webhook.include_access_token : null
    },

    /**
     * Asks a receiver, and logs the outcome like that of a call. Any answer is returned, whatever its status.
     * @throws {Error} with text that follows the name of the webhook, when there is no answer.
     */
    async ask(question: WebhookQuestion): Promise<OutgoingResponse> {
      const { name, token, mostAnswer } = question
      const webhook = find(name)
      if (!webhook) throw new Error('is not in the base configuration')
      const shown = { name, url: shownUrl(webhook.url), method: webhook.method }
      const clean = withoutSecrets(secretsOf(webhook, token))
      const body = await question.body(webhook.include_access_token ? token : null)
      let response: OutgoingResponse
      try {
        response = await send(webhook, question, body, token, mostAnswer)
      } catch (error) {
        const reason = clean(error instanceof Error ? error.message : String(error))
        await log(shown, {}, reason)
        throw new Error(`has not answered: ${reason}`, { cause: error })
      }
      const answer = loggedAnswer(response.body, (text) => scrubText(clean(text)))
      const accepted = response.status >= 200 && response.status < 300
      await log(shown, answer, accepted ? undefined : `the receiver answered with status ${response.status}`)
      return response
    },

    /** Calls a webhook once and logs the outcome (`WEBHOOK`, `WEBHOOK_ERROR`). */
    async call(call: WebhookCall): Promise<WebhookOutcome> {
      const webhook = find(call.name)
      if (!webhook) {
        await log({ name: call.name }, {}, 'the base configuration has no such webhook')
        return 'refused'
      }
      const shown = { name: webhook.name, url: shownUrl(webhook.url), method: webhook.method }
      const wantsToken = webhook.send_authorization_header || webhook.include_access_token
      const token = wantsToken && call.userId !== null ? await tokenFor(call.userId) : null
      const clean = withoutSecrets(secretsOf(webhook, token))
      let response: OutgoingResponse
      try {
        response = await tell(webhook, call, token)
      } catch (error) {
        await log(shown, {}, clean(error instanceof Error ? error.message : String(error)))
        return error instanceof RefusedAddress ? 'refused' : 'failed'
      }
      const answer = loggedAnswer(response.body, (text) => scrubText(clean(text)))
      if (response.status >= 200 && response.status < 300) {
        await log(shown, answer)
        return 'done'
      }
      await log(shown, answer, `the receiver answered with status ${response.status}`)
      return mayTryAgain(response.status) ? 'failed' : 'refused'
    },
  }
}

/** The receiver is in trouble or busy; any other status below 500 means that it does not want this call. */
function mayTryAgain(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429
}

/** Keyed hashes of the body; none without a secret. SHA-1 is for receivers without support for better ones. */
function signatures(secret: string, body: string): Record<string, string> {
  if (secret === '') return {}
  const hmac = (algorithm: string): string => createHmac(algorithm, secret).update(body).digest('hex')
  return { 'x-hub-signature': `sha1=${hmac('sha1')}`, 'x-hub-signature-256': `sha256=${hmac('sha256')}` }
}

/** The secrets in a call to a receiver: the receiver may send them back, in its answer or in the text of a failure. */
function secretsOf({ url: stored, secret }: Webhook, token: string | null): string[] {
  const secrets = [token, typeof secret === 'string' ? secret : null]
  const url = typeof stored === 'string' ? URL.parse(stored) : null
  if (url) {
    const { username, password } = url
    const [name, word] = [unescaped(username), unescaped(password)]
    // A user name alone is a token; both together are the base64 text of the header.
    secrets.push(...(password === '' ? [username, name] : [password, word, `${name}:${word}`]))
    for (const [name, value] of url.searchParams) {
      if (scrubAddress(`?${name}=x`) !== `?${name}=x`) secrets.push(value)
    }
  }
  return secrets.filter((secret) => secret !== null && secret !== '') as string[]
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function shownUrl(url: Secret): string {
  return typeof url === 'string' ? scrubAddress(url) : url.shown
}

/** `response` when the answer is JSON, else `response_no_json`; NUL cannot be stored. */
function loggedAnswer(
  body: Buffer,
  clean: (text: string) => string,
): { response?: unknown; response_no_json?: string } {
  const text = body.toString('utf8').replaceAll('\0', '')
  if (text === '') return {}
  // Before it is cut: a part of a secret is confidential, too.
  if (text.length > maxLogged) return { response_no_json: clean(text).slice(0, maxLogged).toWellFormed() }
  try {
    const response: unknown = JSON.parse(text)
    assertStorable(response, 'response')
    return { response: scrubbed(response, clean) }
  } catch {
    return { response_no_json: clean(text) }
  }
}

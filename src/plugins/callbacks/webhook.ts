import { CallbackFailed, type PendingChange, type Replacement } from '../../objects/service.ts'
import { signalOf } from '../../platform/limits/caller-signal.ts'
import { createShares, type Shares } from '../../platform/limits/shares.ts'
import type { WebhookService } from '../../webhooks/service.ts'
import { readAnswer, refusalError, refusalIn } from '../run/answer.ts'
import { type CallerOptions, mostWaiting } from '../run/call.ts'
import { whoOf } from '../run/info.ts'
import { payloadOf, replacementsIn, type TableOf } from './payload.ts'

export interface WebhookOptions extends Pick<CallerOptions, 'tokens' | 'apiUrl' | 'externalUrl'> {
  readonly webhooks: Pick<WebhookService, 'ask' | 'wantsToken'>
  /** Calls of one webhook at the same time. */
  readonly places: number
  /** Most bytes of an answer. */
  readonly mostOutput: number
  readonly tableOf: TableOf
}

export type AskWebhook = ReturnType<typeof createWebhookAsking>

/** Seconds for which a token of a call is valid if the service is killed meanwhile: longer than any call. */
const tokenSeconds = 610

/** Calls the receivers of webhooks before a change is written. The contract is that of the programs, over HTTP. */
export function createWebhookAsking(options: WebhookOptions) {
  const { webhooks, tokens, apiUrl, externalUrl, places, mostOutput, tableOf } = options
  const shares = new Map<string, Shares>()

  function sharesOf(name: string): Shares {
    const full = (): Error => new CallbackFailed('too many of its calls wait already')
    const queue = { most: mostWaiting, mostOfOne: mostWaiting, full, taken: full }
    const known = shares.get(name) ?? createShares(places, queue, 0)
    shares.set(name, known)
    return known
  }

  async function ask(name: string, change: PendingChange, signal: AbortSignal): Promise<readonly Replacement[]> {
    const { actor, request } = change
    const wanted = webhooks.wantsToken(name)
    if (wanted === null) throw new CallbackFailed('it is not in the base configuration')
    const issued = wanted ? await tokens.issue([actor.userId], tokenSeconds) : null
    try {
      const response = await webhooks
        .ask({
          name,
          id: crypto.randomUUID(),
          token: issued?.tokens[0] ?? null,
          mostAnswer: mostOutput,
          signal,
          async body(token) {
            const info = {
              api_url: apiUrl(),
              external_url: externalUrl,
              api_user: whoOf(actor),
              ...(token === null ? {} : { api_user_access_token: token, tokens: { api_user: token } }),
              ...(request ? { request } : {}),
            }
            return (await payloadOf(info, change.objects, tableOf)).toString('utf8')
          },
        })
        .catch((error: unknown) => {
          throw new CallbackFailed(`it ${error instanceof Error ? error.message : String(error)}`)
        })
      return await answerIn(response)
    } finally {
      if (issued) await tokens.revoke(issued).catch(() => {})
    }
  }

  async function answerIn({ status, body }: { status: number; body: Buffer }): Promise<readonly Replacement[]> {
    const answer = body.length === 0 ? undefined : await readAnswer(body)
    const accepted = status >= 200 && status < 300
    const refusal = refusalIn(answer, !accepted)
    if (refusal) throw refusalError(refusal)
    if (!accepted) throw new CallbackFailed(`its receiver answered with status ${status}`)
    if (body.length === 0) throw new CallbackFailed('its answer is empty')
    if (answer === undefined) throw new CallbackFailed('its answer is no JSON')
    return replacementsIn(answer, tableOf)
  }

  return async (name: string, change: PendingChange): Promise<readonly Replacement[]> => {
    using waiting = signalOf(change.deadline)
    const work = (): Promise<readonly Replacement[]> => ask(name, change, waiting.signal)
    return sharesOf(name).run(`u${change.actor.userId}`, work, waiting.signal)
  }
}

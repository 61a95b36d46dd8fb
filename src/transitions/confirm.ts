import { createHmac, timingSafeEqual } from 'node:crypto'
import { textIn } from '../platform/values/localized.ts'
import { confirmTasks, type Task } from '../platform/values/tasks.ts'
import type { Plan } from './engine.ts'

export interface Confirmation {
  /** The value of `confirmTransition` that confirms exactly the texts shown. */
  readonly token: string
  readonly texts: readonly string[]
  readonly tasks: Task[]
}

/** Confirms every transition, whatever its text: for clients without a user to ask (decisions.md, 32). */
const everything = 'ALL'

/**
 * The texts that the caller must confirm before the change is made; null: there are none, or `given` confirms them. The token is a
 * keyed hash over the transitions that ask, and over the objects as they are stored and as they would be. When any of these has
 * changed meanwhile, the token is not accepted, and the new text is shown.
 */
export function confirmationOf(plan: Plan, given: string | undefined, secret: string | Buffer): Confirmation | null {
  if (plan.confirmations.length === 0) return null
  const token = tokenOf(plan, secret)
  if (given === everything || (given !== undefined && sameToken(given, token))) return null
  const texts = plan.confirmations.map(({ transition }) => textIn(transition.confirm, plan.actor.languages))
  const tasks = confirmTasks({ title: 'Workflow', messages: texts, name: 'confirmTransition', value: token })
  return { token, texts, tasks }
}

function tokenOf(plan: Plan, secret: string | Buffer): string {
  const shown = plan.confirmations.map(({ transition, objects }) => [
    transition.id,
    transition.version,
    transition.confirm,
    objects.map(({ object, tagsAfter, owner }) => [
      object.systemObjectId ?? String(object.key),
      object.version,
      object.operation,
      object.objecttypeId,
      object.poolId,
      sorted(object.tagsBefore),
      sorted(tagsAfter),
      owner,
    ]),
  ])
  const text = JSON.stringify([plan.actor.userId, plan.trigger, shown])
  return createHmac('sha256', secret).update(text).digest('base64url')
}

function sorted(ids: readonly number[] | null): number[] | null {
  return ids === null ? null : [...ids].sort((a, b) => a - b)
}

function sameToken(given: string, token: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(token)]
  return left.length === right.length && timingSafeEqual(left, right)
}

import { AsyncLocalStorage } from 'node:async_hooks'

/** A rule that ran, by itself or on request. */
export interface CauseStep {
  readonly kind: string
  readonly id: number
}

/** The cause of an action, from the first rule to the last one; empty: a user has requested it. */
export type Cause = readonly CauseStep[]

const current = new AsyncLocalStorage<Cause>()

/** The cause of the current work. Jobs and events keep it, and pass it on to the work that they start. */
export function currentCause(): Cause {
  return current.getStore() ?? []
}

export function withCause<T>(cause: Cause, work: () => T): T {
  return current.run(cause, work)
}

/** Joins several chains into one with the steps of all of them, so that a loop through any of the causes is recognised. */
export function joinCauses(...causes: readonly (Cause | null | undefined)[]): Cause {
  const steps = new Map(causes.flatMap((cause) => (cause ?? []).map((step) => [`${step.kind} ${step.id}`, step])))
  return [...steps.values()]
}

/** The member of a stored payload that holds its cause. */
const member = '_cause'

/** A payload with the cause of its job; unchanged when there is none. */
export function carryCause(payload: unknown, cause: Cause = currentCause()): unknown {
  if (cause.length === 0 || typeof payload !== 'object' || payload === null || Array.isArray(payload)) return payload
  return { ...payload, [member]: cause }
}

/** The original payload, and its cause. */
export function takeCause(stored: unknown): { readonly payload: unknown; readonly cause: Cause } {
  if (typeof stored !== 'object' || stored === null || !(member in stored)) return { payload: stored, cause: [] }
  const { [member]: cause, ...payload } = stored as Record<string, unknown>
  return { payload, cause: cause as Cause }
}

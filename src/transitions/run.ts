import type { Actor } from '../platform/actor.ts'
import type { Task } from '../platform/values/tasks.ts'
import type { EffectEvent, WrittenObject } from './effects.ts'
import type { PlanTrigger } from './engine.ts'

/** A transition to be run for stored objects. */
export interface RunRequest {
  readonly trigger: Exclude<PlanTrigger, { kind: 'save' }>
  /** With the version that the caller has seen, if it matters. */
  readonly objects: readonly { readonly systemObjectId: number; readonly version?: number | undefined }[]
  readonly confirmTransition?: string | undefined
  /** Whether missing objects are left out; otherwise they are an error. */
  readonly skipMissing?: boolean
  /** The entries of the event log that started the run. */
  readonly events?: readonly EffectEvent[]
}

export interface RunObject extends WrittenObject {
  /** Whether the transition created a new version. */
  readonly changed: boolean
}

export type RunResult =
  | { readonly kind: 'confirm'; readonly tasks: readonly Task[] }
  | { readonly kind: 'done'; readonly objects: readonly RunObject[] }

/** Loads, checks and writes the objects. The capability that stores objects provides it. */
export type RunOnObjects = (actor: Actor, request: RunRequest) => Promise<RunResult>

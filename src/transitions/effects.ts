import type { JobRequest } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import { currentCause, joinCauses } from '../platform/cause.ts'
import type { Localized } from '../platform/values/localized.ts'
import type { Person } from '../rights/service.ts'
import type { Effect, PlanObject } from './engine.ts'
import type { Operation, RemoteAction, TransitionType } from './model.ts'

/** The result of writing an object of a plan. */
export interface WrittenObject {
  readonly systemObjectId: number
  readonly version: number
}

/** An object in the form for effects. For a refused insert no object is stored: its id is null. */
export interface EffectObject {
  readonly systemObjectId: number | null
  readonly version: number
  readonly objecttypeId: number
  readonly operation: Operation
  readonly owner: Person | null
  readonly contact: Person | null
}

/** Payload of the jobs `transition.email` and `transition.webhook`: all data that the action needs, as of the change. */
export interface EffectJob<Kind extends RemoteAction['type'] = RemoteAction['type']> {
  readonly action: Extract<RemoteAction, { type: Kind }>
  readonly transition: {
    readonly id: number
    readonly type: TransitionType
    /** Absent in jobs that were queued before this was recorded: root. */
    readonly setBy?: number
    readonly comment: string
    readonly displayname: Localized
    readonly confirm: Localized
  }
  readonly actor: Pick<Actor, 'userId' | 'login' | 'displayname' | 'reference'> | null
  readonly objects: readonly EffectObject[]
  /** The entries of the event log for which an event transition ran. */
  readonly events?: readonly EffectEvent[]
  /** Set when the call was postponed because the receiver is slow. */
  readonly putOff?: PutOff
}

export interface PutOff {
  /** The id of the call: the id of its first job. */
  readonly id: number
  readonly times: number
  /** Earlier attempts. */
  readonly attempts: number
}

export interface EffectEvent {
  readonly id: number
  readonly type: string
  readonly info: unknown
}

export const effectJobNames = { email: 'transition.email', webhook: 'transition.webhook' } as const

/** A webhook call carries at most this many objects: they are rendered in full and sent in one body. */
const webhookBatch = 200
export const attempts = { email: 5, webhook: 12 } as const

/** The jobs for the effects of a plan; `written` gives the stored result, null if the change was refused. */
export function effectJobs(
  actor: Actor | null,
  effects: readonly Effect[],
  written: (object: PlanObject) => WrittenObject | null,
  events?: readonly EffectEvent[],
): JobRequest[] {
  return effects.flatMap(({ transition, action, objects }) => {
    const all = objects.map((object) => effectObject(object, written(object)))
    // An event without an object is sent nevertheless.
    const batches = action.type === 'webhook' && all.length > 0 ? chunks(all, webhookBatch) : [all]
    return batches.map((batch): JobRequest => {
      const { id, type, comment, displayname, confirm, setBy, trigger } = transition
      const payload: EffectJob = {
        action,
        transition: { id, type, comment, displayname, confirm, setBy },
        actor: actor && pick(actor),
        objects: batch,
        ...(events ? { events } : {}),
      }
      const cause = joinCauses(currentCause(), [{ kind: trigger, id }])
      return { name: effectJobNames[action.type], payload, maxAttempts: attempts[action.type], cause }
    })
  })
}

function effectObject(object: PlanObject, written: WrittenObject | null): EffectObject {
  return {
    systemObjectId: written?.systemObjectId ?? object.systemObjectId,
    version: written?.version ?? object.version,
    objecttypeId: object.objecttypeId,
    operation: object.operation,
    owner: object.owner,
    contact: object.poolContact ?? null,
  }
}

function pick({ userId, login, displayname, reference }: Actor): EffectJob['actor'] {
  return { userId, login, displayname, reference }
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const result: T[][] = []
  for (let start = 0; start < items.length; start += size) result.push(items.slice(start, start + size))
  return result
}

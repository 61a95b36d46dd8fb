import type { Actor } from '../platform/actor.ts'
import { isCaller, type Person, type Principal } from '../rights/service.ts'
import { matchesTagFilter, type TagSnapshot, withTag } from '../tags/service.ts'
import {
  type AskingAction,
  isAsking,
  isExit,
  isRemote,
  type LocalAction,
  type Operation,
  type RemoteAction,
  type Transition,
  verdictOf,
} from './model.ts'

/** The trigger of the evaluation: a save or delete, or one transition that a user or an event starts. */
export type PlanTrigger =
  | { readonly kind: 'save' }
  | { readonly kind: 'manual'; readonly transitionId: number }
  | { readonly kind: 'event'; readonly transitionId: number }

/** One object of a change, as it would be stored. `key` is the caller's own identifier for it, unique in the request. */
export interface PlanObject {
  readonly key: number | string
  readonly operation: Operation
  readonly objecttypeId: number
  readonly poolId: number | null
  /** null for an insert. */
  readonly tagsBefore: readonly number[] | null
  readonly tagsAfter: readonly number[]
  readonly owner: Person | null
  /** Contact of the object's pool. */
  readonly poolContact?: Person | null
  /** null for an insert. */
  readonly systemObjectId: number | null
  /** Stored version; 0 for an insert. */
  readonly version: number
}

export interface PlanRequest {
  readonly actor: Actor
  readonly trigger: PlanTrigger
  readonly objects: readonly PlanObject[]
  /** Transitions that apply to objects of this type in this pool, in the order of their evaluation. */
  readonly applicable: (objecttypeId: number, poolId: number | null) => readonly Transition[]
  readonly tags: TagSnapshot
  /** Whether the setter of the transition may do the action to the object in its state at that time; absent: yes. */
  readonly allows?: Allows
}

export type Allows = (
  transition: Transition,
  action: LocalAction | AskingAction,
  object: PlanObject,
  state: State,
) => boolean

/** An action that was left out because its setter may not do it. */
export interface Withheld {
  readonly transition: Transition
  readonly action: LocalAction['type']
}

/** An action that asks before the change is written, by its position in the transition's list. */
export interface Ask {
  readonly transition: Transition
  readonly index: number
  readonly action: AskingAction
  /** Whether the setter of the transition may change the object. */
  readonly mayChange: boolean
}

export interface ObjectPlan {
  readonly object: PlanObject
  readonly tagsAfter: readonly number[]
  readonly owner: Person | null
  readonly fired: readonly Transition[]
  /** The questions before the object is written, in order. */
  readonly asks: readonly Ask[]
  /** Actions that were left out. */
  readonly withheld: readonly Withheld[]
  /** The transition that decided last and refused the change. */
  readonly rejectedBy: Transition | null
  /** Whether a transition that was to be run does not fit the object. */
  readonly inapplicable: boolean
}

/** One remote action with all objects for which its transition fired, and the owners that they get. */
export interface Effect {
  readonly transition: Transition
  /** Position in the transition's list. */
  readonly index: number
  readonly action: RemoteAction
  readonly objects: readonly PlanObject[]
}

export interface Plan {
  readonly actor: Actor
  readonly trigger: PlanTrigger
  readonly objects: readonly ObjectPlan[]
  /** Effects to be queued with the change. */
  readonly effects: readonly Effect[]
  /** Effects of rejecting transitions, to be queued when the change is refused. */
  readonly rejectionEffects: readonly Effect[]
  /** Fired transitions that must be confirmed first, with the objects concerned. */
  readonly confirmations: readonly { readonly transition: Transition; readonly objects: readonly ObjectPlan[] }[]
}

/**
 * Evaluates the transitions for a change. Pure: the same request gives the same plan, and nothing is written yet. Each transition
 * is evaluated once per object, in order, with the tags that the ones before it have set. `objects`: the results of `planObject`
 * for each object, if the caller computes them itself with pauses.
 */
export function planTransitions(
  request: PlanRequest,
  objects: readonly ObjectPlan[] = request.objects.map((object) => planObject(request, object)),
): Plan {
  const accepted = objects.filter((plan) => plan.rejectedBy === null)
  return {
    actor: request.actor,
    trigger: request.trigger,
    objects,
    effects: collectEffects(accepted, () => true),
    rejectionEffects: collectEffects(
      objects.filter((plan) => plan.rejectedBy !== null),
      (transition) => verdictOf(transition.type) === 'reject',
    ),
    confirmations: collectConfirmations(accepted),
  }
}

export function planObject(request: PlanRequest, object: PlanObject): ObjectPlan {
  let state: State = { tags: object.tagsAfter, owner: object.owner }
  const fired: Transition[] = []
  const asks: Ask[] = []
  const withheld: Withheld[] = []
  let rejectedBy: Transition | null = null
  let ran = request.trigger.kind === 'save'
  for (const transition of candidates(request, object)) {
    const chosen = isChosen(request.trigger, transition)
    const next = fire(request, object, transition, state, chosen)
    if (next === null) {
      if (chosen) break
      continue
    }
    if (chosen) ran = true
    state = next.state
    asks.push(...next.asks)
    withheld.push(...next.withheld)
    fired.push(transition)
    const verdict = verdictOf(transition.type)
    if (verdict !== null) rejectedBy = verdict === 'reject' ? transition : null
    if (isExit(transition.type)) break
  }
  return { object, tagsAfter: state.tags, owner: state.owner, fired, asks, withheld, rejectedBy, inapplicable: !ran }
}

/** The state of an object during the evaluation. */
export interface State {
  readonly tags: readonly number[]
  readonly owner: Person | null
}

/** The chosen transition first. A manual run is an update, so the automatic transitions follow. */
function candidates({ trigger, applicable }: PlanRequest, object: PlanObject): Transition[] {
  const all = applicable(object.objecttypeId, object.poolId)
  const chosen = all.filter((transition) => isChosen(trigger, transition))
  if (trigger.kind === 'event') return chosen
  return [...chosen, ...all.filter((transition) => transition.trigger === 'automatic')]
}

function isChosen(trigger: PlanTrigger, transition: Transition): boolean {
  return trigger.kind !== 'save' && transition.trigger === trigger.kind && transition.id === trigger.transitionId
}

interface Fired {
  readonly state: State
  readonly asks: readonly Ask[]
  readonly withheld: readonly Withheld[]
}

/** The state after the transition's actions, with the actions left out; null when it does not fire. */
function fire(
  { actor, tags, trigger, allows }: PlanRequest,
  object: PlanObject,
  transition: Transition,
  state: State,
  chosen: boolean,
): Fired | null {
  if (!chosen && !transition.operations.includes(object.operation)) return null
  if (transition.objecttypeIds.length > 0 && !transition.objecttypeIds.includes(object.objecttypeId)) return null
  if (trigger.kind !== 'event' && !concerns(transition, actor, object)) return null
  const change = { before: object.tagsBefore, after: state.tags }
  if (!matchesTagFilter(transition.before, change, 'before')) return null
  const withheld: Withheld[] = []
  const asks: Ask[] = []
  let next = state
  for (const [index, action] of transition.actions.entries()) {
    if (isAsking(action)) {
      // The action may refuse the change even if its setter may not act any more.
      asks.push({ transition, index, action, mayChange: allows?.(transition, action, object, next) !== false })
    }
    if (action.type !== 'set_tags' && action.type !== 'change_owner') continue
    const changed = applyAction(tags, next, action)
    if (changed === next) continue
    if (allows?.(transition, action, object, next) === false) withheld.push({ transition, action: action.type })
    else next = changed
  }
  // A manual transition produces the state of its condition; the others find it.
  const reached = trigger.kind === 'manual' && chosen ? { before: object.tagsBefore, after: next.tags } : change
  return matchesTagFilter(transition.after, reached, 'after') ? { state: next, asks, withheld } : null
}

/** Returns the same state if the action changes nothing. */
function applyAction(snapshot: TagSnapshot, state: State, action: LocalAction): State {
  if (action.type === 'change_owner') return action.owner === state.owner ? state : { ...state, owner: action.owner }
  const tags = action.tags.reduce<readonly number[]>(
    (current, { id, set }) => (set ? withTag(snapshot, current, id) : current.filter((other) => other !== id)),
    state.tags,
  )
  return sameTags(tags, state.tags) ? state : { ...state, tags }
}

function sameTags(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((id) => right.includes(id))
}

function concerns({ who, whoNot }: Transition, actor: Actor, object: PlanObject): boolean {
  if (who.length === 0) return true
  return who.some((principal) => isPrincipal(principal, actor, object)) !== whoNot
}

function isPrincipal(principal: Principal, actor: Actor, object: PlanObject): boolean {
  if (principal === 'owner') return isCaller(actor, object.owner)
  if (principal === 'contact') return isCaller(actor, object.poolContact ?? null)
  return isCaller(actor, principal)
}

function collectEffects(plans: readonly ObjectPlan[], wanted: (transition: Transition) => boolean): Effect[] {
  const effects = new Map<string, Effect & { objects: PlanObject[] }>()
  for (const { object, fired, owner } of plans) {
    for (const transition of fired) {
      if (!wanted(transition)) continue
      transition.actions.forEach((action, index) => {
        if (!isRemote(action)) return
        const key = `${transition.id}:${index}`
        const effect = effects.get(key) ?? { transition, index, action, objects: [] }
        effect.objects.push({ ...object, owner })
        effects.set(key, effect)
      })
    }
  }
  return [...effects.values()]
}

function collectConfirmations(plans: readonly ObjectPlan[]) {
  const asked = new Map<number, { transition: Transition; objects: ObjectPlan[] }>()
  for (const plan of plans) {
    for (const transition of plan.fired) {
      if (verdictOf(transition.type) === 'reject' || Object.keys(transition.confirm).length === 0) continue
      const entry = asked.get(transition.id) ?? { transition, objects: [] }
      entry.objects.push(plan)
      asked.set(transition.id, entry)
    }
  }
  return [...asked.values()]
}

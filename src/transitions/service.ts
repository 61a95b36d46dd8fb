/**
 * Workflow transitions: steps that run when objects change, when a user starts them, or when an event is logged. Transitions of the
 * instance are stored here; pools and object types store their own lists, which are checked and rendered here. The save of objects
 * requests a *plan*, settles it with the caller, and queues its effects.
 */

import type { EventLog, NewEvent } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { AppError } from '../platform/errors.ts'
import { outsideDeadlines } from '../platform/limits/deadline.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import { createYielder, mapYielding } from '../platform/process/cooperative-yield.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { textIn } from '../platform/values/localized.ts'
import { type Person, type RightsService, requireGivingEverywhere } from '../rights/service.ts'
import { type KeptTags, requireTagManager, type TagUse } from '../tags/service.ts'
import { applicableTransitions, type TransitionLayer } from './applicable.ts'
import { asksOf, type TransitionCallback } from './asks.ts'
import { type Confirmation, confirmationOf } from './confirm.ts'
import { type EffectEvent, effectJobs, type WrittenObject } from './effects.ts'
import {
  type Plan,
  type PlanObject,
  type PlanRequest,
  type PlanTrigger,
  planObject,
  planTransitions,
} from './engine.ts'
import { parseList, readList } from './input.ts'
import { applyPlan, type ChangingItem, markChanged, planObjects, writtenObjects } from './items.ts'
import { asksBefore, type Transition } from './model.ts'
import { principalsOf, renderTransition } from './render.ts'
import { allowsOf, changesObjects, findSetters, type SetterDeps } from './setters.ts'
import * as store from './store.ts'
import { tagUseOf } from './tag-use.ts'
import { type WithheldAction, withheldEvents } from './withheld.ts'

export { type ActionObjects, registerTransitionActions } from './actions.ts'
export type { TransitionLayer } from './applicable.ts'
export type { TransitionCallback } from './asks.ts'
export type { Confirmation } from './confirm.ts'
export type { EffectEvent, WrittenObject } from './effects.ts'
export type { ObjectPlan, Plan, PlanObject, PlanTrigger } from './engine.ts'
export { createEventRuns, type EventRuns } from './event-runs.ts'
export type { ChangingItem } from './items.ts'
export type { AskingAction, Operation, Transition } from './model.ts'
export type { RunObject, RunOnObjects, RunRequest, RunResult } from './run.ts'

export type TransitionService = Awaited<ReturnType<typeof createTransitionService>>

export interface TransitionServiceOptions {
  db: Db
  seal: Pick<Seal, 'keyFor'>
  bus: Bus
  events: EventLog
  jobs: Pick<Jobs, 'enqueueAll'>
  snapshots: Pick<Snapshots, 'open'>
  tags: Pick<KeptTags, 'snapshot' | 'existing'>
  rights: Pick<RightsService, 'resolveWho' | 'whoNames' | 'forActor'>
  actorsOf: SetterDeps['actorsOf']
  /** Lists of pools and object types. */
  layers: {
    /** From the root pool down to this one. */
    pools(poolId: number): readonly TransitionLayer[]
    objecttype(objecttypeId: number): TransitionLayer
    /** All transitions of all pools and object types. */
    all(): readonly Transition[]
    /** Whether any transition of the pools and object types fulfils the condition. */
    some(so: (transition: Transition) => boolean): boolean
  }
  /** Contact of a pool. */
  contactOf: (poolId: number) => Person | null
  /** Object types of the committed datamodel. */
  objecttypes: () => { has(id: number): boolean }
  /** Names of the webhooks in the base configuration. */
  webhooks: () => { has(name: string): boolean }
  /** Callbacks of plugins that are on, as `<plugin>:<callback>`. */
  callbacks: () => { has(name: string): boolean }
  conventionOf: ConventionOf
}

/** A list to check: as sent, and as stored before. */
export interface ListChange {
  readonly wire: unknown
  readonly previous: readonly Transition[]
  /** The path in the request, for errors. */
  readonly path: string
}

/** The result of evaluating the transitions for a batch. */
export interface ItemsOutcome {
  readonly confirmation: Confirmation | null
  /** The questions about items before they are written, in order. */
  readonly asked: readonly TransitionCallback[]
  /** Queues mails and webhooks in the transaction, after the items are written. */
  enqueue(tx: Tx, events?: readonly EffectEvent[]): Promise<void>
}

type GivenPlan = Pick<PlanRequest, 'actor' | 'trigger' | 'objects'>

const topic = 'transitions'

export async function createTransitionService(options: TransitionServiceOptions) {
  const { db, bus, events, jobs, tags, rights, layers } = options
  const secret = await options.seal.keyFor('transition confirmations')
  const instance = await options.snapshots.open<Transition[], readonly Transition[]>({
    name: 'transitions',
    topics: [topic],
    read: store.loadTransitions,
    build: (list) => list,
  })
  /** The plans of refused changes, until the refusal reaches `afterFailure`. */
  const refused = new WeakMap<object, Plan>()

  function applicable(objecttypeId: number, poolId: number | null): Transition[] {
    return applicableTransitions(
      instance.get(),
      layers.objecttype(objecttypeId),
      poolId === null ? [] : layers.pools(poolId),
    )
  }

  /** Checks lists as sent and returns their stored form, with a constant number of statements; logs their events. */
  async function validateLists(tx: Tx, actor: Actor, changes: readonly ListChange[]): Promise<Transition[][]> {
    const drafts = changes.map(({ wire, path }) => parseList(wire, path))
    const who = (
      await rights.resolveWho(
        tx,
        drafts.flatMap((draft) => draft.wanted.who),
        { actor, shown: principalsOf(changes.flatMap(({ previous }) => previous)) },
      )
    ).values()
    const tagIds = [...new Set(drafts.flatMap((draft) => [...draft.wanted.tagIds]))]
    const found = {
      tags: tagIds.length === 0 ? new Set<number>() : await tags.existing(tx, tagIds),
      objecttypes: options.objecttypes(),
      webhooks: options.webhooks(),
      callbacks: options.callbacks(),
    }
    const lists = drafts.map((draft, index) =>
      readList(
        draft,
        { ...found, who: draft.wanted.who.map(() => who.next().value!) },
        changes[index]?.previous ?? [],
        { convention: options.conventionOf(actor), setter: actor },
      ),
    )
    const added = lists.flat().filter(({ change }) => change === 'insert').length
    const ids = (await store.drawTransitionIds(tx, added)).values()
    const next = lists.map((list) =>
      list.map(({ transition, change }) =>
        change === 'insert' ? { ...transition, id: ids.next().value ?? 0 } : transition,
      ),
    )
    const logged = changes.flatMap(({ previous }, index) => eventsOf(actor, previous, next[index] ?? []))
    if (logged.length > 0) await events.append(tx, logged)
    if (next.flat().some((transition) => transition.trigger === 'event')) await store.startFollowing(tx)
    return next
  }

  /** A change of owner gives rights on objects in any pool. @throws {AppError} `RightRequired` */
  async function requireOwnersGiven(actor: Actor, previous: readonly Transition[], next: readonly Transition[]) {
    const known = new Map(previous.map(({ id, version }) => [id, version]))
    for (const [index, { id, version, actions }] of next.entries()) {
      const action = actions.findIndex(({ type }) => type === 'change_owner')
      if (action === -1 || known.get(id) === version) continue
      await requireGivingEverywhere(rights, actor, `body[${index}].actions[${action}]`)
    }
  }

  /** Lists as clients see them, names in `languages`; one query for all of them. */
  async function renderLists(from: Queryable, lists: readonly (readonly Transition[])[], languages: readonly string[]) {
    const names = await rights.whoNames(from, principalsOf(lists.flat()), languages)
    return lists.map((list) => list.map((transition) => renderTransition(transition, names)))
  }

  /** The plan of the transitions for a change; nothing is written yet. */
  async function plan(from: Queryable, given: GivenPlan, items: readonly ChangingItem[]): Promise<Plan> {
    const known = new Map<string, Transition[]>()
    const remembered = (objecttypeId: number, poolId: number | null): Transition[] => {
      const key = `${objecttypeId}:${poolId}`
      const list = known.get(key) ?? applicable(objecttypeId, poolId)
      known.set(key, list)
      return list
    }
    for (const { objecttypeId, poolId } of given.objects) remembered(objecttypeId, poolId)
    const setBy = [...known.values()].flat().filter(changesObjects)
    const setters = await findSetters(
      options,
      from,
      setBy.map((transition) => transition.setBy),
    )
    const allows = allowsOf(setters, (key) => items[Number(key)], tags.snapshot(), Date.now())
    const request = { ...given, applicable: remembered, tags: tags.snapshot(), allows }
    return planTransitions(
      request,
      await mapYielding(request.objects, (object) => planObject(request, object), createYielder()),
    )
  }

  /**
   * Whether the change may be made: null, or the confirmation that the caller must give first (`given` is the token of the request,
   * if any).
   * @throws {AppError} `TransitionRejected`, `TransitionNotApplicable`; give it to `afterFailure`.
   */
  function settle(made: Plan, given: string | undefined): Confirmation | null {
    const misfits = made.objects.filter((object) => object.inapplicable)
    if (misfits.length > 0 && made.trigger.kind === 'manual')
      throw new AppError('TransitionNotApplicable', { objects: misfits.map(nameObject) })
    const rejection = rejectionOf(made)
    if (rejection) {
      refused.set(rejection, made)
      throw rejection
    }
    return confirmationOf(made, given, secret)
  }

  /**
   * Queues mails and webhooks with the change, and logs actions that were left out; `written` has the results for the objects of
   * the plan, by key.
   */
  async function enqueue(
    tx: Tx,
    made: Plan,
    written: ReadonlyMap<number | string, WrittenObject>,
    reasons?: readonly EffectEvent[],
  ): Promise<void> {
    const result = (object: PlanObject) => written.get(object.key) ?? null
    await jobs.enqueueAll(tx, effectJobs(made.actor, made.effects, result, reasons))
    const withheld = made.objects.flatMap(({ object, withheld: left }) =>
      left.map((one): WithheldAction => {
        const id = result(object)?.systemObjectId ?? object.systemObjectId
        return { ...one, reason: 'right', systemObjectIds: id === null ? [] : [id] }
      }),
    )
    if (withheld.length > 0) await events.append(tx, withheldEvents(withheld))
  }

  return {
    validateLists,
    renderLists,
    applicable,

    /** The instance's list as its administrators see it. */
    async list(actor: Actor) {
      requireTagManager(actor)
      const [list = []] = await renderLists(db, [await store.loadTransitions(db)], actor.languages)
      return list
    },

    /** Replaces the instance's list; missing entries are deleted. */
    async save(actor: Actor, wire: unknown) {
      requireTagManager(actor)
      await db.transaction(async (tx) => {
        await store.lockTransitions(tx)
        const previous = await store.loadTransitions(tx)
        const [next = []] = await validateLists(tx, actor, [{ wire, previous, path: 'body' }])
        await requireOwnersGiven(actor, previous, next)
        await store.replaceTransitions(tx, next)
        await bus.publish(tx, topic)
      })
      const [list = []] = await renderLists(db, [await instance.renewed()], actor.languages)
      return list
    },

    /** The references of transitions to tags, including those of pools and object types. */
    tagUse: tagUseOf('transition', async (tx) => [
      ...(await store.loadTransitions(tx)),
      ...layers.all(),
    ]) satisfies TagUse,

    /** All transitions of the instance, its pools and object types. */
    all: (): readonly Transition[] => [...instance.get(), ...layers.all()],

    /** Manual transitions that the actor may run on objects of a type in a pool, as far as that is known without the object. */
    async manual(actor: Actor, objecttypeId: number, poolId: number | null) {
      const offered = applicable(objecttypeId, poolId).filter((transition) =>
        isOffered(transition, actor, objecttypeId),
      )
      const [list = []] = await renderLists(db, [offered], actor.languages)
      return list
    },

    /** @throws {AppError} `TransitionNotFound` when there is no manual transition of this id */
    requireManual(id: number): void {
      const known = [...instance.get(), ...layers.all()].some((each) => each.id === id && each.trigger === 'manual')
      if (!known) throw new AppError('TransitionNotFound', { transition: id })
    },

    /**
     * Runs the transitions of a save or delete: changes tags and owners of the items, and returns what must be confirmed. With a
     * trigger, the items are stored objects for which one transition is run: they are written only if it changes them.
     * @throws {AppError} as `settle`
     */
    async runOnItems(
      tx: Tx,
      actor: Actor,
      items: readonly ChangingItem[],
      given: string | undefined,
      trigger: PlanTrigger = { kind: 'save' },
    ): Promise<ItemsOutcome> {
      const made = await plan(tx, { actor, trigger, objects: planObjects(items, options.contactOf) }, items)
      const confirmation = settle(made, given)
      if (trigger.kind !== 'save') markChanged(items, made)
      applyPlan(made, items)
      return {
        confirmation,
        asked: asksOf(made),
        enqueue: (last, reasons) => enqueue(last, made, writtenObjects(items), reasons),
      }
    },

    /** Whether any transition asks a plugin or webhook before the write. */
    asks: (): boolean => instance.get().some(asksBefore) || layers.some(asksBefore),

    /** The questions about items before they are written, in order; nothing is changed. */
    async asksFor(tx: Tx, actor: Actor, items: readonly ChangingItem[], trigger: PlanTrigger = { kind: 'save' }) {
      return asksOf(await plan(tx, { actor, trigger, objects: planObjects(items, options.contactOf) }, items))
    },

    /**
     * Queues the effects of rejecting transitions for a refused change. To be called after its transaction has been rolled back,
     * with the error that ended it; other errors are ignored.
     */
    async afterFailure(error: unknown): Promise<void> {
      const plan = typeof error === 'object' && error !== null ? refused.get(error) : undefined
      if (!plan || plan.rejectionEffects.length === 0) return
      const { actor, rejectionEffects } = plan
      // Also if the client has disconnected, or the deadline of its request is over.
      await outsideDeadlines(() =>
        db.transaction((tx) =>
          jobs.enqueueAll(
            tx,
            effectJobs(actor, rejectionEffects, () => null),
          ),
        ),
      )
    },
  }
}

/** Owner and pool contact depend on the object, so a transition for them is offered to every caller. */
function isOffered({ trigger, objecttypeIds, who, whoNot }: Transition, actor: Actor, objecttypeId: number): boolean {
  if (trigger !== 'manual' || (objecttypeIds.length > 0 && !objecttypeIds.includes(objecttypeId))) return false
  if (who.length === 0 || who.includes('owner') || who.includes('contact')) return true
  const mine = new Set([`u${actor.userId}`, ...actor.groupIds.map((id) => `g${id}`)])
  return who.some((person) => mine.has(person)) !== whoNot
}

function nameObject({ object }: Plan['objects'][number]): Record<string, unknown> {
  return object.systemObjectId === null ? { key: object.key } : { _system_object_id: object.systemObjectId }
}

function rejectionOf(plan: Plan): AppError | null {
  const rejected = plan.objects.filter((object) => object.rejectedBy !== null)
  const transition = rejected[0]?.rejectedBy
  if (!transition) return null
  const reason = textIn(transition.confirm, plan.actor.languages)
  return new AppError(
    'TransitionRejected',
    { transition: transition.id, objects: rejected.map(nameObject) },
    reason === '' ? {} : { message: reason },
  )
}

function eventsOf(actor: Actor, previous: readonly Transition[], next: readonly Transition[]): NewEvent[] {
  const before = new Map(previous.map((transition) => [transition.id, transition]))
  const kept = new Set(next.map((transition) => transition.id))
  const event = (type: NewEvent['type'], { id, version, operations, ...transition }: Transition): NewEvent => ({
    type,
    actor,
    basetype: 'transition',
    schema: 'BASE',
    objectId: id,
    objectVersion: version,
    info: {
      type: transition.type,
      operation_insert: operations.includes('INSERT'),
      operation_update: operations.includes('UPDATE'),
      operation_delete: operations.includes('DELETE'),
      comment: transition.comment,
    },
  })
  return [
    ...next.flatMap((transition) => {
      const old = before.get(transition.id)
      if (!old) return [event('TRANSITION_INSERT', transition)]
      return old.version === transition.version ? [] : [event('TRANSITION_UPDATE', transition)]
    }),
    ...previous.filter(({ id }) => !kept.has(id)).map((transition) => event('TRANSITION_DELETE', transition)),
  ]
}

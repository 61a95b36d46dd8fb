import type { Model } from '../../../datamodel/model.ts'
import type { Actor } from '../../../platform/actor.ts'
import { expectedVersion } from '../../../platform/config/versions.ts'
import { AppError } from '../../../platform/errors.ts'
import type { RequestFacts } from '../../../platform/http/request-facts.ts'
import type { Deadline } from '../../../platform/limits/deadline.ts'
import { createYielder, mapYielding } from '../../../platform/process/cooperative-yield.ts'
import type { PlanTrigger, TransitionCallback } from '../../../transitions/service.ts'
import type { Wire } from '../../masks/reader.ts'
import { guardOf } from '../../stored/rows.ts'
import { newContext, type ObjectDeps, type SaveContext } from '../context.ts'
import type { Item } from '../item.ts'
import { asStored, newPromises } from '../outcome.ts'
import { applyStandards } from '../standards.ts'
import { inTransaction } from '../transaction.ts'
import {
  type BegunCall,
  CallbackFailed,
  type ChangeKind,
  type PendingObject,
  type Replacement,
  type SaveCallback,
} from './model.ts'
import { type CallbackReplacements, type Replaced, replaceDraft } from './replace.ts'

/** A change, as far as callbacks need it. */
export interface Change {
  readonly kind: ChangeKind
  readonly actor: Actor
  readonly dryRun: boolean
  /** The number of objects in the request. */
  readonly objects: number
  /** Set: a transition is run. Absent: the transitions that apply to the change are looked for. */
  readonly trigger?: PlanTrigger
  readonly deadline: Deadline
  /** The request that contains the change. */
  readonly facts?: (() => RequestFacts) | undefined
  /** See `PendingChange`. */
  readonly behind?: (work: Promise<unknown>) => void
  /** Callbacks for this change alone, run before all others. */
  readonly first?: readonly SaveCallback[] | undefined
  /** The type of the objects in the request: callbacks for this type will most likely be called. */
  readonly objecttype?: string
  /**
   * Determines all changes: finds, decides and merges, as for the write. `consider` is called with the items for which transitions
   * are considered, in their state at that point.
   */
  look(context: SaveContext, said: CallbackReplacements, consider: Consider): Promise<readonly Item[]>
}

export type Consider = (items: readonly Item[]) => Promise<void>

/** The answers of callbacks, and the state of the objects that they saw. */
export interface CallbackOutcome extends CallbackReplacements {
  readonly seen: { readonly model: Model; readonly versions: ReadonlyMap<number, number> } | null
  /** Objects for which actions of transitions have called receivers, by `askedKey`; null: no receiver is called. */
  readonly asked: ReadonlySet<string> | null
}

const nobodyAsked: CallbackOutcome = { replaced: new Map(), shownAs: new Map(), seen: null, asked: new Set() }

/** No callback runs for the change. */
export const noCallbackRan: CallbackOutcome = { ...nobodyAsked, asked: null }

/** Runs all callbacks for the change. Holds neither a connection nor a lock while one of them works. */
export async function runCallbacks(deps: ObjectDeps, change: Change): Promise<CallbackOutcome> {
  const callbacks = [...(change.first ?? []), ...deps.callbacks.list()].filter(({ kinds }) =>
    kinds.includes(change.kind),
  )
  const asks = askingKinds.has(change.kind) && deps.transitionAsks.asks()
  if (callbacks.length === 0 && !asks) return nobodyAsked
  let callbackOutcome = nobodyAsked
  let shown: readonly Shown[] | null = null
  for (const callback of callbacks) {
    const begun = begin(callback, change)
    try {
      if (!shown) ({ callbackOutcome, shown } = await lookAt(deps, change, callbackOutcome))
      const objects = shown.filter(({ item }) => callback.objecttypes?.includes(item.table.name) ?? true)
      if (objects.length === 0) continue
      change.deadline.check()
      const answer = await answerOf(callback, change, objects, nothingFixed, begun ?? callback)
      if (answer.length === 0) continue
      callbackOutcome = await taken(deps, callbackOutcome, callback, objects, answer)
      // The next callback sees the changed objects.
      shown = null
    } finally {
      const ended = begun?.end()
      if (change.behind && ended) change.behind(ended)
      else await ended
    }
  }
  return asks ? askTransitions(deps, change, callbackOutcome) : callbackOutcome
}

/** Begins the call before the objects are known; null: it is not certain enough that there will be one. */
function begin({ begin: start, objecttypes }: SaveCallback, { actor, objecttype }: Change): BegunCall | null {
  if (!start || objecttype === undefined || !(objecttypes?.includes(objecttype) ?? true)) return null
  return start(actor)
}

/** Changes for which transitions are considered. */
const askingKinds: ReadonlySet<ChangeKind> = new Set(['save', 'remove', 'transition'])

/**
 * Runs the actions of the transitions that fire, in their order: each action once for each object. Transitions are considered again
 * after every answer, since the changed objects may match others.
 */
async function askTransitions(deps: ObjectDeps, change: Change, before: CallbackOutcome): Promise<CallbackOutcome> {
  const asked = new Set<string>()
  let callbackOutcome: CallbackOutcome = { ...before, asked }
  for (;;) {
    const found = await lookAt(deps, change, callbackOutcome)
    callbackOutcome = found.callbackOutcome
    const next = found.asks.find(({ action, shown }) => shown.some(({ item }) => !asked.has(askedKey(action, item))))
    if (!next) return callbackOutcome
    const objects = next.shown.filter(({ item }) => !asked.has(askedKey(next.action, item)))
    for (const { item } of objects) asked.add(askedKey(next.action, item))
    change.deadline.check()
    if (next.action.action.type === 'webhook') assertTold(next.action.action.name, objects, next.fixed)
    const callback = deps.callbacks.ofAction(next.action.action)
    const answer = await answerOf(callback, change, objects, next.fixed, callback)
    callbackOutcome = await taken(deps, callbackOutcome, callback, objects, answer)
  }
}

const nothingFixed: ReadonlySet<Item> = new Set()

/**
 * A receiver is sent all of the objects, so the user who set up the transition must have the right to see and change all of them.
 */
function assertTold(name: string, objects: readonly Shown[], fixed: ReadonlySet<Item>): void {
  if (!objects.some(({ item }) => fixed.has(item))) return
  const reason = 'the user who has set the transition may not have it called'
  throw new AppError(
    'DbPreSaveFailed',
    { callback: `webhook ${name}`, reason },
    { message: `webhook ${name}: ${reason}` },
  )
}

function askedKey({ key }: TransitionCallback, { place }: Item): string {
  return `${key} ${place}`
}

/**
 * Checks that all actions of transitions have run: a transition may have been added meanwhile.
 * @throws {AppError} `DatabaseLockError`
 */
export function assertAsked(
  items: readonly Item[],
  asks: readonly TransitionCallback[],
  { asked }: CallbackOutcome,
): void {
  if (!asked) return
  const missed = asks.some((ask) => ask.items.some((index) => !asked.has(askedKey(ask, items[index] as Item))))
  if (missed) throw new AppError('DatabaseLockError', { name: 'transitions' })
}

/** An object in the form for callbacks. */
interface Shown {
  readonly item: Item
  readonly object: Wire
  readonly current: Wire | null
}

/** The change as it would be now, for callbacks. */
interface Look {
  readonly callbackOutcome: CallbackOutcome
  readonly shown: readonly Shown[]
  /** The actions of transitions that call receivers, and the objects of each. */
  readonly asks: readonly {
    readonly action: TransitionCallback
    readonly shown: readonly Shown[]
    /** The objects that the answer may not change. */
    readonly fixed: ReadonlySet<Item>
  }[]
}

async function lookAt(
  deps: ObjectDeps,
  { kind, actor, objects, deadline, trigger, look }: Change,
  callbackOutcome: CallbackOutcome,
): Promise<Look> {
  return inTransaction(deps, { ending: 'look', objects, deadline }, async (tx) => {
    // Sent together with the statements below; the look may fail before this is awaited.
    const viewing = deps.callbacks.viewer(tx)
    viewing.catch(() => {})
    const model = deps.datamodel.current()
    const rights = await deps.rights.forActor(actor)
    const yielder = createYielder(() => deadline.check())
    const current = Promise.resolve()
    const context = newContext({ deps, tx, model, current, locks: false, actor, rights, yielder })
    const asks: { action: TransitionCallback; items: ReadonlySet<Item>; fixed: ReadonlySet<Item> }[] = []
    const items = await look(context, callbackOutcome, async (considered) => {
      if (!askingKinds.has(kind) || !deps.transitionAsks.asks()) return
      for (const action of await deps.transitionAsks.asksFor(tx, actor, considered, trigger)) {
        const itemsAt = (places: Iterable<number>): ReadonlySet<Item> =>
          new Set(Array.from(places).flatMap((index) => considered[index] ?? []))
        asks.push({ action, items: itemsAt(action.items), fixed: itemsAt(action.fixed) })
      }
    })
    assertUnchangedSince(context, items, callbackOutcome)
    await applyStandards(context, items)
    const changed = items.filter((item) => item.changed)
    const pending = await mapYielding(changed, (item) => asStored(context, item), yielder)
    const viewer = await viewing
    const wires = await Array.fromAsync(deps.callbacks.show(tx, viewer, pending, newPromises(context)))
    const stored = await storedWires(context, changed, viewer)
    const shown = changed.map((item, index) => ({
      item,
      object: asNew(item, wires[index] as Wire),
      current: stored.get(item.systemObjectId) ?? null,
    }))
    return {
      callbackOutcome: callbackOutcome.seen ? callbackOutcome : { ...callbackOutcome, ...seenIn(model, items) },
      shown,
      asks: asks.map(({ items: of, ...ask }) => ({ ...ask, shown: shown.filter(({ item }) => of.has(item)) })),
    }
  })
}

function seenIn(model: Model, items: readonly Item[]): Pick<CallbackOutcome, 'seen' | 'shownAs'> {
  const versions = new Map<number, number>()
  const shownAs = new Map<string, string>()
  for (const { current, draft, place, systemObjectId, uuid } of items) {
    if (current) versions.set(systemObjectId, current.version)
    else if (draft) shownAs.set(place, uuid)
  }
  return { seen: { model, versions }, shownAs }
}

/**
 * Checks that the change is still the one that callbacks saw. Objects that were added since come from the answers of callbacks, if
 * there were any.
 * @throws {AppError} `VersionMismatch`; `DatabaseLockError` when the datamodel has changed.
 */
export function assertUnchangedSince(
  { deps, actor, model }: SaveContext,
  items: readonly Item[],
  { seen, replaced }: CallbackOutcome,
): void {
  if (!seen) return
  if (seen.model !== model) throw new AppError('DatabaseLockError', { name: 'datamodel' })
  for (const { current, draft, place, table, systemObjectId } of items) {
    if (!current) continue
    const version = seen.versions.get(systemObjectId)
    if (version === current.version || (version === undefined && replaced.size > 0)) continue
    // The caller may not be allowed to see objects that it did not send.
    const sent = draft !== null && !draft.unsent
    const where = sent ? { name: `${place}.${table.name}._version` } : {}
    const convention = sent ? deps.conventionOf(actor) : 'stored'
    const got = version === undefined ? null : expectedVersion(version, convention)
    throw new AppError(
      'VersionMismatch',
      { ...where, got, expected: expectedVersion(current.version, convention) },
      { message: `${sent ? place : 'An object of this change'} was changed while callbacks were asked.` },
    )
  }
}

async function storedWires(
  { deps, tx }: SaveContext,
  items: readonly Item[],
  viewer: Actor,
): Promise<ReadonlyMap<number, Wire>> {
  const stored = items.flatMap(({ current }) => (current ? [{ ...current, guard: guardOf(current) }] : []))
  if (stored.length === 0) return new Map()
  const wires = await Array.fromAsync(deps.callbacks.show(tx, viewer, stored))
  return new Map(stored.map(({ systemObjectId }, index) => [systemObjectId, wires[index] as Wire]))
}

/** A new object only has the uuid with which it was sent. */
function asNew({ current, draft }: Item, wire: Wire): Wire {
  if (current || draft?.uuid !== undefined) return wire
  const { _uuid, ...rest } = wire
  return rest
}

interface Answered {
  readonly shown: Shown
  readonly replacement: Replacement
}

async function answerOf(
  callback: SaveCallback,
  { kind, actor, dryRun, deadline, facts, behind }: Change,
  shown: readonly Shown[],
  fixed: ReadonlySet<Item>,
  { call }: Pick<SaveCallback, 'call'>,
): Promise<readonly Answered[]> {
  const byKey = new Map<string, Shown>()
  const yielder = createYielder()
  const pending = (each: Shown): PendingObject => {
    const { item, object, current } = each
    const key = crypto.randomUUID()
    byKey.set(key, each)
    return {
      key,
      operation: item.mode,
      objecttype: item.table.name,
      mask: item.mask.name,
      replaceable: isReplaceable(kind, item) && !fixed.has(item),
      // A copy that the callback may change.
      object: structuredClone(object),
      current: structuredClone(current),
    }
  }
  const objects = await mapYielding(shown, pending, yielder)
  let answer: readonly Replacement[]
  try {
    const more = { ...(facts ? { request: facts() } : {}), ...(behind ? { behind } : {}) }
    answer = await call({ kind, actor, dryRun, deadline, objects, ...more })
  } catch (error) {
    if (error instanceof AppError) throw error
    throw failed(callback, error instanceof CallbackFailed ? error.message : 'it ended with an error', error)
  }
  const given = new Set<string>()
  return answer.map((replacement) => {
    const object = byKey.get(replacement.key)
    if (!object) throw failed(callback, 'its answer names an object that it was not given')
    if (given.has(replacement.key)) throw failed(callback, 'its answer has an object twice')
    if (!isReplaceable(kind, object.item)) throw failed(callback, 'its answer has an object that stays as it is')
    if (fixed.has(object.item)) throw failed(callback, 'the user who has set the transition may not change the object')
    given.add(replacement.key)
    return { shown: object, replacement }
  })
}

function isReplaceable(kind: ChangeKind, { draft, mode }: Item): boolean {
  return (kind === 'save' || kind === 'transition') && draft !== null && (mode === 'create' || mode === 'update')
}

/** The earlier results with this answer added; throws when the answer is not readable. */
async function taken(
  deps: ObjectDeps,
  callbackOutcome: CallbackOutcome,
  callback: SaveCallback,
  shown: readonly Shown[],
  answer: readonly Answered[],
): Promise<CallbackOutcome> {
  const replaced = new Map<string, readonly Replaced[]>(callbackOutcome.replaced)
  const model = callbackOutcome.seen?.model
  if (!model || shown.length === 0) return callbackOutcome
  const context = { model, databaseName: deps.config.databaseName, partial: false }
  const take = ({ shown: { item, object }, replacement }: Answered): void => {
    if (!item.draft) return
    const next = { object: replacement.object, shown: object }
    try {
      replaceDraft(context, item.draft, next)
    } catch (error) {
      throw failed(callback, 'its answer cannot be read', error)
    }
    replaced.set(item.place, [...(replaced.get(item.place) ?? []), next])
  }
  await mapYielding(answer, take, createYielder())
  return { ...callbackOutcome, replaced }
}

function failed({ name }: SaveCallback, reason: string, cause?: unknown): AppError {
  const detail = cause instanceof AppError ? `${reason} (${cause.message})` : reason
  return new AppError('DbPreSaveFailed', { callback: name, reason: detail }, { message: `${name}: ${detail}`, cause })
}

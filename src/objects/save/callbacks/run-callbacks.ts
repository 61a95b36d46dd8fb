import type { Model } from '../../../datamodel/model.ts'
import type { Actor } from '../../../platform/actor.ts'
import { expectedVersion } from '../../../platform/config/versions.ts'
import { AppError } from '../../../platform/errors.ts'
import type { RequestFacts } from '../../../platform/http/request-facts.ts'
import type { Deadline } from '../../../platform/limits/deadline.ts'
import { createYielder, mapYielding } from '../../../platform/process/cooperative-yield.ts'
import type { Wire } from '../../masks/reader.ts'
import { guardOf } from '../../stored/rows.ts'
import { newContext, type ObjectDeps, type SaveContext } from '../context.ts'
import type { Item } from '../item.ts'
import { asStored } from '../outcome.ts'
import { applyStandards } from '../standards.ts'
import { inTransaction } from '../transaction.ts'
import { CallbackFailed, type ChangeKind, type PendingObject, type Replacement, type SaveCallback } from './model.ts'
import { type CallbackReplacements, type Replaced, replaceDraft } from './replace.ts'

/** A change, as far as callbacks are asked about it. */
export interface Change {
  readonly kind: ChangeKind
  readonly actor: Actor
  readonly dryRun: boolean
  /** How many objects the request names. */
  readonly objects: number
  readonly deadline: Deadline
  /** The request that it is part of. */
  readonly facts?: (() => RequestFacts) | undefined
  /** Who is asked about this change alone, before all others. */
  readonly first?: readonly SaveCallback[] | undefined
  /** All that would change: finds, decides and merges, just as it is done for the write. */
  look(context: SaveContext, said: CallbackReplacements): Promise<readonly Item[]>
}

/** What callbacks have said, and what they have said it of. */
export interface CallbackOutcome extends CallbackReplacements {
  readonly seen: { readonly model: Model; readonly versions: ReadonlyMap<number, number> } | null
}

export const nothingSaid: CallbackOutcome = { replaced: new Map(), shownAs: new Map(), seen: null }

/** Asks all callbacks that want to know of the change. Holds neither a connection nor a lock while one of them works. */
export async function runCallbacks(deps: ObjectDeps, change: Change): Promise<CallbackOutcome> {
  const callbacks = [...(change.first ?? []), ...deps.callbacks.list()].filter(({ kinds }) =>
    kinds.includes(change.kind),
  )
  if (callbacks.length === 0) return nothingSaid
  const viewer = await deps.callbacks.viewer()
  let callbackOutcome = nothingSaid
  let shown: readonly Shown[] | null = null
  for (const callback of callbacks) {
    if (!shown) ({ callbackOutcome, shown } = await lookAt(deps, change, callbackOutcome, viewer))
    const objects = shown.filter(({ item }) => callback.objecttypes?.includes(item.table.name) ?? true)
    if (objects.length === 0) continue
    change.deadline.check()
    const answer = await answerOf(callback, change, objects)
    if (answer.length === 0) continue
    callbackOutcome = await taken(deps, callbackOutcome, callback, objects, answer)
    // The next one sees what has become of them.
    shown = null
  }
  return callbackOutcome
}

/** An object as callbacks are shown it. */
interface Shown {
  readonly item: Item
  readonly object: Wire
  readonly current: Wire | null
}

async function lookAt(
  deps: ObjectDeps,
  { actor, objects, deadline, look }: Change,
  callbackOutcome: CallbackOutcome,
  viewer: Actor,
): Promise<{ callbackOutcome: CallbackOutcome; shown: readonly Shown[] }> {
  return inTransaction(deps, { ending: 'look', objects, deadline }, async (tx) => {
    const model = deps.datamodel.current()
    const rights = await deps.rights.forActor(actor)
    const yielder = createYielder(() => deadline.check())
    const current = Promise.resolve()
    const context = newContext({ deps, tx, model, current, locks: false, actor, rights, yielder })
    const items = await look(context, callbackOutcome)
    assertAsSeen(context, items, callbackOutcome)
    await applyStandards(context, items)
    const changed = items.filter((item) => item.changed)
    const pending = await mapYielding(changed, (item) => asStored(context, item), yielder)
    const wires = await Array.fromAsync(deps.callbacks.show(tx, viewer, pending))
    const stored = await storedWires(context, changed, viewer)
    const shown = changed.map((item, index) => ({
      item,
      object: asNew(item, wires[index] as Wire),
      current: stored.get(item.systemObjectId) ?? null,
    }))
    return {
      callbackOutcome: callbackOutcome.seen ? callbackOutcome : { ...callbackOutcome, ...seenIn(model, items) },
      shown,
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
 * The change is still the one that callbacks have seen. Objects that came to it since are what the callbacks have asked
 * for, if they have asked for anything.
 * @throws {AppError} `VersionMismatch`; `DatabaseLockError` when the datamodel is another one.
 */
export function assertAsSeen(
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
    // Others than those that were sent the caller may not know of.
    const where = draft ? { name: `${place}.${table.name}._version` } : {}
    const convention = draft ? deps.conventionOf(actor) : 'stored'
    const got = version === undefined ? null : expectedVersion(version, convention)
    throw new AppError(
      'VersionMismatch',
      { ...where, got, expected: expectedVersion(current.version, convention) },
      { message: `${draft ? place : 'An object of this change'} was changed while callbacks were asked.` },
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

/** A new object has only the identifier that it was sent with. */
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
  { kind, actor, dryRun, deadline, facts }: Change,
  shown: readonly Shown[],
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
      replaceable: isReplaceable(kind, item),
      // Theirs to work with.
      object: structuredClone(object),
      current: structuredClone(current),
    }
  }
  const objects = await mapYielding(shown, pending, yielder)
  let answer: readonly Replacement[]
  try {
    answer = await callback.call({ kind, actor, dryRun, deadline, objects, ...(facts ? { request: facts() } : {}) })
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
    given.add(replacement.key)
    return { shown: object, replacement }
  })
}

function isReplaceable(kind: ChangeKind, { draft, mode }: Item): boolean {
  return kind === 'save' && draft !== null && (mode === 'create' || mode === 'update')
}

/** What was said before with the answer, which must be one that can be read. */
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

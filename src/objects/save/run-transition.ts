import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { currentDeadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { createYielder, eachYielding } from '../../platform/process/cooperative-yield.ts'
import type { RunRequest, RunResult } from '../../transitions/service.ts'
import type { CallbackReplacements } from './callbacks/replace.ts'
import { type CallbackOutcome, type Change, runCallbacks } from './callbacks/run-callbacks.ts'
import { newContext, type ObjectDeps, type SaveContext } from './context.ts'
import { exists, guarded } from './disclosure.ts'
import { finishChange } from './finish-change.ts'
import { guardBefore, guardOf, type Item, itemOf } from './item.ts'
import { onCurrentModel } from './on-current-model.ts'
import { type ReplacedItems, replaceItems } from './replaced-items.ts'
import { assertMay } from './rules/rights.ts'
import { inTransaction } from './transaction.ts'
import { lockObjects } from './write/store.ts'

/**
 * Runs one transition for stored objects, all or nothing. It is a save without content. It writes the tags and owners that the
 * transition (and the automatic ones after it) change, and, when a user runs it, the changes by callbacks. An object that none of
 * them changes gets no new version.
 */
export async function runTransition(deps: ObjectDeps, actor: Actor, run: RunRequest): Promise<RunResult> {
  const deadline = currentDeadline()
  const objects = run.objects.length
  const look: Change['look'] = async (context, said, consider) => {
    const { items } = await prepare(context, run, said)
    await consider(items)
    return items
  }
  const callbackOutcome = await runCallbacks(deps, {
    kind: 'transition',
    actor,
    dryRun: false,
    objects,
    trigger: run.trigger,
    deadline,
    look,
  })
  return inTransaction(deps, { ending: 'store', objects, deadline }, (tx) =>
    runInTransaction(deps, tx, actor, run, callbackOutcome),
  )
}

async function runInTransaction(
  deps: ObjectDeps,
  tx: Tx,
  actor: Actor,
  run: RunRequest,
  callbackOutcome: CallbackOutcome,
): Promise<RunResult> {
  const model = deps.datamodel.current()
  const { context, items, replaced } = await onCurrentModel(deps, tx, model, async (current) => {
    const rights = await deps.rights.forActor(actor)
    const yielder = createYielder()
    const context = newContext({ deps, tx, model, current, locks: true, actor, rights, yielder })
    return { context, ...(await prepare(context, run, callbackOutcome)) }
  })
  const own = [...items]
  const tasks = await finishChange(context, items, {
    ...run,
    callbackOutcome,
    ...(replaced ? { check: () => replaced.check(items) } : {}),
    ask: (confirmation) => confirmation?.tasks ?? [],
  })
  if (tasks.length > 0) return { kind: 'confirm', tasks }
  await replaced?.settle()
  const objects = own.map((item) => ({
    systemObjectId: item.systemObjectId,
    version: (item.current?.version ?? 0) + (item.changed ? 1 : 0),
    changed: item.changed,
  }))
  return { kind: 'done', objects }
}

interface Prepared {
  readonly items: Item[]
  /** The items that callbacks have replaced; null: none. */
  readonly replaced: ReplacedItems | null
}

async function prepare(context: SaveContext, run: RunRequest, said: CallbackReplacements): Promise<Prepared> {
  const items = await storedItems(context, run)
  // No callbacks for a transition that an event starts: no user waits for the answer, so a refusal could not be reported.
  if (run.trigger.kind === 'event') return { items, replaced: null }
  const { replaced, items: all } = await replaceItems(context, items, said)
  return { items: all, replaced }
}

/**
 * The objects in order, each once, in the version that the caller has seen; the caller must have the right to write all of them.
 * Objects in the trash, and objects that the caller may not see, count as deleted.
 */
async function storedItems(context: SaveContext, run: RunRequest): Promise<Item[]> {
  const { rights } = context
  const byEvent = run.trigger.kind === 'event'
  const ids = new Set(run.objects.map((object) => object.systemObjectId))
  const stored = await lockObjects(context, [...ids])
  const named = new Set<number>()
  const items = run.objects.flatMap(({ systemObjectId, version }, index) => {
    const name = String(index)
    if (named.has(systemObjectId)) {
      throw new AppError(
        'ServerGeneric',
        { name, _system_object_id: systemObjectId },
        { message: 'An object is named twice.' },
      )
    }
    named.add(systemObjectId)
    const object = stored.get(systemObjectId)
    const known =
      object && !object.deletedAt && (byEvent || exists(rights, { ...guardOf(object), deleted: false }, 'write'))
    if (!known) {
      if (run.skipMissing) return []
      throw new AppError('ObjectNotFound', { name, _system_object_id: systemObjectId })
    }
    if (version !== undefined && version !== object.version) {
      throw new AppError('VersionMismatch', { name, got: version, expected: object.version })
    }
    return itemOf(object, 'update', name)
  })
  // The rights of the user who set up the transition are checked on each object, action by action.
  if (byEvent) return items
  const check = (item: Item): void => assertMay(context, 'write', item, guarded(guardBefore(item)))
  await eachYielding(items, check, context.yielder)
  return items
}

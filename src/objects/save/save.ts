import type { Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest, missingSystemRight } from '../../platform/errors.ts'
import type { RequestFacts } from '../../platform/http/request-facts.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { createYielder, mapYielding } from '../../platform/process/cooperative-yield.ts'
import { confirmTask, confirmTasks, type Task } from '../../platform/values/tasks.ts'
import { invalidValue } from '../content/values.ts'
import type { PreloadedObjects } from '../render/run.ts'
import type { SaveCallback } from './callbacks/model.ts'
import { type CallbackReplacements, withReplacements } from './callbacks/replace.ts'
import { type CallbackOutcome, noCallbackRan, runCallbacks } from './callbacks/run-callbacks.ts'
import { type Completed, checkResult, completeItems, followers } from './complete.ts'
import { newContext, type ObjectDeps, type SaveContext } from './context.ts'
import { applyEdits } from './edits/apply.ts'
import { finishChange } from './finish-change.ts'
import type { Item } from './item.ts'
import { onCurrentModel } from './on-current-model.ts'
import { asStored, preloadSaved, type SavedObject } from './outcome.ts'
import { prepareItems } from './prepare.ts'
import { type Ignored, ignoredParts } from './request/ignored.ts'
import { newLinkedDrafts } from './request/made-links.ts'
import { maxBatch, parsePayload } from './request/payload.ts'
import { syncBidirectional } from './rules/bidirectional.ts'
import { checkConstraints } from './rules/constraints.ts'
import { movePools, type PoolMove, poolMoves } from './rules/reverse.ts'
import { assertAccess, losesAccess } from './rules/rights.ts'
import { type Shares, settleShares, sharesOf, sharesTask } from './shares.ts'
import { applySystemFields } from './system-fields.ts'
import { storedUuids } from './write/store.ts'

/** Query parameters of a save, resolved. */
export interface SaveOptions {
  readonly dryRun: boolean
  /** PATCH: fields that are not sent stay as they are. */
  readonly partial: boolean
  /** Refuses a payload with parts that would have no effect. */
  readonly strict: boolean
  readonly skipReverseNested: boolean
  readonly skipBidirectionalUpdate: boolean
  readonly skipIndex: boolean
  readonly skipConstraints: boolean
  readonly skipPlugins: boolean
  readonly skipEvents: boolean
  /** `revoke=yes`: the caller knows that it loses access. */
  readonly revoke: boolean
  readonly confirmTransition: string | undefined
  /** The collection to which new objects are added. */
  readonly collection: number | undefined
  /** The fate of entries in collections whose grants would share too much of an object. */
  readonly collectionPolicy: 'setinvalid' | 'remove' | undefined
  readonly reversePoolChangedMode: 'reverse_pool_changed_always' | 'reverse_pool_changed_never' | undefined
}

export type SaveResult = { /** The parts of the payload without effect. */ readonly ignored: Ignored } & (
  | { readonly kind: 'confirm'; readonly tasks: readonly Task[] }
  /** `saved`: the objects that the client sent at the top level, in order; `written`: all objects with a new version. */
  | {
      readonly kind: 'done'
      readonly saved: readonly SavedObject[]
      readonly written: readonly number[]
      /** The data around them, as far as the save knows it. */
      readonly around: () => Promise<PreloadedObjects>
    }
)

/** A save as it was requested. */
export interface SaveRequest {
  readonly actor: Actor
  readonly objecttype: Table
  readonly body: readonly unknown[]
  readonly options: SaveOptions
  /** The request that contained this save, for the callbacks that run before it is written. */
  readonly facts?: (() => RequestFacts) | undefined
  /** Callbacks for this save alone, run before all others. */
  readonly callbacks?: readonly SaveCallback[] | undefined
}

/** Runs the callbacks of a save, before anything is written or locked. */
export async function runSaveCallbacks(
  deps: ObjectDeps,
  request: SaveRequest,
  deadline: Deadline,
  behind: (work: Promise<unknown>) => void,
): Promise<CallbackOutcome> {
  const { actor, body, options } = request
  assertOptions(actor, options)
  if (options.skipPlugins) return noCallbackRan
  const { dryRun } = options
  return runCallbacks(deps, {
    kind: 'save',
    actor,
    dryRun,
    objects: body.length,
    deadline,
    facts: request.facts,
    behind,
    first: request.callbacks,
    objecttype: request.objecttype.name,
    async look(context, said, consider) {
      const { items, kept } = await prepare(context, request, said)
      await consider(items)
      const { move } = followers(await poolMoves(items, kept, context.yielder), options)
      if (!options.skipBidirectionalUpdate) await syncBidirectional(context, items)
      movePools(items, move)
      return items
    },
  })
}

/**
 * Saves a batch of objects of one type, all or nothing. The phases and their order come from the specification ("Plugin callback
 * `db_pre_save`"): access rights, plugins (`runSaveCallbacks`), transitions, constraints, save rights, write.
 */
export async function saveObjects(
  deps: ObjectDeps,
  tx: Tx,
  request: SaveRequest,
  callbackOutcome: CallbackOutcome,
): Promise<SaveResult> {
  const { actor } = request
  const model = deps.datamodel.current()
  return onCurrentModel(deps, tx, model, async (current) => {
    const yielder = createYielder()
    const rights = await deps.rights.forActor(actor)
    const context = newContext({ deps, tx, model, current, locks: true, actor, rights, yielder })
    return save(context, request, callbackOutcome)
  })
}

interface Prepared extends Completed {
  readonly items: Item[]
  /** The objects that the client sent at the top level. */
  readonly sent: readonly Item[]
  readonly ignored: Ignored
}

/**
 * The steps before the callbacks: finds the objects, decides which are created and which are updated, checks the access rights and
 * merges. Runs with locks for the write, and without them for the callbacks.
 */
async function prepare(
  context: SaveContext,
  { objecttype, body, options }: SaveRequest,
  said: CallbackReplacements,
): Promise<Prepared> {
  const { deps, model, yielder } = context
  const payload = { model, databaseName: deps.config.databaseName, partial: options.partial }
  const drafts = withReplacements(payload, await parsePayload(payload, objecttype, body, yielder), said)
  const made = await newLinkedDrafts(payload, drafts, (uuids) => storedUuids(context.tx, uuids))
  if (drafts.length + made.length > maxBatch) throw invalidValue('body', drafts.length, `at most ${maxBatch} objects`)
  const { items, linkers } = await prepareItems(context, [...drafts, ...made], { below: !options.skipReverseNested })
  const sent = items.slice(0, drafts.length)
  await applySystemFields(context, items, options)
  await assertAccess(context, items, said.replaced)
  await applyEdits(context, items, options)
  // It compares the payload with stored values, so it comes after the check of rights.
  const ignored = await ignoredParts(context, items)
  if (options.strict) assertNothingIgnored(ignored)
  return { items, sent, ignored, ...(await completeItems(context, items, linkers, options)) }
}

async function save(context: SaveContext, request: SaveRequest, callbackOutcome: CallbackOutcome): Promise<SaveResult> {
  const { yielder } = context
  const { options } = request
  const { items, sent, ignored, kept, attached } = await prepare(context, request, callbackOutcome)
  let undecided: readonly PoolMove[] = []
  let shares: Shares = { items: [], changes: [], found: [] }
  const tasks = await finishChange(context, items, {
    callbackOutcome,
    confirmTransition: options.confirmTransition,
    async check() {
      const content = async (): Promise<void> => {
        assertComments(items)
        if (!options.skipConstraints) await checkConstraints(items, yielder)
      }
      undecided = await checkResult(context, items, { ...options, kept, content, replaced: callbackOutcome.replaced })
    },
    async ask(confirmation) {
      shares = await sharesOf(context, items, sent, options)
      const asked = await confirmations(context, items, options, confirmation, undecided)
      return shares.found.length > 0 && options.collectionPolicy === undefined ? [...asked, sharesTask(shares)] : asked
    },
    write: options,
  })
  if (tasks.length > 0) return { kind: 'confirm', tasks, ignored }
  await collect(context, sent, options, await settleShares(context, shares, options))
  const written = items.filter((item) => item.changed).map((item) => item.systemObjectId)
  const saved = await mapYielding(sent, (item) => ({ item, object: asStored(context, item) }), yielder)
  const around = () => preloadSaved(context, items, sent, attached)
  return { kind: 'done', saved, written, ignored, around }
}

function assertNothingIgnored({ paths, more, nearest }: Ignored): void {
  const [first] = paths
  if (first === undefined) return
  throw badRequest(`${first} would have no effect${nearest === null ? '' : `; did you mean ${nearest}?`}`, {
    name: first,
    ignored: paths,
    ...(more > 0 ? { more } : {}),
    ...(nearest === null ? {} : { nearest }),
  })
}

/** Parameters that only root may use. */
function assertOptions(actor: Actor, options: SaveOptions): void {
  if (actor.isRoot) return
  if (options.skipConstraints) throw badRequest('skip_constraints needs system.root.', { param: 'skip_constraints' })
  if (options.skipPlugins) throw missingSystemRight('system.root', { param: 'skip_plugins' })
  if (options.skipEvents) throw missingSystemRight('system.root', { param: 'skip_events' })
}

function assertComments(items: readonly Item[]): void {
  for (const item of items) {
    const { requireComment } = item.mask
    const needed = requireComment === 'always' || requireComment === (item.mode === 'create' ? 'insert' : 'update')
    if (!item.draft || !item.changed || item.mode === 'delete' || !needed || item.comment !== null) continue
    throw new AppError(
      'CommentRequired',
      { name: `${item.place}._comment`, objecttype: item.table.name, mask: item.mask.name },
      { message: `${item.place}: the mask ${item.mask.name} requires a comment` },
    )
  }
}

/** Adds the objects that the client has created to the collection of the request. */
async function collect(
  { deps, tx, actor }: SaveContext,
  sent: readonly Item[],
  { collection, dryRun }: SaveOptions,
  without: ReadonlySet<Item>,
): Promise<void> {
  if (collection === undefined) return
  // A dry run takes no ids: it only checks the rights on the collection.
  const created = dryRun
    ? []
    : sent.flatMap((item) => (item.mode === 'create' && !without.has(item) ? item.systemObjectId : []))
  await deps.collections.add(tx, actor, collection, created, 'collection')
}

async function confirmations(
  context: SaveContext,
  items: readonly Item[],
  options: SaveOptions,
  transition: { readonly token: string; readonly texts: readonly string[] } | null,
  ask: readonly PoolMove[],
): Promise<Task[]> {
  const tasks: Task[] = []
  const lost = options.revoke ? [] : await losesAccess(context, items)
  const revokes = lost.length > 0
  if (revokes) {
    tasks.push(
      confirmTask({
        title: 'Own access is lost',
        message: `After this save you can no longer read or change ${lost.length} of the objects.`,
        name: 'revoke',
        value: transition ? `yes:${transition.token}` : 'yes',
      }),
    )
  }
  if (transition) {
    tasks.push(
      ...confirmTasks({
        title: 'Workflow',
        messages: transition.texts,
        name: revokes ? 'revoke' : 'confirmTransition',
        value: revokes ? `yes:${transition.token}` : transition.token,
      }),
    )
  }
  if (ask.length > 0) tasks.push(poolTask(ask))
  return tasks
}

function poolTask(moves: readonly PoolMove[]): Task {
  const count = moves.reduce((sum, move) => sum + move.followers.length, 0)
  return {
    title: 'Pool of dependent objects',
    message: `${count} dependent objects are in another pool than the new one of their object. Shall they follow?`,
    form: [
      {
        label: 'Dependent objects',
        type: 'select',
        name: 'reverse_pool_changed_mode',
        horizontal: false,
        options: [
          { text: 'move into the new pool', value: 'reverse_pool_changed_always', disabled: false },
          { text: 'leave where they are', value: 'reverse_pool_changed_never', disabled: false },
        ],
      },
    ],
    buttons: [{ text: 'Continue' }, { text: 'Cancel' }],
  }
}

import type { Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { createYielder, eachYielding, mapYielding } from '../../platform/process/cooperative-yield.ts'
import { confirmTasks, type Task } from '../../platform/values/tasks.ts'
import type { Confirmation } from '../../transitions/service.ts'
import { invalidValue } from '../content/values.ts'
import {
  assertUnchangedSince,
  type CallbackOutcome,
  type Change,
  noCallbackRan,
  runCallbacks,
} from '../save/callbacks/run-callbacks.ts'
import { newContext, type ObjectDeps, type SaveContext } from '../save/context.ts'
import { exists, guarded } from '../save/disclosure.ts'
import { finishChange } from '../save/finish-change.ts'
import { guardBefore, type Item, itemOf } from '../save/item.ts'
import { onCurrentModel } from '../save/on-current-model.ts'
import { createResolver } from '../save/resolve.ts'
import { assertConstraints } from '../save/rules/constraints.ts'
import { type DeletePlan, fateOf, findLinkers, knownLinkers, planDelete } from '../save/rules/deletion.ts'
import { assertMay, assertMayOther } from '../save/rules/rights.ts'
import { lockObjects } from '../save/write/store.ts'
import type { StoredObject } from '../stored/content.ts'
import { purgeObjects } from './purge.ts'

export const deletePolicies = ['remove', 'setnull', 'create_collection', 'undelete', 'purge'] as const
export type DeletePolicy = (typeof deletePolicies)[number]

export interface DeleteOptions {
  readonly policy: DeletePolicy | undefined
  readonly confirmTransition: string | undefined
  /** Everything is rolled back at the end, and steps that cannot be rolled back (ids, outgoing messages) are left out. */
  readonly dryRun: boolean
}

/** Answer of a delete (DB-039); ids are `_id` of objects of any type, system object ids where types differ. */
export interface DeleteAnswer {
  readonly policy: DeletePolicy
  readonly removed: readonly number[]
  readonly setnull: readonly number[]
  readonly create_collection: number
}

export type DeleteResult =
  | { readonly kind: 'confirm'; readonly tasks: readonly Task[] }
  | { readonly kind: 'done'; readonly answer: DeleteAnswer; readonly written: readonly number[] }

interface Triple {
  readonly place: string
  readonly id: number
  readonly version: number
  readonly comment: string | null
}

/** A deletion as it was requested. */
export interface DeleteRequest {
  readonly actor: Actor
  readonly objecttype: Table
  readonly body: readonly unknown[]
  readonly options: DeleteOptions
}

/** Runs the callbacks for a deletion. Without a policy nothing is deleted, so none runs. */
export async function runDeleteCallbacks(
  deps: ObjectDeps,
  { actor, objecttype, body, options }: DeleteRequest,
  { dryRun, deadline }: { readonly dryRun: boolean; readonly deadline: Deadline },
): Promise<CallbackOutcome> {
  const { policy } = options
  if (policy === undefined || policy === 'create_collection') return noCallbackRan
  const kind = policy === 'undelete' || policy === 'purge' ? policy : 'remove'
  const triples = body.map(parseTriple)
  const look: Change['look'] = async (context, _said, consider) => {
    const { deleted, cleared } = await prepare(context, await findNamed(context, objecttype, triples, policy), policy)
    const items = [...deleted, ...cleared]
    await consider(items)
    return items
  }
  return runCallbacks(deps, { kind, actor, dryRun, objects: body.length, deadline, look })
}

/**
 * Moves objects to the trash, takes them out of it, or purges them: all or nothing. Without a policy nothing is changed, and the
 * answer lists the policies to choose from (decisions.md, 7).
 */
export async function deleteObjects(
  deps: ObjectDeps,
  tx: Tx,
  { actor, objecttype, body, options }: DeleteRequest,
  callbackOutcome: CallbackOutcome,
): Promise<DeleteResult> {
  const model = deps.datamodel.current()
  const triples = body.map(parseTriple)
  const { context, named } = await onCurrentModel(deps, tx, model, async (current) => {
    const rights = await deps.rights.forActor(actor)
    const yielder = createYielder()
    const context = newContext({ deps, tx, model, current, locks: true, actor, rights, yielder })
    return { context, named: await findNamed(context, objecttype, triples, options.policy) }
  })
  const { policy } = options
  switch (policy) {
    case undefined:
      await assertMayDelete(
        context,
        named.objects.map((object) => itemOf(object, 'delete')),
      )
      return { kind: 'confirm', tasks: [await policyTask(context, named.objects)] }
    case 'create_collection':
      return collectLinking(context, named.objects, options)
  }
  const prepared = await prepare(context, named, policy)
  const { deleted, cleared } = prepared
  if (policy === 'purge') {
    assertUnchangedSince(context, deleted, callbackOutcome)
    await purgeObjects(context, named.objects, { logged: !options.dryRun })
    return done(policy, prepared)
  }
  const tasks = await finishChange(context, [...deleted, ...cleared], {
    callbackOutcome,
    confirmTransition: options.confirmTransition,
    write: { dryRun: options.dryRun, skipIndex: options.dryRun, skipEvents: options.dryRun },
    check: () => eachYielding(cleared, (item) => assertConstraints(item), context.yielder),
    ask: (confirmation) => transitionTasks(confirmation, policy),
  })
  return tasks.length > 0 ? { kind: 'confirm', tasks } : done(policy, prepared)
}

/** The objects of a request, with the comment on each. */
interface Named {
  readonly objects: readonly StoredObject[]
  readonly comments: ReadonlyMap<number, string | null>
}

/**
 * The steps before the callbacks: finds all objects that are deleted, restored or lose a link, and checks the rights of the caller
 * on them.
 */
async function prepare(
  context: SaveContext,
  { objects, comments }: Named,
  policy: 'remove' | 'setnull' | 'undelete' | 'purge',
): Promise<DeletePlan> {
  const { yielder } = context
  if (policy === 'remove' || policy === 'setnull') {
    const plan = await planDelete(context, objects, policy)
    for (const item of plan.deleted) item.comment = comments.get(item.systemObjectId) ?? null
    await mapYielding(plan.deleted, (item) => assertMayOther(context, 'delete', item), yielder)
    await mapYielding(plan.cleared, (item) => assertMayOther(context, 'write', item), yielder)
    assertComments(plan, comments)
    return plan
  }
  if (policy === 'purge' && !context.deps.config.allowPurge) throw new AppError('PurgeNotAllowed')
  const deleted = objects.map((object) => itemOf(object, policy === 'purge' ? 'delete' : 'undelete'))
  if (policy === 'undelete') for (const item of deleted) item.comment = comments.get(item.systemObjectId) ?? null
  await assertMayDelete(context, deleted)
  if (policy === 'undelete') await dropLostParents(context, deleted)
  return { deleted, cleared: [] }
}

function parseTriple(entry: unknown, index: number): Triple {
  const place = String(index)
  if (!Array.isArray(entry) || entry.length < 2 || entry.length > 3) {
    throw invalidValue(place, entry, '[id, version, comment]')
  }
  const [id, version, comment] = entry as unknown[]
  if (!Number.isSafeInteger(id) || (id as number) < 1) throw invalidValue(`${place}.0`, id, 'a positive integer')
  if (!Number.isSafeInteger(version) || (version as number) < 1) {
    throw invalidValue(`${place}.1`, version, 'a positive integer')
  }
  const storable =
    typeof comment === 'string' && comment.length <= 10_000 && comment.isWellFormed() && !comment.includes('\0')
  if (comment !== null && comment !== undefined && !storable) {
    throw invalidValue(`${place}.2`, comment, 'text of at most 10000 characters, or null')
  }
  return { place, id: id as number, version: version as number, comment: (comment as string | undefined) || null }
}

/** The named objects in order, each once, in the version given and in the state that the policy needs. */
async function findNamed(
  context: SaveContext,
  table: Table,
  triples: readonly Triple[],
  policy: DeletePolicy | undefined,
): Promise<Named> {
  const refs = triples.map(({ id, place }) => ({ by: 'id' as const, table, id, place }))
  const resolver = await createResolver(context, refs, [])
  const seen = new Set<number>()
  for (const ref of refs) {
    if (context.yielder.due()) await context.yielder.yield()
    // Done before anything is locked or reported: for the caller, an object that it may not see does not exist.
    const found = resolver.stored(ref)
    if (!found || !exists(context.rights, found, 'delete')) throw missing(table, ref)
    if (seen.has(ref.id)) throw invalidValue(`${ref.place}.0`, ref.id, 'each object once')
    seen.add(ref.id)
  }
  const ids = refs.map((ref) => resolver.stored(ref)?.systemObjectId as number)
  const locked = await lockObjects(context, ids, { forDelete: true })
  const trashed = policy === 'undelete' || policy === 'purge'
  const objects = triples.map((triple, index) => {
    const object = locked.get(ids[index] as number)
    if (!object) throw missing(table, triple)
    if (trashed && !object.deletedAt) throw new AppError('NotInTrash', { name: triple.place, _id: triple.id })
    if (!trashed && object.deletedAt) throw missing(table, triple)
    // The stored version, under both conventions (decisions.md, 30): a client that sends the next version on saves means the
    // version that it creates, but a triple names the version that is deleted.
    if (triple.version !== object.version) {
      const expected = object.version
      throw new AppError('VersionMismatch', { name: `${triple.place}.1`, got: triple.version, expected })
    }
    return object
  })
  return {
    objects,
    comments: new Map(objects.map((object, index) => [object.systemObjectId, triples[index]?.comment ?? null])),
  }
}

function missing(table: Table, { id, place }: { id: number; place: string }): AppError {
  return new AppError(
    'ObjectNotFound',
    { name: place, objecttype: table.name, _id: id },
    { message: `${place}: there is no ${table.name} ${id}` },
  )
}

async function assertMayDelete(context: SaveContext, items: readonly Item[]): Promise<void> {
  await mapYielding(items, (item) => assertMay(context, 'delete', item, guarded(guardBefore(item))), context.yielder)
}

/** Deletes nothing: puts the objects that link to those of the request into a new collection (decision 44). */
async function collectLinking(
  context: SaveContext,
  objects: readonly StoredObject[],
  { dryRun }: DeleteOptions,
): Promise<DeleteResult> {
  const { deps, tx, actor } = context
  await assertMayDelete(
    context,
    objects.map((object) => itemOf(object, 'delete')),
  )
  const linking = await linkingObjects(context, objects)
  // A dry run draws no id.
  const id = dryRun ? 0 : await deps.collections.collect(tx, actor, linking)
  return {
    kind: 'done',
    answer: { policy: 'create_collection', removed: [], setnull: [], create_collection: id },
    written: [],
  }
}

/** Objects outside the request that link to one of its objects, as far as the caller may see the link. */
async function linkingObjects(context: SaveContext, objects: readonly StoredObject[]): Promise<number[]> {
  const roots = new Set(objects.map((object) => object.systemObjectId))
  const linkers = await knownLinkers(context, await findLinkers(context.tx, [...roots]))
  return [...new Set(linkers.map(({ from }) => from))].filter((id) => !roots.has(id)).sort((a, b) => a - b)
}

/** The choice of a policy, with the number of objects that each one affects, as far as the caller may see them. */
async function policyTask(context: SaveContext, objects: readonly StoredObject[]): Promise<Task> {
  const { tx, model } = context
  const roots = new Set(objects.map((object) => object.systemObjectId))
  const linkers = await knownLinkers(context, await findLinkers(tx, [...roots]))
  const open = new Set<number>()
  const follow = new Set<number>()
  for (const linker of linkers) {
    if (roots.has(linker.from)) continue
    const fate = fateOf(model, linker)
    if (fate === 'open') open.add(linker.from)
    else if (fate === 'remove') follow.add(linker.from)
  }
  const dependent = follow.size > 0 ? ` ${follow.size} dependent objects go with them.` : ''
  return {
    title: 'Delete objects',
    message: `${objects.length} objects will be moved to the trash; ${open.size} other objects link to them.${dependent}`,
    form: [
      {
        label: 'Objects that link to them',
        type: 'select',
        name: 'delete_policy',
        horizontal: false,
        options: [
          { text: `clear their links (${open.size})`, value: 'setnull', disabled: false },
          { text: `move them to the trash as well (${open.size})`, value: 'remove', disabled: false },
          {
            text: 'delete nothing, and collect them in a new collection',
            value: 'create_collection',
            disabled: false,
          },
        ],
      },
    ],
    buttons: [{ text: 'Delete' }, { text: 'Cancel' }],
  }
}

function assertComments(plan: DeletePlan, comments: ReadonlyMap<number, string | null>): void {
  for (const item of plan.deleted) {
    if (!comments.has(item.systemObjectId) || item.comment !== null) continue
    const { requireComment, name } = item.table.preferredMask
    if (requireComment !== 'always' && requireComment !== 'delete') continue
    throw new AppError('CommentRequired', { name: item.place, objecttype: item.table.name, mask: name })
  }
}

/** A policy that was chosen before is carried over (DB-037). */
function transitionTasks(confirmation: Confirmation | null, policy: DeletePolicy): Task[] {
  if (!confirmation) return []
  const tasks = confirmTasks({
    title: 'Workflow',
    messages: confirmation.texts,
    name: 'confirmTransition',
    value: confirmation.token,
  })
  const carried = { text: policy, hidden: true, name: 'delete_policy', value: policy }
  return tasks.map((task, index) =>
    index === tasks.length - 1 ? { ...task, buttons: [...task.buttons, carried] } : task,
  )
}

/** A parent in the trash, or a purged one, cannot have children: objects that are restored without it become top-level objects. */
async function dropLostParents({ tx, locks }: SaveContext, items: readonly Item[]): Promise<void> {
  const parents = [...new Set(items.flatMap((item) => item.parents))]
  if (parents.length === 0) return
  const { rows } = await tx.query<{ id: number }>(
    `select system_object_id as id from object
     where system_object_id = any($1::bigint[]) and deleted_at is null order by system_object_id
     ${locks ? 'for key share' : ''}`,
    [parents],
    locks ? 'live-parents' : 'look-at-parents',
  )
  const live = new Set([...rows.map((row) => row.id), ...items.map((item) => item.systemObjectId)])
  for (const item of items) item.parents = item.parents.filter((id) => live.has(id))
}

function done(policy: DeletePolicy, { deleted: removed, cleared }: DeletePlan): DeleteResult {
  return {
    kind: 'done',
    answer: {
      policy,
      removed: removed.map((item) => item.id),
      setnull: cleared.map((item) => item.id),
      create_collection: 0,
    },
    written: [...removed, ...cleared].map((item) => item.systemObjectId),
  }
}

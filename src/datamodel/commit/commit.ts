import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { Task } from '../../platform/values/tasks.ts'
import { compileModel, type Snapshot } from '../compile/model.ts'
import type { Column, Model } from '../model.ts'
import * as store from '../store.ts'
import { validateMasks } from '../validate/masks.ts'
import { validateSchema } from '../validate/schema.ts'
import {
  constraintChangesOf,
  conversionsOf,
  keyChangesOf,
  refuseRemovedObjects,
  refuseReusedIds,
  unsupported,
} from './checks.ts'
import { type Difference, differenceOf } from './diff.ts'
import type { CommitHooks, Conversion } from './hooks.ts'
import { constraintsTask, type ReindexMode, reindexTask } from './tasks.ts'

export interface CommitAnswers {
  /** The treatment of the index; absent: not answered. */
  readonly reindex?: ReindexMode
  /** `confirm=yes`: every question is answered; the index is rebuilt (`reindex`) unless `reindex` has another value. */
  readonly confirm: boolean
}

export type CommitResult =
  | { readonly kind: 'confirm'; readonly tasks: Task[] }
  | { readonly kind: 'done'; readonly model: Model }

export interface CommitDeps {
  readonly hooks: CommitHooks
  readonly events: EventLog
  /** Language for existing texts when a column becomes localised. */
  readonly dataLanguage: () => string
  readonly clock: () => Date
}

/**
 * Makes the working copy the next version, as a difference to the current one. All in one transaction: no reader sees a part of it,
 * and a refused commit has no effect.
 *
 * Order: block saves → check that the copy is valid → ids → removed types are empty → types can change → questions → write version,
 * counters, values, keys, index queue, events.
 */
export async function commitHead(
  tx: Tx,
  actor: Actor,
  answers: CommitAnswers,
  deps: CommitDeps,
): Promise<CommitResult> {
  await store.lockModelExclusive(tx)
  const head = await store.lockHead(tx)
  const before = await currentSnapshot(tx)
  const after = nextSnapshot(before, head, deps.clock())
  validateSchema(after.schema)
  validateMasks(after.masks, after.schema)
  const difference = differenceOf(before, after)
  const [oldModel, model] = [compileModel(before), compileModel(after)]
  await refuseReusedIds(tx, before, after, difference)
  await refuseRemovedObjects(tx, deps.hooks, difference)
  const conversions = conversionsOf(difference, before, model, deps.dataLanguage())
  const keys = keyChangesOf(oldModel, model, conversions)

  const reindexTables = withLinking(model, difference.reindexObjecttypes)
  const tasks = await openQuestions(tx, { answers, deps, oldModel, model, keys, reindexTables })
  if (tasks.length > 0) return { kind: 'confirm', tasks }

  await store.insertVersion(tx, after, actor.userId)
  await store.writeHead(tx, { schema: after.schema, masks: after.masks })
  await store.syncObjecttypes(tx, [...model.objecttypes.values()])
  await convert(tx, conversions, deps.hooks)
  const revived = revivedLinks(difference, before, model)
  if (revived.length > 0) await deps.hooks.revive(tx, revived)
  if (keys.added.length + keys.removed.length > 0) await deps.hooks.rebuildUniqueKeys(tx, keys.added, keys.removed)
  if (answers.reindex !== 'skip' && reindexTables.length > 0) {
    const block = answers.reindex === 'reindex_block'
    await deps.hooks.reindex(tx, { actor, objecttypes: reindexTables, block, datamodel: after.version })
  }
  await deps.hooks.afterModelChange?.(tx, model, [...difference.changedObjecttypes.keys()])
  await deps.events.append(tx, commitEvents(actor, after, difference))
  return { kind: 'done', model }
}

async function currentSnapshot(tx: Tx): Promise<Snapshot> {
  const snapshot = await store.readVersion(tx, await store.currentVersion(tx))
  if (!snapshot) throw new Error('the current datamodel version is missing')
  return snapshot
}

/** Links that an earlier version had already: objects may still have values for them. */
function revivedLinks({ addedColumns }: Difference, before: Snapshot, model: Model): readonly Column[] {
  return addedColumns.flatMap(({ column: { column_id: id = 0 } }) => {
    const column = model.columnsById.get(id)
    return id <= (before.schema.max_column_id ?? 0) && column?.type === 'link' ? [column] : []
  })
}

function nextSnapshot(before: Snapshot, head: store.StoredHead, committedAt: Date): Snapshot {
  const version = before.version + 1
  return {
    version,
    committedAt,
    schema: { ...head.schema, version, based_on_version: before.version },
    masks: { ...head.masks, version, based_on_schema_version: version },
    l10n: head.l10n,
  }
}

/** Types whose index entries change, and types that link to them: entries contain the standard of linked objects. */
function withLinking(model: Model, ids: readonly number[]): number[] {
  const all = new Set(ids)
  for (const id of ids) {
    for (const column of model.tablesById.get(id)?.linkedFrom ?? []) all.add(column.table.root.id)
  }
  return [...all]
}

interface Questions {
  readonly answers: CommitAnswers
  readonly deps: CommitDeps
  readonly oldModel: Model
  readonly model: Model
  readonly keys: ReturnType<typeof keyChangesOf>
  readonly reindexTables: readonly number[]
}

/** The questions that the caller has not answered yet; there are none about types without objects. */
async function openQuestions(tx: Tx, questions: Questions): Promise<Task[]> {
  const { answers, deps, oldModel, model, keys, reindexTables } = questions
  if (answers.confirm) return []
  const tasks: Task[] = []
  if (answers.reindex === undefined && reindexTables.length > 0) {
    const counts = await deps.hooks.countObjects(tx, reindexTables)
    const named = reindexTables
      .map((id) => ({ name: model.tablesById.get(id)?.name ?? '', count: counts.get(id) ?? 0 }))
      .filter(({ count }) => count > 0)
    if (named.length > 0) tasks.push(reindexTask(named))
  }
  const changes = constraintChangesOf(oldModel, model, keys)
  if (changes.length > 0) {
    const counts = await deps.hooks.countViolations(tx, changes)
    const broken = changes.map((change, at) => ({ change, count: counts[at] ?? 0 })).filter(({ count }) => count > 0)
    if (broken.length > 0) tasks.push(constraintsTask(broken))
  }
  return tasks
}

async function convert(tx: Tx, conversions: readonly Conversion[], hooks: CommitHooks): Promise<void> {
  if (conversions.length === 0) return
  const failures = await hooks.convertValues(tx, conversions)
  for (const [at, { column, from, to }] of conversions.entries()) {
    const count = failures[at] ?? 0
    if (count > 0) throw unsupported(column.table, column, from, to, count)
  }
}

function commitEvents(actor: Actor, after: Snapshot, difference: Difference): NewEvent[] {
  return [
    {
      type: 'DATAMODEL_COMMIT',
      actor,
      schema: 'user',
      info: { version: after.version, committed_at: after.committedAt?.toISOString() },
    },
    ...[...difference.changedObjecttypes].map(
      ([id, name]): NewEvent => ({
        type: 'OBJECTTYPE_UPDATE',
        actor,
        basetype: 'objecttype',
        schema: 'user',
        objecttype: name,
        objectId: id,
      }),
    ),
  ]
}

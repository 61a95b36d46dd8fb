/** One batch of the index queue: read, build, write, with the same number of statements for one object or a thousand. */
import pg from 'pg'
import type { Logger } from 'pino'
import type { Model } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { IndexSource } from '../document/source.ts'
import { fieldsOf } from '../plan/fields.ts'
import type { Changes } from './changes.ts'
import { type ReadFiles, withFiles } from './files.ts'
import type { Targets } from './link-targets.ts'
import { withMembers } from './members.ts'
import { noteChanged } from './spread.ts'
import * as store from './store.ts'
import type { BatchSettings, DocumentBatch, IndexConnection, IndexTarget } from './target.ts'
import { inIndexTransaction } from './transaction.ts'

export interface BatchDeps {
  readonly log: Logger
  readonly targets: Targets
  readonly changes: Changes
  readonly target: IndexTarget
  readonly poolPath: (id: number) => readonly number[]
  readonly now: () => number
  /** Blocks commits of the datamodel until the transaction ends; fails when the model is not the current one. */
  readonly assertCurrent: (tx: Tx, model: Model) => Promise<void>
  /**
   * Brings stored standards up to date with linked objects and with the masks (objects capability). Returns the ids of objects that
   * are just being saved, which the caller must try again.
   */
  readonly refreshStandards: RefreshStandards
  /** Called with objects that link to changed ones, once they show the new data of these. */
  readonly linkedChanged: (systemObjectIds: readonly number[]) => Promise<void>
  readonly readFiles: ReadFiles
  /** Called with saved objects, in the transaction after which searches find their new data. */
  readonly onIndexed: (db: Queryable, systemObjectIds: readonly number[]) => Promise<void>
  /** Reports an object that cannot be indexed. */
  readonly onFailure: (id: number, error: string) => Promise<void>
}

export type RefreshStandards = (
  db: Queryable,
  model: Model,
  languages: readonly string[],
  systemObjectIds: readonly number[],
) => Promise<readonly number[]>

export interface BatchResult {
  /** The generation of the index after the batch. */
  readonly generation: number
  /** The entries that are done; others must be tried again. */
  readonly done: readonly store.QueueEntry[]
  /** Whether other objects show data of these ones, and must be queued (`spreadOn`). */
  readonly spreading: boolean
}

/** Priority of entries that a save has queued. Entries that follow from a save, and entries of a reindex, have lower priority. */
export const savedPriority = 0

export async function indexBatch(
  deps: BatchDeps,
  connection: IndexConnection,
  settings: BatchSettings,
  entries: readonly store.QueueEntry[],
): Promise<BatchResult> {
  try {
    return await indexEntries(deps, connection, settings, entries)
  } catch (error) {
    if (!isOwnFault(error)) throw error
    return await indexApart(deps, connection, settings, entries, error)
  }
}

/**
 * Whether an object itself may be the cause of an error: values that do not fit, code that does not expect them. A lost connection,
 * a lock or a full disk affects all objects, so the batch is tried again as a whole.
 */
function isOwnFault(error: unknown): boolean {
  if (error instanceof AppError) return error.status === 400
  return !(error instanceof pg.DatabaseError) || /^(?:22|54)/.test(error.code ?? '')
}

/** Halves a failed batch until the objects that cannot be indexed are alone. */
async function indexApart(
  deps: BatchDeps,
  connection: IndexConnection,
  settings: BatchSettings,
  entries: readonly store.QueueEntry[],
  error: unknown,
): Promise<BatchResult> {
  const ids = distinct(entries)
  const [id] = ids
  if (ids.length === 1 && id !== undefined) {
    return { generation: await leaveOut(deps, connection, id, entries, error), done: entries, spreading: false }
  }
  const half = new Set(ids.slice(0, ids.length >> 1))
  const [first, second] = [
    entries.filter((entry) => half.has(entry.id)),
    entries.filter((entry) => !half.has(entry.id)),
  ]
  const { done, spreading } = await indexBatch(deps, connection, settings, first)
  const last = await indexBatch(deps, connection, settings, second)
  return { generation: last.generation, done: [...done, ...last.done], spreading: spreading || last.spreading }
}

/**
 * Removes the index data of the object, which would otherwise be found by old values and by callers with old rights. Notes when the
 * object is tried again. Returns the generation of the index.
 */
async function leaveOut(
  deps: BatchDeps,
  connection: IndexConnection,
  id: number,
  entries: readonly store.QueueEntry[],
  error: unknown,
): Promise<number> {
  const text = error instanceof Error ? error.message : String(error)
  const [attempts, generation] = await inIndexTransaction(connection.db, async () => {
    const next = await deps.target.forget(connection, [id])
    const failures = await store.recordFailure(connection.db, id, text)
    await store.finishQueue(connection.db, entries)
    return [failures, next] as const
  })
  // Logged once, although it is tried again and again.
  if (attempts === 1) {
    deps.log.error({ err: error, systemObjectId: id }, 'an object cannot be indexed')
    await deps.onFailure(id, text)
  }
  return generation
}

function distinct(entries: readonly store.QueueEntry[]): number[] {
  return [...new Set(entries.map((entry) => entry.id))]
}

async function indexEntries(
  deps: BatchDeps,
  connection: IndexConnection,
  settings: BatchSettings,
  waiting: readonly store.QueueEntry[],
): Promise<BatchResult> {
  const { db } = connection
  const entries = await refresh(deps, db, settings, waiting)
  if (entries.length === 0) return { generation: await deps.target.generation(db), done: [], spreading: false }
  const ids = distinct(entries)
  const sources = await readSources(deps, db, settings, entries, ids)
  const batch = await make(deps, db, settings, sources, ids)
  const promised = sources.flatMap((source) => (source.promised ? source.id : []))
  const changed = promised.length > 0 ? [...new Set([...batch.changed, ...promised])] : batch.changed
  // Objects that show data of a changed one are queued after the batch.
  if (changed.length > 0) deps.changes.note(changed)
  const generation = await inIndexTransaction(db, async () => {
    await deps.assertCurrent({ ...db, afterCommit: () => {} }, settings.model)
    const applied = await batch.apply(connection)
    await noteChanged(db, changed, batch.rehung)
    if (promised.length > 0) await store.endPromises(db, promised)
    await store.clearFailures(db, ids)
    await store.finishQueue(db, entries)
    await deps.onIndexed(db, distinct(entries.filter(({ priority }) => priority === savedPriority)))
    return applied
  })
  return { generation, done: entries, spreading: changed.length > 0 }
}

/** Refreshes the stored standards of the objects; returns the entries of objects that are not just being saved. */
async function refresh(
  deps: BatchDeps,
  db: Queryable,
  { model, languages }: BatchSettings,
  entries: readonly store.QueueEntry[],
): Promise<readonly store.QueueEntry[]> {
  // A save computes the standard of its object. An object that is queued for another reason may have an outdated standard.
  const stale = entries.filter((entry) => entry.priority !== 0)
  if (stale.length === 0) return entries
  const busy = new Set(await deps.refreshStandards(db, model, languages, distinct(stale)))
  // Without objects that are indexed anew with all others (priority 2).
  const linking = stale.filter(({ id, priority }) => priority === 1 && !busy.has(id))
  if (linking.length > 0) await deps.linkedChanged(distinct(linking))
  return busy.size === 0 ? entries : entries.filter((entry) => entry.priority === 0 || !busy.has(entry.id))
}

/** Reads the objects. Objects that were saved while their link targets changed are refreshed first. */
async function readSources(
  deps: BatchDeps,
  db: Queryable,
  { model, languages }: BatchSettings,
  entries: readonly store.QueueEntry[],
  ids: readonly number[],
): Promise<readonly IndexSource[]> {
  const sources = await store.readSources(db, ids)
  const saved = new Set(entries.flatMap((entry) => (entry.priority === 0 ? entry.id : [])))
  const fields = fieldsOf(model)
  const overtaken = sources.flatMap((source) => {
    const changed = saved.has(source.id) ? deps.changes.since(source.modifiedAt / 1000) : null
    return changed && linksOf(fields, source).values().some(changed) ? source.id : []
  })
  if (overtaken.length === 0) return sources
  await deps.refreshStandards(db, model, languages, overtaken)
  await deps.linkedChanged(overtaken)
  const refreshed = new Map((await store.readSources(db, overtaken)).map((source) => [source.id, source]))
  return sources.map((source) => refreshed.get(source.id) ?? source)
}

/** Documents of objects as they are now. */
export async function makeAnew(
  deps: BatchDeps,
  db: Queryable,
  settings: BatchSettings,
  ids: readonly number[],
): Promise<DocumentBatch> {
  return make(deps, db, settings, await store.readSources(db, ids), ids)
}

/** Documents of the objects, with the displayed data of linked objects. */
async function make(
  { target, targets, poolPath, readFiles, now }: BatchDeps,
  db: Queryable,
  settings: BatchSettings,
  sources: readonly IndexSource[],
  ids: readonly number[],
): Promise<DocumentBatch> {
  const present = new Set(sources.map((source) => source.id))
  targets.renew(
    sources,
    ids.filter((id) => !present.has(id)),
  )
  const fields = fieldsOf(settings.model)
  const linked = new Set<number>()
  for (const source of sources) {
    linksOf(fields, source, linked)
    if (source.parents.length > 0) linked.add(source.id)
  }
  await targets.load(db, linked)
  return target.make(db, {
    model: settings.model,
    languages: settings.languages,
    ids,
    sources: withMembers(fields, await withFiles(db, readFiles, fields, sources)),
    target: targets.get,
    ancestors: targets.ancestors,
    poolPath,
    history: () => store.readHistory(db, ids),
    now: now(),
  })
}

/** System object ids of the link targets of an object; added to `linked`. */
function linksOf(fields: ReturnType<typeof fieldsOf>, source: IndexSource, linked = new Set<number>()): Set<number> {
  const type = fields.types.get(source.objecttype)
  if (!type) return linked
  const read = (content: Readonly<Record<string, unknown>>, table: (typeof type)['table']): void => {
    for (const column of table.columns) {
      const value = column.type === 'link' ? content[column.key] : undefined
      if (value !== undefined) linked.add(value as number)
    }
    for (const nested of table.nested) {
      for (const row of (content[nested.key] as Readonly<Record<string, unknown>>[] | undefined) ?? [])
        read(row, nested)
    }
  }
  read(source.content, type.table)
  return linked
}

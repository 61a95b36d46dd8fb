/** One batch of the index queue: read, build, write, with the same number of statements for one object or a thousand. */
import { setImmediate as breathe } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Model } from '../../datamodel/model.ts'
import type { Queryable, Tx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Arena } from '../document/arena.ts'
import { createDocumentBuilder } from '../document/build.ts'
import type { IndexDocument } from '../document/draft.ts'
import type { IndexSource } from '../document/source.ts'
import { fieldsOf } from '../plan/fields.ts'
import type { Slots } from '../plan/slots.ts'
import { type EncodedDocument, encode } from '../postgres/index/encode.ts'
import type { FacetSets } from '../postgres/index/facet-sets.ts'
import * as store from '../postgres/index/store.ts'
import type { Terms } from '../postgres/index/terms.ts'
import { inIndexTransaction } from '../postgres/index/transaction.ts'
import type { Changes } from './changes.ts'
import type { Targets } from './link-targets.ts'

/** Milliseconds after which building makes room for requests. */
const longestTurn = 4

export interface BatchDeps {
  readonly log: Logger
  readonly targets: Targets
  readonly changes: Changes
  readonly facetSets: FacetSets
  readonly terms: Terms
  readonly arena: Arena
  readonly poolPath: (id: number) => readonly number[]
  readonly now: () => number
  /** Keeps commits of the datamodel out until the transaction ends; fails when the model is not the current one. */
  readonly assertCurrent: (tx: Tx, model: Model) => Promise<void>
  /**
   * Brings stored standards up to date with what the objects link to and with the masks (objects capability). Gives the
   * ids of those that are just being saved, which are to be tried again.
   */
  readonly refreshStandards: RefreshStandards
  /** Reports an object that cannot be indexed. */
  readonly onFailure: (id: number, error: string) => Promise<void>
}

export type RefreshStandards = (
  db: Queryable,
  model: Model,
  languages: readonly string[],
  systemObjectIds: readonly number[],
) => Promise<readonly number[]>

/** What stays the same for a batch. */
export interface BatchSettings {
  readonly model: Model
  readonly slots: Slots
  readonly languages: readonly string[]
}

/** The connection that holds the indexer's lock, as the store and as COPY see it. */
export interface IndexConnection {
  readonly client: pg.PoolClient
  readonly db: Queryable
}

export interface BatchResult {
  /** Of the index after the batch. */
  readonly generation: number
  /** The entries that are out of the queue; others are to be tried again. */
  readonly done: readonly store.QueueEntry[]
}

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
 * What an object itself can be to blame for: values that do not fit, code that does not expect them. A lost
 * connection, a lock, a full disk concern all, so the batch is tried again as a whole.
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
    return { generation: await leaveOut(deps, connection.db, id, entries, error), done: entries }
  }
  const half = new Set(ids.slice(0, ids.length >> 1))
  const [first, second] = [
    entries.filter((entry) => half.has(entry.id)),
    entries.filter((entry) => !half.has(entry.id)),
  ]
  const { done } = await indexBatch(deps, connection, settings, first)
  const last = await indexBatch(deps, connection, settings, second)
  return { generation: last.generation, done: [...done, ...last.done] }
}

/**
 * Takes what is indexed of the object out of the index, which would be found by what it was and by whom it was for, and
 * notes when it is tried again. Gives the generation of the index.
 */
async function leaveOut(
  deps: BatchDeps,
  db: Queryable,
  id: number,
  entries: readonly store.QueueEntry[],
  error: unknown,
): Promise<number> {
  const text = error instanceof Error ? error.message : String(error)
  const [attempts, generation] = await inIndexTransaction(db, async () => {
    const next = await store.nextGeneration(db)
    await store.keepFormer(db, [id])
    await store.removeDocuments(db, [id])
    const failures = await store.recordFailure(db, id, text)
    await store.finishQueue(db, entries)
    return [failures, next.generation] as const
  })
  // Said once: it is tried again and again.
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
  { client, db }: IndexConnection,
  settings: BatchSettings,
  waiting: readonly store.QueueEntry[],
): Promise<BatchResult> {
  deps.arena.reset()
  const entries = await refresh(deps, db, settings, waiting)
  if (entries.length === 0) return { generation: await store.readGeneration(db), done: [] }
  const ids = distinct(entries)
  const sources = await readSources(deps, db, settings, entries, ids)
  const built = await build(deps, db, settings, sources, ids)
  await deps.facetSets.load(
    db,
    built.flatMap((document) => document.facets),
  )
  await deps.terms.flush(db)
  const indexed = await store.readIndexed(db, ids)
  const encoded = await inTurns(built, (document) => encode(document, deps.facetSets, deps.arena))
  const fresh = encoded.filter((document) => indexed.get(document.id)?.digest !== document.digest)
  await queueDependents(deps, db, encoded, indexed)
  const keep = new Set(encoded.map((document) => document.id))
  const gone = [...indexed.keys()].filter((id) => !keep.has(id))
  const replaced = fresh.filter((document) => indexed.has(document.id))
  const removed = [...gone, ...replaced.map((document) => document.id)]
  const moved = [
    ...gone,
    ...replaced.filter(({ id, place }) => indexed.get(id)?.place !== place).map((document) => document.id),
  ]
  const generation = await write(deps, { client, db }, settings.model, { removed, moved }, fresh, entries)
  return { generation, done: entries }
}

/** Refreshes what is shown of the objects; gives the entries whose objects are not just being saved. */
async function refresh(
  deps: BatchDeps,
  db: Queryable,
  { model, languages }: BatchSettings,
  entries: readonly store.QueueEntry[],
): Promise<readonly store.QueueEntry[]> {
  // A save has computed the standard of its object; one that is here for something else may show what was.
  const stale = entries.filter((entry) => entry.priority !== 0)
  if (stale.length === 0) return entries
  const busy = new Set(await deps.refreshStandards(db, model, languages, distinct(stale)))
  return busy.size === 0 ? entries : entries.filter((entry) => entry.priority === 0 || !busy.has(entry.id))
}

/** Reads the objects; those that were saved while what they link to changed are refreshed first. */
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
  const refreshed = new Map((await store.readSources(db, overtaken)).map((source) => [source.id, source]))
  return sources.map((source) => refreshed.get(source.id) ?? source)
}

async function build(
  deps: BatchDeps,
  db: Queryable,
  { model, slots, languages }: BatchSettings,
  sources: readonly IndexSource[],
  ids: readonly number[],
): Promise<IndexDocument[]> {
  const { targets } = deps
  const present = new Set(sources.map((source) => source.id))
  targets.renew(
    sources,
    ids.filter((id) => !present.has(id)),
  )
  const fields = fieldsOf(model)
  const linked = new Set<number>()
  for (const source of sources) {
    linksOf(fields, source, linked)
    if (source.parents.length > 0) linked.add(source.id)
  }
  await targets.load(db, linked)
  const buildDocument = createDocumentBuilder({
    fields,
    slots,
    languages,
    target: targets.get,
    ancestors: targets.ancestors,
    poolPath: deps.poolPath,
    terms: deps.terms,
    arena: deps.arena,
    now: deps.now(),
  })
  const documents = await inTurns(sources, buildDocument)
  return documents.filter((document) => document !== null)
}

/** System object ids of what the object links to; added to `linked`. */
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

/** Objects that show something of a changed one. Nobody can show what was not there before. */
async function queueDependents(
  { changes }: BatchDeps,
  db: Queryable,
  documents: readonly EncodedDocument[],
  indexed: ReadonlyMap<number, store.Indexed>,
): Promise<void> {
  const changed = documents.filter(({ id, shown, revised }) => {
    const before = indexed.get(id)
    // Not indexed before: only what was changed since it was made can be shown by others as it was.
    return before === undefined ? revised : before.shown !== shown
  })
  if (changed.length === 0) return
  const ids = changed.map((document) => document.id)
  changes.note(ids)
  await store.queueLinking(db, ids)
}

async function write(
  deps: BatchDeps,
  { client, db }: IndexConnection,
  model: Model,
  before: { readonly removed: readonly number[]; readonly moved: readonly number[] },
  documents: readonly EncodedDocument[],
  entries: readonly store.QueueEntry[],
): Promise<number> {
  return inIndexTransaction(db, async () => {
    await deps.assertCurrent({ ...db, afterCommit: () => {} }, model)
    const { generation, changedAt } = await store.nextGeneration(db)
    await store.writeDocuments(client, { ...before, changedAt }, documents)
    await store.clearFailures(
      db,
      entries.map((entry) => entry.id),
    )
    await store.finishQueue(db, entries)
    return generation
  })
}

/** Maps a list, giving way to requests every few milliseconds. */
async function inTurns<T, R>(list: readonly T[], map: (member: T) => R): Promise<R[]> {
  const results: R[] = []
  let turn = performance.now()
  for (const member of list) {
    results.push(map(member))
    if (performance.now() - turn > longestTurn) {
      await breathe()
      turn = performance.now()
    }
  }
  return results
}

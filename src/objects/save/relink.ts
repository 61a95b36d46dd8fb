/** Changes the target of links: objects that link to one of several sources link to one target instead. */
import type { Column, Mask, MaskField, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { createYielder, eachYielding } from '../../platform/process/cooperative-yield.ts'
import { mayUseMask } from '../masks/preference.ts'
import { type Content, type ContentRow, rowsOf, type StoredObject } from '../stored/content.ts'
import { loadLatest } from '../stored/load.ts'
import { runCallbacks } from './callbacks/run-callbacks.ts'
import { newContext, type ObjectDeps, type SaveContext } from './context.ts'
import { exists, guarded, showsColumn } from './disclosure.ts'
import { finishChange } from './finish-change.ts'
import { guardBefore, guardOf, type Item, itemOf } from './item.ts'
import { onCurrentModel } from './on-current-model.ts'
import { syncBidirectional } from './rules/bidirectional.ts'
import { assertConstraints } from './rules/constraints.ts'
import { assertNoCycles } from './rules/hierarchy.ts'
import { assertSaveRights } from './rules/rights.ts'
import { inTransaction } from './transaction.ts'
import { lockObjects } from './write/store.ts'

export interface RelinkRequest {
  /** Objects that may link to one of the sources. */
  readonly systemObjectIds: readonly number[]
  readonly sources: ReadonlySet<number>
  readonly target: number
  readonly comment: string
  readonly dryRun: boolean
  readonly deadline: Deadline
}

export interface Relinked {
  readonly changed: readonly number[]
  /** Objects with links that the caller may not change. */
  readonly kept: readonly number[]
}

/** Work that belongs to it: in its transaction, after the write. */
export type WithRelink = (tx: Tx, relinked: Relinked) => Promise<void>

/** All or nothing. Links in fields that the caller may not change stay as they are. */
export async function relinkObjects(
  deps: ObjectDeps,
  actor: Actor,
  request: RelinkRequest,
  withRelink?: WithRelink,
): Promise<Relinked> {
  const { systemObjectIds, dryRun, deadline } = request
  const objects = systemObjectIds.length
  const callbackOutcome = await runCallbacks(deps, {
    kind: 'save',
    actor,
    dryRun,
    objects,
    deadline,
    look: async (context) => {
      const { items } = await prepare(context, request)
      await syncBidirectional(context, items)
      return items
    },
  })
  return inTransaction(deps, { ending: dryRun ? 'dry run' : 'store', objects, deadline }, async (tx) => {
    const model = deps.datamodel.current()
    const { context, items, kept } = await onCurrentModel(deps, tx, model, async (current) => {
      const rights = await deps.rights.forActor(actor)
      const yielder = createYielder()
      const context = newContext({ deps, tx, model, current, locks: true, actor, rights, yielder })
      return { context, ...(await prepare(context, request)) }
    })
    const changed = items.map(({ systemObjectId }) => systemObjectId)
    if (items.length > 0) {
      const tasks = await finishChange(context, items, {
        callbackOutcome,
        confirmTransition: 'ALL',
        async check() {
          await syncBidirectional(context, items)
          await eachYielding(items, (item) => assertConstraints(item), context.yielder)
          await assertNoCycles(context, items)
          await assertSaveRights(context, items, callbackOutcome.replaced)
        },
        ask: (confirmation) => confirmation?.tasks ?? [],
        write: { dryRun, skipIndex: dryRun, skipEvents: dryRun },
      })
      if (tasks.length > 0) throw new AppError('TransitionRejected', {}, { message: 'A transition asks a question.' })
    }
    const relinked = { changed, kept }
    await withRelink?.(tx, relinked)
    return relinked
  })
}

async function prepare(
  context: SaveContext,
  { systemObjectIds, sources, target, comment }: RelinkRequest,
): Promise<{ items: Item[]; kept: number[] }> {
  const stored = await lockObjects(context, [...systemObjectIds, target])
  const to = stored.get(target)
  if (!to || to.deletedAt || !exists(context.rights, { ...guardOf(to), deleted: false })) {
    throw new AppError('ObjectNotFound', { name: 'target', _system_object_id: target })
  }
  const items: Item[] = []
  const kept: number[] = []
  for (const id of new Set(systemObjectIds)) {
    const object = stored.get(id)
    if (!object || object.deletedAt || id === target) continue
    if (context.yielder.due()) await context.yielder.yield()
    const item = itemOf(object, 'update')
    const mayWrite = context.rights.root || context.rights.may('write', guarded(guardBefore(item)))
    const lets = (column: Column): boolean => mayWrite && mayEdit(context, object, column)
    const swap: Swap = { sources, target, lets, changed: false, left: false }
    item.content = swapped(object.table, object.content, swap)
    item.comment = comment
    if (swap.changed) items.push(item)
    // A link that the caller may not see is not reported.
    if (swap.left && exists(context.rights, { ...guardOf(object), deleted: false })) kept.push(id)
  }
  return { items, kept }
}

interface Swap {
  readonly sources: ReadonlySet<number>
  readonly target: number
  readonly lets: (column: Column) => boolean
  changed: boolean
  left: boolean
}

/** The content with other links. A row that is then the same as another row is removed. */
function swapped(table: Table, content: Content, swap: Swap): Content {
  const copy: Content = { ...content }
  for (const column of table.columns) {
    const to = content[column.key]
    if (column.type !== 'link' || typeof to !== 'number' || !swap.sources.has(to)) continue
    if (swap.lets(column)) {
      copy[column.key] = swap.target
      swap.changed = true
    } else swap.left = true
  }
  for (const nested of table.nested) {
    const rows = rowsOf(content, nested)
    if (rows.length > 0) copy[nested.key] = withoutDoubles(nested, rows, swap)
  }
  return copy
}

function withoutDoubles(table: Table, rows: readonly ContentRow[], swap: Swap): ContentRow[] {
  const after = rows.map((row) => swapped(table, row, swap) as ContentRow)
  // Unchanged rows are kept; a changed row is only kept if no other row has its targets.
  const linked = new Set(rows.flatMap((row, index) => (isMoved(row, after[index]) ? [] : targetsOf(table, row))))
  return after.filter((row, index) => {
    if (!isMoved(rows[index], row)) return true
    const own = targetsOf(table, row)
    const only = own.length === 1 && Object.keys(row).every((key) => key === '_u' || own[0]?.startsWith(`${key}:`))
    if (only && linked.has(own[0] as string)) return false
    for (const name of own) linked.add(name)
    return true
  })
}

const isMoved = (before: ContentRow | undefined, after: ContentRow | undefined): boolean =>
  JSON.stringify(before) !== JSON.stringify(after)

function targetsOf(table: Table, row: ContentRow): string[] {
  return table.columns.flatMap(({ type, key }) =>
    type === 'link' && typeof row[key] === 'number' ? `${key}:${row[key]}` : [],
  )
}

/** Whether the caller may use a mask of the object in which the column is writable. */
function mayEdit(
  { deps, rights }: Pick<SaveContext, 'deps' | 'rights'>,
  object: StoredObject,
  column: Column,
): boolean {
  if (rights.root) return true
  const { table, poolId } = object
  const head = { table, poolId, guard: guarded(guardOf(object)) }
  return (
    editingMasks(table)
      .get(column)
      ?.values()
      .some((mask) => mayUseMask({ deps, caller: rights }, mask, head)) === true
  )
}

const editing = new WeakMap<Table, ReadonlyMap<Column, ReadonlySet<Mask>>>()

function editingMasks(table: Table): ReadonlyMap<Column, ReadonlySet<Mask>> {
  const known = editing.get(table)
  if (known) return known
  const found = new Map<Column, Set<Mask>>()
  const visit = (mask: Mask, fields: readonly MaskField[]): void => {
    for (const field of fields) {
      if (field.mode !== 'edit' || field.appendOnly || field.removeOnly) continue
      if (field.kind === 'nested') visit(mask, field.fields)
      if (field.kind !== 'column') continue
      const masks = found.get(field.column) ?? new Set()
      found.set(field.column, masks.add(mask))
    }
  }
  for (const mask of table.masks.values()) visit(mask, mask.fields)
  editing.set(table, found)
  return found
}

/** Live objects that link to one of the objects, by id, after the given one. */
export async function findLinking(
  q: Queryable,
  targets: readonly number[],
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<number[]> {
  const { rows } = await q.query<{ id: number }>(
    `select distinct l.from_id as id from object_link l cross join lateral (
       select deleted_at from object where system_object_id = l.from_id limit 1
     ) o
     where l.to_id = any($1::bigint[]) and l.from_id > $2 and o.deleted_at is null
     order by 1 limit $3`,
    [targets, after, limit],
    'find-linking',
  )
  return rows.map(({ id }) => id)
}

/** The objects, of those given, that are targets of links of live objects. */
export async function findLinked(q: Queryable, targets: readonly number[]): Promise<number[]> {
  const { rows } = await q.query<{ id: number }>(
    `select t.id from unnest($1::bigint[]) as t (id) where exists (
       select from object_link l join object o on o.system_object_id = l.from_id
       where l.to_id = t.id and o.deleted_at is null)`,
    [targets],
    'find-linked',
  )
  return rows.map(({ id }) => id)
}

/** The objects, of those given, that have live children. */
export async function findParents(q: Queryable, ids: readonly number[]): Promise<number[]> {
  const { rows } = await q.query<{ id: number }>(
    `select t.id from unnest($1::bigint[]) as t (id) where exists (
       select from object o where o.parents <> '{}' and o.parents @> array[t.id] and o.deleted_at is null)`,
    [ids],
    'find-parents',
  )
  return rows.map(({ id }) => id)
}

/**
 * Objects that link to one of the sources, as far as the caller may see the link: the number of all, and of those that it may
 * change.
 */
export async function countLinking(
  deps: ObjectDeps,
  actor: Actor,
  {
    sources,
    most,
    deadline,
  }: { readonly sources: readonly number[]; readonly most: number; readonly deadline: Deadline },
): Promise<{ readonly references: number; readonly relink: number; readonly capped: boolean }> {
  const q = deps.db.within(deadline)
  const found = await findLinking(q, sources, { after: 0, limit: most + 1 })
  const rights = await deps.rights.forActor(actor)
  const context = { deps, rights }
  const wanted = new Set(sources)
  const yielder = createYielder()
  let [references, relink] = [0, 0]
  for (const object of await loadLatest(q, deps.datamodel.current(), found.slice(0, most))) {
    if (yielder.due()) await yielder.yield()
    const { table, guard } = object
    if (!exists(rights, { ...guard, deleted: false })) continue
    const mayWrite = rights.root || rights.may('write', guard)
    const seen = { shown: false, edited: false }
    const lets = (column: Column): boolean => {
      seen.shown ||= showsColumn(context, table, guard, column)
      seen.edited ||= mayWrite && mayEdit(context, object, column)
      return false
    }
    swapped(table, object.content, { sources: wanted, target: 0, lets, changed: false, left: false })
    if (seen.shown || seen.edited) references++
    if (seen.edited) relink++
  }
  return { references, relink, capped: found.length > most }
}
